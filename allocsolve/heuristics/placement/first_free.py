"""The plainest rules of placement: the first free nodes, and random ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from allocsolve.heuristics.placement.answers import check_asked, checked_tree_request, placement_result
from allocsolve.model import Budget

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allocsolve.model import (
        BoolArray,
        IntArray,
        Placement,
        PlacementProblem,
        Result,
        SwitchTree,
    )


def first_free(tree: SwitchTree, free: Sequence[bool] | BoolArray, k: int) -> IntArray:
    """Return the k free nodes with the lowest ids, rising; what links them plays no part.

    Parameters
    ----------
    tree
        The machine.
    free
        Which nodes may be taken, shape (nodes,); not changed.
    k
        How many to take.

    Raises
    ------
    InvalidProblem
        If `free` is not a mask over the nodes, or `k` is below 1 or above the number of free nodes.

    Examples
    --------
    >>> from allocsolve.model import SwitchTree
    >>> first_free(SwitchTree.regular((2, 3)), [False, True, True, False, True, True], 3).tolist()
    [1, 2, 4]
    """
    mask, k = checked_tree_request(tree, free, k)
    return np.flatnonzero(mask)[:k]


def random_free(tree: SwitchTree, free: Sequence[bool] | BoolArray, k: int, *, seed: int) -> IntArray:
    """Return k random free nodes, rising; what links them plays no part.

    Parameters
    ----------
    tree, free, k
        As in `first_free`.
    seed
        The same seed gives the same nodes. Each set of nodes is equally likely.

    Raises
    ------
    InvalidProblem
        As in `first_free`.
    InvalidOption
        If `seed` is not in 0..2^31-1.
    """
    mask, k = checked_tree_request(tree, free, k)
    random = np.random.default_rng(Budget(seed=seed).seed)
    return np.sort(random.choice(np.flatnonzero(mask), k, replace=False), kind="stable")


@dataclass(frozen=True, slots=True)
class FirstFree:
    """Take the free nodes with the lowest ids: see `first_free`."""

    def __call__(self, problem: PlacementProblem, budget: Budget, /) -> Result[Placement]:
        """Take them; the budget only gives the clock.

        Raises
        ------
        UnsupportedProblem
            If the nodes must lie within a level, in segments, or balanced.
        """
        clock = budget.start()
        check_asked(problem, "first-free")
        return placement_result(problem, first_free(problem.tree, problem.free, problem.size), clock)


@dataclass(frozen=True, slots=True)
class RandomFree:
    """Take random free nodes: see `random_free`."""

    def __call__(self, problem: PlacementProblem, budget: Budget, /) -> Result[Placement]:
        """Take them; the budget gives the seed.

        Raises
        ------
        UnsupportedProblem
            If the nodes must lie within a level, in segments, or balanced.
        """
        clock = budget.start()
        check_asked(problem, "random")
        nodes = random_free(problem.tree, problem.free, problem.size, seed=budget.seed)
        return placement_result(problem, nodes, clock)
