"""Simple placement rules to compare with: the lowest switch that fits, the first free nodes, random ones.

Plain functions for simulators, which return the nodes by id, and the solvers over them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from allocsolve.heuristics.placement._trees import (
    below_domains,
    checked_request,
    domains_by_level,
    first_nodes,
    fitting_domains,
    last_best_fit,
    placement_result,
    refuse_others,
)
from allocsolve.model import Budget

if TYPE_CHECKING:
    from allocsolve.model import BoolArray, IntArray, Placement, PlacementProblem, Result, SwitchTree


def lowest_switch(tree: SwitchTree, free: BoolArray, size: int) -> IntArray | None:
    """Take nodes below the lowest switch that holds the job, by best fit all the way down.

    Of the switches of the lowest level at which one has enough free nodes, the one with fewest free nodes is
    taken. Of the switches below it, the largest give all their nodes until one of the others holds the rest;
    the smallest that does gives it, by the same rule. Of equal ones the first is taken.

    Parameters
    ----------
    tree
        The machine. A switch counts at all levels from its own to below that of its parent, so that ways of
        different lengths to a root do no harm.
    free
        Which nodes may be taken, shape (nodes,); not changed.
    size
        How many to take.

    Returns
    -------
    IntArray or None
        Shape (size,), rising; None if no root has so many free nodes below it.

    Raises
    ------
    InvalidProblem
        If `free` is not a mask over the nodes, or `size` is below 1 or above the number of free nodes.

    Notes
    -----
    *Guarantee*: no job spans a level more than it must; none on distances within. *Complexity*: O(nodes +
    height * switches).

    Examples
    --------
    >>> from allocsolve.model import SwitchTree
    >>> free = np.array([1, 1, 0, 1, 1, 1, 0, 0, 0], dtype=np.bool_)
    >>> lowest_switch(SwitchTree.regular((3, 3)), free, 2).tolist()
    [0, 1]
    """
    free, size = checked_request(tree, free, size)
    below = tree.nodes_below(free)
    level, fitting = fitting_domains(tree, below, size, 1, tree.height)
    if not level:
        return None
    switch = int(fitting[np.argmin(below[fitting])])
    whole: list[int] = []
    while tree.level[switch] > 1:
        children = np.flatnonzero(tree.parent == switch)
        *largest, last = children[last_best_fit(below[children], size)].tolist()
        whole += largest
        size -= int(below[largest].sum())
        switch = last
    take = np.where(below_domains(tree, whole), below, 0)
    take[switch] = size
    return first_nodes(tree, free, take)


def first_free(tree: SwitchTree, free: BoolArray, size: int) -> IntArray | None:
    """Take the free nodes with the lowest ids below the first root that has enough of them.

    Parameters, returns and errors as `lowest_switch`.

    Notes
    -----
    *Guarantee*: none on distances. *Complexity*: O(nodes + height * switches).
    """
    free, size = checked_request(tree, free, size)
    root = domains_by_level(tree)[-1, tree.switch[free]]
    counts = np.bincount(root)
    if counts.max() < size:
        return None
    return np.flatnonzero(free)[root == np.argmax(counts >= size)][:size]


def random_free(tree: SwitchTree, free: BoolArray, size: int, *, seed: int) -> IntArray | None:
    """Take random free nodes below a random one of the roots that have enough of them.

    Parameters
    ----------
    tree, free, size
        As in `lowest_switch`.
    seed
        The same seed gives the same nodes.

    Returns
    -------
    IntArray or None
        As in `lowest_switch`. Below one root, each set of nodes is equally likely.

    Raises
    ------
    InvalidProblem
        As in `lowest_switch`.
    InvalidOption
        If `seed` is not in 0..2^31-1.

    Notes
    -----
    *Guarantee*: none on distances. *Complexity*: O(nodes + height * switches).
    """
    free, size = checked_request(tree, free, size)
    random = np.random.default_rng(Budget(seed=seed).seed)
    root = domains_by_level(tree)[-1, tree.switch[free]]
    roots = np.flatnonzero(np.bincount(root) >= size)
    if not len(roots):
        return None
    nodes = np.flatnonzero(free)[root == random.choice(roots)]
    return np.sort(random.choice(nodes, size, replace=False), kind="stable")


@dataclass(frozen=True, slots=True)
class LowestSwitch:
    """Best fit below the lowest switch that holds the job: see `lowest_switch`.

    A job that must stay below a switch of a level (``within``) gets no nodes if no such switch holds it.

    Examples
    --------
    >>> from allocsolve.model import Budget, PlacementProblem, SwitchTree
    >>> problem = PlacementProblem.of(SwitchTree.regular((3, 3)), busy=[2, 6, 7, 8], size=2)
    >>> LowestSwitch()(problem, Budget()).answer.nodes.tolist()
    [0, 1]
    """

    def __call__(self, problem: PlacementProblem, budget: Budget, /) -> Result[Placement]:
        """Choose nodes; of the budget only the clock is used.

        Raises
        ------
        UnsupportedProblem
            If the problem asks for segments or equal parts.
        """
        clock = budget.start()
        refuse_others(problem, self, "within")
        return placement_result(problem, lowest_switch(problem.tree, problem.free, problem.size), clock)


@dataclass(frozen=True, slots=True)
class FirstFree:
    """The free nodes with the lowest ids: see `first_free`."""

    def __call__(self, problem: PlacementProblem, budget: Budget, /) -> Result[Placement]:
        """Choose nodes; of the budget only the clock is used.

        Raises
        ------
        UnsupportedProblem
            If the problem asks for a level, segments or equal parts.
        """
        clock = budget.start()
        refuse_others(problem, self)
        return placement_result(problem, first_free(problem.tree, problem.free, problem.size), clock)


@dataclass(frozen=True, slots=True)
class RandomFree:
    """Random free nodes: see `random_free`."""

    def __call__(self, problem: PlacementProblem, budget: Budget, /) -> Result[Placement]:
        """Choose nodes; the budget gives the seed.

        Raises
        ------
        UnsupportedProblem
            If the problem asks for a level, segments or equal parts.
        """
        clock = budget.start()
        refuse_others(problem, self)
        nodes = random_free(problem.tree, problem.free, problem.size, seed=budget.seed)
        return placement_result(problem, nodes, clock)
