"""Malleable jobs: a log from problem to judged value, and a policy in Python that resizes jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from workload_traces import knl_problem, window_turnaround

from allocsolve import Budget
from allocsolve.heuristics import (
    MalleableAverage,
    MalleableMin,
    MalleablePref,
    MalleablePrefkeeper,
    StaticPrice,
)
from allocsolve.instances.generators.elastic import elastic_workload
from allocsolve.judge import confirm
from allocsolve.model import Result, WorkloadProblem, WorkloadSchedule
from allocsolve.simulation import run_policy

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_benchmark.fixture import BenchmarkFixture

#: Window turnaround in seconds.
KNL = {
    MalleableMin(): 1694.9,
    MalleableAverage(): 1951.8,
    MalleablePref(): 2389.3,
    MalleablePrefkeeper(): 2785.5,
    StaticPrice(): 1247.6,
}


@pytest.mark.parametrize("policy", KNL)
def test_a_run_of_cori_knl(
    benchmark: BenchmarkFixture,
    traces: Path,
    policy: MalleableMin | MalleableAverage | MalleablePref | MalleablePrefkeeper | StaticPrice,
) -> None:
    problem = elastic_workload(knl_problem(traces), share=1, seed=1)
    policy(problem, Budget())  # compiled

    def judged_run() -> Result[WorkloadSchedule]:
        return confirm(problem, policy(problem, Budget()), ("turnaround",))

    result = benchmark.pedantic(judged_run, rounds=5)
    assert result.answer is not None
    assert window_turnaround(problem, result.answer) == pytest.approx(KNL[policy], abs=0.5)


def test_the_driver_in_python(benchmark: BenchmarkFixture, traces: Path) -> None:
    log = knl_problem(traces)
    problem = elastic_workload(WorkloadProblem(log.num_nodes, log.jobs[:2000]), share=1, seed=1)
    policy = MalleableMin()
    expected = policy.simulated(problem).schedule
    run = benchmark.pedantic(run_policy, (problem, policy.decide), rounds=2, warmup_rounds=1)
    assert run.schedule == expected
