"""The slow obvious twin of the exact solvers of placement: all sets of free nodes, one after another."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import naive_placement_judge as naive
import numpy as np

from allocsolve.model import PLACEMENT_OBJECTIVES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allocsolve.model import PlacementProblem


def feasible_sets(problem: PlacementProblem) -> list[tuple[int, ...]]:
    """Return all sets of nodes that answer a problem."""
    free = np.flatnonzero(problem.free).tolist()
    sets = itertools.combinations(free, problem.size)
    return [nodes for nodes in sets if naive.is_feasible(problem, list(nodes))]


def values(problem: PlacementProblem, nodes: Sequence[int]) -> dict[str, float]:
    """Return each term of a set of nodes by the definition, over all pairs and all links."""
    tree, chosen = problem.tree, list(nodes)
    found = {
        "pairwise": float(naive.pairwise(tree, chosen)),
        "domains": naive.domains(tree, chosen, 1),
        "domains-2": naive.domains(tree, chosen, 2),
        "domains-3": naive.domains(tree, chosen, 3),
        "leftover": naive.leftover(problem, chosen),
        "bottleneck": float(naive.bottleneck(tree, chosen)),
    }
    assert tuple(found) == PLACEMENT_OBJECTIVES
    return found


def best(every: Sequence[dict[str, float]], objective: Sequence[str]) -> tuple[float, ...]:
    """Return the least of the values of some sets, terms compared in their order."""
    return min(tuple(one[term] for term in objective) for one in every)
