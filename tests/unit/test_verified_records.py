"""Records, scores and reports say of a bound whether it is claimed, certified or verified."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest
from cli_tools import Capture, refused, run, run_json
from verified_tools import CHECKER, fake_checker, needs_checker

from allocsolve.backends.checkers import VARIABLE, find_checker
from allocsolve.bench import RecordStore, best, merge_records, plan, run as run_tasks, verify_records
from allocsolve.bench.runs.verify import mark_verified
from allocsolve.cli import main
from allocsolve.instances import uniform_occupancy, write_certificate, write_problem, write_solution
from allocsolve.judge import certified_bound, proof_text
from allocsolve.model import (
    Budget,
    EvolutionProblem,
    EvolutionProfile,
    EvolutionSchedule,
    Job,
    Mesh,
    WorkloadProblem,
    WorkloadSchedule,
    terms,
)

if TYPE_CHECKING:
    from pathlib import Path

    from allocsolve.bench import Record
    from allocsolve.model import Answer, Problem


RIGID = WorkloadProblem(4, [Job(0, 3, 4), Job(1, 4, 1), Job(2, 2, 3, weight=2)], name="rigid")


@pytest.fixture(scope="module")
def certified(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two bounds with certificates, of which the checker has a theorem for one, and one without."""
    path = tmp_path_factory.mktemp("certified") / "study.sqlite"
    budgets = [Budget(seconds=60)]
    mesh = uniform_occupancy(Mesh((4, 3)), 0.3, 3, 1)
    tasks = [
        *plan([("w", RIGID)], ["prices", "easy"], objective="turnaround", budgets=budgets),
        *plan([("m", mesh)], ["branch-and-bound"], budgets=[Budget(seconds=60)]),
    ]
    with RecordStore(path) as store:
        run_tasks(tasks, store=store)
        assert [store.certificate(row.key) is not None for row in store] == [True, False, True]
    return path


@pytest.fixture
def study(certified: Path, tmp_path: Path) -> Path:
    """A copy that may be written into."""
    path = tmp_path / "study.sqlite"
    path.write_bytes(certified.read_bytes())
    return path


def _bound(path: Path) -> Record:
    with RecordStore(path, read_only=True) as store:
        return next(iter(store))


def _digest(path: Path) -> str:
    with RecordStore(path, read_only=True) as store:
        record = next(iter(store))
        certificate = store.certificate(record.key)
        assert certificate is not None
        return proof_text(RIGID, certificate, "turnaround", terms(record.certified_bound)[0]).digest


