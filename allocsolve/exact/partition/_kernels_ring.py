"""Dynamic programs over the counts of a ring: as `_kernels_cuts`, over the half rings as well.

The ring is unrolled at some layer; position p has the count s(p) of nodes in the first p layers, 0 <= p <=
n. Two pointers go along it together, half a ring (h = n // 2 layers) apart: at stage r the set of layers
between them, the *window*, holds s(h + (r + 1) // 2) - s(r // 2) nodes; step r takes in the layer ahead if
r is even and takes out the one behind if r is odd. Stages 0..n - 1 see every half ring once (odd rings:
every one of h layers, or its complement). A state is the pair of counts; the walk begins at (0, c) and ends
at (c, k), for every c.

An axis has its n + 1 positions followed by its n + 1 stages in `low`, `high` and `halves`.
"""
# A call of a kernel is one loop: a function per branch costs time and hides the invariant.

from __future__ import annotations

from typing import TYPE_CHECKING

from allocsolve.exact.partition._kernels_cuts import INFINITE, SCALE
from allocsolve.kernels.jit import called_kernel

if TYPE_CHECKING:
    from allocsolve.exact.partition._kernels_cuts import Axis
    from allocsolve.model import IntArray

__all__ = ["restrict_ring", "ring_work", "solve_ring"]


@called_kernel
def _box(r: int, c: int, low: IntArray, high: IntArray, num: int) -> tuple[int, int, int, int]:
    """Return the least and greatest counts behind and ahead at stage r."""
    half = num // 2
    behind, ahead = r // 2, half + (r + 1) // 2
    a, b = max(low[behind], 0), min(high[behind], c)
    if behind == half:
        a = c
    d, e = max(low[ahead], c), high[ahead]
    if ahead == half:
        e = c
    return a, b, d, e


