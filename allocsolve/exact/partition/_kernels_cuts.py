"""Dynamic programs over the cut counts of one axis.

*No ring*. Layers are the nodes that share a coordinate; position p has the count of chosen nodes in the first
p layers, which goes from 0 at position 0 to k at position n. Layer j holds q nodes, ``least[j] <= q <=
greatest[j]``. Position p costs ``halves[p] / 2 * s * (k - s) - multipliers[p] * s`` at count s, layer j
with q nodes ``costs[offsets[j] + q]``.

All costs are integers in units of 1/SCALE hops, so that every bound is exact. Rows of the tables:
positions; columns: counts 0..k. Entries outside ``low[p]..high[p]`` are never read.

*Rings*, over windows of half a ring. The ring is unrolled at some layer. Two pointers go along it together,
half a ring (h = n // 2 layers) apart: at stage r, 0 <= r <= n, the layers between them, the *window*, are
r // 2 .. h + (r + 1) // 2 - 1. Step r takes in the layer ahead if r is even and takes out the one behind if r
is odd, so that every layer is passed once. Stages 0..n - 1 see every half ring once (odd rings: every one of
h layers, or its complement), and the window of stage n is what that of stage 0 leaves.

The distances on a ring depend only on the counts of its windows: a walk is the count of the window, stage by
stage. The cells ensure that the last count is k less the first, and that all layers together hold k nodes; a
walk need not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from allocsolve.kernels import inner_kernel

if TYPE_CHECKING:
    from allocsolve.model import IntArray

#: Units of cost per hop. Even, so that the half weights of odd rings are whole.
SCALE = 64

#: Above every sum of costs; sums of a few such values still fit 64 bits.
INFINITE = 2**60


class Axis(NamedTuple):
    """One axis of a node of the search: which walks along it are allowed, and what they cost."""

    #: Shape (positions,): least and greatest count, of a ring by stage.
    low: IntArray
    high: IntArray
    #: Shape (positions,): the weight of a count in halves, and the payment per node of it in 1/SCALE hops.
    halves: IntArray
    multipliers: IntArray
    #: Shape (layers,): least and greatest number of nodes.
    least: IntArray
    greatest: IntArray
    #: Layer j with q nodes costs ``costs[offsets[j] + q]``.
    costs: IntArray
    offsets: IntArray
    #: The number of nodes to choose.
    size: int


@inner_kernel
def price(halves: int, multiplier: int, size: int, count: int) -> int:
    """Return the cost of a count at a position."""
    return halves * count * (size - count) * (SCALE // 2) - multiplier * count


@inner_kernel
def forward(table: IntArray, axis: Axis) -> int:
    """Write the least cost of reaching each count into `table` and return the least of all walks.

    O(sum of counts times choices of q).
    """
    low, high, halves, multipliers = axis.low, axis.high, axis.halves, axis.multipliers
    least, greatest, costs, offsets, size = axis.least, axis.greatest, axis.costs, axis.offsets, axis.size
    num = len(least)
    for s in range(low[0], high[0] + 1):
        table[0, s] = price(halves[0], multipliers[0], size, s)
    for j in range(num):
        here, there = table[j], table[j + 1]
        a, b = low[j + 1], high[j + 1]
        for s in range(a, b + 1):
            there[s] = INFINITE
        for q in range(least[j], greatest[j] + 1):
            cost = costs[offsets[j] + q]
            for s in range(max(low[j], a - q), min(high[j], b - q) + 1):
                there[s + q] = min(there[s + q], here[s] + cost)
        for s in range(a, b + 1):
            there[s] += price(halves[j + 1], multipliers[j + 1], size, s)
    return table[num, size] if low[num] <= size <= high[num] else INFINITE


@inner_kernel
def backward(table: IntArray, axis: Axis) -> None:
    """Write the least cost of going on from each count, its own position included, into `table`."""
    low, high, halves, multipliers = axis.low, axis.high, axis.halves, axis.multipliers
    least, greatest, costs, offsets, size = axis.least, axis.greatest, axis.costs, axis.offsets, axis.size
    num = len(least)
    for j in range(num, -1, -1):
        here = table[j]
        if j < num:
            there = table[j + 1]
            a, b = low[j + 1], high[j + 1]
            for s in range(low[j], high[j] + 1):
                here[s] = INFINITE
            for q in range(least[j], greatest[j] + 1):
                cost = costs[offsets[j] + q]
                for s in range(max(low[j], a - q), min(high[j], b - q) + 1):
                    here[s] = min(here[s], there[s + q] + cost)
        else:
            for s in range(low[j], high[j] + 1):
                here[s] = 0
        for s in range(low[j], high[j] + 1):
            here[s] += price(halves[j], multipliers[j], size, s)


@inner_kernel
def trace(table: IntArray, axis: Axis, counts: IntArray) -> None:
    """Write the counts of a least walk into `counts`, shape (positions,), from the table of `forward`."""
    low, high, halves, multipliers = axis.low, axis.high, axis.halves, axis.multipliers
    least, greatest, costs, offsets, size = axis.least, axis.greatest, axis.costs, axis.offsets, axis.size
    num = len(least)
    s = size
    counts[num] = s
    for j in range(num - 1, -1, -1):
        rest = table[j + 1, s] - price(halves[j + 1], multipliers[j + 1], size, s)
        for q in range(least[j], greatest[j] + 1):
            t = s - q
            if low[j] <= t <= high[j] and table[j, t] + costs[offsets[j] + q] == rest:
                s = t
                break
        counts[j] = s


@inner_kernel
def trim(ahead: IntArray, behind: IntArray, axis: Axis, limit: int) -> int:
    """Narrow intervals to counts on walks of at most `limit`; return the number dropped, or -1 for all."""
    low, high, halves, multipliers, size = axis.low, axis.high, axis.halves, axis.multipliers, axis.size
    removed = 0
    for p in range(len(low)):
        a, b = low[p], high[p]
        while a <= b and ahead[p, a] + behind[p, a] - price(halves[p], multipliers[p], size, a) > limit:
            a += 1
        while b >= a and ahead[p, b] + behind[p, b] - price(halves[p], multipliers[p], size, b) > limit:
            b -= 1
        if a > b:
            return -1
        removed += a - low[p] + high[p] - b
        low[p], high[p] = a, b
    return removed


@inner_kernel
def pass_through(ahead: IntArray, behind: IntArray, axis: Axis, through: IntArray) -> None:
    """Write the least cost of all walks with q nodes in layer j into ``through[j, q]``."""
    low, high, least, greatest = axis.low, axis.high, axis.least, axis.greatest
    for j in range(len(least)):
        for q in range(least[j], greatest[j] + 1):
            best = INFINITE
            for s in range(max(low[j], low[j + 1] - q), min(high[j], high[j + 1] - q) + 1):
                best = min(best, ahead[j, s] + behind[j + 1, s + q])
            through[j, q] = best + axis.costs[axis.offsets[j] + q]


@inner_kernel
def _passed(r: int, num: int) -> tuple[int, int]:
    """Return the layer that step r passes, and 1 if it is taken in, -1 if it is taken out."""
    if r % 2 == 0:
        return num // 2 + r // 2, 1
    return r // 2, -1


@inner_kernel
def forward_ring(table: IntArray, axis: Axis) -> int:
    """Write the least cost of reaching each count into `table` and return the least of all walks.

    O(sum of counts times choices of q).
    """
    low, high, halves, multipliers = axis.low, axis.high, axis.halves, axis.multipliers
    least, greatest, size = axis.least, axis.greatest, axis.size
    num = len(least)
    for s in range(low[0], high[0] + 1):
        table[0, s] = price(halves[0], multipliers[0], size, s)
    for r in range(num):
        here, there = table[r], table[r + 1]
        a, b = low[r + 1], high[r + 1]
        for s in range(a, b + 1):
            there[s] = INFINITE
        layer, sign = _passed(r, num)
        for q in range(least[layer], greatest[layer] + 1):
            move = sign * q
            for s in range(max(low[r], a - move), min(high[r], b - move) + 1):
                there[s + move] = min(there[s + move], here[s])
        for s in range(a, b + 1):
            there[s] += price(halves[r + 1], multipliers[r + 1], size, s)
    best = INFINITE
    for s in range(low[num], high[num] + 1):
        best = min(best, table[num, s])
    return best


@inner_kernel
def backward_ring(table: IntArray, axis: Axis) -> None:
    """Write the least cost of going on from each count, its own stage included, into `table`."""
    low, high, halves, multipliers = axis.low, axis.high, axis.halves, axis.multipliers
    least, greatest, size = axis.least, axis.greatest, axis.size
    num = len(least)
    for s in range(low[num], high[num] + 1):
        table[num, s] = price(halves[num], multipliers[num], size, s)
    for r in range(num - 1, -1, -1):
        here, there = table[r], table[r + 1]
        a, b = low[r + 1], high[r + 1]
        for s in range(low[r], high[r] + 1):
            here[s] = INFINITE
        layer, sign = _passed(r, num)
        for q in range(least[layer], greatest[layer] + 1):
            move = sign * q
            for s in range(max(low[r], a - move), min(high[r], b - move) + 1):
                here[s] = min(here[s], there[s + move])
        for s in range(low[r], high[r] + 1):
            here[s] += price(halves[r], multipliers[r], size, s)


@inner_kernel
def trace_ring(table: IntArray, axis: Axis, counts: IntArray) -> None:
    """Write the counts of a least walk into `counts`, shape (stages,), from the table of `forward_ring`."""
    low, high, halves, multipliers = axis.low, axis.high, axis.halves, axis.multipliers
    least, greatest, size = axis.least, axis.greatest, axis.size
    num = len(least)
    s = low[num]
    for t in range(low[num], high[num] + 1):
        if table[num, t] < table[num, s]:
            s = t
    counts[num] = s
    for r in range(num - 1, -1, -1):
        rest = table[r + 1, s] - price(halves[r + 1], multipliers[r + 1], size, s)
        layer, sign = _passed(r, num)
        for q in range(least[layer], greatest[layer] + 1):
            t = s - sign * q
            if low[r] <= t <= high[r] and table[r, t] == rest:
                s = t
                break
        counts[r] = s
