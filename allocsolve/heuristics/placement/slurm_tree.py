"""The choice of nodes of Slurm on switch trees, topology/tree.

A plain function for simulators, which returns the nodes by id, and the solver over it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from allocsolve.heuristics.placement._kernels_slurm import fill_leaves
from allocsolve.heuristics.placement._trees import below_domains, first_nodes
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


def slurm_tree(tree: SwitchTree, free: Sequence[bool] | BoolArray, k: int) -> IntArray | None:
    """Take the nodes that Slurm takes with topology/tree.

    Leaf switch after leaf switch gives its free nodes until there are enough. Each is found by going through
    the leaf switches in the order of the file: a later one takes the place of the best if it is closer to
    those in use and fits, or is as close and fits better. How close it is, is the number of links between it
    and each leaf switch in use, summed up. Two leaf switches are compared by whether they hold the rest of
    the job; if neither does, by whether the switches above them do, and so on up to a common one. Of two that
    do, the one with fewer free nodes fits better, of two that do not, the one with more. So a closer leaf
    switch that does not hold the rest loses to a distant one that does: jobs leave their pod early.

    Parameters
    ----------
    tree
        The machine; switches are in the order of the file.
    free
        Which nodes may be taken, shape (nodes,); not changed.
    k
        How many to take.

    Returns
    -------
    IntArray or None
        Shape (k,), rising, all below one root: of the highest ones with enough free nodes, the last. None if
        there is none.

    Raises
    ------
    InvalidProblem
        If `free` is not a mask over the nodes, or `k` is below 1 or above the number of free nodes.

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
    mask, k = checked_tree_request(tree, free, k)
    below = tree.nodes_below(mask)
    roots = np.flatnonzero((tree.parent < 0) & (below >= k))
    if not len(roots):
        return None
    top = roots[tree.level[roots] == tree.level[roots].max()][-1]
    leaves = np.flatnonzero((tree.level == 1) & (below > 0) & below_domains(tree, [top]))
    return first_nodes(tree, mask, fill_leaves(tree.parent, tree.level, below, leaves, k))


@dataclass(frozen=True, slots=True)
class SlurmTree:
    """Choose nodes as Slurm does on switch trees: see `slurm_tree`.

    Examples
    --------
    >>> from allocsolve.model import Budget, PlacementProblem, SwitchTree
    >>> problem = PlacementProblem.of(SwitchTree.regular((2, 3)), busy=[2], size=2)
    >>> SlurmTree()(problem, Budget()).answer.nodes.tolist()
    [0, 1]
    """

    def __call__(self, problem: PlacementProblem, budget: Budget, /) -> Result[Placement]:
        """Choose nodes; of the budget only the clock is used.

        Raises
        ------
        UnsupportedProblem
            If the problem asks for a level, segments or equal parts.
        """
        clock = budget.start()
        check_asked(problem, "slurm-tree")
        return placement_result(problem, slurm_tree(problem.tree, problem.free, problem.size), clock)
