"""What `check --verified` says: line by line, who has verified it, and where there is nothing to verify."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest
from cli_tools import Capture, refused, run, run_json
from verified_tools import CHECKER, fake_checker, needs_checker

from allocsolve.backends.verified_checker import VARIABLE
from allocsolve.instances import write_certificate, write_problem, write_solution
from allocsolve.judge import certified_bound, proof_text
from allocsolve.model import (
    EvolutionProblem,
    EvolutionProfile,
    EvolutionSchedule,
    Job,
    WorkloadProblem,
    WorkloadSchedule,
)

if TYPE_CHECKING:
    from pathlib import Path

    from allocsolve.model import Answer, Problem

PRICES: dict[str, Any] = {"kind": "time-prices", "edges": [0, 4], "prices": [1], "unit": 8}
MAKESPAN, AREA = {"kind": "makespan", "rule": "area", "after": 0}, {"kind": "area"}
JOBS, NO_JOBS = WorkloadProblem(4, [Job(0, 4, 3), Job(0, 3, 2)]), WorkloadProblem(4, [])
APPS = EvolutionProfile([(3, 4)]), EvolutionProfile([(2, 0), (2, 4)])
PROFILES = EvolutionProblem(4, APPS, expand_limit=1)


def asked(
    folder: Path, problem: Problem, certificate: dict[str, Any], term: str, answer: Answer | None = None
) -> list[Path]:
    """Write a problem, an answer if there is one, and a certificate; return the words after `check`."""
    files = [folder / name for name in ("problem.json", "answer.json", "bound.json")]
    write_problem(problem, files[0])
    write_certificate(files[2], problem, (term,), certificate)
    if answer is None:
        return [files[0], files[2]]
    write_solution(files[1], problem, answer, {})
    return [*files[:2], "--certificate", files[2]]  # type: ignore[list-item]  # a word among files


def stand_in(
    folder: Path, problem: Problem, certificate: dict[str, Any], term: str, answer: Answer | None
) -> Path:
    """Return a program that says of a certificate what the judge says: none has to be built."""
    bound = certified_bound(problem, certificate, (term,))
    digest = proof_text(problem, certificate, term, bound, answer).digest
    numerator, denominator = Fraction(bound).as_integer_ratio()
    says = f"problem {digest}\\nverified {term} >= {numerator} / {denominator}\\n"
    return fake_checker(folder / "checker", says)


CASES: dict[str, tuple[Problem, dict[str, Any], str, Answer | None]] = {
    "a bound of a workload": (JOBS, PRICES, "turnaround", None),
    "a schedule of a workload": (JOBS, PRICES, "turnaround", WorkloadSchedule.of(JOBS, [0, 3])),
    "one that is not feasible": (JOBS, PRICES, "turnaround", WorkloadSchedule.of(JOBS, [0, 0])),
    "a makespan": (JOBS, {**MAKESPAN, "rule": "wide"}, "makespan", WorkloadSchedule.of(JOBS, [0, 3])),
    "a bound of profiles": (PROFILES, AREA, "makespan", None),
    "a schedule of profiles": (
        *(PROFILES, AREA, "makespan", EvolutionSchedule.of([0, 1], PROFILES.applications)),
    ),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("more", [(), ("--verified",), ("--out",)])
def test_no_line_of_check_holds_another_line(
    case: str, more: tuple[str, ...], tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem, certificate, term, answer = CASES[case]
    if "edges" in certificate:
        certificate = {"term": term, **certificate}
    words = asked(tmp_path, problem, certificate, term, answer)
    checker = stand_in(tmp_path, problem, certificate, term, answer)
    monkeypatch.setenv(VARIABLE, str(checker))
    out = [tmp_path / "proof.txt"] if "--out" in more else []
    status = int(case in ("one that is not feasible", "a schedule of a workload"))
    lines = run(capsys, "check", *words, *more, *out, status=status).splitlines()
    assert [line for line in lines if "\\n" in line] == []
    if "--verified" in more:
        at = next(at for at, line in enumerate(lines) if line.startswith("verified: "))
        assert lines[at - 1].startswith(("certified: ", "optimal: "))
        assert lines[at + 1] == f"  by {checker}"
        shown = run_json(capsys, "check", *words, *more, status=status)
        assert shown["verified_by"] == str(checker)


NOTHING: dict[str, tuple[Problem, dict[str, Any], str, str]] = {
    "weights of 0": (
        WorkloadProblem(4, [Job(0, 3, 4, weight=0)]),
        PRICES,
        "turnaround",
        "all jobs have the weight 0",
    ),
    "weights of 0 on a machine": (
        WorkloadProblem(4, [Job(0, 3, 4, weight=0)], resources={"gpus": 1}),
        {"kind": "machine-prices", "edges": [0, 4], "prices": {"gpus": [1]}, "unit": 4},
        "wait",
        "all jobs have the weight 0",
    ),
    "no jobs": (NO_JOBS, PRICES, "slowdown", "there are no jobs"),
    "no jobs that end": (NO_JOBS, MAKESPAN, "makespan", "there are no jobs"),
    "no late jobs": (JOBS, {**MAKESPAN, "after": 9}, "makespan", "at 9 s or later"),
    "no applications": (
        EvolutionProblem(4, (), expand_limit=1),
        AREA,
        "makespan",
        "there are no applications",
    ),
}


@pytest.mark.parametrize("case", NOTHING)
def test_where_nothing_counts_there_is_nothing_to_verify(
    case: str, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem, certificate, term, why = NOTHING[case]
    if "edges" in certificate:
        certificate = {"term": term, **certificate}
    words = asked(tmp_path, problem, certificate, term)
    monkeypatch.setenv(VARIABLE, "true")  # a program that says nothing: it is not asked
    said = run(capsys, "check", *words, "--verified").splitlines()
    assert said[0].startswith(f"certified: {term} is at least 0")
    assert said[1].startswith("nothing to verify: ")
    assert said[1].endswith(f"{why}, so the bound is 0")
    assert len(said) == 2
    shown = run_json(capsys, "check", *words, "--verified")
    assert (shown["certified_bound"], shown["verified_bound"]) == (0, None)
    assert shown["nothing_counts"].endswith(why)
    assert f"{why}, so the bound is 0" in refused(capsys, "check", *words, "--out", tmp_path / "text")


@needs_checker
@pytest.mark.parametrize(
    ("problem", "certificate", "says"),
    [
        (
            WorkloadProblem(4, [Job(0, 3, 4)], resources={"gpus": 1}),
            {"kind": "machine-prices", "edges": [0, 4], "prices": {}, "unit": 4},
            "verified: turnaround is at least 4 s (problem ",
        ),
        (
            JOBS,
            {**PRICES, "edges": [0, 800]},
            "verified: turnaround is at least -1571/8 s, and no turnaround is below 0 (problem ",
        ),
    ],
)
def test_what_proves_little_is_verified(
    problem: WorkloadProblem,
    certificate: dict[str, Any],
    says: str,
    tmp_path: Path,
    capsys: Capture,
    monkeypatch: Any,
) -> None:
    monkeypatch.setenv(VARIABLE, str(CHECKER))
    words = asked(tmp_path, problem, {"term": "turnaround", **certificate}, "turnaround")
    assert says in run(capsys, "check", *words, "--verified")
