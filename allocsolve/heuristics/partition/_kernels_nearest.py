"""Kernels of the nearest family: the free nodes nearest to a centre, and their cost.

Points are the coordinates of the free nodes in canonical order, by the first axis, then the second, and so
on, shape (points, axes); sets are increasing indices into them. A shell holds the points at one distance
from the centre; of the last shell that is needed, only some points may be.

Total distances to a set are stored per axis: ``totals[first[axis] + c]`` is that of coordinate c along
`axis`.

Many centres are valued by sums over *balls* and *rings* round them. Balls, on any machine: a line holds the
nodes that differ along the last axis only. A ball cuts an interval out of it, and two prefix sums give the
number of points in an interval; so the time for a centre grows with the lines in its ball.

A ring, on a 2-D mesh, is the nodes at one hop distance r from a centre: four diagonal segments. With prefix
sums along diagonals, columns and rows, the free nodes of a ring are counted in O(1) and those of every column
and row of the ball within it in O(r). Positions are (x, y) from (1, 1) on: prefix sums have a border of
zeros.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from allocsolve.heuristics.partition.allocator import distance_along, line_cost, total_distances
from allocsolve.kernels import allocating_kernel, inner_kernel, kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from allocsolve.model import IntArray

    #: Shape (4, width + 2, height + 2).
    Sums: TypeAlias = NDArray[np.int32]


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
