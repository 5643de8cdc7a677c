"""Stars: the total distance from a node to the free nodes nearest to it."""
# Kernels take their arguments by position, and each is a single loop.

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from allocsolve.kernels import kernel

if TYPE_CHECKING:
    from allocsolve.heuristics.partition.lattice import Lattice
    from allocsolve.model import BoolArray, IntArray


@kernel
def stars(lattice: Lattice, free: BoolArray, size: int, begin: int, end: int, totals: IntArray) -> None:
    """Write the least total distance from nodes ``begin..end - 1`` to `size` free nodes into `totals`.

    The search is breadth-first from each node, through busy nodes too. O(nodes reached * axes) per node.
    """
    _, _, _, offsets, neighbours = lattice
    num_nodes = len(free)
    seen = np.empty(num_nodes, dtype=np.int64)
    for node in range(num_nodes):
        seen[node] = -1
    away = np.empty(num_nodes, dtype=np.int64)
    queue = np.empty(num_nodes, dtype=np.int64)
    for centre in range(begin, end):
        queue[0] = centre
        seen[centre] = centre
        away[centre] = 0
        head, tail, left, total = 0, 1, size, 0
        while head < tail and left > 0:
            node = queue[head]
            head += 1
            if free[node]:
                left -= 1
                total += away[node]
            for e in range(offsets[node], offsets[node + 1]):
                other = neighbours[e]
                if seen[other] != centre:
                    seen[other] = centre
                    away[other] = away[node] + 1
                    queue[tail] = other
                    tail += 1
        totals[centre] = total
