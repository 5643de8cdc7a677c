"""Speed of clairvoyant schedules and proofs, with fixed work; what is reached is checked, too."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from workload_traces import knl_problem

from allocsolve.bench import suite
from allocsolve.bounds.workload.job_price_dual import DualJobs, JobDual, JobWindows, slots_of
from allocsolve.exact import EvolutionCpSat
from allocsolve.exact.workload import Prices, WorkloadCpSat
from allocsolve.judge import confirm
from allocsolve.judge.workload.job_prices import job_price_bound
from allocsolve.model import Budget, EvolutionProblem, Jobs, Status, WorkloadProblem, frozen
from allocsolve.model.result import terms

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_benchmark.fixture import BenchmarkFixture


@pytest.fixture(scope="module")
def knl(traces: Path) -> WorkloadProblem:
    """The Knights Landing part of Cori, 41,524 jobs on 9,688 nodes."""
    return knl_problem(traces)


def random_problem(seed: int, count: int) -> WorkloadProblem:
    """16 nodes and powers of two, or 64 nodes and up to half of them; load .7 or 1.2."""
    random = np.random.default_rng(seed)
    num_nodes = 16 if seed % 2 else 64
    nodes = 2 ** random.integers(0, 5, count) if seed % 2 else random.integers(1, 33, count)
    load = (0.7, 1.2)[seed // 2 % 2]
    runtime = np.maximum(1, np.rint(random.lognormal(4, 1, count)))
    span = (nodes * runtime).sum() / (num_nodes * load)
    return WorkloadProblem(num_nodes, Jobs(np.floor(np.sort(random.random(count)) * span), nodes, runtime))


def test_gap_of_a_log(benchmark: BenchmarkFixture, knl: WorkloadProblem) -> None:
    """Both sides with fixed work: the prices until they converge, 40,000 moves."""
    budget = Budget(iterations=40_000)
    result = benchmark.pedantic(Prices(), (knl, budget), rounds=1)
    value, bound = terms(result.objective)[0], terms(result.bound)[0]
    assert value <= 4650
    assert value - bound <= 0.005 * bound


@pytest.mark.parametrize("count", [20, 40])
def test_proofs(benchmark: BenchmarkFixture, count: int) -> None:
    """Six random problems each, proven in any case; of 20 jobs in some seconds together."""
    problems = [random_problem(seed, count) for seed in (1, 2, 3, 5, 7, 9)]
    WorkloadCpSat()(problems[0], Budget(seconds=60))  # compiles the kernels
    results = benchmark.pedantic(
        lambda: [WorkloadCpSat()(problem, Budget(seconds=300)) for problem in problems], rounds=1
    )
    assert all(result.status is Status.OPTIMAL for result in results)


#: (suite, expand limit) -> optimal makespans of its first problems.
OPTIMA: dict[tuple[str, float], tuple[int, ...]] = {
    ("klein-5", 1): (38135, 33551, 29762, 40611, 26991),
    ("klein-8", 1): (51642, 44407, 49281, 54959, 51106),
    ("klein-10", 1): (68822, 85489, 79110, 59216, 50540),
    ("klein-12", 1): (76374, 66992, 76126, 77091, 51988),
    ("klein-8", math.inf): (41240, 35812, 47052, 49951, 41888),
}


@pytest.mark.parametrize(("name", "limit"), OPTIMA)
def test_proven_optima(benchmark: BenchmarkFixture, name: str, limit: float) -> None:
    optima = OPTIMA[name, limit]
    problems = [
        replace(problem, expand_limit=limit)
        for problem in suite(f"{name}-inf")[: len(optima)]
        if isinstance(problem, EvolutionProblem)
    ]

    def solve_all() -> list[tuple[Status, object]]:
        results = [EvolutionCpSat()(problem, Budget(seconds=60, workers=2)) for problem in problems]
        judged = [confirm(p, r, ("makespan",)) for p, r in zip(problems, results, strict=True)]
        benchmark.extra_info["longest_s"] = max(result.runtime for result in results)
        return [(result.status, result.objective) for result in judged]

    outcomes = benchmark.pedantic(solve_all, rounds=1)
    assert outcomes == [(Status.OPTIMAL, optimum) for optimum in optima]


HOUR = 3600.0


def dual(jobs: int, waited: float) -> JobDual:
    """Jobs as those of a busy cluster of 100 nodes, each with prices for some hours behind its run time."""
    random = np.random.default_rng(3)
    submit = np.cumsum(random.integers(0, 2000, jobs)).astype(np.float64)
    runtime = np.ceil(random.lognormal(7.5, 1.8, jobs)).clip(1, 2e5)
    nodes = np.minimum(100, np.ceil(random.lognormal(1.5, 1.3, jobs))).astype(np.int64)
    columns = (submit, runtime, np.ones(jobs), np.zeros(jobs), nodes)
    edges = np.arange(0, submit[-1] + runtime.max() + waited + HOUR, HOUR)
    last = slots_of(edges, submit + runtime + waited)
    windows = JobWindows.empty(edges, slots_of(edges, submit), last)
    prices = random.exponential(0.1, len(windows.prices)) * nodes[windows.owners] / 10
    return JobDual(DualJobs(*map(frozen, columns)), 100, windows.with_prices(prices))


@pytest.mark.parametrize("temperature", [30.0, 300.0])
def test_smooth_dual(benchmark: BenchmarkFixture, temperature: float) -> None:
    """1,200 jobs with about 20,000 prices. To be had in 12 ms, .6 us a price."""
    problem = dual(1200, 10 * HOUR)
    levels = problem.windows.prices * HOUR
    value, _ = problem.soft(levels.copy(), temperature)  # compiles the kernels
    again, gradient = benchmark(problem.soft, levels, temperature)
    assert again == value
    assert np.abs(gradient).max() <= 1 + 1e-9


def test_judge(benchmark: BenchmarkFixture) -> None:
    """28,000 jobs with about half a million prices, read from JSON before. To be had in .3 s."""
    problem = dual(28_000, 10 * HOUR)
    windows, jobs = problem.windows, problem.jobs
    certificate: dict[str, Any] = {
        "kind": "job-prices",
        "term": "turnaround",
        "edges": windows.edges.astype(int).tolist(),
        "nodes": 1,
        "unit": 10**6,
        "first_slots": windows.first.tolist(),
        "offsets": windows.offsets.tolist(),
        "prices": np.rint(windows.prices * 10**6).astype(int).tolist(),
    }
    workload = WorkloadProblem(100, Jobs(jobs.submit, jobs.nodes, jobs.runtime, np.full(28_000, np.nan)))
    certificate = json.loads(json.dumps(certificate))
    job_price_bound(workload, certificate, "turnaround")  # compiles the kernels
    bound = benchmark(job_price_bound, workload, certificate, "turnaround")
    exact = problem.exact(windows.prices * windows.lengths) / 28_000
    assert bound == pytest.approx(exact, abs=1e-2)
