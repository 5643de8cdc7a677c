"""The gate on real solvers: what makes it fail, what it refuses, what updates keep; broken baselines."""

from __future__ import annotations

import itertools
import json
import math
import types
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from gate_tools import TINY, Delayed, Swapped, nothing, raising
from json_tools import changed, faults_of, saved, without

from allocsolve.bench import run_gate
from allocsolve.bench.gate.baseline import read_baseline
from allocsolve.bench.gate.timing import References, Times, timing_problems
from allocsolve.errors import FormatError, InvalidOption, UnknownName
from allocsolve.exact import EvolutionCpSat
from allocsolve.families import family_of
from allocsolve.heuristics import ListScheduling
from allocsolve.judge import confirm
from allocsolve.model import Budget, EvolutionProblem, Limit, Mesh, PartitionProblem, Result, Status
from allocsolve.registry import solver_names

if TYPE_CHECKING:
    from pathlib import Path

    from allocsolve.bench import GateReport
    from allocsolve.families import AnySolver
    from allocsolve.model import Problem


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "gate.json"


@pytest.fixture(autouse=True)
def _no_time_is_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """Times are taken and written, but a busy machine fails no test; `tests/perf` is about times."""
    monkeypatch.setattr("allocsolve.bench.gate.gate._TIME_FACTOR", 1e6)
    monkeypatch.setattr("allocsolve.bench.gate.timing._SAMPLES", 1)


def gate(file: Path, solver: AnySolver, *, update: bool = False) -> GateReport:
    return run_gate(file, update=update, solvers=[Swapped(solver)])


def whats(report: GateReport) -> set[str]:
    return {change.what for change in report.changes}


def boasting(problem: EvolutionProblem, budget: Budget) -> Result[Any]:
    result = ListScheduling()(problem, budget)
    value = confirm(problem, result, ("makespan",)).objective
    assert isinstance(value, int)
    return replace(result, objective=value - 1)


def unproven(problem: EvolutionProblem, budget: Budget) -> Result[Any]:
    result = EvolutionCpSat()(problem, budget)
    return replace(result, status=Status.FEASIBLE, bound=-math.inf)


