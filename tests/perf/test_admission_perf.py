"""Static admission: microseconds for each job of a stream, and a long stream in flat memory.

Fixed work: the first stream after Linnert et al. 2024, at normal and at very heavy load, on 128 nodes and on
1024; a round is one admission of its jobs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from allocsolve.bounds.reservation import node_prices
from allocsolve.exact import ReservationCpSat, ReservationPrices
from allocsolve.heuristics import admit
from allocsolve.heuristics.reservation.greedy import greedy_starts, reservation_order
from allocsolve.heuristics.reservation.shapes import rule_of
from allocsolve.heuristics.reservation.timetable import Requests, Timetable
from allocsolve.instances import linnert2024
from allocsolve.judge import certified_bound
from allocsolve.model import Budget, DeadlineJob, Mesh, ReservationProblem, Status

if TYPE_CHECKING:
    from pytest_benchmark.fixture import BenchmarkFixture

    from allocsolve.model import PackedDeadlineJobs, ReservationTerm


MACHINES = {"16x8": Mesh((16, 8)), "32x32": Mesh((32, 32))}

#: How many jobs are accepted: on 16x8 at gaps of 1500 and 1 s, then on 32x32.
ACCEPTED = {
    "count": (474, 302, 528, 372),
    "any": (496, 324, 534, 380),
    "hilbert": (478, 384, 539, 491),
    "growth": (522, 354, 533, 436),
    "literal": (575, 477, 557, 522),
}
GAPS = (1500, 1)


def _jobs(machine: str, gap: int, count: int = 1000) -> PackedDeadlineJobs:
    return linnert2024(0, gap=gap, num_jobs=count, topology=MACHINES[machine]).packed


@pytest.mark.parametrize("gap", GAPS)
@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("allocator", ACCEPTED)
def test_a_thousand_jobs(benchmark: BenchmarkFixture, allocator: str, machine: str, gap: int) -> None:
    """Milliseconds a round are microseconds for a job.

    To be had: on 16x8 5 for ``hilbert`` and ``growth``, 25 for ``literal``; on 32x32 15, 45 and 1500.
    """
    arrival, nodes, runtime, deadline, _ = _jobs(machine, gap)
    columns = arrival, nodes, runtime, deadline
    admit(MACHINES[machine], *columns, allocator)  # compiled
    admission = benchmark.pedantic(admit, (MACHINES[machine], *columns, allocator), rounds=3)
    case = 2 * list(MACHINES).index(machine) + GAPS.index(gap)
    assert np.count_nonzero(admission.starts >= 0) == ACCEPTED[allocator][case]


@pytest.mark.parametrize("allocator", ["hilbert", "growth", "literal"])
def test_a_hundred_thousand_jobs(benchmark: BenchmarkFixture, allocator: str) -> None:
    """What is held of the bookings does not grow with the stream."""
    packed = _jobs("16x8", 1500, 100_000)
    rooms: list[int] = []

    def admit_stream() -> int:
        """Admit in ten pieces."""
        mesh = MACHINES["16x8"]
        table = Timetable(mesh, mesh.num_nodes, rule_of(allocator), "any", 0)
        requests = Requests(packed.arrival, packed.nodes, packed.runtime, packed.deadline)
        starts = np.empty(100_000, dtype=np.int64)
        offsets = np.zeros(100_001, dtype=np.int64)
        nodes = np.empty(packed.nodes.sum(), dtype=np.int64)
        rooms.clear()
        for first in range(0, 100_000, 10_000):
            table.admit(requests, slice(first, first + 10_000), starts, offsets, nodes)
            rooms.append(len(table.timeline.times))
        return int(np.count_nonzero(starts >= 0))

    accepted = benchmark.pedantic(admit_stream, rounds=2)
    assert accepted == {"hilbert": 29_599, "growth": 33_647, "literal": 46_593}[allocator]
    assert max(rooms) <= 256  # breakpoints


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
