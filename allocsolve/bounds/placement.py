"""Lower bounds on the terms of placements on switch trees, from the free nodes of each level alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from allocsolve.errors import UnknownName
from allocsolve.model import PLACEMENT_OBJECTIVES

if TYPE_CHECKING:
    from allocsolve.model import BoolArray, IntArray, PlacementProblem, SwitchTree


def placement_bound(problem: PlacementProblem, term: str) -> float:
    """Return a lower bound on one term of the objective, much faster than the optimum.

    It is one of `PLACEMENT_OBJECTIVES`. Segments and balance only take answers away, and are not used.

    Notes
    -----
    *Proof.* The switches of one level are not below one another. Let b be the free nodes below each of them,
    and u the free nodes below none of them. An answer has t of its k nodes below them, with k - u <= t <= k;
    let s be the numbers of these below each switch, s <= b.

    ``domains``, ``domains-2``, ``domains-3``: at least k - u nodes are below switches of the level, and no
    fewer switches have room for them than the largest ones together.

    ``pairwise``: the links up from the switches of a level add the sum of weight * s (k - s), which is at
    least the least weight times the sum of s (k - s). That is concave in each s, so for fixed t it is least
    for the s that majorise all others: the switches filled by b, largest first. The least of these sums over
    all t bounds what the level adds; the levels, and the links of the nodes, add up.

    ``leftover``: the sum of b over the touched switches of level 1 is one of the sums of a part of all b and
    at least k; the least such sum less k is a bound.

    ``bottleneck``: unless one switch of level 1 has room for k nodes, at least two of them share the nodes,
    and the fullest has x nodes, at least k divided by their number and at most the largest b. x (k - x) is
    concave: it is at least that of one of both ends; no capacity of a link is above the greatest one.

    *Complexity*: O(switches * levels + size * levels); ``leftover`` in O(free nodes * size / 64) in the worst
    case.

    Examples
    --------
    >>> from allocsolve.model import PlacementProblem, SwitchTree
    >>> problem = PlacementProblem.of(SwitchTree.regular((2, 4)), busy=[1, 6], size=4)
    >>> [placement_bound(problem, term) for term in ("pairwise", "domains", "leftover", "bottleneck")]
    [18, 2, 2, 3.0]
    """
    if term not in PLACEMENT_OBJECTIVES:
        raise UnknownName("objective", term, PLACEMENT_OBJECTIVES)
    tree, size = problem.tree, problem.size
    below = tree.nodes_below(problem.free)
    if term == "pairwise":
        levels = range(1, tree.height + 1)
        half_hops = sum(_level_half_hops(tree, level, below, size) for level in levels)
        return -(-half_hops // 2) + tree.node_weight * (size * (size - 1) // 2)
    level = int(term.partition("-")[2] or 1)
    at = (tree.level == level) & (below > 0)
    largest_first = -np.sort(-below[at])
    if term == "leftover":
        return _least_sum(largest_first, size) - size
    if term != "bottleneck":
        covered = size - (int(np.count_nonzero(problem.free)) - int(largest_first.sum()))
        # The first place where the largest ones have room for that many, and none for none.
        return int(np.searchsorted(np.concatenate([[0], np.cumsum(largest_first)]), max(covered, 0)))
    capacities = tree.capacity[at & (tree.parent >= 0)]
    if largest_first[0] >= size or not len(capacities):  # without a link there is no other answer
        return 0.0
    fullest = np.array([-(-size // len(largest_first)), largest_first[0]])
    return float((fullest * (size - fullest)).min() / capacities.max())


def _level_half_hops(tree: SwitchTree, level: int, below: IntArray, size: int) -> int:
    """Return what the links of the switches of a level add to the half hops of all pairs, at least."""
    at: BoolArray = (tree.level == level) & (below > 0)
    if below[at & (tree.parent < 0)].max(initial=0) >= size:
        return 0  # the nodes of a root cross no link of this level
    links = at & (tree.parent >= 0)
    room = np.minimum(-np.sort(-below[links]), size)
    # Of a root with too few nodes none is chosen.
    beyond = int(below[tree.parent < 0].sum() - below[at].sum())
    inside = np.arange(max(size - beyond, 0), min(int(room.sum()), size) + 1)
    if not len(inside) or inside[0] == 0:
        return 0
    full, crossing = np.cumsum(room), np.cumsum(room * (size - room))
    place = np.searchsorted(full, inside)
    rest = inside - (full - room)[place]
    sums = (crossing - room * (size - room))[place] + rest * (size - rest)
    return int(tree.weight[links].min()) * int(sums.min())


def _least_sum(parts: IntArray, size: int) -> int:
    """Return the least sum of some of the parts that is at least `size`."""
    reached, limit = 1, (1 << (size + int(parts[0]))) - 1  # bit s: some parts have the sum s
    for part, times in zip(*np.unique(parts, return_counts=True), strict=True):
        left, step = int(times), 1
        while left:  # 1, 2, 4, ... of equal parts at once: each number of them is such a sum
            step = min(step, left)
            reached |= (reached << (int(part) * step)) & limit
            left -= step
            step *= 2
    beyond = reached >> size
    return size + (beyond & -beyond).bit_length() - 1