def test_nothing_changes_without_a_change(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Small enough for proofs within the 60 s of the gate on a machine that is busy.
    monkeypatch.setattr("allocsolve.bench.gate.gate.suite_problems", _mixed)
    updated = run_gate(file, update=True, suite="tiny", solvers=["noX", "growth", "cpsat"])
    assert updated.passed
    assert updated.updated
    assert not updated.changes
    again = run_gate(file)
    assert (again.passed, again.updated, again.changes) == (True, False, ())
    assert (again.suite, again.problems, again.solvers, again.timed) == ("tiny", len(_mixed("")), 4, 2)
    proven = [row for row in read_baseline(file).results if row.solver == "cpsat"]
    assert {row.status for row in proven} == {Status.OPTIMAL}
    assert len(proven) == len(_mixed(""))


def test_a_loss_of_one_per_cent_is_found_on_every_problem(file: Path) -> None:
    assert gate(file, ListScheduling(), update=True).passed
    worse = gate(file, Delayed(ListScheduling(), 1))
    assert not worse.passed
    lost = [change for change in worse.changes if change.what == "worse"]
    assert {change.problem for change in lost} == {problem.name for problem in TINY}
    for change in lost:
        assert isinstance(change.now, int)
        assert isinstance(change.before, int)
        assert change.now == change.before + -(-change.before // 100)
    (gap,) = (change for change in worse.changes if change.what == "mean gap")
    assert gap.problem == ""


LOST_OR_WON: dict[str, tuple[AnySolver, AnySolver]] = {
    "answer lost": (ListScheduling(), nothing),
    "failed": (ListScheduling(), raising),
    "refuted": (ListScheduling(), boasting),
    "better": (Delayed(ListScheduling(), 1), ListScheduling()),
    "proof lost": (EvolutionCpSat(), unproven),
    "proof won": (unproven, EvolutionCpSat()),
    "answer won": (nothing, ListScheduling()),
}


@pytest.mark.parametrize("what", LOST_OR_WON)
def test_what_is_lost_or_won(file: Path, what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # Times are not what this is about.
    monkeypatch.setattr("allocsolve.bench.gate.timing.timing_problems", lambda _: {})
    before, now = LOST_OR_WON[what]
    assert gate(file, before, update=True).passed
    report = gate(file, now)
    assert not report.passed
    assert whats(report) == {what}
    assert len(report.changes) == len(TINY)
    assert all(len(str(change).splitlines()) == 1 for change in report.changes)


def test_what_no_update_writes(file: Path) -> None:
    def stopped(limit: Limit) -> AnySolver:
        return lambda problem, budget: replace(ListScheduling()(problem, budget), limit=limit)

    for solver in (raising, boasting):
        report = gate(file, solver, update=True)
        assert not report.passed
        assert whats(report) <= {"failed", "refuted"}
    with pytest.raises(InvalidOption, match=r"^Swapped\(\) on \S+ stopped at the time limit of 60 s"):
        gate(file, stopped(Limit.TIME), update=True)
    with pytest.raises(KeyboardInterrupt):
        gate(file, stopped(Limit.INTERRUPTED), update=True)
    assert not file.exists()


def _mixed(_: str) -> tuple[Problem, ...]:
    mesh = PartitionProblem.of(Mesh((5, 4)), busy=[3, 7, 11], size=6)
    return (*TINY[:2], replace(mesh, name="mesh"))


def test_default_solvers_of_both_families(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("allocsolve.bench.gate.gate.suite_problems", _mixed)
    # A call of the slowest takes seconds: who is timed is what this is about.
    shown = Times(1.0, 1.0, References(1, 2, 3, 4, 5, 6))
    watch = types.SimpleNamespace(batches=1, measure=lambda: shown)
    monkeypatch.setattr("allocsolve.bench.gate.gate.Stopwatch", lambda *_: watch)
    monkeypatch.setattr(
        "allocsolve.bench.gate.gate.rung", lambda kind, *_: (next(iter(timing_problems(kind))), watch)
    )
    told: list[tuple[int, int]] = []
    report = run_gate(file, update=True, progress=lambda done, total, _: told.append((done, total)))
    assert report.passed
    baseline = read_baseline(file)
    for family in {family_of(problem) for problem in _mixed("")}:
        solvers = solver_names(family)
        names = {name for name in solvers if solvers[name].method == "heuristic" or name == family.baseline}
        rows = [row for row in baseline.solvers if row.kind == family.kind]
        assert {row.solver for row in rows} == names
        assert {row.solver for row in rows if row.time is None} == {family.baseline}
    assert baseline.asked is None
    assert baseline.references == shown.references
    assert told[-1][0] == told[-1][1]
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    alone = run_gate(file, solvers=["growth", "noX"])  # their gaps are still to the bounds of the exact ones
    assert (alone.solvers, alone.passed) == (2, True)


def test_solvers_with_options_are_named_once(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("allocsolve.bench.gate.gate.suite_problems", _mixed)
    assert run_gate(file, update=True, solvers=["growth( seeds = all )", "growth-best"]).passed
    assert [row.solver for row in read_baseline(file).solvers] == ["growth(seeds=all)", "growth-best"]
    assert run_gate(file, solvers=["growth(seeds=all)"]).passed
    with pytest.raises(InvalidOption, match=r"growth\(seeds=al\): unknown seeds 'al'; did you mean all"):
        run_gate(file, update=True, solvers=["growth(seeds=al)"])


def test_problems_that_come_and_go(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second, third = TINY[:3]

    def problems(*chosen: Problem) -> None:
        monkeypatch.setattr("allocsolve.bench.gate.gate.suite_problems", lambda _: chosen)

    problems(first, second)
    assert run_gate(file, update=True, solvers=["noX"]).passed
    problems(replace(third, name=first.name), third)
    changes = [(change.what, change.problem) for change in run_gate(file).changes]
    assert sorted(changes) == [
        ("problem changed", first.name),
        ("problem gone", second.name),
        ("problem new", third.name),
    ]


def test_an_update_keeps_what_was_chosen(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = itertools.count(step=1e-3)  # every call takes as long as any other
    for clock in "_cpu_s", "thread_time", "perf_counter":
        monkeypatch.setattr(f"allocsolve.bench.gate.timing.{clock}", lambda: next(now))
    monkeypatch.setattr("allocsolve.bench.gate.timing._queued_s", lambda: 0.0)
    run_gate(file, update=True, solvers=["noX", "rigid"])
    document = json.loads(file.read_text(encoding="utf-8"))
    document["time_factor"], document["budget"]["seed"] = 2.5, 3
    rows = {row["solver"]: row for row in document["solvers"]}
    kept = rows["noX"]["time"] = rows["noX"]["time"] * 1.05  # as good as the same
    rows["rigid"]["time"] *= 3
    file.write_text(json.dumps(document), encoding="utf-8")
    assert run_gate(file, update=True).passed
    baseline = read_baseline(file)
    assert (baseline.asked, baseline.time_factor, baseline.budget.seed) == (("noX", "rigid"), 2.5, 3)
    times = {row.solver: row.time for row in baseline.solvers}
    assert times["noX"] == kept
    assert times["rigid"] is not None
    assert times["rigid"] < 0.5 * rows["rigid"]["time"]


def _function(problem: EvolutionProblem, budget: Budget) -> Result[Any]:
    return ListScheduling()(problem, budget)


class _Nameless:
    def __call__(self, problem: EvolutionProblem, budget: Budget, /) -> Result[Any]:
        return ListScheduling()(problem, budget)


@pytest.mark.parametrize("solver", [_function, _Nameless()], ids=["function", "object"])
def test_names_hold_no_addresses(file: Path, solver: AnySolver) -> None:
    run_gate(file, update=True, solvers=[solver])
    (row,) = read_baseline(file).solvers
    assert "0x" not in row.solver
    assert row.solver.endswith(("test_gate._function", "test_gate._Nameless"))
    assert run_gate(file, solvers=[solver]).passed


def test_what_is_refused(file: Path, tmp_path: Path) -> None:
    def says(error: type[Exception], text: str, **options: Any) -> None:
        with pytest.raises(error, match=text) as caught:
            run_gate(options.pop("baseline", file), **options)
        assert len(str(caught.value).splitlines()) == 1

    says(FormatError, "gate.json: cannot be read")
    says(UnknownName, "suite 'tinny'; did you mean tiny", suite="tinny", update=True)
    says(UnknownName, "unknown solver 'noXX'; did you mean noX", solvers=["noXX"], update=True)
    unclear = [lambda problem, budget: None]  # noqa: ARG005 - called like a solver
    says(InvalidOption, "annotate its first parameter", solvers=unclear, update=True)
    none = {"solvers": ["growth"], "suite": "klein-5-l1"}
    says(InvalidOption, "growth solves none of the problems", **none, update=True)
    says(InvalidOption, "two evolution solvers are called noX", solvers=["noX", "noX"], update=True)
    lost = tmp_path / "no" / "gate.json"
    says(FormatError, "cannot be written", baseline=lost, solvers=["noX"], update=True)
    assert run_gate(file, update=True, solvers=["noX"]).passed
    says(InvalidOption, "baseline of the suite tiny, not klein-5-l1", suite="klein-5-l1")
    says(InvalidOption, "infX is not in the baseline", solvers=["infX"])
    file.write_text("{}", encoding="utf-8")
    says(FormatError, "format: missing", update=True)
    assert file.read_text(encoding="utf-8") == "{}"


# --- Baselines ----------------------------------------------------------------------------------------


ABSENT = object()
GOOD: dict[str, Any] = {
    "format": "allocsolve-gate/1",
    "suite": "tiny",
    "solvers_asked": ["noX"],
    "budget": {"seconds": 60, "iterations": 200, "seed": 0},
    "time_factor": 1.5,
    "references": {"walk": 1, "scan": 1.3, "sort": 0.7, "floats": 0.6, "sweep": 0.4, "interpreter": 0.9},
    "problems": [
        {"problem": "a", "kind": "evolution", "digest": "00", "bound": None},
        {"problem": "b", "kind": "evolution", "digest": "01", "bound": 8},
    ],
    "solvers": [
        {"kind": "evolution", "solver": "noX", "mean_gap": 0.1, "timed_on": "300-applications", "time": 2.5}
    ],
    "results": [
        {"problem": "a", "solver": "noX", "status": "feasible", "value": 7, "bound": None},
        {"problem": "b", "solver": "noX", "status": "optimal", "value": 8, "bound": 8},
    ],
}


def test_the_good_one(tmp_path: Path) -> None:
    baseline = read_baseline(saved(tmp_path, GOOD))
    assert [row.value for row in baseline.results] == [7, 8]
    assert baseline.references == (1, 1.3, 0.7, 0.6, 0.4, 0.9)


def test_an_older_one(tmp_path: Path) -> None:
    """Before there were several reference works, times were in units of the walk, too."""
    baseline = read_baseline(saved(tmp_path, without(GOOD, "references")))
    assert baseline.references is None
    assert [row.time for row in baseline.solvers] == [2.5]


@pytest.mark.parametrize(
    ("path", "value", "fault"),
    [
        (("format",), "allocsolve-gate/2", "format: must be 'allocsolve-gate/1', not 'allocsolve-gate/2'"),
        (("suite",), ABSENT, "suite: missing"),
        (("budget", "seed"), 2**40, f"budget: seed {2**40} is not in 0..2^31-1"),
        (("time_factor",), 1, "time_factor: 1 is not above 1"),
        (("problems", 1, "problem"), "a", "problems: one stands twice"),
        (("solvers", 0, "timed_on"), "x", "solvers[0].timed_on: 'x' is no timing problem of this version"),
        (("solvers", 0, "time"), None, "solvers[0].time: must be null where timed_on is, and only there"),
        (("results", 0, "solver"), "infX", "results: none of 'noX' on 'a'"),
        (("results", 0, "problem"), "b", "results: one stands twice"),
    ],
)
def test_faults_are_named(tmp_path: Path, path: tuple[str | int, ...], value: object, fault: str) -> None:
    document = without(GOOD, *path) if value is ABSENT else changed(GOOD, path, value)
    assert fault in faults_of(lambda: read_baseline(saved(tmp_path, document)))
