"""Proofs of makespans: the replay keeps the reasons, and the verified checker confirms optima."""

from __future__ import annotations

import functools
import itertools
import random
import subprocess
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from cli_tools import Capture, refused, run, run_json
from naive_refutation import refuted_makespan
from verified_tools import CHECKER, needs_checker, proven

from allocsolve.exact.evolution.conflict_search import EvolutionConflictSearch
from allocsolve.instances import klein2011, write_certificate, write_problem, write_solution
from allocsolve.judge.evolution.certificate import evolution_certified_bound
from allocsolve.judge.evolution.proof_text import evolution_proof_text
from allocsolve.model import Budget, EvolutionProblem, EvolutionProfile

if TYPE_CHECKING:
    from pathlib import Path

    from allocsolve.families import ProofText
    from allocsolve.model import EvolutionSchedule, Result

#: The optimum is 35 s.
THREE = EvolutionProblem(
    100,
    (EvolutionProfile([(10, 60)]), EvolutionProfile([(20, 60)]), EvolutionProfile([(5, 30), (5, 80)])),
    expand_limit=1,
)


def _solved(problem: EvolutionProblem) -> Result[EvolutionSchedule]:
    return EvolutionConflictSearch()(problem, Budget(seconds=60, workers=1))


def _text(problem: EvolutionProblem, *, with_schedule: bool = True) -> ProofText | None:
    """Return the proof of the optimum, None if areas prove it."""
    result = _solved(problem)
    if result.certificate is None or result.certificate["kind"] != "learned-clauses":
        return None
    bound = evolution_certified_bound(problem, result.certificate, ("makespan",))
    assert bound == result.objective
    return evolution_proof_text(problem, result.certificate, bound, result.answer if with_schedule else None)


@functools.cache
def _small_proofs() -> list[tuple[EvolutionProblem, ProofText]]:
    """Return proofs of small random problems."""
    draw = random.Random(34)
    found: list[tuple[EvolutionProblem, ProofText]] = []
    while len(found) < 20:
        num_nodes = draw.randint(2, 5)
        profiles = [
            EvolutionProfile(
                [(draw.randint(1, 4), draw.randint(1, num_nodes)) for _ in range(draw.randint(1, 3))]
            )
            for _ in range(draw.randint(3, 4))
        ]
        releases = [draw.randint(0, 3) for _ in profiles]
        problem = EvolutionProblem(num_nodes, (*profiles,), expand_limit=1, releases=(*releases,))
        text = _text(problem)
        if text is not None:
            found.append((problem, text))
    return found


def _least_makespan(problem: EvolutionProblem) -> int:
    """Return the optimum of a small problem, by trying all starts."""
    lengths = [sum(seconds for seconds, _ in profile.steps) for profile in problem.applications]
    for makespan in itertools.count(max(map(int.__add__, problem.releases, lengths))):
        choices = [
            range(release, makespan - length + 1)
            for release, length in zip(problem.releases, lengths, strict=True)
        ]
        for starts in itertools.product(*choices):
            used = [0] * makespan
            for start, profile in zip(starts, problem.applications, strict=True):
                at = start
                for seconds, nodes in profile.steps:
                    for second in range(at, at + seconds):
                        used[second] += nodes
                    at += seconds
            if max(used) <= problem.num_nodes:
                return makespan
    raise AssertionError


def test_the_replay_refutes_what_the_judge_refutes() -> None:
    wrong = []
    for problem, text in _small_proofs():
        value = refuted_makespan(text.problem + text.proof)
        if value is None or value != _least_makespan(problem):
            wrong.append((problem, value))
    assert not wrong


@pytest.mark.parametrize("seed", [0])
def test_the_replay_of_a_long_log_is_a_refutation(seed: int) -> None:
    problem = replace(klein2011([12, seed], num_apps=(12, 12)), expand_limit=1)
    text = _text(problem)
    assert text is not None
    assert refuted_makespan(text.problem + text.proof) == _solved(problem).objective


