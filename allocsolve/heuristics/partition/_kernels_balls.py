"""The cost of the points nearest to each of many centres: balls and rings round centres, counted by sums.

*Balls*, on any machine. A line holds the nodes that differ along the last axis only. A ball cuts an interval
out of it, and two prefix sums give the number of points in an interval; so the time for a centre grows with
the lines in its ball. Points and totals are those of `_kernels_nearest`.

*Rings*, on a 2-D mesh: the nodes at one hop distance r from a centre, four diagonal segments. With prefix
sums along diagonals, columns and rows, the free nodes of a ring are counted in O(1) and those of every column
and row of the ball within it in O(r). Positions are (x, y) from (1, 1) on: prefix sums have a border of
zeros.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from allocsolve.heuristics.partition._kernels_nearest import first_places, take_greedily, total_distance
from allocsolve.heuristics.partition.lattice import distance_along, line_cost, total_distances
from allocsolve.kernels import inner_kernel, kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from allocsolve.model import IntArray

    #: Shape (4, width + 2, height + 2).
    Sums: TypeAlias = NDArray[np.int32]


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


@kernel
def prefix_sums(points: IntArray, width: int, height: int) -> Sums:
    """Return the number of points up to each position (itself included), along four directions.

    The directions are upwards in x on the diagonals x - y and x + y, then along y, then along x.
    """
    sums = np.zeros((4, width + 2, height + 2), dtype=np.int32)
    for i in range(len(points)):
        for direction in range(4):
            sums[direction, points[i, 0] + 1, points[i, 1] + 1] = 1
    for x in range(1, width + 1):
        for y in range(1, height + 1):
            sums[0, x, y] += sums[0, x - 1, y - 1]
            sums[1, x, y] += sums[1, x - 1, y + 1]
            sums[2, x, y] += sums[2, x, y - 1]
            sums[3, x, y] += sums[3, x - 1, y]
    return sums


@inner_kernel
def _rising(sums: Sums, low: int, high: int, shift: int) -> int:
    """Return the number of points with low <= x <= high on y = x + shift."""
    low = max(low, 1, 1 - shift)
    high = min(high, sums.shape[1] - 2, sums.shape[2] - 2 - shift)
    if low > high:
        return 0
    count: int = sums[0, high, high + shift] - sums[0, low - 1, low - 1 + shift]
    return count


@inner_kernel
def _falling(sums: Sums, low: int, high: int, total: int) -> int:
    """Return the number of points with low <= x <= high on x + y = total."""
    low = max(low, 1, total - (sums.shape[2] - 2))
    high = min(high, sums.shape[1] - 2, total - 1)
    if low > high:
        return 0
    count: int = sums[1, high, total - high] - sums[1, low - 1, total - low + 1]
    return count


@inner_kernel
def _ring_count(sums: Sums, x: int, y: int, radius: int) -> int:
    """Return the number of points at this distance (at least 1) from (x, y)."""
    return (
        _rising(sums, x - radius, x - 1, y - x + radius)
        + _falling(sums, x, x + radius - 1, x + y + radius)
        + _rising(sums, x + 1, x + radius, y - x - radius)
        + _falling(sums, x - radius + 1, x, x + y - radius)
    )


@kernel
def costs_of_mesh_centres(sums: Sums, centres: IntArray, size: int, greedy: bool) -> IntArray:
    """Return what `values_of_centres` does, on a 2-D mesh.

    O(r) per centre, r being the radius of the last ring; greedy takes O(points of that ring * those taken)
    more.
    """
    width, height = sums.shape[1] - 2, sums.shape[2] - 2
    costs = np.empty(len(centres), dtype=np.int64)
    columns, rows = np.zeros(width + 2, dtype=np.int64), np.zeros(height + 2, dtype=np.int64)
    column_totals, row_totals = np.empty(width + 2, dtype=np.int64), np.empty(height + 2, dtype=np.int64)
    ring = np.empty((2 * (width + height), 3), dtype=np.int64)  # x, y, total distance to those chosen
    for c in range(len(centres)):
        x, y = centres[c, 0] + 1, centres[c, 1] + 1
        radius = 0
        count = within = sums[2, x, y] - sums[2, x, y - 1]
        while within < size:
            radius += 1
            count = _ring_count(sums, x, y, radius)
            within += count
        need = size - (within - count)

        left, right = max(1, x - radius), min(width, x + radius)
        down, up = max(1, y - radius), min(height, y + radius)
        for i in range(left, right + 1):
            reach = radius - 1 - abs(i - x)
            columns[i] = (
                sums[2, i, min(up, y + reach)] - sums[2, i, max(down, y - reach) - 1] if reach >= 0 else 0
            )
        for j in range(down, up + 1):
            reach = radius - 1 - abs(j - y)
            rows[j] = (
                sums[3, min(right, x + reach), j] - sums[3, max(left, x - reach) - 1, j] if reach >= 0 else 0
            )

        listed = 0
        limit = count if greedy else need
        for i in range(left, right + 1):
            if listed == limit:
                break
            reach = radius - abs(i - x)
            for j in range(y - reach, y + reach + 1, max(1, 2 * reach)):
                if 1 <= j <= height and sums[2, i, j] > sums[2, i, j - 1] and listed < limit:
                    ring[listed, 0] = i
                    ring[listed, 1] = j
                    listed += 1
        if greedy and need < count:
            total_distances(columns, left, right - left + 1, 0, column_totals)
            total_distances(rows, down, up - down + 1, 0, row_totals)
            for k in range(listed):
                ring[k, 2] = column_totals[ring[k, 0]] + row_totals[ring[k, 1]]
            for taken in range(need):  # the first `taken` points are taken; the others are in canonical order
                best = taken
                for k in range(taken + 1, listed):
                    if ring[k, 2] < ring[best, 2]:
                        best = k
                i, j = ring[best, 0], ring[best, 1]
                for k in range(best, taken, -1):
                    for entry in range(3):
                        ring[k, entry] = ring[k - 1, entry]
                ring[taken, 0], ring[taken, 1] = i, j
                for k in range(taken + 1, listed):
                    ring[k, 2] += abs(ring[k, 0] - i) + abs(ring[k, 1] - j)
        for k in range(need):
            columns[ring[k, 0]] += 1
            rows[ring[k, 1]] += 1
        costs[c] = line_cost(columns, left, right - left + 1, 0, size)
        costs[c] += line_cost(rows, down, up - down + 1, 0, size)
    return costs


@kernel
def mesh_shell_sums(points: IntArray, width: int, height: int, centres: IntArray, size: int) -> IntArray:
    """Return what `values_of_centres` does with `greatest`, on a 2-D mesh.

    O(r) per centre, r being the radius of the last shell.
    """
    boxes = np.zeros((width + 1, height + 1), dtype=np.int64)  # points below and to the left
    for i in range(len(points)):
        boxes[points[i, 0] + 1, points[i, 1] + 1] = 1
    for x in range(1, width + 1):
        for y in range(1, height + 1):
            boxes[x, y] += boxes[x - 1, y] + boxes[x, y - 1] - boxes[x - 1, y - 1]
    sums = np.zeros(len(centres), dtype=np.int64)
    for c in range(len(centres)):
        x, y = centres[c, 0], centres[c, 1]
        radius = 0
        while True:
            left, right = max(0, x - radius), min(width, x + radius + 1)
            down, up = max(0, y - radius), min(height, y + radius + 1)
            within = boxes[right, up] - boxes[left, up] - boxes[right, down] + boxes[left, down]
            if within >= size:
                break
            sums[c] += size - within  # the number of points farther than this radius
            radius += 1
    return sums
