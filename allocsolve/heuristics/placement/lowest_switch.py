"""Best fit below the lowest switch that holds a job.

A plain function for simulators, which returns the nodes by id, and the solver over it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from allocsolve.heuristics.placement._trees import (
    below_domains,
    first_nodes,
    fitting_domains,
    last_best_fit,
)
from allocsolve.heuristics.placement.answers import check_asked, checked_tree_request, placement_result

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allocsolve.model import (
        BoolArray,
        Budget,
        IntArray,
        Placement,
        PlacementProblem,
        Result,
        SwitchTree,
    )


def lowest_switch(tree: SwitchTree, free: Sequence[bool] | BoolArray, k: int) -> IntArray | None:
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
    k
        How many to take.

    Returns
    -------
    IntArray or None
        Shape (k,), rising; None if no root has so many free nodes below it.

    Raises
    ------
    InvalidProblem
        If `free` is not a mask over the nodes, or `k` is below 1 or above the number of free nodes.

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
    mask, k = checked_tree_request(tree, free, k)
    below = tree.nodes_below(mask)
    level, fitting = fitting_domains(tree, below, k, 1, tree.height)
    if not level:
        return None
    switch = int(fitting[np.argmin(below[fitting])])
    whole: list[int] = []
    while tree.level[switch] > 1:
        children = np.flatnonzero(tree.parent == switch)
        *largest, last = children[last_best_fit(below[children], k)].tolist()
        whole += largest
        k -= int(below[largest].sum())
        switch = last
    take = np.where(below_domains(tree, whole), below, 0)
    take[switch] = k
    return first_nodes(tree, mask, take)


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
        check_asked(problem, "lowest-switch", "within")
        return placement_result(problem, lowest_switch(problem.tree, problem.free, problem.size), clock)
