"""Certified bounds, recomputed by the judge from what a solver returns, and second opinions."""

from __future__ import annotations

import importlib.util
import json
import math
import random
import shutil
import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pytest
from cli_tools import Capture, refused, run, run_json
from pumpkin_stand_in import __file__ as stand_in
from sample_records import PROBLEM as EVOLUTION
from tiers import examples
from verified_tools import CHECKER, least_makespan, makespan_proof_files, needs_checker, random_profiles

from allocsolve.backends.checkers import has_schedule
from allocsolve.bench import SolverLike, best, plan, run as run_tasks
from allocsolve.cli import main
from allocsolve.errors import InvalidAnswer, SolverUnavailable, UnsupportedProblem
from allocsolve.exact import PartitionBranchAndBound
from allocsolve.families import family_of
from allocsolve.instances import klein2011, uniform_occupancy, write_certificate, write_problem
from allocsolve.judge import assess, certified_bound, certify
from allocsolve.model import (
    Budget,
    EvolutionProblem,
    EvolutionProfile,
    Job,
    Mesh,
    Partition,
    PartitionProblem,
    Result,
    Status,
    WorkloadProblem,
    terms,
)
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
    honest, rubbish, claimed = run_tasks(tasks)
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
    text = run(capsys, "solve", file, "--solver", "branch-and-bound")
    assert f" certified bound {shown['bound']} hops, gap 0.0 %" in text
    text = run(capsys, "solve", file, "--solver", "cpsat")
    assert f"claimed bound {shown['bound']} hops, gap" in text
    score = run_json(capsys, "score", file, "--solvers", "growth", "--out", tmp_path / "out")
    assert score["bounds_certified"] == 1


def _files(folder: Path, apps: int, proof: str = "c.json") -> tuple[EvolutionProblem, Path, Path, Path]:
    """Write a problem; return it, where it is, and where its best answer and a proof can be."""
    problem = replace(klein2011([77, 3], num_apps=(apps, apps)), expand_limit=1)
    write_problem(problem, folder / "p.json")
    return problem, folder / "p.json", folder / "best.json", folder / proof


def test_a_solution_and_a_proof_are_checked_together(tmp_path: Path, capsys: Capture) -> None:
    problem, file, best, proof = _files(tmp_path, 8, "c.json.gz")
    worse = tmp_path / "worse.json"
    solved = run_json(
        capsys, "solve", file, "--solver", "conflict-search", "--out", best, "--certificate", proof
    )
    assert solved["certified_bound"] == solved["bound"] == solved["objective"]
    run(capsys, "solve", file, "--solver", "rigid", "--out", worse)
    text = run(capsys, "check", file, best, "--certificate", proof)
    assert f"optimal: makespan is {solved['objective']} s, the certificate proves that none is lower" in text
    shown = run_json(capsys, "check", file, best, "--certificate", proof)
    assert (shown["proven"], shown["certified_bound"]) == (True, solved["objective"])
    text = run(capsys, "check", file, worse, "--certificate", proof, status=1)
    assert f"makespan is at least {solved['objective']} s, here it is " in text
    assert "feasible" in text
    assert "not proven optimal" in text
    # What is not feasible proves nothing, whatever the bound.
    document = json.loads(best.read_text(encoding="utf-8"))
    document["applications"][0]["start"] = -5
    best.write_text(json.dumps(document), encoding="utf-8")
    shown = run_json(capsys, "check", file, best, "--certificate", proof, status=1)
    assert (shown["feasible"], shown["proven"], shown["objective"]) == (False, False, None)
    # A certificate of something else, or none at all.
    assert "is a certificate, not a solution" in refused(capsys, "check", file, proof, "--certificate", proof)
    assert "worse.json: " in refused(capsys, "check", file, worse, "--certificate", worse)
    write_certificate(proof, problem, ("makespan",), {"kind": "learned-clauses", "points": [], "log": ""})
    assert "c.json.gz: points []" in refused(capsys, "check", file, worse, "--certificate", proof)


