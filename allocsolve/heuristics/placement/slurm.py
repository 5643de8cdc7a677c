"""The choice of nodes of Slurm: on switch trees, topology/tree, and on blocks, topology/block."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final, NamedTuple

import numpy as np

from allocsolve.errors import InvalidOption
from allocsolve.heuristics.placement.rule import Request, Rule, below_domains, first_nodes
from allocsolve.kernels import allocating_kernel, inner_kernel, kernel
from allocsolve.model.checks import instance, shown
from allocsolve.model.options import Parsed, Within

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allocsolve.model import BoolArray, IntArray, SwitchTree


@dataclass(frozen=True, slots=True)
class SlurmTree(Rule):
    """Take the nodes that Slurm takes with topology/tree.

    Leaf switch after leaf switch gives its free nodes until there are enough. Each is found by going through
    the leaf switches in the order of the file: a later one takes the place of the best if it is closer to
    those in use and fits, or is as close and fits better. How close it is, is the number of links between it
    and each leaf switch in use, summed up. Two leaf switches are compared by whether they hold the rest of
    the job; if neither does, by whether the switches above them do, and so on up to a common one. Of two that
    do, the one with fewer free nodes fits better, of two that do not, the one with more. So a closer leaf
    switch that does not hold the rest loses to a distant one that does: jobs leave their pod early.

    All nodes lie below one root: of the highest ones with enough free nodes, the last. The job waits if there
    is none. Switches are in the order of the file.

    Notes
    -----
    *Guarantee*: none on distances or levels. *Complexity*: O(nodes + height * switches * r) for r leaf
    switches that are used.

    References
    ----------
    Slurm, commit 284c3b95 (26.11-rc): ``eval_nodes_tree.c`` in src/plugins/topology/tree.

    Examples
    --------
    >>> from allocsolve.model import SwitchTree
    >>> free = np.array([1, 1, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0], dtype=np.bool_)
    >>> slurm_tree(SwitchTree.regular((2, 2, 3)), free, 3).tolist()
    [0, 1, 3]
    """

    name = "slurm-tree"

    def take(self, request: Request) -> IntArray | None:
        """Return the nodes that the job gets; None if it waits."""
        tree, free, k, *_ = request
        below = tree.nodes_below(free)
        roots = np.flatnonzero((tree.parent < 0) & (below >= k))
        if not len(roots):
            return None
        top = roots[tree.level[roots] == tree.level[roots].max()][-1]
        leaves = np.flatnonzero((tree.level == 1) & (below > 0) & below_domains(tree, [top]))
        return first_nodes(tree, free, fill_leaves(tree.parent, tree.level, below, leaves, k))


def slurm_tree(tree: SwitchTree, free: Sequence[bool] | BoolArray, k: int) -> IntArray | None:
    """Take nodes by `SlurmTree`; see `Request.of` for the arguments."""
    return SlurmTree().take(Request.of(tree, free, k))


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


#: Blocks have at most 2^15 base blocks.
_LEVELS: Final = 16
#: What is configured if no sizes are: 1, 2, 4, 8 and 16 base blocks.
_DEFAULT_LEVELS: Final = 5


def _configured(block_sizes: str, first: int) -> tuple[int, BoolArray]:
    """Return the nodes of a base block, and whether blocks of 2^i base blocks are configured, shape (16,)."""
    levels = np.zeros(_LEVELS, dtype=np.bool_)
    texts = [text.strip() for text in block_sizes.split(",")] if block_sizes.strip() else []
    for text in texts:
        if not (text.isascii() and text.isdigit()):
            raise InvalidOption(f"block_sizes {shown(block_sizes)}: {shown(text)} is no number of nodes")
    sizes = [int(text) for text in texts]
    if not sizes:
        levels[:_DEFAULT_LEVELS] = True
        return first, levels
    base = sizes[0]
    for size in sizes:
        times = size // base if base > 0 else 0
        if size < 1 or size % base or times & (times - 1) or times >= 1 << _LEVELS:
            msg = f"block_sizes: {shown(size)} is not {base} times a power of two up to 2^{_LEVELS - 1}"
            raise InvalidOption(msg)
        levels[times.bit_length() - 1] = True
    return base, levels


def _checked_sizes(block_sizes: object) -> str:
    """Return the option as it is."""
    text = instance("block_sizes", block_sizes, str, InvalidOption)
    _configured(text, 1)
    return text


@dataclass(frozen=True, slots=True)
class SlurmBlock(Rule):
    """Take the nodes that Slurm takes with topology/block, or none where it lets the job wait.

    The switches of level 1 are the *base blocks*, in the order of the file, and one without nodes keeps
    its place; all switches above them are ignored. Blocks are aligned groups of so many base blocks as
    are configured. A job gets nodes of one block of the smallest size that holds it (of the whole machine
    if it is larger than all sizes): of those blocks in which the fewest *lower blocks* (of the next
    smaller size) that can hold the job have enough free nodes, the one with fewest free nodes, the last
    of equal ones. There base blocks give their nodes one after the other: first those in a lower block in
    use, then the smallest that holds the rest, else the largest, the last of equal ones. Segments are
    placed one after the other by the same rule.

    If an attempt does not find all nodes, Slurm tries again without the first node that it has found, one
    node less each time. Two defects are kept, since they are what Slurm does. Of the whole machine, the last
    lower block does not count if it has fewer base blocks than the others. And a base block without free
    nodes in a lower block in use is preferred to those in others: nothing is taken from it, and the attempt
    ends. With one busy rack of 18 nodes in each of 8 pods of 16, a job of 300 nodes waits while 2,160 of
    2,304 are free.

    A job in segments (``segment``) is placed in segments, each in a block; if one of them is not within the
    level that the problem names, there is no answer.

    The job waits, too, if `segment` does not divide its size. The nodes may lie below several roots.

    Parameters
    ----------
    block_sizes
        ``BlockSizes`` of topology.conf, in nodes, as text or numbers: the first is that of a base block, the
        others are that times powers of two. Empty: 1, 2, 4, 8 and 16 times the nodes of the first base block.
    segment
        ``--segment``: the job consists of segments of so many nodes, each in one block of the smallest size
        that holds it, wherever the others are. 0 for none; ignored if it is above `k`.
    consolidate
        ``--consolidate-segments``: all segments lie in one block of the smallest size that holds them.

    Notes
    -----
    *Guarantee*: each segment lies in one aligned block; none on distances. *Complexity*: O(nodes + b * r)
    for b base blocks, of which r are used, in one attempt; there are at most as many as free nodes.

    References
    ----------
    Slurm, commit 284c3b95 (26.11-rc): ``eval_nodes_block.c`` and ``block_record.c`` in
    src/plugins/topology/block, ``common_topo.c`` in src/plugins/topology/common (the further attempts).

    Examples
    --------
    >>> from allocsolve.model import SwitchTree
    >>> free = np.array([1, 1, 0, 1, 0, 0, 1, 1, 0, 1, 1, 0], dtype=np.bool_)
    >>> slurm_block(SwitchTree.regular((4, 3)), free, 4).tolist()
    [6, 7, 9, 10]
    """

    name = "slurm-block"
    knows = ("segment",)
    block_sizes: Annotated[
        str, Parsed(_checked_sizes, "sizes of blocks such as 18,288", ("18,36,54", "x", 18))
    ] = ""
    segment: Annotated[int, Within(0)] = 0
    consolidate: bool = False

    def take(self, request: Request) -> IntArray | None:
        """Return the nodes that the job gets; None if it waits."""
        tree, free, k, *_ = request
        numbers = np.bincount(tree.switch)
        blocks = np.flatnonzero(tree.level == 1)
        base, levels = _configured(self.block_sizes, int(numbers[numbers > 0][0]))
        segment = self.segment or request.segment
        if not 0 < segment <= k:
            segment = k
        if k % segment:
            return None
        nodes = np.flatnonzero(free)
        nodes = nodes[np.argsort(tree.switch[nodes], kind="stable")]
        starts = np.searchsorted(tree.switch[nodes], np.append(blocks, tree.num_switches))
        chosen = fill_blocks(nodes, starts, base, levels, k, segment, int(self.consolidate))
        return np.sort(chosen, kind="stable") if len(chosen) else None


def slurm_block(
    tree: SwitchTree,
    free: Sequence[bool] | BoolArray,
    k: int,
    *,
    block_sizes: str | Sequence[int] = "",
    segment: int = 0,
    consolidate: bool = False,
) -> IntArray | None:
    """Take nodes by `SlurmBlock`; see `Request.of` for the arguments."""
    sizes = block_sizes if isinstance(block_sizes, str) else ",".join(map(str, block_sizes))
    return SlurmBlock(sizes, segment, consolidate).take(Request.of(tree, free, k))
