"""Stars: the total distance from a node to the free nodes nearest to it."""
# Kernels take their arguments by position, and a call is one loop.

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from allocsolve.kernels.jit import kernel

if TYPE_CHECKING:
    from allocsolve.heuristics.partition.lattice import Lattice
    from allocsolve.model import BoolArray, IntArray

__all__ = ["NONE", "stars"]


#: The star of a node without enough free nodes far away.
NONE = 2**40


@kernel
def stars(
    lattice: Lattice, free: BoolArray, size: int, reach: IntArray, begin: int, end: int, totals: IntArray
) -> None:
    """Write the least total distance from nodes ``begin..end - 1`` to `size` free nodes into `totals`.

    On each axis with ``reach[axis] > 0``, a ring, one of these nodes must be at least so far along it; NONE
    if none is. Of these axes the one that raises the total most counts, by one node in place of the last one.
    Breadth-first from each node through all nodes, busy ones too. O(nodes reached * axes) per node.
    """
    shape, _, coordinates, offsets, neighbours = lattice
    num_nodes, num_axes = len(free), len(shape)
    seen = np.empty(num_nodes, dtype=np.int64)
    for node in range(num_nodes):
        seen[node] = -1
    away = np.empty(num_nodes, dtype=np.int64)
    queue = np.empty(num_nodes, dtype=np.int64)
    missing = np.empty(num_axes, dtype=np.bool_)
    for centre in range(begin, end):
        queue[0] = centre
        seen[centre] = centre
        away[centre] = 0
        head, tail, left, total, last = 0, 1, size, 0, 0
        waiting = 0
        for axis in range(num_axes):
            missing[axis] = reach[axis] > 0
            waiting += reach[axis] > 0
        while head < tail and (left > 0 or waiting > 0):
            node = queue[head]
            head += 1
            if free[node]:
                if left > 0:
                    left -= 1
                    total += away[node]
                    last = away[node]
                for axis in range(num_axes):
                    if missing[axis]:
                        along = abs(coordinates[node, axis] - coordinates[centre, axis])
                        if min(along, shape[axis] - along) >= reach[axis]:
                            missing[axis] = False
                            waiting -= 1
                            if waiting == 0 and left == 0:
                                total += away[node] - last
            for e in range(offsets[node], offsets[node + 1]):
                other = neighbours[e]
                if seen[other] != centre:
                    seen[other] = centre
                    away[other] = away[node] + 1
                    queue[tail] = other
                    tail += 1
        totals[centre] = total if waiting == 0 else NONE
