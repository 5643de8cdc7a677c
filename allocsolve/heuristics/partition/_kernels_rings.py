"""Kernels that value all centres of a 2-D mesh without looking at every free node for each.

A ring is the nodes at one hop distance r from a centre: four diagonal segments. With prefix sums along
diagonals, columns and rows, the free nodes of a ring are counted in O(1) and those of every column and row of
the ball within it in O(r). Positions are (x, y) from (1, 1) on: prefix sums have a border of zeros.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from allocsolve.heuristics.partition.lattice import line_cost, total_distances
from allocsolve.kernels import inner_kernel, kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from allocsolve.model import IntArray

    #: Shape (4, width + 2, height + 2).
    Sums: TypeAlias = NDArray[np.int32]


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
