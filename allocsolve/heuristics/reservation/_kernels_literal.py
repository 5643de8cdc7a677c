"""Growth by sets of equals, in which busy nodes compete (a reading of Linnert et al. 2024, Fig. 8)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from allocsolve.heuristics.partition.lattice import distance_along
from allocsolve.kernels import allocating_kernel, inner_kernel

if TYPE_CHECKING:
    from allocsolve.heuristics.partition.lattice import Lattice
    from allocsolve.model import BoolArray, IntArray

__all__ = ["grow_together"]


@inner_kernel
def _hops(lattice: Lattice, one: int, other: int) -> int:
    total = 0
    for axis in range(len(lattice.shape)):
        here, there = lattice.coordinates[one, axis], lattice.coordinates[other, axis]
        total += distance_along(here, there, lattice.shape[axis], lattice.wrap[axis])
    return total


@allocating_kernel
def grow_together(lattice: Lattice, free: BoolArray, exact: bool, nodes: IntArray) -> bool:
    """Fill `nodes` behind its first entry, each time by all free neighbours that cost least; False if stuck.

    Growth is stuck when all neighbours that cost least are busy; else busy ones among them compete no more.
    Neighbours are met when a node is chosen, by increasing id. Of the last set those met first are taken, but
    if `exact` growth is stuck when it is too large.

    ``increase`` of a neighbour is the sum of distances to the nodes chosen.
    """
    size = len(nodes)
    met = np.zeros(len(free), dtype=np.bool_)
    frontier = np.empty(len(free), dtype=np.int64)
    increase = np.empty(len(free), dtype=np.int64)
    met[nodes[0]] = True
    waiting, done, count = 0, 0, 1  # nodes up to `done` have had their neighbours met
    while count < size:
        for new in range(done, count):
            for k in range(waiting):
                increase[k] += _hops(lattice, nodes[new], frontier[k])
        for new in range(done, count):
            for link in range(lattice.offsets[nodes[new]], lattice.offsets[nodes[new] + 1]):
                other = lattice.neighbours[link]
                if met[other]:
                    continue
                met[other] = True
                frontier[waiting], increase[waiting] = other, 0
                for k in range(count):
                    increase[waiting] += _hops(lattice, nodes[k], other)
                waiting += 1
        done = count
        least, equals = -1, 0
        for k in range(waiting):
            if least < 0 or increase[k] < least:
                least, equals = increase[k], 0
            if increase[k] == least and free[frontier[k]]:
                equals += 1
        if equals == 0 or (exact and count + equals > size):
            return False
        left = 0
        for k in range(waiting):
            if increase[k] > least:
                frontier[left], increase[left] = frontier[k], increase[k]
                left += 1
            elif free[frontier[k]] and count < size:
                nodes[count] = frontier[k]
                count += 1
        waiting = left
    return True