@pytest.fixture
def stand_in(study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program that says what the checker would say: none has to be built for these tests."""
    bound = _bound(study).certified_bound
    numerator, denominator = float(terms(bound)[0]).as_integer_ratio()
    says = f"problem {_digest(study)}\\nverified turnaround >= {numerator} / {denominator}\\n"
    program = fake_checker(tmp_path / "checker", says)
    monkeypatch.setenv(VARIABLE, str(program))
    return program


def test_bounds_are_marked_and_shown(study: Path, stand_in: Path, tmp_path: Path, capsys: Capture) -> None:
    said = run(capsys, "study", "verify", study, "--verified")
    assert said.splitlines() == [
        "1 of 2 certified bounds verified",
        f"  by {stand_in}",
        "  1 not: bounds of partition problems are not verified",
        f"{study}: 3 records, 0 faults",
    ]
    assert _bound(study).verified_digest == _digest(study)
    asked = run_json(capsys, "study", "verify", study, "--verified")
    assert (asked["faults"], asked["verified"]["verified"]) == ([], 1)
    assert asked["verified_by"] == str(stand_in)
    with RecordStore(study, read_only=True) as store:
        rows = list(store)
    assert best(rows[:2])[rows[0].digest].standing == "verified"
    assert best([replace(row, verified_bound="") for row in rows[:2]])[rows[0].digest].standing == "certified"
    page, table = tmp_path / "report.html", tmp_path / "report.md"
    run(capsys, "study", "report", study, "--out", page, "--out", table)
    assert "bounds verified" in table.read_text(encoding="utf-8")
    out = tmp_path / "records.csv"
    run(capsys, "study", "export", study, "--out", out)
    assert _bound(study).verified_bound in out.read_text(encoding="utf-8")


@pytest.mark.usefixtures("in_process")
def test_score_says_how_many_bounds_are_verified(
    study: Path, stand_in: Path, tmp_path: Path, capsys: Capture
) -> None:
    folder, problem = tmp_path / "score", tmp_path / "rigid.json"
    write_problem(RIGID, problem)
    solvers = ("--solvers", "easy", "--baseline", "prices", "--objective", "turnaround")
    words = ("score", problem, *solvers, "--seconds", "60", "--out", folder)
    assert "1 of 1 recomputed (certified), the others" in run(capsys, *words)
    with RecordStore(folder / "records.sqlite", read_only=True) as store:
        bound = max(terms(row.certified_bound) for row in store)
    assert bound == terms(_bound(study).certified_bound), "the stand-in has the same to say"
    assert stand_in.exists()
    run(capsys, "study", "verify", folder / "records.sqlite", "--verified")
    assert "1 of 1 recomputed (certified), 1 of these verified, the others" in run(capsys, *words)
    assert run_json(capsys, *words)["bounds_verified"] == 1


@pytest.mark.usefixtures("stand_in")
def test_what_is_verified_is_merged(study: Path, certified: Path, tmp_path: Path) -> None:
    with RecordStore(study) as store:
        mark_verified(store)
    for name, first in (("new", []), ("known", [certified])):
        with RecordStore(tmp_path / name) as into:
            for path in (*first, study):
                merge_records(into, [RecordStore(path, read_only=True)])
            assert next(iter(into)) == _bound(study)


@pytest.mark.usefixtures("stand_in")
@pytest.mark.parametrize(
    ("change", "says"),
    [
        ("bound = '1000'", "1000 is called verified, the certified bound is"),
        (f"problem_lines = '{'5' * 64}'", "it is verified for the problem 5555555555555555, its own is"),
        ("record = 2", "its bound is called verified, and there is no certificate"),
    ],
)
def test_verified_bounds_that_are_not_are_named(study: Path, change: str, says: str) -> None:
    with RecordStore(study) as store:
        mark_verified(store)
        assert not list(verify_records(store))
    base = sqlite3.connect(study)
    base.execute("DROP TRIGGER verified_no_change")
    base.execute(f"UPDATE verified SET {change}")  # noqa: S608 - of this test
    base.commit()
    base.close()
    faults = [*verify_records(RecordStore(study, read_only=True))]
    assert len(faults) == 1
    assert says in faults[0]


def test_a_checker_that_proves_something_else_marks_nothing(
    study: Path, stand_in: Path, capsys: Capture
) -> None:
    text = stand_in.read_text(encoding="ascii")
    stand_in.write_text(text.replace(">= ", ">= 9"), encoding="ascii")
    said = run(capsys, "study", "verify", study, "--verified")
    assert "0 of 2 certified bounds verified" in said
    assert "prices on rigid: the verified checker proves that turnaround" in said
    assert not _bound(study).verified_bound


def test_without_a_checker_verified_bounds_are_compared_only(
    study: Path, stand_in: Path, capsys: Capture
) -> None:
    with RecordStore(study) as store:
        mark_verified(store)
    stand_in.unlink()
    assert find_checker() is None
    assert main(["study", "verify", str(study), "--verified"]) == 1
    assert "make verify" in capsys.readouterr().err
    assert main(["study", "verify", str(study)]) == 0
    assert "1 verified bound not recomputed: there is no verified checker here" in capsys.readouterr().err


@needs_checker
def test_the_checker_itself_marks_bounds(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert CHECKER is not None
    monkeypatch.setenv(VARIABLE, str(CHECKER))
    with RecordStore(study) as store:
        marked = mark_verified(store)
        assert (marked.verified, marked.certified) == (1, 2)
        assert not list(verify_records(store))


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


def checker_that_agrees(
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
    checker = checker_that_agrees(tmp_path, problem, certificate, term, answer)
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
