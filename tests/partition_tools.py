"""Partition problems for the tests of its exact solvers."""

from __future__ import annotations

import numpy as np

from allocsolve.model import PartitionProblem, Topology

#: Of `Mesh((5, 6))`: leave two blocks of four nodes that are near to each other, and a long way round.
WALLS = (2, 7, 11, 12, 13, 16, 17, 18, 21, 22, 23)


def random_problem(
    topology: Topology, num_busy: int, size: int, seed: int, *, contiguous: bool = False
) -> PartitionProblem:
    busy = np.random.default_rng(seed).permutation(topology.num_nodes)[:num_busy].tolist()
    return PartitionProblem.of(topology, busy=busy, size=size, contiguous=contiguous)
