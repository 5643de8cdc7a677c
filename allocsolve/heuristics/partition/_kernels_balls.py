"""The cost of the points nearest to each of many centres: balls round centres, counted line by line.

A line holds the nodes that differ along the last axis only. A ball cuts an interval out of it, and two prefix
sums give the number of points in an interval; so the time for a centre grows with the lines in its ball, on
any machine. Points and totals are those of `_kernels_nearest`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from allocsolve.heuristics.partition._kernels_nearest import first_places, take_greedily, total_distance
from allocsolve.heuristics.partition.lattice import distance_along, line_cost, total_distances
from allocsolve.kernels import inner_kernel, kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from allocsolve.model import IntArray


class Lines(NamedTuple):
    """The points of a machine, line by line in canonical order."""

    shape: IntArray
    wrap: IntArray
    #: Coordinates of each line along the other axes, shape (lines, axes - 1).
    places: IntArray
    #: The number of points of a line before each position, shape (lines, side + 1); a ring is laid out twice.
    before: NDArray[np.int32]


@inner_kernel
def _nearby(
    lines: Lines, centre: IntArray, radius: int, greatest: bool, near: IntArray, spare: IntArray
) -> int:
    """Write lines within a radius of the centre to `near`, in order, with distances; return their number."""
    near[0, 0], near[0, 1], count = 0, 0, 1
    for axis in range(len(lines.shape) - 1):
        for k in range(count):
            spare[k, 0], spare[k, 1] = near[k, 0], near[k, 1]
        side, prefixes, count = lines.shape[axis], count, 0
        for k in range(prefixes):
            for c in range(side):
                along = distance_along(c, centre[axis], side, lines.wrap[axis])
                apart = max(spare[k, 1], along) if greatest else spare[k, 1] + along
                if apart <= radius:
                    near[count, 0], near[count, 1] = spare[k, 0] * side + c, apart
                    count += 1
    return count


@inner_kernel
def _interval(lines: Lines, middle: int, reach: int) -> tuple[int, int]:
    """Return the interval of positions of a line at most `reach` from the middle; empty if negative."""
    side = lines.shape[-1]
    if reach < 0:
        return 0, 0
    if lines.wrap[-1] == 0:
        return max(0, middle - reach), min(side, middle + reach + 1)
    if 2 * reach + 1 >= side:
        return 0, side
    low = (middle - reach) % side
    return low, low + 2 * reach + 1


@inner_kernel
def _within(lines: Lines, near: IntArray, count: int, middle: int, radius: int, greatest: bool) -> int:
    """Return the number of points at most `radius` from a centre, given the lines within that radius."""
    total = 0
    for k in range(count):
        apart = near[k, 1]
        low, high = _interval(
            lines, middle, (radius if apart <= radius else -1) if greatest else radius - apart
        )
        total += lines.before[near[k, 0], high] - lines.before[near[k, 0], low]
    return total


@inner_kernel
def _count_ball(
    lines: Lines, near: IntArray, count: int, middle: int, radius: int, first: IntArray, counts: IntArray
) -> None:
    """Count the points at most `radius` away in hops by each coordinate: ``counts[first[axis] + c]``."""
    last, side = len(lines.shape) - 1, lines.shape[-1]
    for k in range(count):
        line = near[k, 0]
        low, high = _interval(lines, middle, radius - near[k, 1])
        own = lines.before[line, high] - lines.before[line, low]
        if own > 0:
            for axis in range(last):
                counts[first[axis] + lines.places[line, axis]] += own
            for position in range(low, min(high, side)):
                counts[first[last] + position] += (
                    lines.before[line, position + 1] - lines.before[line, position]
                )
            for position in range(side, high):
                counts[first[last] + position - side] += (
                    lines.before[line, position + 1] - lines.before[line, position]
                )


@inner_kernel
def _list_shell(
    lines: Lines, near: IntArray, count: int, middle: int, radius: int, limit: int, shell: IntArray
) -> int:
    """Write the first `limit` points at this distance in hops to `shell`, in order; return their number."""
    last, side = len(lines.shape) - 1, lines.shape[-1]
    listed = 0
    for k in range(count):
        line, reach = near[k, 0], radius - near[k, 1]
        below, above = middle - reach, middle + reach
        if lines.wrap[-1] == 1:
            if 2 * reach > side:
                continue
            below, above = below % side, above % side
        for turn in range(2 if below != above else 1):
            position = min(below, above) if turn == 0 else max(below, above)
            if (
                reach >= 0
                and 0 <= position < side
                and listed < limit
                and lines.before[line, position + 1] > lines.before[line, position]
            ):
                for axis in range(last):
                    shell[listed, axis] = lines.places[line, axis]
                shell[listed, last] = position
                listed += 1
    return listed


@kernel
def values_of_centres(lines: Lines, centres: IntArray, size: int, greatest: bool, greedy: bool) -> IntArray:
    """Return for each centre the value of the points nearest to it; any topology.

    The value is their total pairwise hop distance or, if `greatest`, the sum of their L-infinity distances
    from the centre. `centres` are coordinates, shape (centres, axes).

    O(axes * lines within the radius of the set + size + sum of sides) per centre; with `greatest` O(lines
    within the radius * radius); greedy takes O(points of the last shell * those taken) in addition.
    """
    shape, wrap, places, _ = lines
    axes, first = len(shape), first_places(shape)
    near = np.empty((len(places), 2), dtype=np.int64)
    spare = np.empty((len(places), 2), dtype=np.int64)
    counts, totals = np.empty(first[axes], dtype=np.int64), np.empty(first[axes], dtype=np.int64)
    shell = np.empty((2 * len(places), axes), dtype=np.int64)
    taken, own = np.empty(len(shell), dtype=np.int64), np.empty(len(shell), dtype=np.int64)
    values = np.empty(len(centres), dtype=np.int64)
    radius, reach, num_near = 0, -1, 0
    for c in range(len(centres)):
        middle = centres[c, axes - 1]
        for axis in range(axes - 1):
            if c > 0 and centres[c, axis] != centres[c - 1, axis]:
                reach = -1  # the lines near it differ
        # The least radius with `size` points is seldom far from that of the last centre: `short` has too few.
        short, inner, total = -1, 0, 0
        enough, upto = -1, 0
        probe = 0 if greatest else radius
        while enough < 0 or enough > short + 1:
            if probe > reach:
                reach = probe + 1
                num_near = _nearby(lines, centres[c], reach, greatest, near, spare)
            within = _within(lines, near, num_near, middle, probe, greatest)
            if within >= size:
                enough, upto = probe, within
                probe -= 1
            else:
                short, inner = probe, within
                total += size - within  # the number of points that are farther
                probe += 1
        radius = enough
        if greatest:
            values[c] = total
            continue
        for k in range(len(counts)):
            counts[k] = 0
        whole = radius if upto == size else radius - 1
        _count_ball(lines, near, num_near, middle, whole, first, counts)
        if whole < radius:
            need = size - inner
            listed = _list_shell(lines, near, num_near, middle, radius, len(shell) if greedy else need, shell)
            if greedy:
                for axis in range(axes):
                    total_distances(counts, first[axis], shape[axis], wrap[axis], totals)
                for k in range(listed):
                    taken[k], own[k] = k, total_distance(first, totals, shell[k])
                take_greedily(shape, wrap, shell, taken, own, listed, need)
            for k in range(need):
                for axis in range(axes):
                    counts[first[axis] + shell[taken[k] if greedy else k, axis]] += 1
        values[c] = 0
        for axis in range(axes):
            values[c] += line_cost(counts, first[axis], shape[axis], wrap[axis], size)
    return values
