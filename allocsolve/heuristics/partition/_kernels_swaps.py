"""Kernels that improve a set by swaps, one node out and one in; points and sets as in `_kernels_nearest`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from allocsolve.heuristics.partition._kernels_nearest import add_distances, first_places, hops, total_distance
from allocsolve.kernels import kernel

if TYPE_CHECKING:
    from allocsolve.model import IntArray


@kernel
def descend(shape: IntArray, wrap: IntArray, points: IntArray, chosen: IntArray, max_swaps: int) -> int:
    """Swap in place while that lowers the cost, at most `max_swaps` times; return the reduction.

    Each swap is the one that lowers the cost most; on ties the first new point, then the first old one. With
    D the total distance to the set, a swap changes the cost by D(new) - D(old) - d(old, new).

    O(points + size^2) per swap in practice: d(old, new) is bounded by the box around the set, which excludes
    most pairs; in the worst case O(points * size).
    """
    axes, size = len(shape), len(chosen)
    first = first_places(shape)
    totals = np.zeros(first[axes], dtype=np.int64)
    inside = np.zeros(len(points), dtype=np.bool_)
    for old in chosen:
        inside[old] = True
        add_distances(shape, wrap, first, points[old], 1, totals)
    leaving = np.empty(size, dtype=np.int64)  # D of the chosen points
    low, high = np.empty(axes, dtype=np.int64), np.empty(axes, dtype=np.int64)
    lowered = 0
    for _ in range(max_swaps):
        farthest = 0
        for axis in range(axes):
            low[axis], high[axis] = shape[axis], 0
        for k in range(size):
            leaving[k] = total_distance(first, totals, points[chosen[k]])
            farthest = max(farthest, leaving[k])
            for axis in range(axes):
                low[axis] = min(low[axis], points[chosen[k], axis])
                high[axis] = max(high[axis], points[chosen[k], axis])
        best_change, out, into = 0, -1, -1
        for new in range(len(points)):
            if inside[new]:
                continue
            entering = total_distance(first, totals, points[new])
            if entering - first[axes] - farthest >= best_change:  # no distance is above the sum of sides
                continue
            reach = 0
            for axis in range(axes):
                here = points[new, axis]
                along = max(high[axis] - here, here - low[axis])
                reach += min(along, shape[axis] // 2) if wrap[axis] == 1 else along
            if entering - reach - farthest >= best_change:
                continue
            for k in range(size):
                if entering - reach - leaving[k] < best_change:
                    change = entering - leaving[k] - hops(shape, wrap, points[chosen[k]], points[new])
                    if change < best_change:
                        best_change, out, into = change, k, new
        if out < 0:
            break
        lowered -= best_change
        old = chosen[out]
        inside[old], inside[into] = False, True
        add_distances(shape, wrap, first, points[old], -1, totals)
        add_distances(shape, wrap, first, points[into], 1, totals)
        while out + 1 < size and chosen[out + 1] < into:  # `chosen` stays increasing
            chosen[out] = chosen[out + 1]
            out += 1
        while out > 0 and chosen[out - 1] > into:
            chosen[out] = chosen[out - 1]
            out -= 1
        chosen[out] = into
    return lowered
