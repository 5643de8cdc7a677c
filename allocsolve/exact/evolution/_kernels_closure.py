"""Differences of times, closed under paths and holes: the theory side of the conflict-driven search.

Variables are times x of N points: the starts of the applications, or of their segments, then the *origin*,
time 0. A fact is "x_j - x_i >= v" on the *arc* i * N + j; its negation is "x_i - x_j >= 1 - v", on the
reverse arc. The state is one value per arc, closed under

* paths: value(i, j) >= value(i, k) + value(k, j),
* holes: differences of two points that no schedule has (two blocks that do not fit together would overlap);
  a value inside a hole is raised to its end.

Every raise is noted on a trail with its reason, so that it can be undone and explained.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from allocsolve.kernels import inner_kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from allocsolve.model import IntArray

#: Entries of `Engine.state`: the lengths of the trail, of its propagated part, and of the list of decisions;
#: the number of clauses; the cause of a conflict (a clause, or -1: the last raise contradicts the reverse
#: arc); the conflicts in all, and since the last restart; the learned clauses that stay at a clean-up; the
#: clauses at the last clean-up; the length of the list of watches; the length of the log, and the clauses in
#: it; how values fall into ranges (a value `v` of an arc is in range ``(v + BASE) >> SHIFT`` of its
#: `RANGES`); whether decisions follow the target; and whether they take the widest pairs first.
TRAIL, HEAD, LEVEL, CLAUSES, CULPRIT, CONFLICTS, SINCE, KEEP, CLEANED, WATCHES = range(10)
LOGGED, NOTED, BASE, SHIFT, RANGES, TOWARDS, WIDEST = range(10, 17)
STATE_SIZE = 17

#: Columns of `Engine.trail`.
ARC, OLD, NEW, PREVIOUS, REASON, DEPTH = range(6)

#: The reason of decisions and of facts that hold without a reason. It is a number of numpy because numba
#: would compile what it is passed to once more for this single Python integer.
NO_REASON: int = np.int64(-1)  # type: ignore[assignment]  # kernels take it for an int

#: Reasons up to this number stem from the limit on the sum of the starts, see `_kernels_sum`, but for the one
#: that stems from the budget for waste, see `_kernels_waste`, and all below it, which stem from prices of
#: steps, see `_kernels_prices`.
SUM_REASON: int = np.int64(-2)  # type: ignore[assignment]  # kernels take it for an int
WASTE_REASON: int = np.int64(-(1 << 20))  # type: ignore[assignment]  # kernels take it for an int
PRICE_REASON: int = np.int64(-(1 << 20) - 1)  # type: ignore[assignment]  # kernels take it for an int


class Arcs(NamedTuple):
    """The arrays of an engine that `raise_arc` reads and writes; few, since all are passed at each call."""

    values: IntArray
    latest: IntArray
    trail: NDArray[np.int32]
    hole_offsets: IntArray
    holes: IntArray
    heads: IntArray
    beyond: IntArray
    inside: IntArray
    waits: IntArray
    state: IntArray


@inner_kernel
def _after_hole(hole_offsets: IntArray, holes: IntArray, arc: int, value: int) -> int:
    """Return the least allowed difference from `value` on. O(log holes)."""
    a, b = hole_offsets[arc], hole_offsets[arc + 1]
    while a < b:
        middle = (a + b) >> 1
        if holes[middle, 1] < value:
            a = middle + 1
        else:
            b = middle
    if a < hole_offsets[arc + 1] and holes[a, 0] <= value:
        return int(holes[a, 1]) + 1
    return value


@inner_kernel
def before_hole(hole_offsets: IntArray, holes: IntArray, arc: int, value: int) -> int:
    """Return the least bound that implies the bound `value`: the first value of its hole, or `value`."""
    for hole in range(hole_offsets[arc], hole_offsets[arc + 1]):
        if holes[hole, 0] > value:
            break
        if value <= holes[hole, 1] + 1:
            return int(holes[hole, 0])
    return value


@inner_kernel
def _note(arcs: Arcs, arc: int, value: int, reason: int) -> None:
    """Set an arc to a higher value, and note that on the trail."""
    trail, state = arcs.trail, arcs.state
    entry = state[TRAIL]
    if entry == len(trail):
        raise MemoryError("the trail is full")
    trail[entry, ARC] = arc
    trail[entry, OLD] = arcs.values[arc]
    trail[entry, NEW] = value
    trail[entry, PREVIOUS] = arcs.latest[arc]
    trail[entry, REASON] = reason
    trail[entry, DEPTH] = state[LEVEL]
    arcs.values[arc] = value
    arcs.latest[arc] = entry
    state[TRAIL] = entry + 1


@inner_kernel
def _close(arcs: Arcs, n: int, arc: int, waiting: int) -> int:
    """Close all paths through a raised arc; return the number of waiting arcs, or -1 on a contradiction.

    All other paths are closed before. A path through the arc raises the value from i to j only if it also
    raises those from its first point to j and from i to its second: O(n + arcs raised). An arc whose new
    value may lie in a hole is added to the waiting arcs.
    """
    values, hole_offsets, heads, beyond = arcs.values, arcs.hole_offsets, arcs.heads, arcs.beyond
    i, j = arc // n, arc % n
    value = values[arc]
    if value + values[j * n + i] > 0:
        return -1
    count = 0
    for w in range(n):
        if w not in (i, j) and value + values[j * n + w] > values[i * n + w]:
            heads[count], beyond[count] = w, values[j * n + w]
            count += 1
    for u in range(n):
        if u == j:
            continue
        to = u * n + j
        if u != i:
            if values[u * n + i] + value <= values[to]:
                continue
            _note(arcs, to, values[u * n + i] + value, i)
            if values[to] + values[j * n + u] > 0:
                return -1
            if hole_offsets[to + 1] > hole_offsets[to] and arcs.waits[to] == 0:
                arcs.waits[to] = 1
                arcs.inside[waiting] = to
                waiting += 1
        for at in range(count):
            w = heads[at]
            on = u * n + w
            if w == u or values[to] + beyond[at] <= values[on]:
                continue
            _note(arcs, on, values[to] + beyond[at], j)
            if values[on] + values[w * n + u] > 0:
                return -1
            if hole_offsets[on + 1] > hole_offsets[on] and arcs.waits[on] == 0:
                arcs.waits[on] = 1
                arcs.inside[waiting] = on
                waiting += 1
    return waiting


@inner_kernel
def raise_arc(arcs: Arcs, n: int, arc: int, value: int, reason: int) -> bool:
    """Raise an arc to `value` and close all paths and holes; return whether there is a contradiction.

    Raises are closed one at a time: an arc whose value lies in a hole waits until the paths are closed.
    """
    values, inside, waits = arcs.values, arcs.inside, arcs.waits
    waiting = 0
    value = _after_hole(arcs.hole_offsets, arcs.holes, arc, value)
    while True:
        _note(arcs, arc, value, reason)
        closed = _close(arcs, n, arc, waiting)
        if closed < 0:
            for at in range(len(inside)):
                waits[at] = 0
            return True
        waiting = closed
        value = values[arc]
        while value == values[arc]:
            if waiting == 0:
                return False
            waiting -= 1
            arc = inside[waiting]
            waits[arc] = 0
            value = _after_hole(arcs.hole_offsets, arcs.holes, arc, values[arc])
        # The path that raised its value into the hole.
        reason = arcs.trail[arcs.latest[arc], REASON]
