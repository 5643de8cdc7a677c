"""The index of window peaks: it excludes windows of a duration and capacity for whole stretches of time.

For every leaf and class of durations the index knows a lower bound on the least peak of a window of that
duration that begins in the leaf (windows belong to the leaf where they begin, so a stretch of leaves has the
minimum of theirs). With durations rounded down to a class, a bound above the capacity proves that no window
begins there. Added usage leaves every bound valid: the leaves are marked, and recomputed when a search has
looked into one in vain (lazy repair). Usage that is taken away lowers the bounds by as much at once.
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
)
from allocsolve.kernels import bisect_right, inner_kernel

if TYPE_CHECKING:
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
