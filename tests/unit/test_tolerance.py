"""Schedules whose times another program has rounded: right within a tolerance that the user chooses."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from cli_tools import refused, run, run_json
from format_draws import random_workload_of
from hypothesis import example, given, settings, strategies as st
from tiers import examples

from allocsolve.errors import InvalidOption
from allocsolve.heuristics import MalleableMin
from allocsolve.instances import klein2011, write_problem, write_solution
from allocsolve.judge import violations, workload_breaches
from allocsolve.model import (
    EvolutionSchedule,
    Job,
    Phases,
    PowerLaw,
    Profile,
    SpeedupTable,
    Stall,
    WorkloadProblem,
    WorkloadSchedule,
)
from allocsolve.simulation import simulate

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

Capture = pytest.CaptureFixture[str]

#: 3 nodes for 700 s and a stall of 10 s: the last 1,900 node-seconds are done on 7 nodes in 271.428... s.
GROWS = Job(0, 4, 1000, min_nodes=3, max_nodes=7, speedup=PowerLaw(1), kind="malleable")
PROBLEM = WorkloadProblem(7, [replace(GROWS, reconfiguration=Stall(10))])
ROUNDED = WorkloadSchedule(np.array([0, 2]), np.array([0.0, 700]), np.array([700, 981.429]), np.array([3, 7]))


def rounded(schedule: WorkloadSchedule, digits: int) -> WorkloadSchedule:
    return replace(schedule, starts=np.round(schedule.starts, digits), ends=np.round(schedule.ends, digits))


def test_exact_by_default_and_right_within_what_is_chosen() -> None:
    (fault,) = violations(PROBLEM, ROUNDED)
    assert fault.startswith("job 'j0' ends with 1.00000")
    assert violations(PROBLEM, ROUNDED, tolerance=1e-3) == ()
    assert violations(PROBLEM, ROUNDED, tolerance=1e-5) == (fault,)
    late = replace(ROUNDED, ends=ROUNDED.ends + np.array([0, 0.01]))
    assert violations(PROBLEM, late, tolerance=1e-3)
    assert [breach.claim for breach in workload_breaches(PROBLEM, ROUNDED, ["run-times"])] == ["run-times"]
    assert workload_breaches(PROBLEM, ROUNDED, ["run-times"], tolerance=1e-3) == ()


@settings(max_examples=examples(100), deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 4))
@example(seed=192, digits=1)  # 1917.4 s in place of 1917.5, and a hair less in floating point
def test_what_is_rounded_is_right_within_the_unit_and_no_more(seed: int, digits: int) -> None:
    problem = random_workload_of(seed, "roa")
    schedule, unit = simulate(problem, MalleableMin()), 10.0**-digits
    assert violations(problem, schedule) == ()
    assert violations(problem, rounded(schedule, digits), tolerance=unit) == ()
    if len(problem.jobs):
        job = seed % len(problem.jobs)
        last = int(schedule.offsets[job + 1]) - 1
        ends, pieces = schedule.ends.copy(), slice(int(schedule.offsets[job]), last + 1)
        run_times = problem.run_times(schedule.nodes[pieces], np.full(last + 1 - pieces.start, job))
        # What the job does in one unit in each of its pieces, in seconds of the last one, and a little.
        ends[last] += 1.001 * unit * float((run_times[-1] / run_times).sum()) + 1e-4
        assert violations(problem, replace(schedule, ends=ends), tolerance=unit)


def test_what_is_no_tolerance_is_refused() -> None:
    for tolerance in (-1, float("nan"), float("inf"), "1"):
        with pytest.raises(InvalidOption, match="tolerance"):
            violations(PROBLEM, ROUNDED, tolerance=tolerance)  # type: ignore[arg-type]  # on purpose
    problem = klein2011([7, 0], num_apps=(3, 4))
    answer = EvolutionSchedule.of([0] * len(problem.applications), problem.applications)
    with pytest.raises(InvalidOption, match="times of evolution answers are whole"):
        violations(problem, answer, tolerance=1)


def test_the_commands_say_the_tolerance(tmp_path: Path, capsys: Capture) -> None:
    problem, schedule = tmp_path / "grows.json", tmp_path / "rounded.json"
    write_problem(PROBLEM, problem)
    write_solution(schedule, PROBLEM, ROUNDED, {})
    out = run(capsys, "check", problem, schedule, status=1)
    assert out.startswith("not feasible, 1 violation:\n")
    assert "  if its times were rounded: with --tolerance 0.001 it is feasible\n" in out
    worse, off = tmp_path / "worse.json", tmp_path / "off.json"
    write_solution(worse, PROBLEM, replace(ROUNDED, ends=np.array([700, 982.0])), {})
    assert "with --tolerance 1 it is feasible" in run(capsys, "check", problem, worse, status=1)
    write_solution(off, PROBLEM, replace(ROUNDED, ends=np.array([700, 990.0])), {})
    assert "rounded" not in run(capsys, "check", problem, off, status=1)
    assert "feasible within 0.001 s (" in run(capsys, "check", problem, schedule, "--tolerance", ".001")
    told = run_json(capsys, "check", problem, schedule, "--tolerance", ".001")
    assert (told["feasible"], told["tolerance_s"]) == (True, 0.001)
    told = run_json(capsys, "check", problem, schedule, status=1)
    assert (told["feasible"], told["tolerance_s"]) == (False, 0)
    claim = ("check", problem, schedule, "--claims", "run-times")
    assert "1 of 1 claim does not hold\n" in run(capsys, *claim, status=1)
    assert "all hold within 0.001 s (" in run(capsys, *claim, "--tolerance", "1e-3")
    assert run_json(capsys, *claim, "--tolerance", "1e-3")["tolerance_s"] == 0.001
    for wrong, fault in (
        ("-1", "-1 is not a finite"),
        ("inf", "inf is not a finite"),
        ("ms", "'ms' is not a"),
    ):
        assert f"--tolerance: {fault}" in refused(capsys, "check", problem, schedule, f"--tolerance={wrong}")


def elastic(job: Job, pieces: Sequence[tuple[float, float, int]], num_nodes: int = 16) -> tuple[str, ...]:
    starts, ends, nodes = (np.array(column) for column in zip(*pieces, strict=True))
    schedule = WorkloadSchedule(np.array([0, len(pieces)]), starts, ends, nodes)
    return violations(WorkloadProblem(num_nodes, [job]), schedule)


@pytest.mark.parametrize(("reference", "runtime"), [(10, 1.0), (10, 1e-3), (10, 1e-6), (1, 1e6)])
def test_a_slow_size_ends_no_earlier(reference: int, runtime: float) -> None:
    """The tolerance is that of the end, not a share of the work: however short the job is on other sizes."""
    times = {1: 1e6, 10: 1.0} | {reference: runtime}
    law = SpeedupTable([*times.items()])
    job = Job(0, reference, runtime, min_nodes=1, max_nodes=10, speedup=law, kind="malleable")
    assert elastic(job, [(0, 1e6, 1)]) == ()
    assert elastic(job, [(0, 1e6 - 0.9e-6, 1)]) == ()
    for early in (2e-6, 1e-3, 1, 999, 1e6):
        (fault,) = elastic(job, [(0, 1e6 - early, 1)])
        assert "of its work done" in fault
        # Nor with a fast size that it has for no time, or for a hair that nobody would see.
        assert elastic(job, [(0, 1e6 - early, 1), (1e6 - early, 1e6 - early, 10)])
    assert elastic(job, [(0, 1e6 - 1, 1), (1e6 - 1, 1e6 - 1 + 1e-9, 10)])


@pytest.mark.parametrize("runtime", [10.1, 10.0])
def test_many_pieces_end_no_earlier(runtime: float) -> None:
    """Nor do pieces of which each begins a hair before the one before it ends."""
    count = 1000
    job = Job(0, 1, runtime, min_nodes=1, max_nodes=2, speedup=PowerLaw(1), kind="malleable")
    edges = np.linspace(0, runtime, count + 1)
    together = [*zip(edges[:-1], edges[1:], [1] * count, strict=True)]
    assert elastic(job, together) == ()
    assert elastic(job, [*together[:-1], (edges[-2], runtime - 1.5e-6, 1)])
    length = runtime / count
    begins = np.arange(count) * (length - 0.99e-6)
    overlapping = [*zip(begins, begins + length, [1] * count, strict=True)]
    assert "has a piece that ends at" in elastic(job, overlapping)[0]


def test_neither_stalls_nor_steps_nor_phases_add_hairs_up() -> None:
    """Each of 500 stalls, steps or phases is a hair too short: together they are far too short."""
    count, hair = 500, 0.9e-6
    law, stall = PowerLaw(1), Stall(1, holds="larger")
    job = Job(0, 1, 1.0, min_nodes=1, max_nodes=2, speedup=law, kind="malleable", reconfiguration=stall)
    # On two nodes for two stalls, less a hair, in which two nodes would do so much; then at once again.
    rows, now = [(0.0, 0.5, 1)], 0.5
    for _ in range(count):
        rows += [(now, now + 2 - hair, 2), (now + 2 - hair, now + 2 - hair, 1)]
        now += 2 - hair
    assert elastic(job, [*rows, (now, now + 0.5, 1)])
    assert elastic(job, [*rows, (now, now + 0.5 + 2 * count * hair, 1)]) == ()
    steps = Job(0, 1, count, min_nodes=1, max_nodes=2, evolution=Profile([(1, 1), (1, 2)] * (count // 2)))
    edges = np.arange(count + 1) * 1.0
    sizes = [1, 2] * (count // 2)
    assert elastic(steps, [*zip(edges[:-1], edges[1:], sizes, strict=True)]) == ()
    edges *= 1 - hair
    assert "s instead of 1 s or more" in elastic(steps, [*zip(edges[:-1], edges[1:], sizes, strict=True)])[0]
    phases = Phases([(2, 2), (1, 1)] * (count // 2), release_delay=0)
    job = Job(0, 2, count, min_nodes=1, max_nodes=2, evolution=phases)
    # With one node each phase of two node-seconds takes 2 s; with two, which it is granted at once, 1 s.
    edges = np.arange(count + 1) * 1.0
    sizes = [2, 1] * (count // 2)
    assert elastic(job, [*zip(edges[:-1], edges[1:], sizes, strict=True)]) == ()
    early = edges - np.where(np.arange(count + 1) % 2, hair, 0)
    assert "early, all in all" in elastic(job, [*zip(early[:-1], early[1:], sizes, strict=True)])[0]


def test_sizes_that_jobs_exchange_do_not_overlap() -> None:
    """Only the last end of a job may overlap what follows: what is given up before is free when it is."""
    job = Job(0, 1, 1.0, min_nodes=1, max_nodes=2, speedup=PowerLaw(1), kind="malleable")
    problem = WorkloadProblem(3, [job, job])

    def exchange(early: float) -> WorkloadSchedule:
        """One job gives up a node at .25 s, the other one takes it so much before."""
        starts = np.array([0, 0.25, 0, 0.25 - early])
        ends = np.array([0.25, 0.75, 0.25 - early, 0.625 - early / 2])
        return WorkloadSchedule(np.array([0, 2, 4]), starts, ends, np.array([2, 1, 1, 2]))

    assert violations(problem, exchange(0)) == ()
    assert violations(problem, exchange(0.9e-6))
    third = WorkloadProblem(1, [replace(job, max_nodes=1)] * 2)
    assert violations(third, WorkloadSchedule.of(third, [0, 1 - 0.9e-6])) == ()
    assert violations(third, WorkloadSchedule.of(third, [0, 1 - 1.1e-6]))
    assert violations(third, WorkloadSchedule.of(third, [-1e-9, 1]))


#: Three jobs of 10 s on one node: all have ended after 30 s at least.
CHAIN = WorkloadProblem(1, [Job(0, 1, 10)] * 3)
#: The same of 10/3 s: nobody can tell which times were meant by others.
THIRDS = WorkloadProblem(1, [Job(0, 1, 10 / 3)] * 3)


@pytest.mark.usefixtures("in_process")
def test_a_certificate_is_never_blamed(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of an exact problem no answer is below a certified bound; of another one, none that is feasible."""
    monkeypatch.chdir(tmp_path)
    for name, problem, times in (
        ("chain", CHAIN, [9.9999982, 19.9999964, 29.9999946]),
        ("thirds", THIRDS, [3.333, 6.666, 9.999]),
    ):
        write_problem(problem, f"{name}.json")
        solver = ("--solver", "prices", "--objective", "makespan", "--seconds", 2)
        files = ("--out", "best.json", "--certificate", "proof.json", "--force")
        run(capsys, "solve", f"{name}.json", *solver, *files)
        ends = np.array(times)
        starts = np.array([0, *(ends[:-1] - (0.9e-6 if name == "chain" else 0))])
        early = WorkloadSchedule(np.arange(4), starts, ends, np.ones(3, dtype=np.int64))
        write_solution("early.json", problem, early, {})
        check = ("check", f"{name}.json", "early.json", "--certificate", "proof.json")
        assert "not feasible, " in run(capsys, *check, status=1)
        within = ("--tolerance", ".001")
        asked = ("--solution", "early.json,best.json", "--out", f"{name}-scores")
        score = ("score", f"{name}.json", "--baseline", *solver[1:], *asked)
        told = run_json(capsys, *score, status=1)
        assert (told["contradictions"], [row["solver"] for row in told["failures"]]) == ([], ["early.json"])
        if name == "chain":
            told = run_json(capsys, *score, *within)
            assert (told["contradictions"], told["failures"]) == ([], [])
            values = {row["solver"]: row["gap"]["mean"] for row in told["scores"]}
            assert values == {"prices": 0, "early.json": 0, "best.json": 0}
            assert "optimal: makespan is 30 s" in run(capsys, *check, *within)
            assert run_json(capsys, *check, *within)["metrics"]["makespan"] == 30
        else:
            said = run(capsys, *check, *within, status=1)
            assert ", here it is 9.999 s within 0.001 s: nothing is proven\n" in said
            assert not run_json(capsys, *check, *within, status=1)["proven"]
