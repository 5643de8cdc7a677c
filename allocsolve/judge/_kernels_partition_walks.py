"""Compiled, for the judge: the least costs of walks along the counts of an axis.

The layers of an axis enter and leave a window one at a time; a *count* is the chosen nodes in the window at
one moment. A *walk* is a count for each moment: from one to the next it changes by the nodes of one layer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from allocsolve.kernels import inner_kernel

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from allocsolve.model import IntArray

__all__ = [
    "FORCED",
    "NEVER",
    "OPEN",
    "OUT",
    "Branch",
    "Tables",
    "Windows",
    "backward",
    "forward",
    "least_through",
    "trim",
]

#: States of a cell: in no set of the branch, in some, in all.
OUT, OPEN, FORCED = 0, 1, 2

#: Above all costs; a few of it still fit 64 bits.
NEVER: Final = 2**60


class Windows(NamedTuple):
    """The axes, the main one first; their layers, and their counts, are numbered through."""

    #: Shape (axes + 1,): where the layers and the counts of each axis begin, and at last how many there are.
    layers: IntArray
    counts: IntArray
    #: Shape (counts,): units that a pair of nodes costs of which one is in the window.
    price: IntArray
    #: Shape (layers,): what enters or leaves between the first and the second count of the axis, and so on.
    passed: IntArray
    #: Shape (layers,): the layer is in the windows of the counts enter, ..., leave - 1.
    enter: IntArray
    leave: IntArray
    #: Shape (cells, axes).
    layer_of: IntArray


class Branch(NamedTuple):
    """What is left of the sets: an interval for each count and a state for each cell."""

    low: IntArray
    high: IntArray
    status: NDArray[np.int8]


class Tables(NamedTuple):
    """Memory."""

    #: Shape (counts, size + 1): least cost of a walk up to a count, and of one from it on.
    ahead: IntArray
    behind: IntArray
    #: Shape (layers,): cells that must and that may be chosen.
    least: IntArray
    greatest: IntArray
    #: Layer j with q nodes costs ``costs[offsets[j] + q]``.
    costs: IntArray
    offsets: IntArray
    #: Shape (counts,): what a node of a count is paid. Shape (counts + 1,): sums of these.
    paid: IntArray
    sums: IntArray
    #: Shape (cells,): what a cell weighs; the cells by layer of the main axis, which begin at ``begins``.
    weights: IntArray
    order: IntArray
    begins: IntArray
    #: Shape (layers of the main axis, size + 1): least cost of a walk with so many nodes in a layer.
    through: IntArray
    #: Shape (axes,): least cost of a walk.
    bests: IntArray


@inner_kernel
def _cost(windows: Windows, tables: Tables, size: int, p: int, count: int) -> int:
    return int(windows.price[p] * count * (size - count) - tables.paid[p] * count)


@inner_kernel
def forward(windows: Windows, branch: Branch, tables: Tables, size: int, t: int) -> int:
    """Fill the table of walks up to each count; return the least cost, about NEVER if there is no walk.

    O(sum over the layers of counts * choices).
    """
    low, high = branch.low, branch.high
    start, end = windows.counts[t], windows.counts[t + 1]
    for s in range(low[start], high[start] + 1):
        tables.ahead[start, s] = _cost(windows, tables, size, start, s)
    for p in range(start, end - 1):
        here, there = tables.ahead[p], tables.ahead[p + 1]
        for s in range(low[p + 1], high[p + 1] + 1):
            there[s] = NEVER
        layer = windows.passed[windows.layers[t] + p - start]
        sign = 1 if windows.enter[layer] == p + 1 else -1
        for q in range(tables.least[layer], min(tables.greatest[layer], size) + 1):
            cost = tables.costs[tables.offsets[layer] + q] if t == 0 else 0
            move = sign * q
            for s in range(max(low[p], low[p + 1] - move), min(high[p], high[p + 1] - move) + 1):
                there[s + move] = min(there[s + move], here[s] + cost)
        for s in range(low[p + 1], high[p + 1] + 1):
            there[s] += _cost(windows, tables, size, p + 1, s)
    best = NEVER
    for s in range(low[end - 1], high[end - 1] + 1):
        best = min(best, tables.ahead[end - 1, s])
    return best


@inner_kernel
def backward(windows: Windows, branch: Branch, tables: Tables, size: int, t: int) -> None:
    """Fill the table of walks from each count on, its own cost included."""
    low, high = branch.low, branch.high
    start, end = windows.counts[t], windows.counts[t + 1]
    for s in range(low[end - 1], high[end - 1] + 1):
        tables.behind[end - 1, s] = _cost(windows, tables, size, end - 1, s)
    for p in range(end - 2, start - 1, -1):
        here, there = tables.behind[p], tables.behind[p + 1]
        for s in range(low[p], high[p] + 1):
            here[s] = NEVER
        layer = windows.passed[windows.layers[t] + p - start]
        sign = 1 if windows.enter[layer] == p + 1 else -1
        for q in range(tables.least[layer], min(tables.greatest[layer], size) + 1):
            cost = tables.costs[tables.offsets[layer] + q] if t == 0 else 0
            move = sign * q
            for s in range(max(low[p], low[p + 1] - move), min(high[p], high[p + 1] - move) + 1):
                here[s] = min(here[s], there[s + move] + cost)
        for s in range(low[p], high[p] + 1):
            here[s] += _cost(windows, tables, size, p, s)


@inner_kernel
def least_through(windows: Windows, branch: Branch, tables: Tables, size: int) -> None:
    """Fill the table of walks of the main axis by the nodes of each layer."""
    low, high = branch.low, branch.high
    for layer in range(windows.layers[1]):
        for q in range(tables.least[layer], min(tables.greatest[layer], size) + 1):
            best = NEVER
            for s in range(max(low[layer], low[layer + 1] - q), min(high[layer], high[layer + 1] - q) + 1):
                best = min(best, tables.ahead[layer, s] + tables.behind[layer + 1, s + q])
            tables.through[layer, q] = best + tables.costs[tables.offsets[layer] + q]


@inner_kernel
def trim(windows: Windows, branch: Branch, tables: Tables, size: int, t: int, limit: int) -> bool:
    """Narrow the intervals to the counts of walks within the limit; False if none is left."""
    for p in range(windows.counts[t], windows.counts[t + 1]):
        first, last = branch.low[p], branch.high[p]
        ahead, behind = tables.ahead[p], tables.behind[p]
        while first <= last and ahead[first] + behind[first] - _cost(windows, tables, size, p, first) > limit:
            first += 1
        while first <= last and ahead[last] + behind[last] - _cost(windows, tables, size, p, last) > limit:
            last -= 1
        if first > last:
            return False
        branch.low[p], branch.high[p] = first, last
    return True
