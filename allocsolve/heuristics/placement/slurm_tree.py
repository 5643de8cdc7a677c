"""The choice of nodes of Slurm on switch trees, topology/tree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from allocsolve.heuristics.placement._kernels_slurm import fill_leaves
from allocsolve.heuristics.placement.rule import Request, Rule, below_domains, first_nodes

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
