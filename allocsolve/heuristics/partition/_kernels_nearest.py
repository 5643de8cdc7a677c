"""Kernels of the nearest family: the free nodes nearest to a centre, and their cost.

Points are the coordinates of the free nodes in canonical order, by the first axis, then the second, and so
on, shape (points, axes); sets are increasing indices into them. A shell holds the points at one distance
from the centre; of the last shell that is needed, only some points may be.

Total distances to a set are stored per axis: ``totals[first[axis] + c]`` is that of coordinate c along
`axis`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from allocsolve.heuristics.partition.lattice import distance_along
from allocsolve.kernels import allocating_kernel, inner_kernel, kernel

if TYPE_CHECKING:
    from allocsolve.model import IntArray


@inner_kernel
def hops(shape: IntArray, wrap: IntArray, here: IntArray, there: IntArray) -> int:
    """Return the hop distance of two points."""
    total = 0
    for axis in range(len(shape)):
        total += distance_along(here[axis], there[axis], shape[axis], wrap[axis])
    return total


@allocating_kernel
def first_places(shape: IntArray) -> IntArray:
    """Return where the coordinates of each axis start in an array of all coordinates, and its length."""
    first = np.zeros(len(shape) + 1, dtype=np.int64)
    for axis in range(len(shape)):
        first[axis + 1] = first[axis] + shape[axis]
    return first


@inner_kernel
def add_distances(
    shape: IntArray, wrap: IntArray, first: IntArray, point: IntArray, weight: int, totals: IntArray
) -> None:
    """Add `weight` times the distances to a point. O(sum of sides)."""
    for axis in range(len(shape)):
        side, start = shape[axis], first[axis]
        for c in range(side):
            totals[start + c] += weight * distance_along(c, point[axis], side, wrap[axis])


@inner_kernel
def total_distance(first: IntArray, totals: IntArray, point: IntArray) -> int:
    """Return the total hop distance of a point."""
    total = 0
    for axis in range(len(point)):
        total += totals[first[axis] + point[axis]]
    return total


@kernel
def grid(shape: IntArray, everything: IntArray, points: IntArray) -> IntArray:
    """Return the nodes of `everything` each of whose coordinates some point has along the same axis."""
    first = first_places(shape)
    used = np.zeros(first[-1], dtype=np.int64)
    for i in range(len(points)):
        for axis in range(len(shape)):
            used[first[axis] + points[i, axis]] = 1
    met = np.empty((len(everything), len(shape)), dtype=np.int64)
    count = 0
    for i in range(len(everything)):
        if total_distance(first, used, everything[i]) == len(shape):
            for axis in range(len(shape)):
                met[count, axis] = everything[i, axis]
            count += 1
    return met[:count]


@allocating_kernel
def _last_shell(
    shape: IntArray,
    wrap: IntArray,
    points: IntArray,
    centre: IntArray,
    size: int,
    greatest: bool,
    apart: IntArray,
) -> tuple[int, int, int]:
    """Write distances from the centre to `apart`; return the last shell, the number it gives, the sum.

    Distances are in hops or, if `greatest`, the greatest along an axis; the sum is over the nearest `size`.
    """
    first = first_places(shape)
    counts, along = np.zeros(first[-1] + 1, dtype=np.int64), np.zeros(first[-1], dtype=np.int64)
    add_distances(shape, wrap, first, centre, 1, along)
    for i in range(len(points)):
        if greatest:
            apart[i] = 0
            for axis in range(len(shape)):
                apart[i] = max(apart[i], along[first[axis] + points[i, axis]])
        else:
            apart[i] = total_distance(first, along, points[i])
        counts[apart[i]] += 1
    shell, within, total = 0, counts[0], 0
    while within < size:
        shell += 1
        within += counts[shell]
        total += shell * counts[shell]
    return shell, size - (within - counts[shell]), total - shell * (within - size)


@inner_kernel
def take_greedily(
    shape: IntArray, wrap: IntArray, points: IntArray, among: IntArray, own: IntArray, count: int, need: int
) -> None:
    """Move the points that are taken to the front of `among`: one by one that of least total distance.

    On ties it is the first. `among` has `count` indices of points, `own` their total distances to the points
    taken before; both are changed. O(need * count).
    """
    for turn in range(need):
        best = turn
        for k in range(turn + 1, count):
            if own[k] < own[best]:
                best = k
        taken, distance = among[best], own[best]
        for k in range(best, turn, -1):  # the others stay in order
            among[k], own[k] = among[k - 1], own[k - 1]
        among[turn], own[turn] = taken, distance
        for k in range(turn + 1, count):
            own[k] += hops(shape, wrap, points[taken], points[among[k]])


@allocating_kernel
def _fill(
    shape: IntArray,
    wrap: IntArray,
    points: IntArray,
    apart: IntArray,
    shell: int,
    need: int,
    greedy: bool,
    chosen: IntArray,
) -> None:
    """Fill `chosen` with the points inside the last shell and `need` of it; changes `apart` if `greedy`."""
    if greedy:
        first = first_places(shape)
        totals = np.zeros(first[-1], dtype=np.int64)
        last = np.empty(len(points), dtype=np.int64)  # the last shell
        own = np.empty(len(points), dtype=np.int64)
        count = 0
        for i in range(len(points)):
            if apart[i] < shell:
                add_distances(shape, wrap, first, points[i], 1, totals)
            elif apart[i] == shell:
                last[count] = i
                count += 1
        for k in range(count):
            own[k] = total_distance(first, totals, points[last[k]])
        take_greedily(shape, wrap, points, last, own, count, need)
        for k in range(need):
            apart[last[k]] = -1  # no longer in the last shell
        need = 0
    count = 0
    for i in range(len(points)):
        if apart[i] == shell and need > 0:
            need -= 1
            chosen[count] = i
            count += 1
        elif apart[i] < shell:
            chosen[count] = i
            count += 1


@kernel
def gather(
    shape: IntArray,
    wrap: IntArray,
    points: IntArray,
    centre: IntArray,
    greatest: bool,
    greedy: bool,
    chosen: IntArray,
) -> None:
    """Fill `chosen` with the points nearest to the centre, in hops or, if `greatest`, in L-infinity distance.

    In the last shell these are the first points in canonical order or, if `greedy`, one by one the point with
    the least total hop distance to those chosen before, the first on ties. O(points); greedy takes O(size *
    (sum of sides + last shell)) in addition.
    """
    apart = np.empty(len(points), dtype=np.int64)
    shell, need, _ = _last_shell(shape, wrap, points, centre, len(chosen), greatest, apart)
    _fill(shape, wrap, points, apart, shell, need, greedy, chosen)


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
