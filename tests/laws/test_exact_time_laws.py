"""Exact problems, whose times are quarters of a second, have exact answers, whatever their times are."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, strategies as st
from naive_workload import violates
from naive_workload_optimum import naive_optimum

from allocsolve.judge import violations, workload_metrics, workload_violations
from allocsolve.judge.workload.tolerance import rounded_schedule
from allocsolve.model import Budget, Job, WorkloadProblem, WorkloadSchedule
from allocsolve.registry import make_solver

if TYPE_CHECKING:
    from collections.abc import Iterator

QUARTERS = st.integers(1, 40).map(lambda quarters: quarters / 4)
#: Policies that take limits for run times, each in its own way.
POLICIES = (
    "conservative(compression=none)",
    "conservative",
    "easy",
    "easy(reservations=2)",
    "easy(like=mjs2023)",
    "slurm-backfill",
)


@st.composite
def exact_workloads(
    draw: st.DrawFn, limits: st.SearchStrategy[float] = QUARTERS, *, max_jobs: int = 8
) -> WorkloadProblem:
    """Rigid jobs with limits, below and above run times; other times are quarters of a second."""
    jobs = [
        Job(draw(QUARTERS) - 0.25, draw(st.integers(1, 4)), draw(QUARTERS), limit=draw(limits))
        for _ in range(draw(st.integers(1, max_jobs)))
    ]
    return WorkloadProblem(4, jobs)


@pytest.mark.parametrize("policy", POLICIES)
@given(problem=exact_workloads())
def test_schedules_of_exact_workloads_are_exact(policy: str, problem: WorkloadProblem) -> None:
    assert problem.is_exact
    schedule = make_solver(policy, problem, "turnaround")(problem, Budget()).answer
    assert schedule is not None
    assert (4 * schedule.starts % 1 == 0).all()
    assert workload_violations(problem, schedule) == ()


@pytest.mark.parametrize("policy", POLICIES)
@given(problem=exact_workloads(st.floats(0.1, 20)))
def test_with_any_limits_schedules_are_right(policy: str, problem: WorkloadProblem) -> None:
    """Plans that are made of limits have jobs start at times that are no quarters."""
    assert problem.is_exact
    schedule = make_solver(policy, problem, "turnaround")(problem, Budget()).answer
    assert schedule is not None
    assert workload_violations(problem, schedule) == ()


def test_a_limit_alone_makes_times_that_are_no_quarters() -> None:
    problem = WorkloadProblem(2, [Job(0, 2, 1, limit=1.1), Job(0, 2, 1, limit=2)])
    schedule = make_solver("conservative(compression=none)", problem, "turnaround")(problem, Budget()).answer
    assert schedule is not None
    assert schedule.starts.tolist() == [0, 1.1]
    assert workload_violations(problem, schedule) == ()


def in_lanes(problem: WorkloadProblem, gaps: Iterator[float]) -> WorkloadSchedule:
    """Return a schedule in which each job takes the nodes that are free first, and starts a gap later."""
    free, starts = [0.0] * problem.num_nodes, []
    for job in problem.jobs:
        free.sort()
        starts.append(max(free[job.nodes - 1], job.submit) + next(gaps))
        free[: job.nodes] = [starts[-1] + job.runtime] * job.nodes
    return WorkloadSchedule.of(problem, starts)


GAPS = st.sampled_from([0.0, 1e-12, 1e-7, 0.1, 0.2499999999, 0.25, 1 / 3]) | st.floats(0, 3)


@given(exact_workloads(), st.data())
def test_any_real_times_are_right(problem: WorkloadProblem, data: st.DataObject) -> None:
    """Sums of starts and run times are rounded, and jobs follow each other all the same."""
    schedule = in_lanes(problem, iter(lambda: data.draw(GAPS), None))
    assert workload_violations(problem, schedule) == ()
    assert not violates(problem, schedule)


SHIFTS = st.sampled_from([0.0, 0.0, -9.3e-7, 9.3e-7, -1.3e-6, 1.3e-6, -1e-15, -0.3, 0.1])


@given(exact_workloads(max_jobs=4), st.data())
def test_no_answer_is_below_the_optimum(problem: WorkloadProblem, data: st.DataObject) -> None:
    """Whatever is a hair early or short is refused, or no better than a schedule in quarters."""
    schedule = in_lanes(problem, iter(lambda: data.draw(st.sampled_from([0.0, 0.0, 0.1, 0.5])), None))
    count = len(problem.jobs)
    moved = np.array([[data.draw(SHIFTS) for _ in range(count)] for _ in range(2)])
    # All jobs start earlier by as much as all before them are short, or only this one does.
    early = -np.cumsum(np.abs(moved[0])) if data.draw(st.booleans()) else moved[0]
    starts = schedule.starts + early
    changed = WorkloadSchedule(
        schedule.offsets, starts, starts + problem.packed.runtime + moved[1], schedule.nodes
    )
    refused = bool(workload_violations(problem, changed))
    assert refused == violates(problem, changed)
    if not refused:
        metrics = workload_metrics(problem, changed)
        for term in ("turnaround", "makespan", "wait"):
            (best,) = naive_optimum(problem, (term,))
            assert getattr(metrics, term) >= best


@given(exact_workloads(), st.integers(2, 6), st.data())
def test_what_was_rounded_is_what_was_meant(
    problem: WorkloadProblem, digits: int, data: st.DataObject
) -> None:
    meant = in_lanes(problem, iter(lambda: data.draw(QUARTERS), None))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    off = rng.uniform(-1, 1, (2, len(problem.jobs))) * 10.0**-digits
    given_as = WorkloadSchedule(meant.offsets, meant.starts + off[0], meant.ends + off[1], meant.nodes)
    assert rounded_schedule(problem, given_as, 10.0**-digits) == meant
    assert violations(problem, given_as, tolerance=10.0**-digits) == ()


def test_a_chain_of_jobs_gains_nothing() -> None:
    """Three jobs of 10 s on one node, each a hair short and a hair early, end before the optimum."""
    problem = WorkloadProblem(1, [Job(0, 1, 10)] * 3)
    starts = np.array([-0.9e-6, 9.9999973, 19.9999955])
    for first in (0, 1):
        short = WorkloadSchedule.of(problem, np.maximum(starts, first - 1.0))
        assert workload_violations(problem, short)
    early = WorkloadSchedule.of(problem, [0, 10 - 0.9e-6, 20 - 1.8e-6])
    (fault,) = workload_violations(problem, early)[:1]
    assert fault.startswith(
        "with times rounded down to quarters of a second, as those of the problem are: from 9.75 s"
    )
    assert Fraction(workload_metrics(problem, WorkloadSchedule.of(problem, [0, 10, 20])).turnaround) == 20