def test_a_proof_of_the_first_term_says_nothing_of_the_others(tmp_path: Path, capsys: Capture) -> None:
    _, file, best, proof = _files(tmp_path, 6)
    asked = ("--solver", "conflict-search", "--objective", "makespan,waste")
    run(capsys, "solve", file, *asked, "--out", best, "--certificate", proof)
    text = run(capsys, "check", file, best, "--certificate", proof, status=1)
    assert "as here; nothing is proven of waste" in text


def test_a_bound_above_a_feasible_value_is_refused(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No certificate can prove that: the judge itself would be wrong."""
    problem, file, best, proof = _files(tmp_path, 4)
    run(capsys, "solve", file, "--solver", "noX", "--out", best)
    write_certificate(proof, problem, ("makespan",), {"kind": "area"})
    monkeypatch.setattr("allocsolve.judge.certify", lambda *_: 10**6)
    said = refused(capsys, "check", file, best, "--certificate", proof)
    assert "proves that makespan is at least 1000000" in said


# --- Second opinions ----------------------------------------------------------------------------------


needs_pumpkin = pytest.mark.skipif(
    importlib.util.find_spec("pumpkin_solver") is None,
    reason="pumpkin-solver is not installed: pip install 'allocsolve[cross-check]'",
)

#: The optimum is 7 s, by areas 6 s: A and B do not fit beside each other.
SMALL = EvolutionProblem(
    3,
    (EvolutionProfile([(3, 2)]), EvolutionProfile([(2, 2)]), EvolutionProfile([(1, 1), (2, 3)])),
    expand_limit=1,
)


WORKLOAD = WorkloadProblem(4, [Job(0, 3, 4), Job(1, 4, 1)])
PRICES = {"kind": "time-prices", "term": "wait", "unit": 4, "edges": [0, 4], "prices": [1]}


@pytest.fixture
def pumpkin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Put the stand-in where the package is looked for."""
    folder = tmp_path / "site"
    folder.mkdir()
    shutil.copy(stand_in, folder / "pumpkin_solver.py")
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setenv("PYTHONPATH", str(folder))
    return monkeypatch


def _agrees(count: int) -> None:
    draw = random.Random(34)
    wrong = []
    for _ in range(count):
        problem = random_profiles(draw)
        optimum = least_makespan(problem)
        profiles = [(r, app.steps) for r, app in zip(problem.releases, problem.applications, strict=True)]
        found = [has_schedule(problem.num_nodes, profiles, optimum - less, 60) for less in (0, 1, optimum)]
        if found != [True, False, False]:
            wrong.append((problem, optimum, found))
    assert not wrong


@pytest.mark.usefixtures("pumpkin")
def test_the_model_has_the_schedules_of_the_problem() -> None:
    _agrees(6)


@needs_pumpkin
def test_pumpkin_finds_the_optima_of_small_problems() -> None:
    _agrees(examples(100))


@needs_pumpkin
def test_pumpkin_proves_a_makespan_again(tmp_path: Path, capsys: Capture) -> None:
    problem, answer, bound = makespan_proof_files(
        tmp_path, replace(klein2011([8, 1], num_apps=(8, 8)), expand_limit=1)
    )
    printed = run(capsys, "check", problem, answer, "--certificate", bound, "--cross-check", "60")
    assert "optimal: makespan is 44407 s" in printed
    assert "cross-checked: pumpkin-solver proves, too, that there is no makespan below 44407 s" in printed


def test_the_second_opinion_is_told(tmp_path: Path, capsys: Capture, pumpkin: pytest.MonkeyPatch) -> None:
    problem, answer, bound = makespan_proof_files(tmp_path, SMALL)
    check = ("check", problem, bound, "--cross-check", "9")
    assert "cross-checked: pumpkin-solver proves, too, that there is no makespan below 7 s" in run(
        capsys, *check
    )
    assert run_json(capsys, *check)["cross_checked"] is True
    beside = ("check", problem, answer, "--certificate", bound, "--cross-check", "9")
    assert run_json(capsys, *beside)["cross_checked"] is True
    pumpkin.setenv("STAND_IN", "slow")
    assert "not cross-checked: pumpkin-solver has not finished within 9 s" in run(capsys, *check)
    assert run_json(capsys, *check)["cross_checked"] is False
    pumpkin.setenv("STAND_IN", "found")
    assert "the judge accepts it, pumpkin-solver finds an answer with a makespan below 7 s" in refused(
        capsys, *check
    )


def test_a_solver_that_breaks_or_hangs_is_no_opinion(tmp_path: Path, pumpkin: pytest.MonkeyPatch) -> None:
    package = tmp_path / "site" / "pumpkin_solver.py"
    package.write_text("raise ImportError('other calls')\n", encoding="utf-8")
    with pytest.raises(SolverUnavailable, match="does not run: ImportError: other calls"):
        has_schedule(2, [(0, [(1, 1)])], 1, 1)
    package.write_text("import time\ntime.sleep(60)\n", encoding="utf-8")
    pumpkin.setattr("allocsolve.backends.checkers._START_S", 0.1)
    assert has_schedule(2, [(0, [(1, 1)])], 1, 0.1) is None
    with pytest.raises(UnsupportedProblem, match="numbers of 32 bits, 1000000 nodes for 3000 s are more"):
        has_schedule(1_000_000, [(0, [(1, 1)])], 3000, 1)


def test_a_missing_package_is_named_before_anything_is_read(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pumpkin_solver", None)
    assert main(["check", "no.json", "no.json", "--cross-check", "9"]) != 0
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "pumpkin-solver is not installed: pip install 'allocsolve[cross-check]' brings it" in said


@pytest.mark.usefixtures("pumpkin")
def test_what_cannot_be_cross_checked_is_refused_in_one_line(tmp_path: Path, capsys: Capture) -> None:
    option = ("--cross-check", "9")
    problem, answer, _ = makespan_proof_files(tmp_path, SMALL)
    said = refused(capsys, "check", problem, answer, *option)
    assert f"--cross-check: {answer} is not a certificate" in said
    problem, _, bound = makespan_proof_files(tmp_path, replace(SMALL, expand_limit=2))
    said = refused(capsys, "check", problem, bound, *option)
    assert "makespans under the expand limit 2 are not cross-checked" in said
    write_problem(WORKLOAD, problem)
    write_certificate(bound, WORKLOAD, ("wait",), PRICES)
    said = refused(capsys, "check", problem, bound, *option)
    assert "--cross-check: bounds of workload problems are not cross-checked" in said


@needs_checker
def test_another_checker_on_the_path_is_handed_the_clauses(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALLOCSOLVE_VERIFIED", str(CHECKER))
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    fake = tmp_path / "cake_lpr"
    fake.write_text(
        "#!/bin/sh\n"
        'head -n 1 "$1" | grep -q "^p cnf " && tail -n 1 "$2" | grep -q " 0 .* 0$" || exit 1\n'
        "echo s VERIFIED UNSAT\n",
        encoding="ascii",
    )
    fake.chmod(0o755)
    problem, _, bound = makespan_proof_files(
        tmp_path, replace(klein2011([8, 0], num_apps=(8, 8)), expand_limit=1)
    )
    check = ("check", problem, bound, "--verified")
    assert "\nconfirmed: cake_lpr accepts the refutation, too\n" in run(capsys, *check)
    assert run_json(capsys, *check)["refuted_by"] == "cake_lpr"
    fake.write_text("#!/bin/sh\necho c Checking failed >&2\n", encoding="ascii")
    assert "the verified checker accepts it, cake_lpr does not: c Checking failed" in refused(capsys, *check)
    # Prices are no clauses.
    write_problem(WORKLOAD, problem)
    write_certificate(bound, WORKLOAD, ("wait",), PRICES)
    assert "confirmed" not in run(capsys, *check)
