"""Policies on machines with closed windows: Cori KNL (41,524 jobs), as an independent prototype has them."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from workload_traces import knl_problem

from allocsolve.heuristics import Conservative, Easy
from allocsolve.judge import workload_metrics, workload_violations
from allocsolve.model import Budget, ClosedWindow, WorkloadProblem

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_benchmark.fixture import BenchmarkFixture

pytestmark = pytest.mark.xdist_group("logs")

_DAY = 86_400


@pytest.fixture(scope="module")
def knl(traces: Path) -> WorkloadProblem:
    return knl_problem(traces)


@pytest.mark.parametrize(
    ("num_nodes", "closed", "turnaround"),
    [
        (9688, ClosedWindow(2 * _DAY, 2 * _DAY + 28_800), 9777.2),
        (9688, ClosedWindow(2 * _DAY, 3 * _DAY, {"nodes": 4844}), 8237.5),
        (10_172, ClosedWindow(0, 2 * _DAY, {"nodes": 484}), 5110.1),
    ],
    ids=["closed-8-h", "half-24-h", "grows-5-percent"],
)
def test_easy_with_a_window(
    benchmark: BenchmarkFixture, knl: WorkloadProblem, num_nodes: int, closed: ClosedWindow, turnaround: float
) -> None:
    problem = replace(knl, num_nodes=num_nodes, closed=(closed,))
    result = benchmark.pedantic(Easy(), (problem, Budget()), rounds=3, warmup_rounds=1)
    assert workload_violations(problem, result.answer) == ()
    assert abs(workload_metrics(problem, result.answer).turnaround - turnaround) < 0.05


@pytest.mark.parametrize(
    ("solver", "turnaround", "most_seconds"),
    [
        (Conservative(), 8543.3, 6),
        (Conservative("replan"), 10_589.5, 30),
        (Easy(reservations=2), 10_211.7, 4),
        (Easy(reservations=20), 9865.2, 5),
    ],
    ids=str,
)
def test_plans_for_long_queues_with_a_window(
    benchmark: BenchmarkFixture, knl: WorkloadProblem, solver: Any, turnaround: float, most_seconds: float
) -> None:
    """Thousands of jobs wait behind the window; a timetable that is one list took 9 s, and 57 s to replan."""
    problem = replace(knl, closed=(ClosedWindow(2 * _DAY, 2 * _DAY + 28_800),))
    solver(replace(problem, jobs=knl.jobs[:10]), Budget())  # compiled
    before = time.process_time()
    result = benchmark.pedantic(solver, (problem, Budget()))
    assert time.process_time() - before < most_seconds
    assert workload_violations(problem, result.answer) == ()
    assert abs(workload_metrics(problem, result.answer).turnaround - turnaround) < 0.05


#: A resource that nobody needs makes a policy at most so many times slower.
_MOST_TIMES = 8.0


@pytest.mark.parametrize(
    "solver", [Easy(), Easy(reservations=2), Conservative(), Conservative("replan")], ids=str
)
def test_a_resource_that_nobody_needs_changes_nothing(
    benchmark: BenchmarkFixture, knl: WorkloadProblem, solver: Any
) -> None:
    problem = replace(knl, resources=(("licences", 1),))
    plain, general = [], []
    for one in (knl, problem):
        solver(replace(one, jobs=knl.jobs[:10]), Budget())  # compiled
    for _ in range(3):  # in turns
        before = time.process_time()
        expected = solver(knl, Budget()).answer
        between = time.process_time()
        assert solver(problem, Budget()).answer == expected
        plain.append(between - before)
        general.append(time.process_time() - between)
    benchmark.extra_info["times as slow"] = min(general) / min(plain)
    assert min(general) < _MOST_TIMES * min(plain)
    benchmark.pedantic(solver, (problem, Budget()))
