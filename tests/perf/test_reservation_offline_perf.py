"""Offline reservations: prices, orders and moves for 1000 jobs; fixed work, answers checked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from allocsolve.bounds.reservation import node_prices
from allocsolve.exact.reservation import ReservationCpSat, ReservationPrices
from allocsolve.heuristics.reservation.greedy import greedy_starts, reservation_order
from allocsolve.judge import certified_bound
from allocsolve.model import Budget, DeadlineJob, Mesh, ReservationProblem, Status

if TYPE_CHECKING:
    from pytest_benchmark.fixture import BenchmarkFixture

    from allocsolve.model import ReservationTerm


def crowded(count: int, seed: int = 0) -> ReservationProblem:
    """Draw jobs of minutes or hours, one arriving each second, with deadlines of 18 run times."""
    random = np.random.default_rng(seed)
    nodes = np.minimum(128, np.ceil(128 * random.random(count) ** 2)).astype(np.int64)
    means = np.where(random.random(count) < 0.84, 360.0, 57_600.0)
    runtime = np.maximum(1, np.rint(random.exponential(means))).astype(np.int64)
    rows = zip(nodes.tolist(), runtime.tolist(), strict=True)
    jobs = (DeadlineJob(idx, size, seconds, idx + 18 * seconds) for idx, (size, seconds) in enumerate(rows))
    return ReservationProblem(Mesh((16, 8)), tuple(jobs))


@pytest.mark.parametrize("term", ["rejected", "rejected-area"])
def test_prices(benchmark: BenchmarkFixture, term: ReservationTerm) -> None:
    """To be had in 6 s, of which the finest grid takes 4."""
    problem = crowded(1000)
    node_prices(problem, term, Budget(seconds=1).start())  # compiles the kernels
    bound = benchmark.pedantic(node_prices, (problem, term))
    assert 0 < bound.value < 0.3


def test_judge(benchmark: BenchmarkFixture) -> None:
    """To be had in 30 ms."""
    problem = crowded(1000)
    bound = node_prices(problem, "rejected", Budget(seconds=2).start())
    assert benchmark(certified_bound, problem, bound.certificate, ("rejected",)) == bound.value


def test_greedy(benchmark: BenchmarkFixture) -> None:
    """To be had in half a millisecond."""
    problem = crowded(1000)
    order = reservation_order(problem, "deadline")
    assert (greedy_starts(problem, order) >= 0).sum() > 600
    starts = benchmark(greedy_starts, problem, order)
    assert (starts >= 0).sum() > 600


def test_search(benchmark: BenchmarkFixture) -> None:
    """100,000 moves. To be had in 3 s beside the prices; the gap is below 3 %."""
    problem = crowded(1000)
    ReservationPrices()(problem, Budget(iterations=100))  # compiles the kernels
    result = benchmark.pedantic(ReservationPrices(), (problem, Budget(iterations=100_000)))
    assert result.objective - result.bound < 0.04


@pytest.mark.parametrize("jobs", [40, 60])
def test_proven_optimum(benchmark: BenchmarkFixture, jobs: int) -> None:
    """Jobs in ten-minute steps whose slack is their run time. To be had in 2 s, of 60 jobs in 5 s."""
    fine = crowded(jobs).packed
    steps = zip(fine.nodes.tolist(), (-(-fine.runtime // 600)).tolist(), strict=True)
    rows = tuple(DeadlineJob(0, nodes, 600 * length, 1200 * length) for nodes, length in steps)
    problem = ReservationProblem(Mesh((16, 8)), rows)
    result = benchmark.pedantic(ReservationCpSat(), (problem, Budget(seconds=60)))
    assert result.status is Status.OPTIMAL
