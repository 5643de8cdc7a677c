"""Kernels of Slurm's choice of nodes on trees and blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from allocsolve.kernels import allocating_kernel, inner_kernel, kernel

if TYPE_CHECKING:
    from allocsolve.model import BoolArray, IntArray

#: How an attempt on blocks ends: with nodes, for good, or with a hint which nodes to do without.
CHOSEN, REFUSED, STALLED = 0, 1, 2


class _Blocks(NamedTuple):
    """The free nodes base block by base block, rising in each, and where those of each block begin."""

    nodes: IntArray
    starts: IntArray
    #: Shape (base blocks,): where those of each block begin that are not taken.
    left: IntArray


class _Sizes(NamedTuple):
    """How many base blocks a block and a lower block have, and how many lower blocks a segment may use."""

    per_block: int
    per_lower: int
    most_lower: int
    #: Whether blocks are more than these lower blocks.
    has_lower: bool
    segment: int


@kernel
def fill_leaves(parent: IntArray, level: IntArray, below: IntArray, leaves: IntArray, size: int) -> IntArray:
    """Take nodes leaf switch after leaf switch: each the closest one to those before that fits, or fits best.

    `parent`, `level` and `below`, how many free nodes are below, are those of each switch, shape (switches,);
    `below` is changed. `leaves` are the leaf switches with free nodes below one root, in the order of the
    file, and `size` is at most the number of these nodes. Return how many nodes are taken from each switch,
    shape (switches,).
    """
    take = np.zeros(len(parent), dtype=np.int64)
    links = np.zeros(len(parent), dtype=np.int64)  # from the leaf switches in use to each, in all
    way = np.full(len(parent), -1, dtype=np.int64)
    while size > 0:
        best = -1
        for leaf in leaves:
            if below[leaf] == 0:
                continue
            if best < 0:
                best = leaf
            elif links[leaf] <= links[best]:
                better, fits = _compare(parent, level, below, leaf, best, size)
                if (links[leaf] < links[best] and fits) or (links[leaf] == links[best] and better > 0):
                    best = leaf
        count = min(size, below[best])
        take[best] = count
        size -= count
        above, steps = best, 0
        while above >= 0:
            below[above] -= count
            way[above] = steps
            above, steps = parent[above], steps + 1
        for leaf in leaves:
            above, steps = leaf, 0
            while way[above] < 0:
                above, steps = parent[above], steps + 1
            links[leaf] += steps + way[above]
        above = best
        while above >= 0:
            way[above] = -1
            above = parent[above]
    return take


@inner_kernel
def _compare(
    parent: IntArray, level: IntArray, below: IntArray, one: int, other: int, size: int
) -> tuple[int, bool]:
    """Return 1 if the first of two leaf switches fits better, -1 if the second does, 0 if neither does.

    They are compared at the first height at which one of them holds the size, or at which they have the
    same parent; also returned is whether the first one holds it there.
    """
    while True:
        fits, other_fits = below[one] >= size, below[other] >= size
        if fits and other_fits and below[one] != below[other]:
            return (1 if below[one] < below[other] else -1), True
        if fits != other_fits:
            return (1 if fits else -1), fits
        if fits or parent[one] == parent[other]:
            break
        one, other = parent[one], parent[other]
    if below[one] != below[other]:
        return (1 if below[one] > below[other] else -1), fits
    if level[one] != level[other]:
        return (1 if level[one] < level[other] else -1), fits
    return 0, fits


@kernel
def fill_blocks(
    nodes: IntArray, starts: IntArray, base: int, levels: BoolArray, size: int, segment: int, consolidate: int
) -> IntArray:
    """Take nodes from base blocks, trying again without one more node while a hint says so.

    `nodes` are the free nodes base block by base block, rising in each, which begin at `starts`; `base` is
    the nominal number of nodes of one, and `levels`, shape (16,), says whether blocks of 2^i base blocks are
    configured. A segment has `segment` nodes, a divisor of the size; with `consolidate`, 1 or 0, all segments
    shall lie in the smallest block that holds them. Return the nodes, shape (size,), or none.
    """
    count = len(starts) - 1
    first = starts[:count].copy()
    taken = np.empty(size, dtype=np.int64)
    while True:
        blocks = _Blocks(nodes, starts, first)
        outcome, without = _attempt(blocks, base, levels, size, segment, consolidate, taken)
        if outcome == CHOSEN:
            return taken
        if outcome == REFUSED or _must_stall(blocks, base, levels, segment):
            return taken[:0]
        first[without] += 1
        left = 0
        for block in range(count):
            left += starts[block + 1] - first[block]
        if left < size:
            return taken[:0]


@inner_kernel
def _sizes(base: int, levels: BoolArray, count: int, segment: int) -> _Sizes:
    """Return the sizes of blocks of `count` base blocks of `base` nodes for a segment of so many nodes."""
    needed = (segment + base - 1) // base
    level = 0
    while (1 << level) < needed:
        level += 1
    lower = level - 1
    while lower > 0 and not (lower < len(levels) and levels[lower]):
        lower -= 1
    lower = max(lower, 0)
    while level < len(levels) and not levels[level]:
        level += 1
    per_block = count if level >= len(levels) else 1 << level
    per_lower = 1 << lower
    most_lower = (segment + per_lower * base - 1) // (per_lower * base)
    return _Sizes(per_block, per_lower, most_lower, per_block != per_lower * most_lower, segment)


@inner_kernel
def _num_free(blocks: _Blocks, begin: int, end: int) -> int:
    """Return how many nodes of some base blocks are not taken."""
    total = 0
    for block in range(begin, min(end, len(blocks.left))):
        total += blocks.starts[block + 1] - blocks.left[block]
    return total


@inner_kernel
def _must_stall(blocks: _Blocks, base: int, levels: BoolArray, segment: int) -> bool:
    """Tell whether no lower block holds a segment, and each has a base block without free nodes."""
    count = len(blocks.left)
    per_lower = _sizes(base, levels, count, segment).per_lower
    for lower in range(0, count, per_lower):
        empty = False
        for block in range(lower, min(lower + per_lower, count)):
            empty |= blocks.starts[block + 1] == blocks.left[block]
        if _num_free(blocks, lower, lower + per_lower) >= segment or not empty:
            return False
    return True


@allocating_kernel
def _attempt(
    whole: _Blocks, base: int, levels: BoolArray, size: int, segment: int, consolidate: int, taken: IntArray
) -> tuple[int, int]:
    """Choose all segments, once; return the outcome and the block with the lowest node of those chosen."""
    count, nodes, first = len(whole.left), whole.nodes, whole.left
    sizes = _sizes(base, levels, count, segment)
    per_block = sizes.per_block
    number = (count + per_block - 1) // per_block
    together = per_block
    if consolidate == 1:
        together = max(_sizes(base, levels, count, size).per_block, per_block)
    blocks = _Blocks(nodes, whole.starts, first.copy())
    allowed = np.ones(number, dtype=np.bool_)
    filled = 0
    while filled < size:
        if consolidate == 1 and filled == 0:
            for place in range(number):
                begin = place * per_block // together * together
                allowed[place] = _num_free(blocks, begin, begin + together) >= size
        best = _best_block(blocks, sizes, allowed)
        if best < 0:
            return REFUSED, -1
        if consolidate == 1 and filled == 0:
            for place in range(number):
                allowed[place] = place * per_block // together == best * per_block // together
        begin, end = best * per_block, min((best + 1) * per_block, count)
        filled, stalls = _fill_block(blocks, sizes, begin, end, taken, filled)
        if stalls:
            lowest = -1
            for block in range(count):
                is_used = blocks.left[block] > first[block]
                if is_used and (lowest < 0 or nodes[first[block]] < nodes[first[lowest]]):
                    lowest = block
            return STALLED, lowest
    return CHOSEN, -1


@allocating_kernel
def _best_block(blocks: _Blocks, sizes: _Sizes, allowed: BoolArray) -> int:
    """Return the block with fewest free nodes of those that can hold a segment, the last of equals."""
    per_block, per_lower = sizes.per_block, sizes.per_lower
    best, fewest = -1, 0
    number_lower = (len(blocks.left) + per_lower - 1) // per_lower
    lower_free = np.zeros(number_lower, dtype=np.int64)
    for lower in range(number_lower):
        lower_free[lower] = _num_free(blocks, lower * per_lower, (lower + 1) * per_lower)
    for place in range(len(allowed)):
        free = _num_free(blocks, place * per_block, (place + 1) * per_block)
        usable = free
        if sizes.has_lower:
            # Rounded down: of a whole machine whose last lower block is shorter, that one is not counted.
            per = per_block // per_lower
            within = np.sort(lower_free[place * per : min((place + 1) * per, number_lower)])[::-1]
            usable = within[: sizes.most_lower].sum()
        if allowed[place] and usable >= sizes.segment and (best < 0 or free <= fewest):
            best, fewest = place, free
    return best


@allocating_kernel
def _fill_block(
    blocks: _Blocks, sizes: _Sizes, begin: int, end: int, taken: IntArray, filled: int
) -> tuple[int, bool]:
    """Take a segment from the base blocks of a block; return how many nodes are taken, and if it stalls."""
    left, per_lower, most_lower, rest = blocks.left, sizes.per_lower, sizes.most_lower, sizes.segment
    used = np.zeros(end - begin, dtype=np.bool_)
    # Numbers of free nodes as they were before the segment.
    lower_free = np.zeros((end - begin + per_lower - 1) // per_lower, dtype=np.int64)
    lower_used = np.zeros(len(lower_free), dtype=np.bool_)
    for block in range(begin, end):
        lower_free[(block - begin) // per_lower] += blocks.starts[block + 1] - left[block]
    while True:
        place = _next_place(blocks, sizes, begin, used, lower_free, lower_used, rest)
        lower = place // per_lower
        is_new = place >= 0 and sizes.has_lower and not lower_used[lower]
        if place < 0 or (is_new and most_lower <= 0):
            return filled, True
        first = last = begin + place
        if is_new:
            most_lower -= 1
            lower_used[lower] = True
            if lower_free[lower] < rest:
                # All of it is taken, the base blocks without free nodes last: at the first of these it ends.
                first = begin + lower * per_lower
                last = min(first + per_lower, end) - 1
        stalls = False
        for block in range(first, last + 1):
            used[block - begin] = True
            count = min(rest, blocks.starts[block + 1] - left[block])
            taken[filled : filled + count] = blocks.nodes[left[block] : left[block] + count]
            left[block] += count
            filled += count
            rest -= count
            stalls |= count == 0  # also when other base blocks have free nodes
        if stalls or rest == 0:
            return filled, stalls


@inner_kernel
def _next_place(
    blocks: _Blocks,
    sizes: _Sizes,
    begin: int,
    used: BoolArray,
    lower_free: IntArray,
    lower_used: BoolArray,
    rest: int,
) -> int:
    """Return the place in the block of the base block that is next, -1 if all are used."""
    best = -1
    for place in range(len(used)):
        if used[place]:
            continue
        if best < 0:
            best = place
            continue
        lower, best_lower = place // sizes.per_lower, best // sizes.per_lower
        choice = 0
        if sizes.has_lower and lower != best_lower:
            if lower_used[lower] != lower_used[best_lower]:
                choice = 1 if lower_used[lower] else -1
            else:
                choice = _better_lower(lower_free[lower], lower_free[best_lower], rest)
        if choice == 0:
            free = _num_free(blocks, begin + place, begin + place + 1)
            best_free = _num_free(blocks, begin + best, begin + best + 1)
            if free >= rest:
                choice = 1 if best_free < rest or free <= best_free else -1
            else:
                choice = 1 if best_free < rest and free >= best_free else -1
        if choice == 1:
            best = place
    return best


@inner_kernel
def _better_lower(free: int, best_free: int, rest: int) -> int:
    """Return 1 if a lower block is better than the best one, -1 if it is worse, else 0."""
    if free == best_free:
        return 0
    fits, best_fits = free >= rest, best_free >= rest
    if fits != best_fits:
        return 1 if fits else -1
    return 1 if (free < best_free) == fits else -1
