"""Certified bounds: the judge recomputes them from what a solver returns beside its bound."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pytest
from cli_tools import Capture, refused, run as run_command, run_json
from sample_records import PROBLEM as EVOLUTION

from allocsolve.bench import SolverLike, best, plan, run
from allocsolve.errors import InvalidAnswer
from allocsolve.exact import PartitionBranchAndBound
from allocsolve.families import family_of
from allocsolve.instances import klein2011, uniform_occupancy, write_certificate, write_problem
from allocsolve.judge import assess, certified_bound, certify
from allocsolve.model import Budget, Mesh, Partition, PartitionProblem, Result, Status, terms
from allocsolve.registry import make_solver

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

PROBLEM = uniform_occupancy(Mesh((6, 5)), 0.3, 9, 4)
OBJECTIVE = ("pairwise",)


def _solved() -> Result[Partition]:
    result = PartitionBranchAndBound()(PROBLEM, Budget())
    assert result.certificate is not None
    return result


def test_the_judge_recomputes_the_bound() -> None:
    result = _solved()
    bound = certify(PROBLEM, result, OBJECTIVE)
    assert bound == certified_bound(PROBLEM, result.certificate or {})
    assert bound == result.bound == result.objective
    assert assess(PROBLEM, result, OBJECTIVE).certified_bound == bound
    assert certify(PROBLEM, replace(result, certificate=None), OBJECTIVE) == -math.inf


@pytest.mark.parametrize("certificate", [{}, {"axes": [0, 1], "scale": 0, "roots": []}, {"axes": "x"}])
def test_what_is_no_certificate_is_refused(certificate: Mapping[str, object]) -> None:
    with pytest.raises(InvalidAnswer):
        certify(PROBLEM, replace(_solved(), certificate=certificate), OBJECTIVE)


def test_a_family_without_certificates_takes_none(monkeypatch: pytest.MonkeyPatch) -> None:
    family = family_of(EVOLUTION)
    without = replace(family, rules=replace(family.rules, certificates=()))
    monkeypatch.setattr("allocsolve.judge.verdict.family_of", lambda _: without)
    result = make_solver("noX", EVOLUTION)(EVOLUTION, Budget())
    with pytest.raises(InvalidAnswer, match="bounds of evolution problems carry none"):
        certify(EVOLUTION, replace(result, certificate={}), ("makespan",))


@dataclass(frozen=True)
class Boaster:
    """Claims a bound, with the certificate of another one or with rubbish."""

    rubbish: bool

    def __call__(self, problem: PartitionProblem, budget: Budget) -> Result[Any]:
        result = PartitionBranchAndBound()(problem, budget)
        return replace(result, certificate={"roots": 1}) if self.rubbish else result


def test_records_tell_certified_from_claimed() -> None:
    solvers: list[SolverLike] = [Boaster(rubbish=False), Boaster(rubbish=True), "cpsat"]
    tasks = plan([("", PROBLEM)], solvers, budgets=[Budget()])
    honest, rubbish, claimed = run(tasks)
    assert terms(honest.certified_bound) == terms(certify(PROBLEM, _solved(), OBJECTIVE))
    assert "certificate" in rubbish.error
    assert (rubbish.certified_bound, claimed.certified_bound) == (-math.inf, -math.inf)
    assert claimed.status is Status.OPTIMAL
    (on,) = best([claimed]).values()
    assert not on.certified
    (on,) = best([replace(claimed, bound=claimed.combinatorial_bound, status=Status.FEASIBLE)]).values()
    assert on.certified


def test_solve_says_which(tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "p.json"
    write_problem(PROBLEM, file)
    shown = run_json(capsys, "solve", file, "--solver", "branch-and-bound")
    sure = terms(certify(PROBLEM, _solved(), OBJECTIVE))[0]
    assert shown["certified_bound"] == sure == shown["bound"]
    text = run_command(capsys, "solve", file, "--solver", "branch-and-bound")
    assert f" certified bound {shown['bound']} hops, gap 0.0 %" in text
    text = run_command(capsys, "solve", file, "--solver", "cpsat")
    assert f"claimed bound {shown['bound']} hops, gap" in text
    score = run_json(capsys, "score", file, "--solvers", "growth", "--out", tmp_path / "out")
    assert score["bounds_certified"] == 1


def test_a_solution_and_a_proof_are_checked_together(tmp_path: Path, capsys: Capture) -> None:
    problem = replace(klein2011([77, 3], num_apps=(8, 8)), expand_limit=1)
    names = ("p.json", "best.json", "worse.json", "c.json.gz")
    file, best, worse, proof = (tmp_path / name for name in names)
    write_problem(problem, file)
    solved = run_json(
        capsys, "solve", file, "--solver", "conflict-search", "--out", best, "--certificate", proof
    )
    assert solved["certified_bound"] == solved["bound"] == solved["objective"]
    run_command(capsys, "solve", file, "--solver", "rigid", "--out", worse)
    text = run_command(capsys, "check", file, best, "--proof", proof)
    assert f"optimal: makespan is {solved['objective']} s, the certificate proves that none is lower" in text
    shown = run_json(capsys, "check", file, best, "--proof", proof)
    assert (shown["proven"], shown["certified_bound"]) == (True, solved["objective"])
    text = run_command(capsys, "check", file, worse, "--proof", proof, status=1)
    assert f"makespan is at least {solved['objective']} s, here it is " in text
    assert "feasible" in text
    assert "not proven optimal" in text
    # What is not feasible proves nothing, whatever the bound.
    document = json.loads(best.read_text(encoding="utf-8"))
    document["applications"][0]["start"] = -5
    best.write_text(json.dumps(document), encoding="utf-8")
    shown = run_json(capsys, "check", file, best, "--proof", proof, status=1)
    assert (shown["feasible"], shown["proven"], shown["objective"]) == (False, False, None)
    # A certificate of something else, or none at all.
    assert "is no solution" in refused(capsys, "check", file, proof, "--proof", proof)
    assert "worse.json: " in refused(capsys, "check", file, worse, "--proof", worse)
    write_certificate(proof, problem, ("makespan",), {"kind": "learned-clauses", "points": [], "log": ""})
    assert "c.json.gz: points []" in refused(capsys, "check", file, worse, "--proof", proof)


def test_a_proof_of_the_first_term_says_nothing_of_the_others(tmp_path: Path, capsys: Capture) -> None:
    file, best, proof = (tmp_path / name for name in ("p.json", "best.json", "c.json"))
    write_problem(replace(klein2011([77, 3], num_apps=(6, 6)), expand_limit=1), file)
    asked = ("--solver", "conflict-search", "--objective", "makespan,waste")
    run_command(capsys, "solve", file, *asked, "--out", best, "--certificate", proof)
    text = run_command(capsys, "check", file, best, "--proof", proof, status=1)
    assert "as here; nothing is proven of waste" in text


def test_a_bound_above_a_feasible_value_is_refused(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No certificate can prove that: the judge itself would be wrong."""
    file, best, proof = (tmp_path / name for name in ("p.json", "best.json", "c.json"))
    problem = replace(klein2011([77, 3], num_apps=(4, 4)), expand_limit=1)
    write_problem(problem, file)
    run_command(capsys, "solve", file, "--solver", "noX", "--out", best)
    write_certificate(proof, problem, ("makespan",), {"kind": "area"})
    monkeypatch.setattr("allocsolve.judge.certify", lambda *_: 10**6)
    said = refused(capsys, "check", file, best, "--proof", proof)
    assert "proves that makespan is at least 1000000" in said
