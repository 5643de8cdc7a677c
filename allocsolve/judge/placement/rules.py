"""The judge of placements: feasibility, distances and metrics, from the definitions alone."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Final

import numpy as np

from allocsolve.families import Term, imported, value_of
from allocsolve.judge.messages import checked_nodes, node_violations
from allocsolve.model import PLACEMENT_OBJECTIVES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from allocsolve.model import BoolArray, IntArray, Placement, PlacementProblem, SwitchTree


def placement_violations(problem: PlacementProblem, placement: Placement) -> tuple[str, ...]:
    """Return what is wrong with a placement; empty if it answers the problem.

    It must have `size` nodes of the tree, none twice and none busy, below one switch that is not above the
    level `within`. Below each highest switch that is not above `segment_level` there must be whole segments,
    and if the problem is balanced, the same number of nodes at each switch of level 1 that has any. Messages
    name nodes and switches. O(nodes + switches * levels).
    """
    tree = problem.tree
    violations, nodes = node_violations(placement.nodes, problem.free, problem.size)
    if not len(nodes):
        return tuple(violations)
    chosen = _counts(tree, nodes)
    common = _common_switch(tree, chosen, len(nodes))
    if common < 0:
        roots = np.flatnonzero((tree.parent < 0) & (chosen > 0)).tolist()
        violations.append(f"the nodes lie below {len(roots)} roots, switches {roots[0]} and {roots[1]}")
    elif problem.within and tree.level[common] > problem.within:
        violations.append(
            f"the lowest common switch {common} is of level {tree.level[common]}, "
            f"above the level {problem.within}"
        )
    if problem.segment:
        tops = _highest_within(tree, problem.segment_level)
        violations += [
            f"switch {switch} has {chosen[switch]} nodes, not whole segments of {problem.segment}"
            for switch in np.flatnonzero(tops & (chosen % problem.segment > 0)).tolist()
        ]
    if problem.balanced:
        leaves = np.flatnonzero((tree.level == 1) & (chosen > 0))
        uneven = leaves[chosen[leaves] != chosen[leaves[0]]]
        if len(uneven):
            violations.append(
                f"switch {uneven[0]} has {chosen[uneven[0]]} nodes, "
                f"switch {leaves[0]} has {chosen[leaves[0]]}: they are not balanced"
            )
    return tuple(violations)


@dataclass(frozen=True, slots=True)
class PlacementMetrics:
    """What a placement is worth; distances in hops, sizes in nodes."""

    total_distance: int  #: sum of the hop distances over all pairs
    average_distance: float  #: mean hop distance over all pairs, 0 for a single node
    diameter: int  #: largest hop distance between two of the nodes
    level: int  #: of the lowest common switch
    domains: tuple[int, ...]  #: switches with a chosen node below them, of each level from 1 on
    leftover: int  #: free nodes that are not chosen, at the switches of level 1 with a chosen node
    bottleneck: float  #: largest load s (k - s) / capacity of a link with s of the k nodes below it
    largest_free_domain: int  #: most free nodes that are left at one switch of level 1
    untouched_domains: int  #: switches of level 1 whose nodes are all still free


def placement_metrics(problem: PlacementProblem, placement: Placement) -> PlacementMetrics:
    """Return all metrics of a placement. It need not be feasible, but its nodes must be of the tree.

    Pairs of nodes without a common switch have no distance; the level is then above all levels.

    Notes
    -----
    The distance of two nodes is the weight of the way from one to the root and back to the other, less twice
    the way from their lowest common switch to the root. The number of pairs that have a lowest common switch
    follows from the numbers of nodes below it and below its children.

    *Complexity*: O(nodes + switches * levels).
    """
    tree = problem.tree
    nodes = checked_nodes(placement.nodes, tree.num_nodes, "placement")
    size, chosen = len(nodes), _counts(tree, nodes)
    common = _common_switch(tree, chosen, size)
    total = _total_distance(tree, chosen)
    level = int(tree.level[common]) if common >= 0 else tree.height + 1
    leaves = tree.level == 1
    unused = problem.free.copy()
    unused[nodes] = False
    left = np.bincount(tree.switch[unused], minlength=tree.num_switches)
    nodes_of = np.bincount(tree.switch, minlength=tree.num_switches)
    crossing = chosen * (size - chosen)
    links = np.flatnonzero((tree.parent >= 0) & (crossing > 0))
    return PlacementMetrics(
        total_distance=total,
        average_distance=total / max(size * (size - 1) // 2, 1),
        diameter=_diameter(tree, chosen),
        level=level,
        domains=tuple(
            int(((tree.level == height) & (chosen > 0)).sum()) for height in range(1, tree.height + 1)
        ),
        leftover=int(left[leaves & (chosen > 0)].sum()),
        bottleneck=float((crossing[links] / tree.capacity[links]).max(initial=0.0)),
        largest_free_domain=int(left[leaves].max()),
        untouched_domains=int((leaves & (nodes_of > 0) & (left == nodes_of)).sum()),
    )


def placement_value(
    problem: PlacementProblem, placement: Placement, objective: Sequence[str] = PLACEMENT_OBJECTIVES[:1]
) -> float | tuple[float, ...]:
    """Return the value of a placement under an objective, to be minimised; a tuple for several terms."""
    return value_of(PLACEMENT_TERMS, placement_metrics(problem, placement), objective)


def _touched(level: int, metrics: PlacementMetrics) -> int:
    return metrics.domains[level - 1] if level <= len(metrics.domains) else 0


def _term(
    name: str, title: str, unit: str, value: Callable[[PlacementMetrics], float]
) -> Term[PlacementProblem]:
    placement_bound = imported("allocsolve.bounds:placement_bound")
    return Term(name, title, unit, value, lambda problem: placement_bound(problem, name))


#: What can be minimised of a placement.
PLACEMENT_TERMS: Final = (
    _term(
        "pairwise", "sum of the hop distances over all pairs of nodes", "hops", attrgetter("total_distance")
    ),
    _term("domains", "switches of level 1 with a chosen node", "switches", partial(_touched, 1)),
    _term("domains-2", "switches of level 2 with a chosen node", "switches", partial(_touched, 2)),
    _term("domains-3", "switches of level 3 with a chosen node", "switches", partial(_touched, 3)),
    _term(
        *("leftover", "free nodes that stay at the switches of level 1 with a chosen node", "nodes"),
        value=attrgetter("leftover"),
    ),
    _term(
        *("bottleneck", "largest load of a link for its capacity", "pairs"), value=attrgetter("bottleneck")
    ),
)


def _counts(tree: SwitchTree, nodes: IntArray) -> IntArray:
    """Return how many of some nodes are below each switch."""
    counts = np.bincount(tree.switch[nodes], minlength=tree.num_switches)
    above, at = tree.parent[tree.switch[nodes]], np.ones(len(nodes), dtype=np.int64)
    while len(above := above[above >= 0]):
        np.add.at(counts, above, at[: len(above)])
        above = tree.parent[above]
    return counts


def _common_switch(tree: SwitchTree, chosen: IntArray, size: int) -> int:
    """Return the lowest switch above all chosen nodes, -1 if there is none."""
    above = np.flatnonzero(chosen == size)
    return int(above[np.argmin(tree.level[above])]) if len(above) else -1


def _highest_within(tree: SwitchTree, level: int) -> BoolArray:
    """Return which switches are not above a level and have no such switch above them."""
    above = np.where(tree.parent < 0, level + 1, tree.level[tree.parent])
    highest: BoolArray = (tree.level <= level) & (above > level)
    return highest


def _way_to_root(tree: SwitchTree) -> IntArray:
    """Return the half hops from each switch to its root."""
    way = np.zeros(tree.num_switches, dtype=np.int64)
    at = np.arange(tree.num_switches)
    while (at >= 0).any():
        way += np.where(at >= 0, tree.weight[at], 0)
        at = np.where(at >= 0, tree.parent[at], -1)
    return way


def _total_distance(tree: SwitchTree, chosen: IntArray) -> int:
    """Return the sum of the distances over all pairs with a common switch, from the counts below switches."""
    way = _way_to_root(tree)
    pairs = chosen * (chosen - 1) // 2
    is_root = tree.parent < 0
    of_children = np.zeros_like(pairs)
    np.add.at(of_children, tree.parent[~is_root], pairs[~is_root])
    apart = pairs - of_children  # by their lowest common switch
    leaves = np.flatnonzero((tree.level == 1) & (chosen > 0))
    root_of = np.arange(tree.num_switches)
    while (tree.parent[root_of] >= 0).any():
        root_of = np.where(tree.parent[root_of] >= 0, tree.parent[root_of], root_of)
    partners = chosen[root_of[leaves]] - 1
    up = (way[leaves] + tree.node_weight) * chosen[leaves] * partners
    halves: int = sum(up.tolist()) - 2 * sum((way * apart).tolist())
    return halves // 2


def _diameter(tree: SwitchTree, chosen: IntArray) -> int:
    """Return the largest distance between two chosen nodes with a common switch."""
    never = -(2**40)
    # The two longest ways from a switch down to chosen nodes, by different children or at the switch itself.
    longest = np.where((tree.level == 1) & (chosen > 0), tree.node_weight, never)
    second = np.where((tree.level == 1) & (chosen > 1), tree.node_weight, never)
    for switch in tree.top_down[::-1].tolist():
        above = tree.parent[switch]
        if above >= 0 and longest[switch] > never:
            way = longest[switch] + tree.weight[switch]
            if way > longest[above]:
                longest[above], second[above] = way, longest[above]
            elif way > second[above]:
                second[above] = way
    return max(int((longest + second).max()), 0) // 2
