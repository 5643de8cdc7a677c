"""Slow obvious twins for placements: every pair of nodes, every way along links, all sets of free nodes."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from allocsolve.model import PLACEMENT_OBJECTIVES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allocsolve.model import PlacementProblem, SwitchTree


def feasible_sets(problem: PlacementProblem) -> list[tuple[int, ...]]:
    """Return all sets of nodes that answer a problem."""
    free = np.flatnonzero(problem.free).tolist()
    sets = itertools.combinations(free, problem.size)
    return [nodes for nodes in sets if is_feasible(problem, list(nodes))]


def values(problem: PlacementProblem, nodes: Sequence[int]) -> dict[str, float]:
    """Return each term of a set of nodes by the definition, over all pairs and all links."""
    tree, chosen = problem.tree, list(nodes)
    found = {
        "pairwise": float(pairwise(tree, chosen)),
        "domains": domains(tree, chosen, 1),
        "domains-2": domains(tree, chosen, 2),
        "domains-3": domains(tree, chosen, 3),
        "leftover": leftover(problem, chosen),
        "bottleneck": float(bottleneck(tree, chosen)),
    }
    assert tuple(found) == PLACEMENT_OBJECTIVES
    return found


def best(every: Sequence[dict[str, float]], objective: Sequence[str]) -> tuple[float, ...]:
    """Return the least of the values of some sets, terms compared in their order."""
    return min(tuple(one[term] for term in objective) for one in every)


def above(tree: SwitchTree, node: int) -> list[int]:
    """Return the switches above a node, the lowest first."""
    switches, switch = [], int(tree.switch[node])
    while switch >= 0:
        switches.append(switch)
        switch = int(tree.parent[switch])
    return switches


def distance(tree: SwitchTree, one: int, other: int) -> Fraction | None:
    """Return the hops between two nodes, link by link; None if there is no way."""
    if one == other:
        return Fraction(0)
    up, down = above(tree, one), above(tree, other)
    common = [switch for switch in up if switch in down]
    if not common:
        return None
    links = [switch for switch in (*up, *down) if (switch in up) != (switch in down)]
    halves = 2 * tree.node_weight + sum(int(tree.weight[switch]) for switch in links)
    return Fraction(halves, 2)


def pairwise(tree: SwitchTree, nodes: list[int]) -> Fraction:
    """Add up the distances of all pairs between which there is a way."""
    return sum(
        (distance(tree, one, other) or Fraction(0) for one, other in itertools.combinations(nodes, 2)),
        Fraction(0),
    )


def _height(tree: SwitchTree, switch: int) -> int:
    children = [child for child in range(tree.num_switches) if tree.parent[child] == switch]
    return 1 + max((_height(tree, child) for child in children), default=0)


def domains(tree: SwitchTree, nodes: list[int], level: int) -> int:
    """Count the switches of a level above some of the nodes."""
    touched = {switch for node in nodes for switch in above(tree, node)}
    return sum(_height(tree, switch) == level for switch in touched)


def leftover(problem: PlacementProblem, nodes: list[int]) -> int:
    """Count the free nodes beside the chosen ones at their own switches."""
    tree = problem.tree
    own = {int(tree.switch[node]) for node in nodes}
    left = set(range(tree.num_nodes)) - set(nodes)
    return sum(bool(problem.free[node]) and int(tree.switch[node]) in own for node in left)


def bottleneck(tree: SwitchTree, nodes: list[int]) -> Fraction:
    """Return the largest load of a link, counting for each the pairs on both sides of it."""
    loads = [Fraction(0)]
    for switch in range(tree.num_switches):
        if tree.parent[switch] >= 0:
            below = sum(switch in above(tree, node) for node in nodes)
            loads.append(Fraction(below * (len(nodes) - below), int(tree.capacity[switch])))
    return max(loads)


def is_feasible(problem: PlacementProblem, nodes: list[int]) -> bool:
    """Say whether nodes answer a problem."""
    tree = problem.tree
    if len(set(nodes)) != problem.size or not all(problem.free[node] for node in nodes):
        return False
    common = set.intersection(*(set(above(tree, node)) for node in nodes))
    if not common:
        return False
    if problem.within and min(_height(tree, switch) for switch in common) > problem.within:
        return False
    if problem.segment:
        for top in range(tree.num_switches):
            is_low = _height(tree, top) <= problem.segment_level
            parent = int(tree.parent[top])
            is_highest = parent < 0 or _height(tree, parent) > problem.segment_level
            if is_low and is_highest and sum(top in above(tree, node) for node in nodes) % problem.segment:
                return False
    if problem.balanced:
        own = [int(tree.switch[node]) for node in nodes]
        return len({own.count(switch) for switch in own}) == 1
    return True
