"""Static admission: microseconds for each job of a stream, and a long stream in flat memory.

Fixed work: the first stream after Linnert et al. 2024, at normal and at very heavy load, on 128 nodes and on
1024; a round is one admission of its jobs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from allocsolve.heuristics import admit
from allocsolve.heuristics.reservation._kernels_admission import Requests
from allocsolve.heuristics.reservation.shapes import rule_of
from allocsolve.heuristics.reservation.timetable import Timetable
from allocsolve.instances import linnert2024
from allocsolve.model import Mesh

if TYPE_CHECKING:
    from pytest_benchmark.fixture import BenchmarkFixture

    from allocsolve.model import PackedDeadlineJobs

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
