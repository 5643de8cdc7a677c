"""The index of window peaks: where is no window of this duration and capacity, for whole stretches of time.

For every leaf and class of durations the index knows a lower bound on the least peak of a window of that
duration that begins in the leaf (windows belong to the leaf where they begin, so a stretch of leaves has the
minimum of theirs). With durations rounded down to a class, a bound above the capacity proves that no window
begins there. Usage that is added leaves every bound valid: the leaves are marked and recomputed when a search
has looked into one in vain (lazy repair). Usage that is taken away lowers the bounds by as much, at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from allocsolve.heuristics.evolution._kernels_leaves import (
    BASE,
    END,
    LAZY,
    PEAK,
    SIZE,
    STALE,
    TIME,
    USED,
    Tree,
    add_step,
    cut,
)
from allocsolve.kernels.jit import inner_kernel

if TYPE_CHECKING:
    from allocsolve.model import IntArray

__all__ = ["change", "class_of", "next_leaf", "repair", "rules_out"]


@inner_kernel
def class_of(tree: Tree, duration: int) -> int:
    """Return the class of a duration >= 1: the largest one that is not longer."""
    return int(np.searchsorted(tree.classes, duration, side="right")) - 1


@inner_kernel
def rules_out(tree: Tree, leaf: int, duration_class: int, capacity: int) -> bool:
    """Tell whether the index proves that no window begins in the leaf."""
    return bool(tree.peaks[leaf >> 4, duration_class, leaf & 15] > (capacity >> tree.scale))


@inner_kernel
def next_leaf(tree: Tree, leaf: int, duration_class: int, capacity: int) -> int:
    """Return the first leaf from `leaf` on that the index does not rule out. O(log leaves).

    There is one: the cluster is idle at the end of the last leaf.
    """
    free = capacity >> tree.scale
    level = 0
    while True:
        block = tree.levels[level] + (leaf >> 4)
        k = leaf & 15
        while k < 16 and tree.peaks[block, duration_class, k] > free:
            k += 1
        if k < 16:
            break
        leaf = (leaf >> 4) + 1
        level += 1
    leaf = (leaf & ~15) | k
    while level > 0:
        level -= 1
        block = tree.levels[level] + leaf
        k = 0
        while tree.peaks[block, duration_class, k] > free:
            k += 1
        leaf = (leaf << 4) | k
    return leaf


@inner_kernel
def _store(tree: Tree, leaf: int, duration_class: int, value: int) -> None:
    """Store a bound of a leaf, and the minima above it as far as they change."""
    for level in range(len(tree.levels) - 1):
        block = tree.levels[level] + (leaf >> 4)
        if value == tree.peaks[block, duration_class, leaf & 15]:
            return
        tree.peaks[block, duration_class, leaf & 15] = value
        least = tree.peaks[block, duration_class, 0]
        for k in range(1, 16):
            least = min(least, tree.peaks[block, duration_class, k])
        value = least
        leaf >>= 4


@inner_kernel
def repair(tree: Tree, leaf: int, best: IntArray) -> None:
    """Compute the bounds of a leaf anew, as they are now. `best` is work space, shape (classes,).

    A window that begins at the begin of a segment has no higher peak than those that begin later in it, nor
    than those that begin in the next segment if as many nodes or more are busy there.
    O(segments of the leaf x leaves and segments within the longest class), usually much less.
    """
    classes = tree.classes
    num_classes = len(classes)
    best[:] = np.iinfo(np.int64).max
    width = 1 << tree.shift
    first = tree.leaves[leaf, BASE]
    for begin in range(first, first + tree.leaves[leaf, SIZE]):
        if begin > first and tree.segments[begin - 1, USED] <= tree.segments[begin, USED]:
            continue
        start = tree.segments[begin, TIME]
        top = 0
        j = 0
        at = leaf
        at_end = tree.origin + ((leaf + 1) << tree.shift)
        k = begin
        while j < num_classes and top < best[-1]:
            if at == len(tree.leaves):  # idle from here on
                at_end = start + classes[-1]
            elif k == tree.leaves[at, BASE] and classes[j] > at_end - start:  # window j covers the leaf
                top = max(top, tree.leaves[at, PEAK])
            elif tree.leaves[at, PEAK] > top:
                stop = tree.leaves[at, BASE] + tree.leaves[at, SIZE]
                lazy = tree.leaves[at, LAZY]
                while k < stop and j < num_classes:
                    top = max(top, tree.segments[k, USED] + lazy)
                    k += 1
                    end = tree.segments[k, TIME] if k < stop else at_end
                    while j < num_classes and classes[j] <= end - start:
                        best[j] = min(best[j], top)
                        j += 1
            while j < num_classes and classes[j] <= at_end - start:
                best[j] = min(best[j], top)
                j += 1
            at += 1
            at_end += width
            if at < len(tree.leaves):
                k = tree.leaves[at, BASE]
    for j in range(num_classes):
        _store(tree, leaf, j, best[j] >> tree.scale)
    tree.leaves[leaf, STALE] = 0


@inner_kernel
def change(tree: Tree, starts: IntArray, nodes: IntArray, completion: int, sign: int) -> None:
    """Add (sign 1) or take away (-1) a placed application: step i holds its nodes from ``starts[i]`` on."""
    cut(tree, completion)
    for i in range(len(starts)):
        cut(tree, starts[i])
    for i in range(len(starts)):
        add_step(tree, starts[i], starts[i + 1] if i + 1 < len(starts) else completion, sign * nodes[i])
    tree.state[END] = max(tree.state[END], completion)
    # Every window of a class that meets the application begins in these leaves.
    first = max(starts[0] - tree.classes[-1] - tree.origin, 0) >> tree.shift
    last = (completion - 1 - tree.origin) >> tree.shift
    tree.leaves[first : last + 1, STALE] = 1
    if sign < 0:
        most = nodes[0]
        for i in range(1, len(nodes)):
            most = max(most, nodes[i])
        _lower(tree, first, last, most)


@inner_kernel
def _lower(tree: Tree, first: int, last: int, nodes: int) -> None:
    """Lower the bounds of the leaves by what was taken away; O(leaves x classes)."""
    most = (nodes >> tree.scale) + 1 if tree.scale else nodes  # of rounded values, at most one more
    for leaf in range(first, last + 1):
        for j in range(len(tree.classes)):
            _store(tree, leaf, j, max(tree.peaks[leaf >> 4, j, leaf & 15] - most, 0))
