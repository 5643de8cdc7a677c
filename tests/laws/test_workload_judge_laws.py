"""The judge of workloads against a count piece by piece, and its messages."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import naive_extreme
import naive_workload
import numpy as np
import pytest
from hypothesis import given, strategies as st
from strategies import changing_schedules, workload_problems, workload_schedules

from allocsolve.judge import window_metrics, workload_metrics, workload_value, workload_violations
from allocsolve.model import WORKLOAD_OBJECTIVES, Job, PowerLaw, WorkloadProblem, WorkloadSchedule

QUARTERS = st.integers(1, 40).map(lambda quarters: quarters / 4)
#: Takes lists, too.
PIECES: Any = WorkloadSchedule
REALS = st.floats(0.001, 9, allow_nan=False)


@st.composite
def problems_with_schedules(draw: st.DrawFn) -> tuple[WorkloadProblem, WorkloadSchedule]:
    problem = draw(workload_problems(times=draw(st.sampled_from([None, QUARTERS, REALS]))))
    return problem, draw(workload_schedules(problem))


@given(problems_with_schedules())
def test_violations_are_those_of_the_count(case: tuple[WorkloadProblem, WorkloadSchedule]) -> None:
    problem, schedule = case
    assert bool(workload_violations(problem, schedule)) == naive_workload.violates(problem, schedule)


@given(problems_with_schedules(), st.permutations(WORKLOAD_OBJECTIVES))
def test_values_are_those_of_the_count(
    case: tuple[WorkloadProblem, WorkloadSchedule], objective: list[str]
) -> None:
    problem, schedule = case
    values = workload_value(problem, schedule, tuple(objective))  # type: ignore[arg-type]
    expected = naive_extreme.workload_values(problem, schedule) if len(problem.jobs) else {}
    assert values == pytest.approx(tuple(expected.get(term, 0) for term in objective), rel=1e-12)


@st.composite
def problems_with_changes(draw: st.DrawFn) -> tuple[WorkloadProblem, WorkloadSchedule]:
    problem = draw(workload_problems(min_jobs=1, max_nodes=8, malleable=True))
    return problem, draw(changing_schedules(problem))


@given(problems_with_changes())
def test_changes_at_points_break_no_rule_but_the_capacity(
    case: tuple[WorkloadProblem, WorkloadSchedule],
) -> None:
    problem, schedule = case
    wide = WorkloadProblem(1000, problem.jobs)
    assert workload_violations(wide, schedule) == ()
    assert not naive_workload.violates(wide, schedule)
    used = naive_workload.most_used(schedule)
    assert used > problem.num_nodes or not workload_violations(problem, schedule)
    metrics = workload_metrics(problem, schedule)
    inner = [np.diff([nodes for _, _, nodes in schedule.pieces(idx)]) for idx in range(len(problem.jobs))]
    changes = np.concatenate(inner)
    assert metrics.resizes == np.count_nonzero(changes)
    assert metrics.resized_nodes == np.abs(changes).sum()
    assert 0 < metrics.useful_share < 1 + 1e-9 or metrics.utilisation == 0


@given(problems_with_changes(), st.data())
def test_any_change_of_a_piece_is_judged_as_counted(
    case: tuple[WorkloadProblem, WorkloadSchedule], data: st.DataObject
) -> None:
    problem, schedule = case
    wide = WorkloadProblem(1000, problem.jobs)
    columns = {name: getattr(schedule, name).copy() for name in ("starts", "ends", "nodes")}
    column = columns[data.draw(st.sampled_from([*columns]))]
    column[data.draw(st.integers(0, len(column) - 1))] += data.draw(st.sampled_from([-1, 1, 2]))
    changed = replace(schedule, **columns)
    assert bool(workload_violations(wide, changed)) == naive_workload.violates(wide, changed)


def test_messages_of_malleable_jobs_name_time_and_value() -> None:
    law = PowerLaw(1)
    job = Job(0, 4, 100, min_nodes=2, max_nodes=8, speedup=law, kind="malleable", points=4)
    problem = WorkloadProblem(8, [job])

    def faults(*pieces: tuple[float, float, int]) -> tuple[str, ...]:
        starts, ends, nodes = zip(*pieces, strict=True)
        return workload_violations(problem, PIECES([0, len(pieces)], starts, ends, nodes))

    assert faults((0, 50, 4), (50, 75, 8)) == ()
    assert faults((0, 25, 4), (25, 50, 4), (50, 75, 8)) == ()
    assert faults((0, 60, 4), (60, 80, 8)) == (
        "job 'j0' changes its size at 60 s, between its points (4 equal parts of its work)",
    )
    assert faults((0, 50, 4), (50, 70, 8)) == ("job 'j0' ends with 0.9 of its work done",)
    assert faults((0, 50, 4), (51, 76, 8)) == (
        "job 'j0' has a piece that ends at 50 s and the next one from 51 s",
    )
    assert faults((0, 50, 4), (50, 250, 1)) == (
        "job 'j0' holds 1 nodes, but needs one of its numbers in 2..8",
    )


@given(workload_problems(min_jobs=1, moldable=False), st.data())
def test_one_wrong_second_is_seen(problem: WorkloadProblem, data: st.DataObject) -> None:
    runtimes = problem.packed.runtime
    starts = np.cumsum(runtimes) - runtimes + problem.packed.submit.max()  # one after the other
    right = WorkloadSchedule.of(problem, starts)
    assert workload_violations(problem, right) == ()
    idx = data.draw(st.integers(0, len(starts) - 1))
    name = problem.jobs.names[idx]
    ends, nodes = right.ends.copy(), right.nodes.copy()
    ends[idx] -= 0.25
    (fault,) = workload_violations(problem, replace(right, ends=ends))
    assert fault.startswith(f"job {name!r} runs for ")
    nodes[idx] += 1
    faults = workload_violations(problem, replace(right, nodes=nodes))
    assert faults[0] == f"job {name!r} holds {nodes[idx]} nodes, but needs {nodes[idx] - 1}"
    early = starts.copy()
    early[idx] = problem.packed.submit[idx] - 1
    faults = workload_violations(problem, WorkloadSchedule.of(problem, early))
    assert any(fault.startswith(f"job {name!r} starts at ") for fault in faults)


def test_messages_name_job_time_and_number() -> None:
    problem = WorkloadProblem(4, [Job(0, 3, 100), Job(1, 4, 10, name="wide"), Job(2, 1, 1000)])
    assert workload_violations(problem, WorkloadSchedule.of(problem, [0, 95.5, 101])) == (
        "from 95.5 s to 100 s up to 7 nodes are held (first at 95.5 s) on a cluster of 4",
        "from 101 s to 105.5 s up to 5 nodes are held (first at 101 s) on a cluster of 4",
    )
    assert workload_violations(problem, WorkloadSchedule.of(problem, [0, 0, 100]))[0] == (
        "job 'wide' starts at 0 s, before its submission at 1 s"
    )
    right = WorkloadSchedule.of(problem, [0, 100, 110])
    assert workload_violations(problem, right) == ()
    pieces = PIECES([0, 1, 1, 3], [0, 110, 120], [100, 120, 1110], [3, 1, 1])
    assert workload_violations(problem, pieces)[:2] == (
        "job 'wide' never runs",
        "job 'j2' runs in 2 pieces, but cannot change its size",
    )
    assert workload_violations(problem, PIECES([0], [], [], [])) == ("0 scheduled jobs for 3 submitted",)


def test_other_times_than_quarters_have_a_tolerance() -> None:
    third = 1 / 3
    problem = WorkloadProblem(1, [Job(0, 1, third), Job(0, 1, third)])
    assert workload_violations(problem, WorkloadSchedule.of(problem, [0, third - 1e-9])) == ()
    assert workload_violations(problem, WorkloadSchedule.of(problem, [0, third - 1e-5])) != ()
    exact = WorkloadProblem(1, [Job(0, 1, 1), Job(0, 1, 1)])
    assert workload_violations(exact, WorkloadSchedule.of(exact, [0, 0.75])) != ()


def test_metrics_of_a_schedule_by_hand() -> None:
    problem = WorkloadProblem(4, [Job(0, 3, 100), Job(1, 4, 10), Job(2, 1, 50), Job(3, 4, 5, weight=0)])
    measured = workload_metrics(problem, WorkloadSchedule.of(problem, [0, 100, 2, 110]))
    assert (measured.turnaround, measured.wait, measured.makespan) == ((100 + 109 + 50) / 3, 33, 115)
    assert measured.slowdown == pytest.approx((1 + 10.9 + 1) / 3)
    assert (measured.median_turnaround, measured.p95_turnaround, measured.max_turnaround) == (100, 109, 109)
    assert measured.backfilled_jobs == 1
    assert measured.utilisation == (300 + 40 + 50 + 20) / (4 * 115)
    assert measured.mean_queue_length == (99 + 107) / 115
    assert measured.area_weighted_response == (100 * 300 + 109 * 40 + 50 * 50) / 390
    window = window_metrics(problem, WorkloadSchedule.of(problem, [0, 100, 2, 110]), 1, 110)
    assert (window.jobs, window.turnaround, window.wait) == (2, (109 + 50) / 2, 99 / 2)


def test_no_job_counts_for_nothing() -> None:
    for problem in (WorkloadProblem(3, ()), WorkloadProblem(3, [Job(0, 1, 2, weight=0)])):
        schedule = WorkloadSchedule.of(problem, [0.0] * len(problem.jobs))
        assert workload_violations(problem, schedule) == ()
        assert workload_value(problem, schedule) == 0
        assert math.isfinite(workload_metrics(problem, schedule).utilisation)
