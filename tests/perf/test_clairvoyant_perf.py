"""Speed of clairvoyant schedules and proofs, with fixed work; what is reached is checked, too."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from workload_traces import knl_problem

from allocsolve.exact.workload import Prices, WorkloadCpSat
from allocsolve.model import Budget, Jobs, Status, WorkloadProblem
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
