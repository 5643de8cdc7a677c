"""The event engine: 300,000 generated jobs from problem to judged value, and policies in Python."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from workload_traces import knl_problem

from allocsolve import Budget
from allocsolve.heuristics import MalleableMin
from allocsolve.heuristics.workload.policies import Easy, FirstFit
from allocsolve.instances import lublin1999
from allocsolve.instances.generators.elastic import elastic_workload
from allocsolve.judge import confirm
from allocsolve.model import Jobs, Result, WorkloadProblem, WorkloadSchedule
from allocsolve.simulation import Start, run_policy, simulate

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_benchmark.fixture import BenchmarkFixture

    from allocsolve.simulation import QueueView


def generated(count: int) -> WorkloadProblem:
    """Return jobs for 1,024 nodes at a load of about .9, with limits of one to four run times."""
    rng = np.random.default_rng(1)
    nodes = 2 ** rng.integers(0, 9, count)
    runtime = np.ceil(rng.lognormal(6, 1.5, count))
    interval = float((nodes * runtime).mean()) / (0.9 * 1024)
    submit = np.floor(np.cumsum(rng.exponential(interval, count)))
    return WorkloadProblem(1024, Jobs(submit, nodes, runtime, np.ceil(runtime * rng.uniform(1, 4, count))))


@pytest.mark.parametrize("source", ["log-normal", "lublin1999"])
def test_easy_on_300_000_jobs(benchmark: BenchmarkFixture, source: str) -> None:
    problem = lublin1999(0, num_jobs=300_000) if source == "lublin1999" else generated(300_000)

    def judged_run() -> Result[WorkloadSchedule]:
        return confirm(problem, Easy()(problem, Budget()), ("turnaround",))

    result = benchmark.pedantic(judged_run, rounds=3, warmup_rounds=1)
    assert result.answer is not None
    assert (result.answer.first_starts >= problem.packed.submit).all()


def test_a_policy_in_python(benchmark: BenchmarkFixture) -> None:
    problem = generated(20_000)

    def first_fit(view: QueueView) -> list[Start]:
        free, starts = view.free, []
        needs = view.jobs.nodes[view.queue]
        fitting = needs <= free
        for job, nodes in zip(view.queue[fitting].tolist(), needs[fitting].tolist(), strict=True):
            if nodes <= free:
                free -= nodes
                starts.append(Start(job, nodes))
        return starts

    schedule = benchmark.pedantic(simulate, (problem, first_fit), rounds=3, warmup_rounds=1)
    assert schedule == FirstFit().simulated(problem).schedule


def test_a_policy_that_resizes_jobs_in_python(benchmark: BenchmarkFixture, traces: Path) -> None:
    log = knl_problem(traces)
    problem = elastic_workload(WorkloadProblem(log.num_nodes, log.jobs[:2000]), share=1, seed=1)
    policy = MalleableMin()
    expected = policy.simulated(problem).schedule
    run = benchmark.pedantic(run_policy, (problem, policy.decide), rounds=2, warmup_rounds=1)
    assert run.schedule == expected
