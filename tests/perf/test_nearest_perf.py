"""Speed of the nearest family on large machines, and how often it is optimal; the gate times it on others.

Fixed work: uniform occupancies of 0, 0.3, 0.5 and 0.7, sizes 4, 16, 32 and 64, one seed; a round is one
allocation on each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from nearest_tools import with_swaps

from allocsolve.heuristics.partition.allocator import lattice, pairwise_distance
from allocsolve.heuristics.partition.nearest import manhattan_median
from allocsolve.model import Budget, Mesh, PartitionProblem, Status, Topology, Torus

if TYPE_CHECKING:
    from pytest_benchmark.fixture import BenchmarkFixture

    from allocsolve.model import BoolArray, IntArray


def _requests(topology: Topology) -> list[tuple[BoolArray, int]]:
    rng = np.random.default_rng(2008)
    drawn = [rng.random(topology.num_nodes) >= busy for busy in (0, 0.3, 0.5, 0.7)]
    return [(free, size) for free in drawn for size in (4, 16, 32, 64) if size <= np.count_nonzero(free)]


def _cost(topology: Topology, nodes: IntArray) -> int:
    arrays = lattice(topology)
    return pairwise_distance(arrays.shape, arrays.wrap, arrays.coordinates, nodes)


#: Cost over all requests to the median method on machines of many nodes, of rings, of many axes.
LARGE = {
    "100x100-torus": (Torus((100, 100)), 60_999),
    "32x32x32": (Mesh((32, 32, 32)), 41_722),
    "8x8x8x8x6x6-torus": (Torus((8, 8, 8, 8, 6, 6)), 32_363),
}


@pytest.mark.parametrize("name", LARGE)
def test_large_machines(benchmark: BenchmarkFixture, name: str) -> None:
    """Per allocation a time that grows with the nodes times the set, not with the square of the nodes."""
    topology, expected = LARGE[name]
    requests = _requests(topology)
    manhattan_median(topology, *requests[0])
    answers = benchmark.pedantic(
        lambda: [manhattan_median(topology, free, size) for free, size in requests], rounds=3, iterations=1
    )
    benchmark.extra_info["allocations per round"] = len(requests)
    assert sum(_cost(topology, nodes) for nodes in answers) == expected


def test_swaps_are_optimal_on_99_of_100_instances(benchmark: BenchmarkFixture) -> None:
    """300 random instances on 16x8, against proven optima."""
    from allocsolve.exact.partition.branch_and_bound import PartitionBranchAndBound  # noqa: PLC0415 - no other test needs it

    mesh, rng = Mesh((16, 8)), np.random.default_rng(7)
    instances: list[tuple[BoolArray, int]] = []
    while len(instances) < 300:
        free = rng.random(128) >= rng.choice([0, 0.1, 0.3, 0.5, 0.7, 0.9])
        size = int(rng.integers(2, 65))
        if size <= np.count_nonzero(free):
            instances.append((free, size))
    with_swaps(mesh, *instances[0])
    answers = benchmark.pedantic(
        lambda: [with_swaps(mesh, free, size) for free, size in instances], rounds=5, iterations=1
    )
    optimal = 0
    for (free, size), nodes in zip(instances, answers, strict=True):
        proven = PartitionBranchAndBound()(PartitionProblem(mesh, free, size), Budget(seconds=60))
        assert proven.status is Status.OPTIMAL
        assert proven.objective is not None
        value = _cost(mesh, nodes)
        assert proven.objective <= value  # type: ignore[operator]  # the value of one term is a number
        optimal += proven.objective == value
    assert optimal >= 297
