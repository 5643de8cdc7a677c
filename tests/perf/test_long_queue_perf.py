"""Long queues: 100,000 jobs of one instant, thousands that move at each early end, forecasts of 10,000."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from naive_conservative import naive_list_starts
from workload_traces import knl_problem, trace

from allocsolve import Budget
from allocsolve.heuristics import MalleableMin
from allocsolve.heuristics.workload import queue_lengths
from allocsolve.heuristics.workload.conservative import Conservative, conservative_plan
from allocsolve.heuristics.workload.policies import QUEUE_ORDERS, Easy, Fcfs, FirstFit
from allocsolve.heuristics.workload.srpt_area import SrptArea
from allocsolve.instances import log_problem, lublin1999, read_table_log
from allocsolve.instances.generators.elastic import elastic_workload
from allocsolve.judge import confirm
from allocsolve.model import Jobs, Result, WorkloadProblem, WorkloadSchedule
from allocsolve.simulation import Engine, Start, run_policy, simulate
from allocsolve.simulation.forecast import forecast

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pytest_benchmark.fixture import BenchmarkFixture

    from allocsolve.model import FloatArray, IntArray
    from allocsolve.simulation import QueueView


NUM_NODES = 100

#: In which order the jobs of one instant are in the queue: by these keys of nodes and estimates.
ORDERS: dict[str, Callable[[IntArray, FloatArray], FloatArray]] = {
    "drawn": lambda _, estimate: np.arange(float(len(estimate))),
    "shortest-estimate": lambda _, estimate: estimate,
    "smallest-area": lambda nodes, estimate: nodes * estimate,
    "largest": lambda nodes, _: -nodes.astype(np.float64),
    "smallest": lambda nodes, _: nodes.astype(np.float64),
    "f1": lambda nodes, estimate: np.log10(estimate) * nodes,
    "f4": lambda nodes, estimate: np.sqrt(nodes) * estimate,
    "unicef": lambda nodes, estimate: np.log2(nodes) * estimate,
}


def queue(count: int, order: str = "drawn", num_nodes: int = NUM_NODES) -> WorkloadProblem:
    rng = np.random.default_rng(0)
    nodes, runtime = rng.integers(1, num_nodes + 1, count), rng.integers(1, 3600, count)
    limit = np.ceil(runtime * rng.uniform(1, 5, count))
    places = np.argsort(ORDERS[order](nodes, limit), kind="stable")
    return WorkloadProblem(num_nodes, Jobs(np.zeros(count), nodes[places], runtime[places], limit[places]))


def most_busy(problem: WorkloadProblem, starts: FloatArray) -> int:
    """Return the most nodes that are busy at a time."""
    ends = starts + problem.packed.runtime
    times = np.concatenate([ends, starts])
    changes = np.concatenate([-problem.packed.nodes, problem.packed.nodes])
    return int(np.cumsum(changes[np.argsort(times, kind="stable")]).max())


def timed(benchmark: BenchmarkFixture, called: Callable[..., Any], *args: Any) -> tuple[Any, float]:
    """Return what a call returns, and the seconds of CPU that it took."""
    begin = time.process_time()
    made = benchmark.pedantic(called, args, rounds=1)
    return made, time.process_time() - begin


@pytest.mark.parametrize("order", ORDERS)
def test_conservative_backfilling_plans_100_000_queued_jobs_in_10_s(
    benchmark: BenchmarkFixture, order: str
) -> None:
    solver, problem = Conservative("none", estimate="actual"), queue(100_000, order)
    solver(queue(10), Budget())  # compiled
    result, seconds = timed(benchmark, solver, problem, Budget())
    assert seconds < 10
    starts = result.answer.first_starts
    assert most_busy(problem, starts) == NUM_NODES
    # No job can start before those that were planned before it leave room: the first hundred by the twin.
    few = WorkloadProblem(NUM_NODES, problem.jobs[:100])
    assert starts[:100].tolist() == naive_list_starts(few)


@pytest.mark.parametrize(
    ("name", "moves", "most_seconds"),
    # The log, counted in nodes, takes 4 s on two cores of an AMD EPYC; a move is about 160 ns.
    [("drawn", 1_900_000, 4), ("cirrus", 21_100_000, 12)],
)
def test_conservative_backfilling_moves_nearly_all_queued_jobs_at_each_early_end(
    benchmark: BenchmarkFixture, request: pytest.FixtureRequest, name: str, moves: int, most_seconds: float
) -> None:
    benchmark.extra_info["moves"] = moves
    problem = queue(2000)
    if name == "cirrus":
        log = trace(request.getfixturevalue("traces"), "cirrus_2024Q1_sacct.csv.gz")
        problem = log_problem(read_table_log(log, "sacct", num_nodes=360))
    conservative_plan(queue(10))  # compiled
    plan, seconds = timed(benchmark, conservative_plan, problem)
    assert seconds < most_seconds
    assert most_busy(problem, plan.starts) == problem.num_nodes
    assert (plan.starts <= plan.promised).all()
    if name == "cirrus":
        assert plan.starts.sum() == 6_951_892_095.0  # of the plain method, each search from now on


@pytest.mark.parametrize("num_nodes", [100, 10_000])
@pytest.mark.parametrize(
    "solver", [Fcfs(), FirstFit(), SrptArea(), *(Easy(order=order) for order in QUEUE_ORDERS)], ids=str
)
def test_queue_policies_start_100_000_queued_jobs_in_1_s(
    benchmark: BenchmarkFixture, monkeypatch: pytest.MonkeyPatch, num_nodes: int, solver: Any
) -> None:
    problem, few = queue(100_000, num_nodes=num_nodes), queue(2500, num_nodes=num_nodes)
    made = solver(few, Budget()).answer.first_starts.tolist()  # compiled
    result, seconds = timed(benchmark, solver, problem, Budget())
    assert seconds < 1
    starts = result.answer.first_starts
    assert 0.99 * num_nodes < most_busy(problem, starts) <= num_nodes
    monkeypatch.setattr(queue_lengths, "LONG_QUEUE", 2501)  # each job is looked at
    assert solver(few, Budget()).answer.first_starts.tolist() == made


@pytest.mark.parametrize("solver", [FirstFit(), Easy(), Easy(order="smallest-area")], ids=str)
def test_queue_policies_start_100_000_jobs_that_come_within_100_s_in_2_s(
    benchmark: BenchmarkFixture, monkeypatch: pytest.MonkeyPatch, solver: Any
) -> None:
    at_once = queue(100_000)
    packed = at_once.packed
    submit = np.arange(100_000) // 1000
    problem = WorkloadProblem(NUM_NODES, Jobs(submit, packed.nodes, packed.runtime, packed.estimate))
    few = WorkloadProblem(NUM_NODES, problem.jobs[:10_000])
    solver(queue(2500), Budget())
    made = solver(few, Budget()).answer.first_starts.tolist()
    result, seconds = timed(benchmark, solver, problem, Budget())
    assert seconds < 2
    assert 0.99 * NUM_NODES < most_busy(problem, result.answer.first_starts) <= NUM_NODES
    monkeypatch.setattr(queue_lengths, "_LONG_BACKLOG", 10_001)  # each job is looked at
    assert solver(few, Budget()).answer.first_starts.tolist() == made


@pytest.mark.parametrize(
    "policy", [Fcfs(), FirstFit(), Easy(), Easy(order="f1"), Easy(order="wfp3"), Conservative()], ids=str
)
def test_forecast_of_10_000_queued_jobs_in_1_s(benchmark: BenchmarkFixture, policy: Any) -> None:
    few, view = (Engine(queue(count)).advance() for count in (60, 10_000))
    assert few is not None
    assert view is not None
    forecast(few, policy)  # compiled
    starts, seconds = timed(benchmark, forecast, view, policy)
    assert seconds < 1
    problem = queue(10_000)
    expected = WorkloadProblem(
        NUM_NODES, Jobs(problem.packed.submit, problem.packed.nodes, problem.packed.estimate)
    )
    assert most_busy(expected, starts) <= NUM_NODES
    if not isinstance(policy, Conservative):
        assert forecast(few, policy).tolist() == forecast(few, policy.decide, policy.rules).tolist()


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