@needs_checker
def test_no_tampered_proof_is_accepted_above_the_optimum(tmp_path: Path) -> None:
    draw = random.Random(1)
    above, raised, refused_ones = [], 0, 0
    for idx in range(400):
        _, text = _small_proofs()[idx % len(_small_proofs())]
        lines = text.proof.splitlines()
        head = next(at for at, line in enumerate(lines) if line.startswith("refutation"))
        words = lines[head].split()
        at = draw.randrange(head + 1, len(lines))
        changed = lines[at].split()
        fault = draw.randrange(4)
        if fault == 0:
            words[1] = str(int(words[1]) + draw.randint(1, 3))
        elif fault == 1:
            place = draw.choice([k for k, word in enumerate(changed) if word.lstrip("-").isdigit()])
            changed[place] = str(int(changed[place]) + draw.choice([-1, 1]))
        elif fault == 2:
            place = draw.choice([k for k, word in enumerate(changed) if word.lstrip("-").isdigit()])
            changed[place] = str(-int(changed[place]))
        else:
            del changed[draw.randrange(len(changed))]
        lines[head] = " ".join(words)
        lines[at] = " ".join(changed) if fault else lines[at]
        bound = proven(text.problem + "\n".join([*lines, ""]), tmp_path)
        raised += fault == 0
        refused_ones += fault == 0 and bound is None
        if bound is not None and bound > _small_optima()[idx % len(_small_proofs())]:
            above.append((lines[head], lines[at]))
    assert not above
    assert raised == refused_ones > 50


@functools.cache
def _small_optima() -> list[int]:
    return [_least_makespan(problem) for problem, _ in _small_proofs()]


@needs_checker
def test_optima_are_verified(tmp_path: Path) -> None:
    wrong = []
    for seed in range(4):
        problem = replace(klein2011([8, seed], num_apps=(8, 8)), expand_limit=1)
        text = _text(problem)
        assert text is not None
        if proven(text.problem + text.proof, tmp_path) != _solved(problem).objective:
            wrong.append(seed)
    assert not wrong


@needs_checker
def test_checked_clauses_are_written_for_other_checkers(tmp_path: Path) -> None:
    _, text = _small_proofs()[0]
    file = tmp_path / "proof"
    file.write_text(text.problem + text.proof, encoding="ascii")
    subprocess.run([str(CHECKER), str(file), str(tmp_path / "out")], check=True, capture_output=True)
    clauses = (tmp_path / "out.cnf").read_text(encoding="ascii").splitlines()
    lines = (tmp_path / "out.lrat").read_text(encoding="ascii").splitlines()
    _, variables, count, derived = next(
        line.split()[1:] for line in text.proof.splitlines() if line.startswith("refutation")
    )
    assert clauses[0] == f"p cnf {variables} {count}"
    assert [len(clauses) - 1, len(lines)] == [int(count), int(derived)]
    assert lines == text.proof.splitlines()[-len(lines) :]


def _files(folder: Path, problem: EvolutionProblem) -> list[Path]:
    result = _solved(problem)
    assert result.certificate is not None
    files = [folder / name for name in ("problem.json", "answer.json", "bound.json")]
    write_problem(problem, files[0])
    write_solution(files[1], problem, result.answer, {})
    write_certificate(files[2], problem, ("makespan",), result.certificate)
    return files


@needs_checker
def test_a_schedule_and_a_refutation_are_an_optimum(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALLOCSOLVE_VERIFIED", str(CHECKER))
    problem, answer, bound = _files(tmp_path, replace(klein2011([8, 0], num_apps=(8, 8)), expand_limit=1))
    assert "verified: makespan is at least 51642 s" in run(capsys, "check", problem, bound, "--verified")
    both = ("check", problem, answer, "--proof", bound, "--verified")
    assert "verified: makespan is 51642 s" in run(capsys, *both)
    printed = run_json(capsys, *both)
    assert printed["verified_bound"] == "51642"
    assert printed["verified_optimal"] is True


def test_what_has_no_theorem_is_refused_in_one_line(tmp_path: Path, capsys: Capture) -> None:
    problem, _, bound = _files(tmp_path, klein2011([5, 0], num_apps=(5, 5)))
    said = refused(capsys, "check", problem, bound, "--export", tmp_path / "proof.txt")
    assert "not verified" in said
    problem, _, bound = _files(tmp_path, THREE)
    if "area" in bound.read_text(encoding="utf-8"):
        said = refused(capsys, "check", problem, bound, "--export", tmp_path / "proof.txt")
        assert "certificates of the kind area are not verified" in said
