"""Kernels that place one application on a resource profile in leaves, with the index of window peaks.

The least feasible vector of step starts is the least fixpoint of operators that only raise bounds (see
`_kernels_fit` beside this module), so they may come in any order. Here they are windows: a table of
(variable, offset, capacity, duration), each of which says that from ``starts[variable] + offset`` on at most
`capacity` nodes may be busy for `duration` seconds. An unexpanded application has one variable, its start;
otherwise there is one for each step.

The index of window peaks excludes windows of a duration and capacity for whole stretches of time. For every
leaf and class of durations it knows a lower bound on the least peak of a window of that duration that begins
in the leaf (windows belong to the leaf where they begin, so a stretch of leaves has the minimum of theirs).
With durations rounded down to a class, a bound above the capacity proves that no window begins there. Added
usage leaves every bound valid: the leaves are marked, and recomputed when a search has looked into one in
vain (lazy repair). Usage that is taken away lowers the bounds by as much at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from allocsolve.heuristics.evolution._peak_index import (
    BASE,
    END,
    LAZY,
    PEAK,
    SIZE,
    STALE,
    TIME,
    USED,
    PeakIndex,
    add_step,
    cut,
    first_free,
    last_busy,
)
from allocsolve.kernels import bisect_right, inner_kernel

if TYPE_CHECKING:
    from allocsolve.heuristics._kernels_fit import Request
    from allocsolve.model import IntArray

#: More nodes than are ever busy.
_ABOVE_ALL = 1 << 62


@inner_kernel
def class_of(index: PeakIndex, duration: int) -> int:
    """Return the class of a duration >= 1: the largest class that is not longer."""
    return bisect_right(index.classes, len(index.classes), duration) - 1


@inner_kernel
def rules_out(index: PeakIndex, leaf: int, duration_class: int, capacity: int) -> bool:
    """Return whether the index proves that no window begins in the leaf."""
    return bool(index.peaks[leaf >> 4, duration_class, leaf & 15] > (capacity >> index.scale))


@inner_kernel
def next_leaf(index: PeakIndex, leaf: int, duration_class: int, capacity: int) -> int:
    """Return the first leaf from `leaf` on that the index does not rule out. O(log leaves).

    There is always one, since the cluster is idle at the end of the last leaf.
    """
    free = capacity >> index.scale
    level = 0
    while True:
        block = index.levels[level] + (leaf >> 4)
        k = leaf & 15
        while k < 16 and index.peaks[block, duration_class, k] > free:
            k += 1
        if k < 16:
            break
        leaf = (leaf >> 4) + 1
        level += 1
    leaf = (leaf & ~15) | k
    while level > 0:
        level -= 1
        block = index.levels[level] + leaf
        k = 0
        while index.peaks[block, duration_class, k] > free:
            k += 1
        leaf = (leaf << 4) | k
    return leaf


@inner_kernel
def _store(index: PeakIndex, leaf: int, duration_class: int, value: int) -> None:
    """Store a bound of a leaf, and the minima above it that change."""
    for level in range(len(index.levels) - 1):
        block = index.levels[level] + (leaf >> 4)
        if value == index.peaks[block, duration_class, leaf & 15]:
            return
        index.peaks[block, duration_class, leaf & 15] = value
        lowest = index.peaks[block, duration_class, 0]
        for k in range(1, 16):
            lowest = min(lowest, index.peaks[block, duration_class, k])
        value = lowest
        leaf >>= 4


@inner_kernel
def repair(index: PeakIndex, leaf: int, best: IntArray) -> None:
    """Recompute the bounds of a leaf. `best` is work space, shape (classes,).

    The peak of a window that begins with a segment is no higher than those of windows that begin later in the
    segment, nor than those of windows that begin in the next segment if as many nodes or more are busy there.
    O(segments of the leaf x leaves and segments within the longest class), usually much less.
    """
    classes = index.classes
    num_classes = len(classes)
    for j in range(num_classes):
        best[j] = _ABOVE_ALL
    width = 1 << index.shift
    first = index.leaves[leaf, BASE]
    for begin in range(first, first + index.leaves[leaf, SIZE]):
        if begin > first and index.segments[begin - 1, USED] <= index.segments[begin, USED]:
            continue
        start = index.segments[begin, TIME]
        top = 0
        j = 0
        at = leaf
        at_end = index.origin + ((leaf + 1) << index.shift)
        k = begin
        while j < num_classes and top < best[num_classes - 1]:
            if at == len(index.leaves):  # idle from here on
                at_end = start + classes[-1]
            elif k == index.leaves[at, BASE] and classes[j] > at_end - start:  # window j covers the leaf
                top = max(top, index.leaves[at, PEAK])
            elif index.leaves[at, PEAK] > top:
                stop = index.leaves[at, BASE] + index.leaves[at, SIZE]
                lazy = index.leaves[at, LAZY]
                while k < stop and j < num_classes:
                    top = max(top, index.segments[k, USED] + lazy)
                    k += 1
                    end = index.segments[k, TIME] if k < stop else at_end
                    while j < num_classes and classes[j] <= end - start:
                        best[j] = min(best[j], top)
                        j += 1
            while j < num_classes and classes[j] <= at_end - start:
                best[j] = min(best[j], top)
                j += 1
            at += 1
            at_end += width
            if at < len(index.leaves):
                k = index.leaves[at, BASE]
    for j in range(num_classes):
        _store(index, leaf, j, best[j] >> index.scale)
    index.leaves[leaf, STALE] = 0


@inner_kernel
def change(index: PeakIndex, starts: IntArray, nodes: IntArray, completion: int, sign: int) -> None:
    """Add (sign 1) or remove (-1) a placed application: step i holds its nodes from ``starts[i]`` on."""
    cut(index, completion)
    for i in range(len(starts)):
        cut(index, starts[i])
    for i in range(len(starts)):
        add_step(index, starts[i], starts[i + 1] if i + 1 < len(starts) else completion, sign * nodes[i])
    index.state[END] = max(index.state[END], completion)
    # Every window of a class that meets the application begins in these leaves.
    first = max(starts[0] - index.classes[-1] - index.origin, 0) >> index.shift
    last = (completion - 1 - index.origin) >> index.shift
    for leaf in range(first, last + 1):
        index.leaves[leaf, STALE] = 1
    if sign < 0:
        peak = nodes[0]
        for i in range(1, len(nodes)):
            peak = max(peak, nodes[i])
        _lower(index, first, last, peak)


@inner_kernel
def _lower(index: PeakIndex, first: int, last: int, nodes: int) -> None:
    """Lower the bounds of the leaves by the nodes taken away; O(leaves x classes)."""
    drop = (nodes >> index.scale) + 1 if index.scale else nodes  # rounded values fall by at most one more
    for leaf in range(first, last + 1):
        for j in range(len(index.classes)):
            _store(index, leaf, j, max(index.peaks[leaf >> 4, j, leaf & 15] - drop, 0))


#: Columns of the table of windows. EXACT is 0 for a composite, which only the index tests. VERIFIED is the
#: time at which the window was last seen free, FIRST the first leaf that the index allows. Column RANK does
#: not belong to the row: in row r it has the row of the window of rank r.
VARIABLE, OFFSET, CAPACITY, DURATION, CLASS, EXACT, VERIFIED, FIRST, RANK = range(9)
TABLE_COLUMNS = 9


@inner_kernel
def _fill(row: IntArray, variable: int, offset: int, capacity: int, duration: int) -> None:
    row[VARIABLE] = variable
    row[OFFSET] = offset
    row[CAPACITY] = capacity
    row[DURATION] = duration
    row[EXACT] = 1
    row[VERIFIED] = -1


@inner_kernel
def _windows(durations: IntArray, nodes: IntArray, num_nodes: int, elastic: bool, table: IntArray) -> int:
    """Fill the table; return the number of windows, at most three per step.

    However the steps are expanded, a run of them holds its least nodes from ``durations[i]`` before step i +
    1 on, for the sum of its durations. A composite is the longest run on at least the nodes of a step.
    """
    num_steps = len(durations)
    count = 0
    begin = 0  # the begin of step i, from the first step on
    for i in range(num_steps):
        free = num_nodes - nodes[i]
        if i > 0 or not elastic:
            _fill(table[count], i if elastic else 0, 0 if elastic else begin, free, durations[i])
            count += 1
        if elastic and i + 1 < num_steps:  # step i holds its nodes when step i + 1 begins
            _fill(table[count], i + 1, -durations[i], free, durations[i])
            count += 1
        left = i
        offset = begin
        while left > 0 and nodes[left - 1] > nodes[i]:  # of equal runs, the first stands for all
            left -= 1
            offset -= durations[left]
        right = i + 1
        length = begin + durations[i] - offset
        while right < num_steps and nodes[right] >= nodes[i]:
            length += durations[right]
            right += 1
        if right - left > 1 and (left == 0 or nodes[left - 1] < nodes[i]):
            _fill(
                table[count],
                left + 1 if elastic else 0,
                -durations[left] if elastic else offset,
                free,
                length,
            )
            table[count, EXACT] = 0
            count += 1
        begin += durations[i]
    return count


@inner_kernel
def _raise(starts: IntArray, variable: int, value: int, request: Request) -> None:
    """Raise a bound, and the bounds of other steps as far as durations and limits require it."""
    durations, _, longest = request
    starts[variable] = value
    for i in range(variable + 1, len(starts)):
        earliest = starts[i - 1] + durations[i - 1]
        if starts[i] >= earliest:
            break
        starts[i] = earliest
    for i in range(variable - 1, -1, -1):
        earliest = starts[i + 1] - (longest[i] if i > 0 else durations[0])
        if starts[i] >= earliest:
            break
        starts[i] = earliest


@inner_kernel
def _ranked(index: PeakIndex, table: IntArray, count: int, starts: IntArray, request: Request) -> None:
    """Raise the bounds to those of the index and rank the windows by them, the latest first."""
    for c in range(count):
        table[c, CLASS] = class_of(index, table[c, DURATION])
        at = starts[table[c, VARIABLE]] + table[c, OFFSET]
        leaf = (at - index.origin) >> index.shift
        first = next_leaf(index, leaf, table[c, CLASS], table[c, CAPACITY])
        table[c, FIRST] = first
        if first > leaf:
            value = index.origin + (first << index.shift) - table[c, OFFSET]
            _raise(starts, table[c, VARIABLE], value, request)
        k = c
        while k > 0 and table[table[k - 1, RANK], FIRST] < first:
            table[k, RANK] = table[k - 1, RANK]
            k -= 1
        table[k, RANK] = c


@inner_kernel
def _ruled_out(index: PeakIndex, table: IntArray, count: int, starts: IntArray) -> int:
    """Return a window that the index rules out at its place, -1 if none. Its FIRST gets the next leaf.

    A window that fails moves forward by one rank: it is likely to fail again.
    """
    k = 0
    failing = -1
    while k < count and failing < 0:
        c = table[k, RANK]
        leaf = (starts[table[c, VARIABLE]] + table[c, OFFSET] - index.origin) >> index.shift
        if rules_out(index, leaf, table[c, CLASS], table[c, CAPACITY]):
            table[c, FIRST] = next_leaf(index, leaf + 1, table[c, CLASS], table[c, CAPACITY])
            if k > 0:
                table[k, RANK] = table[k - 1, RANK]
                table[k - 1, RANK] = c
            failing = c
        k += 1
    return failing


@inner_kernel
def _blocked(index: PeakIndex, table: IntArray, count: int, starts: IntArray) -> int:
    """Return a window that is not free at its place, -1 if all are. Its VERIFIED says where to look next.

    It looks at one leaf for each window.
    """
    k = 0
    failing = -1
    while k < count and failing < 0:
        c = table[k, RANK]
        at = starts[table[c, VARIABLE]] + table[c, OFFSET]
        if table[c, EXACT] and table[c, VERIFIED] != at:
            table[c, VERIFIED] = first_free(index, at, table[c, DURATION], table[c, CAPACITY])
            if table[c, VERIFIED] > at:
                failing = c
        k += 1
    return failing


@inner_kernel
def _hold(index: PeakIndex, starts: IntArray, request: Request, num_nodes: int, held: IntArray) -> bool:
    """Raise the bounds of steps that cannot hold their nodes until the next begins; return whether any rose.

    It goes once from the last step to the first. The windows at both ends of a step cover its hold if that is
    at most twice its duration. Up to ``held[i]`` its nodes were seen free, as bounds only rise.
    """
    raised = False
    for i in range(len(starts) - 2, 0, -1):
        end = starts[i + 1]
        if end - starts[i] > 2 * request.durations[i]:
            to = last_busy(index, max(starts[i], held[i]), end, num_nodes - request.nodes[i])
            held[i] = end
            if to >= 0:
                _raise(starts, i, to, request)
                raised = True
    return raised


@inner_kernel
def place_in(
    index: PeakIndex,
    request: Request,
    num_nodes: int,
    earliest: int,
    starts: IntArray,
    table: IntArray,
    work: IntArray,
) -> None:
    """Write the least feasible vector into `starts`, as `_kernels_fit.place` does.

    The index must reach beyond its last busy second and beyond `earliest`, each plus the sum of durations.
    Work space: `table`, shape (>= 3 * steps, `TABLE_COLUMNS`), and `work`, shape (2, >= steps and >=
    classes).
    """
    durations, nodes, max_durations = request
    num_steps = len(durations)
    starts[0] = earliest
    for i in range(1, num_steps):
        starts[i] = starts[i - 1] + durations[i - 1]
    elastic = _is_elastic(durations, max_durations)
    variables = starts if elastic else starts[:1]
    count = _windows(durations, nodes, num_nodes, elastic, table)
    _ranked(index, table, count, variables, request)
    for i in range(num_steps):
        work[0, i] = -1
    while True:
        c = _ruled_out(index, table, count, variables)
        if c >= 0:
            to = index.origin + (table[c, FIRST] << index.shift)
        elif elastic and _hold(index, starts, request, num_nodes, work[0]):
            continue
        else:
            c = _blocked(index, table, count, variables)
            if c < 0:
                break
            to = table[c, VERIFIED]
            leaf = (variables[table[c, VARIABLE]] + table[c, OFFSET] - index.origin) >> index.shift
            if (to - index.origin) >> index.shift > leaf:
                table[c, VERIFIED] = -1
                if index.leaves[leaf, STALE]:
                    repair(index, leaf, work[1, : len(index.classes)])
        _raise(variables, table[c, VARIABLE], to - table[c, OFFSET], request)
    for i in range(1, num_steps):
        starts[i] = max(starts[i], starts[i - 1] + durations[i - 1])


@inner_kernel
def _is_elastic(durations: IntArray, max_durations: IntArray) -> bool:
    """Return whether any step may be expanded; the first and the last never are."""
    elastic = False
    for i in range(1, len(durations) - 1):
        elastic = elastic or max_durations[i] > durations[i]
    return elastic