@called_kernel
def _price(table: IntArray, r: int, c: int, axis: Axis) -> None:
    """Add the cost of the windows of stage r to the table; INFINITE outside their interval."""
    low, high, size = axis.low, axis.high, axis.size
    num = len(table) - 1
    a, b, d, e = _box(r, c, low, high, num)
    width = c + 1
    fewest, greatest, weight = low[num + 1 + r], high[num + 1 + r], axis.halves[num + 1 + r] * (SCALE // 2)
    for y in range(d, e + 1):
        at = (y - c) * width
        for x in range(a, b + 1):
            s = y - x
            table[r, at + x] = (
                table[r, at + x] + weight * s * (size - s) if fewest <= s <= greatest else INFINITE
            )


@called_kernel
def _forward(table: IntArray, c: int, axis: Axis) -> int:
    """Write the least cost of reaching each state from (0, c) and return that of (c, k)."""
    low, high, multipliers, size = axis.low, axis.high, axis.multipliers, axis.size
    least, greatest, costs, offsets = axis.least, axis.greatest, axis.costs, axis.offsets
    num = len(table) - 1
    half = num // 2
    width = c + 1
    table[0, 0] = -multipliers[half] * c
    _price(table, 0, c, axis)
    for r in range(num):
        a, b, d, e = _box(r, c, low, high, num)
        a1, b1, d1, e1 = _box(r + 1, c, low, high, num)
        for y in range(d1, e1 + 1):
            for x in range(a1, b1 + 1):
                table[r + 1, (y - c) * width + x] = INFINITE
        here, there = table[r], table[r + 1]
        forth = r % 2 == 0
        layer = half + r // 2 if forth else r // 2
        up, along = (1, 0) if forth else (0, 1)
        for q in range(least[layer], greatest[layer] + 1):
            cost = costs[offsets[layer] + q]
            begin, end = max(a, a1 - along * q), min(b, b1 - along * q) + 1
            for y in range(max(d, d1 - up * q), min(e, e1 - up * q) + 1):
                at = (y - c) * width
                to = at + up * q * width + along * q
                for x in range(begin, end):
                    there[to + x] = min(there[to + x], here[at + x] + cost)
        charge = multipliers[layer + 1] if layer + 1 != half else 0
        for y in range(d1, e1 + 1):
            for x in range(a1, b1 + 1):
                table[r + 1, (y - c) * width + x] -= charge * (y if forth else x)
        _price(table, r + 1, c, axis)
    return int(table[num, (size - c) * width + c])


@called_kernel
def _backward(table: IntArray, c: int, axis: Axis) -> None:
    """Write the least cost of going on to (c, k) from each state, its own window included."""
    low, high, multipliers, size = axis.low, axis.high, axis.multipliers, axis.size
    least, greatest, costs, offsets = axis.least, axis.greatest, axis.costs, axis.offsets
    num = len(table) - 1
    half = num // 2
    width = c + 1
    table[num, (size - c) * width + c] = 0
    _price(table, num, c, axis)
    for r in range(num - 1, -1, -1):
        a, b, d, e = _box(r, c, low, high, num)
        a1, b1, d1, e1 = _box(r + 1, c, low, high, num)
        for y in range(d, e + 1):
            for x in range(a, b + 1):
                table[r, (y - c) * width + x] = INFINITE
        forth = r % 2 == 0
        layer = half + r // 2 if forth else r // 2
        charge = multipliers[layer + 1] if layer + 1 != half else 0
        for y in range(d1, e1 + 1):  # put back when the states of stage r have their costs
            for x in range(a1, b1 + 1):
                table[r + 1, (y - c) * width + x] -= charge * (y if forth else x)
        here, there = table[r], table[r + 1]
        up, along = (1, 0) if forth else (0, 1)
        for q in range(least[layer], greatest[layer] + 1):
            cost = costs[offsets[layer] + q]
            begin, end = max(a, a1 - along * q), min(b, b1 - along * q) + 1
            for y in range(max(d, d1 - up * q), min(e, e1 - up * q) + 1):
                at = (y - c) * width
                to = at + up * q * width + along * q
                for x in range(begin, end):
                    here[at + x] = min(here[at + x], there[to + x] + cost)
        for y in range(d1, e1 + 1):
            for x in range(a1, b1 + 1):
                table[r + 1, (y - c) * width + x] += charge * (y if forth else x)
        _price(table, r, c, axis)


@called_kernel
def ring_work(axis: Axis) -> int:
    """Return about how many states times choices `solve_ring` looks at."""
    low, high, least, greatest = axis.low, axis.high, axis.least, axis.greatest
    num = len(least)
    total = 0
    half = num // 2
    for c in range(low[half], high[half] + 1):
        for r in range(num):
            a, b, d, e = _box(r, c, low, high, num)
            layer = half + r // 2 if r % 2 == 0 else r // 2
            total += (max(b - a, 0) + 4) * max(e - d + 1, 0) * (greatest[layer] - least[layer] + 2)
    return total


@called_kernel
def solve_ring(tables: IntArray, axis: Axis, counts: IntArray) -> int:
    """Return the least cost of a walk and write its counts, positions and stages, into `counts`.

    Layer j with q nodes costs ``costs[offsets[j] + q]``; position p costs ``-multipliers[p] * count``,
    stage r ``halves / 2 * s * (k - s)`` with s nodes in its window. `tables` has shape (2, layers + 1, (k +
    2)^2 / 4).
    """
    low, high, halves, multipliers = axis.low, axis.high, axis.halves, axis.multipliers
    least, greatest, costs, offsets, size = axis.least, axis.greatest, axis.costs, axis.offsets, axis.size
    num = len(least)
    half = num // 2
    best, start, written = INFINITE, -1, 0
    for c in range(low[half], high[half] + 1):
        cost = _forward(tables[1 - written], c, axis)
        if cost < best:
            best, start, written = cost, c, 1 - written
    if best >= INFINITE // 2:
        return INFINITE
    table, c = tables[written], start
    width = c + 1
    x, y = c, size
    counts[half], counts[num], counts[0] = c, size, 0
    for r in range(num - 1, -1, -1):
        s = y - x
        window = halves[num + 2 + r] * (SCALE // 2) * s * (size - s)
        counts[num + 2 + r] = s
        forth = r % 2 == 0
        layer = half + r // 2 if forth else r // 2
        charge = multipliers[layer + 1] * (y if forth else x) if layer + 1 != half else 0
        rest = table[r + 1, (y - c) * width + x] - window + charge
        a, b, d, e = _box(r, c, low, high, num)
        for q in range(least[layer], greatest[layer] + 1):
            x0, y0 = (x, y - q) if forth else (x - q, y)
            if (
                a <= x0 <= b
                and d <= y0 <= e
                and table[r, (y0 - c) * width + x0] + costs[offsets[layer] + q] == rest
            ):
                x, y = x0, y0
                break
        counts[layer] = y if forth else x
    counts[half] = c
    counts[num + 1] = c
    return best


@called_kernel
def restrict_ring(tables: IntArray, axis: Axis, limit: int, through: IntArray, reach: IntArray) -> int:
    """Narrow the intervals to counts on a walk of at most `limit`; how many counts went, or -1 for all.

    Writes the least cost of all walks with q nodes in layer j, what they charge for the layer included,
    into ``through[j, q]``. `reach` has shape (2 * layers + 2, 2): the intervals to be.
    """
    low, high, halves, multipliers = axis.low, axis.high, axis.halves, axis.multipliers
    least, greatest, costs, offsets, size = axis.least, axis.greatest, axis.costs, axis.offsets, axis.size
    num = len(least)
    half = num // 2
    for layer in range(num):
        for q in range(least[layer], greatest[layer] + 1):
            through[layer, q] = INFINITE
    for p in range(2 * num + 2):
        reach[p, 0], reach[p, 1] = size + 1, -1
    for c in range(low[half], high[half] + 1):
        if _forward(tables[0], c, axis) > limit:
            continue
        _backward(tables[1], c, axis)
        width = c + 1
        weight = 0
        for r in range(num + 1):
            a, b, d, e = _box(r, c, low, high, num)
            p, t = r // 2, half + (r + 1) // 2
            weight = halves[num + 1 + r] * (SCALE // 2)
            for x in range(a, b + 1):
                for y in range(d, e + 1):
                    s = y - x
                    at = (y - c) * width + x
                    if tables[0, r, at] + tables[1, r, at] - weight * s * (size - s) <= limit:
                        reach[p, 0], reach[p, 1] = min(reach[p, 0], x), max(reach[p, 1], x)
                        reach[t, 0], reach[t, 1] = min(reach[t, 0], y), max(reach[t, 1], y)
                        w = num + 1 + r
                        reach[w, 0], reach[w, 1] = min(reach[w, 0], s), max(reach[w, 1], s)
            if r == num:
                break
            a1, b1, d1, e1 = _box(r + 1, c, low, high, num)
            forth = r % 2 == 0
            layer = half + r // 2 if forth else r // 2
            charge = multipliers[layer + 1] if layer + 1 != half else 0
            up, along = (1, 0) if forth else (0, 1)
            for q in range(least[layer], greatest[layer] + 1):
                best = INFINITE
                for y in range(max(d, d1 - up * q), min(e, e1 - up * q) + 1):
                    at, to = (y - c) * width, (y - c + up * q) * width + along * q
                    for x in range(max(a, a1 - along * q), min(b, b1 - along * q) + 1):
                        cost = tables[0, r, at + x] + tables[1, r + 1, to + x]
                        best = min(best, cost - charge * (y + q if forth else x + q))
                through[layer, q] = min(through[layer, q], best + costs[offsets[layer] + q])
    removed = 0
    for p in range(2 * num + 2):
        if reach[p, 0] > reach[p, 1]:
            return -1
        removed += reach[p, 0] - low[p] + high[p] - reach[p, 1]
        low[p], high[p] = reach[p, 0], reach[p, 1]
    return removed
