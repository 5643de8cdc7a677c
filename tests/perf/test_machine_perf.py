"""Policies on machines with closed windows: Cori KNL (41,524 jobs), as an independent prototype has them."""

from __future__ import annotations

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


@pytest.mark.parametrize("solver", [Easy(), Conservative()], ids=repr)
def test_a_resource_that_nobody_needs_changes_nothing(
    benchmark: BenchmarkFixture, knl: WorkloadProblem, solver: Any
) -> None:
    problem = replace(knl, resources=(("licences", 1),))
    result = benchmark.pedantic(solver, (problem, Budget()), rounds=2, warmup_rounds=1)
    assert result.answer == solver(knl, Budget()).answer
