"""Conservative backfilling of whole logs: Cori KNL (41,524 jobs) and KTH-SP2 (28,467 jobs)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from workload_traces import knl_problem, kth_problem, window_turnaround

from allocsolve.heuristics.workload.conservative import Conservative, conservative_plan
from allocsolve.model import Budget, WorkloadProblem

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_benchmark.fixture import BenchmarkFixture


@pytest.fixture(scope="module")
def knl(traces: Path) -> WorkloadProblem:
    return knl_problem(traces)


@pytest.fixture(scope="module")
def kth(traces: Path) -> WorkloadProblem:
    return kth_problem(traces)


@pytest.mark.parametrize(("compression", "turnaround"), [("compress", 5003.21), ("replan", 5199.86)])
def test_cori_knl(
    benchmark: BenchmarkFixture, knl: WorkloadProblem, compression: Any, turnaround: float
) -> None:
    solver, budget = Conservative(compression), Budget()
    solver(WorkloadProblem(4, knl.jobs[:0]), budget)  # compiled
    result = benchmark.pedantic(solver, (knl, budget), rounds=3)
    assert abs(window_turnaround(knl, result.answer) - turnaround) < 0.05


@pytest.mark.parametrize(("compression", "turnaround"), [("compress", 16_205.93), ("replan", 16_941.74)])
def test_kth_sp2(
    benchmark: BenchmarkFixture, kth: WorkloadProblem, compression: Any, turnaround: float
) -> None:
    solver, budget = Conservative(compression), Budget()
    solver(WorkloadProblem(4, kth.jobs[:0]), budget)  # compiled
    result = benchmark.pedantic(solver, (kth, budget), rounds=3)
    assert abs((result.answer.last_ends - kth.packed.submit).mean() - turnaround) < 0.05


def test_no_job_of_the_logs_starts_after_its_promise(knl: WorkloadProblem, kth: WorkloadProblem) -> None:
    for problem in (knl, kth):
        plan = conservative_plan(problem)
        assert (plan.starts <= plan.promised).all()
