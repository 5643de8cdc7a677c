"""Which workloads have times that are never rounded: limits of run times count, as plans are made of them."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from allocsolve.judge.workload.rules import schedule_tolerance
from allocsolve.model import Budget, Job, WorkloadProblem
from allocsolve.registry import make_solver

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
def exact_workloads(draw: st.DrawFn) -> WorkloadProblem:
    """Rigid jobs with limits, below and above run times, all in quarters of a second."""
    jobs = [
        Job(draw(QUARTERS) - 0.25, draw(st.integers(1, 4)), draw(QUARTERS), limit=draw(QUARTERS))
        for _ in range(draw(st.integers(1, 8)))
    ]
    return WorkloadProblem(4, jobs)


@pytest.mark.parametrize("policy", POLICIES)
@given(problem=exact_workloads())
def test_schedules_of_exact_workloads_need_no_tolerance(policy: str, problem: WorkloadProblem) -> None:
    assert problem.is_exact
    schedule = make_solver(policy, problem, "turnaround")(problem, Budget()).answer
    assert schedule is not None
    assert schedule_tolerance(problem, schedule) == 0


def test_a_limit_alone_makes_times_that_are_rounded() -> None:
    """So a bound on a workload with such a limit must leave room for schedules that are off by a hair."""
    problem = WorkloadProblem(2, [Job(0, 2, 1, limit=1.1), Job(0, 2, 1, limit=2)])
    schedule = make_solver("conservative(compression=none)", problem, "turnaround")(problem, Budget()).answer
    assert schedule is not None
    assert schedule.starts.tolist() == [0, 1.1]
    assert not problem.is_exact
    assert schedule_tolerance(problem, schedule) > 0
