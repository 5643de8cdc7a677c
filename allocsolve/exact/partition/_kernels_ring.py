"""Dynamic programs over the counts of a ring: those of `_kernels_cuts`, over windows of half a ring.

The ring is unrolled at some layer. Two pointers go along it together, half a ring (h = n // 2 layers)
apart: at stage r, 0 <= r <= n, the layers between them, the *window*, are r // 2 .. h + (r + 1) // 2 - 1.
Step r takes in the layer ahead if r is even and takes out the one behind if r is odd, so that every layer
is passed once. Stages 0..n - 1 see every half ring once (odd rings: every one of h layers, or its
complement), and the window of stage n is what that of stage 0 leaves.

The distances on a ring depend only on the counts of its windows: a walk is the count of the window, stage by
stage. The cells ensure that the last count is k less the first, and that all layers together hold k nodes; a
walk need not.
"""
# A kernel is a single loop: a function per branch costs time and hides the invariant.

from __future__ import annotations

from typing import TYPE_CHECKING

from allocsolve.exact.partition._kernels_cuts import INFINITE, price
from allocsolve.kernels import inner_kernel

if TYPE_CHECKING:
    from allocsolve.exact.partition._kernels_cuts import Axis
    from allocsolve.model import IntArray


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
