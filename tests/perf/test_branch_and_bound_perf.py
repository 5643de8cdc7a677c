"""Speed of proven optima: all problems of a kind, one after the other; uniform occupancies, fixed seeds.

To be had on two cores: 16x8 0.2 s at the 99th percentile, 16x16 3 s each, 32x32 3 s (32 nodes) and 60 s
(64 nodes), 64x64 10 s, the 16x16 torus and 8x8x8 (16 nodes) 1 s each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from allocsolve.exact.partition_branch_and_bound import BranchAndBound
from allocsolve.instances import uniform_occupancy
from allocsolve.model import Budget, Mesh, PartitionProblem, Status, Topology, Torus, terms

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_benchmark.fixture import BenchmarkFixture


class Work(NamedTuple):
    """Problems of one kind: each size on each occupancy."""

    topology: Topology
    sizes: Sequence[int]
    shares: Sequence[float]
    #: Sum of all optima.
    total: int
    contiguous: bool = False


WORK = {
    "16x8": Work(Mesh((16, 8)), range(2, 65), (0, 0.3, 0.5), 714144),
    "16x16": Work(Mesh((16, 16)), range(4, 65, 4), (0, 0.1, 0.3, 0.5), 237298),
    "32x32-k32": Work(Mesh((32, 32)), (32,), (0.1, 0.3, 0.5, 0.7), 9032),
    "32x32-k64": Work(Mesh((32, 32)), (64,), (0.1, 0.3, 0.5, 0.7), 53603),
    "64x64-k32": Work(Mesh((64, 64)), (32,), (0.5,), 2098),
    "16x16-torus-k16": Work(Torus((16, 16)), (16,), (0.3, 0.5), 668),
    "8x8x8-k16": Work(Mesh((8, 8, 8)), (16,), (0, 0.3, 0.5), 847),
    "16x16-connected": Work(Mesh((16, 16)), (16, 32, 64), (0.1, 0.2, 0.3), 40687, contiguous=True),
}


def problems(work: Work) -> list[PartitionProblem]:
    return [
        uniform_occupancy(work.topology, share, size, 1, contiguous=work.contiguous)
        for share in work.shares
        for size in work.sizes
        if size <= (1 - share) * work.topology.num_nodes
    ]


def total(every: list[PartitionProblem]) -> int:
    found = 0
    for problem in every:
        result = BranchAndBound()(problem, Budget())
        assert result.status in (Status.OPTIMAL, Status.INFEASIBLE)
        if result.objective is not None:
            (objective,) = terms(result.objective)
            found += int(objective)
    return found


@pytest.mark.parametrize("name", WORK)
def test_branch_and_bound(benchmark: BenchmarkFixture, name: str) -> None:
    work = WORK[name]
    every = problems(work)
    total(problems(Work(Mesh((4, 4)), (3,), (0.5,), 0)))  # compiles the kernels
    rounds = 1 if name == "16x16" else 3
    found: Any = benchmark.pedantic(total, args=(every,), rounds=rounds, iterations=1)
    assert found == work.total
