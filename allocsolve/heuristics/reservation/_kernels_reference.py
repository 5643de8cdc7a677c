"""The most compact sets of all sizes that growth finds on an empty machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from allocsolve.heuristics.partition._kernels_growth import grow
from allocsolve.heuristics.partition.lattice import distance_along
from allocsolve.kernels import kernel
from allocsolve.model.arrays import MAX_INTEGER

if TYPE_CHECKING:
    from allocsolve.heuristics.partition.lattice import Lattice
    from allocsolve.model import BoolArray, IntArray

__all__ = ["cheapest_seeds", "grown_from"]


@kernel
def grown_from(lattice: Lattice, free: BoolArray, seed: int, size: int) -> IntArray:
    """Return the set of a size that is grown from a seed."""
    nodes = np.empty(size, dtype=np.int64)
    nodes[0] = seed
    grow(lattice, free, nodes, MAX_INTEGER)
    return nodes


@kernel
def cheapest_seeds(lattice: Lattice, free: BoolArray, most: int) -> IntArray:
    """Return from which node the cheapest set of each size grows, of 1 to `most` nodes; the first on ties.

    A set that grows contains the smaller ones of its seed: one growth from each node does for all sizes.
    """
    shape, wrap, coordinates = lattice.shape, lattice.wrap, lattice.coordinates
    least, seeds = np.full(most, MAX_INTEGER), np.zeros(most, dtype=np.int64)
    nodes = np.empty(most, dtype=np.int64)
    held = np.empty((len(shape), shape.max()), dtype=np.int64)
    for seed in range(len(free)):
        nodes[0] = seed
        grow(lattice, free, nodes, MAX_INTEGER)
        held[:] = 0
        cost = 0
        for k in range(most):
            for axis in range(len(shape)):
                here = coordinates[nodes[k], axis]
                for there in range(shape[axis]):
                    if held[axis, there] > 0:
                        apart = distance_along(here, there, shape[axis], wrap[axis])
                        cost += held[axis, there] * apart
                held[axis, here] += 1
            if cost < least[k]:
                least[k], seeds[k] = cost, seed
    return seeds
