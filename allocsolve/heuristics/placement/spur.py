"""The placement rule of spur, a scheduler of AMD.

A plain function for simulators, which returns the nodes by id, and the solver over it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from allocsolve.heuristics.placement._trees import (
    first_nodes,
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


def spur(tree: SwitchTree, free: Sequence[bool] | BoolArray, k: int) -> IntArray | None:
    """Take the nodes that spur takes.

    The switch of level 1 with most free nodes gives them; if it has too few, it gives all it has, and the
    others follow by their distance to it in links between switches, then by falling numbers of free nodes,
    then by id. There is no best fit.

    Parameters
    ----------
    tree
        The machine.
    free
        Which nodes may be taken, shape (nodes,); not changed.
    k
        How many to take.

    Returns
    -------
    IntArray or None
        Shape (k,), rising; None if the root of the largest switch has too few free nodes: spur would go on
        below other roots.

    Raises
    ------
    InvalidProblem
        If `free` is not a mask over the nodes, or `k` is below 1 or above the number of free nodes.

    Notes
    -----
    *Guarantee*: none on distances. *Complexity*: O(nodes + switches * (height + log(switches))).

    References
    ----------
    spur, commit 4cc3da8: ``topology.rs`` in crates/spur-core/src. There switches with equally many free
    nodes come in no order.

    Examples
    --------
    >>> from allocsolve.model import SwitchTree
    >>> free = np.array([1, 0, 0, 1, 1, 0], dtype=np.bool_)
    >>> spur(SwitchTree.regular((2, 3)), free, 1).tolist()
    [3]
    """
    mask, k = checked_tree_request(tree, free, k)
    counts = np.bincount(tree.switch[mask], minlength=tree.num_switches)
    seed = int(np.argmax(counts))
    links = _links_from(tree, seed)
    racks = np.flatnonzero((counts > 0) & (links >= 0))
    racks = racks[np.lexsort((racks, -counts[racks], links[racks]))]
    ends = np.cumsum(counts[racks])
    if ends[-1] < k:
        return None
    take = np.zeros(tree.num_switches, dtype=np.int64)
    take[racks] = np.clip(k - (ends - counts[racks]), 0, counts[racks])
    return first_nodes(tree, mask, take)


def _links_from(tree: SwitchTree, switch: int) -> IntArray:
    """Return the links between a switch and each other, shape (switches,); -1 below other roots."""
    links = np.full(tree.num_switches, -1, dtype=np.int64)
    way, above = 0, switch
    while above >= 0:
        links[above], way, above = way, way + 1, int(tree.parent[above])
    for level in range(tree.height - 1, 0, -1):
        at = np.flatnonzero((tree.level == level) & (links < 0) & (tree.parent >= 0))
        above_at = links[tree.parent[at]]
        links[at] = np.where(above_at < 0, -1, above_at + 1)
    return links


@dataclass(frozen=True, slots=True)
class Spur:
    """Choose nodes as spur does: see `spur`."""

    def __call__(self, problem: PlacementProblem, budget: Budget, /) -> Result[Placement]:
        """Choose nodes; of the budget only the clock is used.

        Raises
        ------
        UnsupportedProblem
            If the problem asks for a level, segments or equal parts.
        """
        clock = budget.start()
        check_asked(problem, "spur")
        return placement_result(problem, spur(problem.tree, problem.free, problem.size), clock)
