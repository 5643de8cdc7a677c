"""The placement sets of PBS.

A plain function for simulators, which returns the nodes by id, and the solver over it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from allocsolve.heuristics.placement._trees import (
    below_domains,
)
from allocsolve.heuristics.placement.answers import check_asked, checked_tree_request, placement_result
from allocsolve.model import checks

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


def pbs_placement(
    tree: SwitchTree, free: Sequence[bool] | BoolArray, k: int, *, wait: bool = False
) -> IntArray | None:
    """Take the nodes that PBS takes, with each switch below a root as a placement set.

    The sets of all levels stand in one list: by all their nodes, then by their free ones, both rising, then
    higher levels first, then by id. The first set with enough free nodes gives its first ones. If there is
    none, the job spans all sets: the first free nodes below the root that comes first in the same order.

    Parameters
    ----------
    tree
        The machine.
    free
        Which nodes may be taken, shape (nodes,); not changed.
    k
        How many to take.
    wait
        Whether a job that no set holds now waits if one could hold it when empty, as PBS lets it; else it
        spans the sets, as in PBS only jobs do that no set could ever hold.

    Returns
    -------
    IntArray or None
        Shape (k,), rising; None if the job waits, or no root has so many free nodes below it.

    Raises
    ------
    InvalidProblem
        If `free` is not a mask over the nodes, or `k` is below 1 or above the number of free nodes.
    InvalidOption
        If `wait` is neither True nor False.

    Notes
    -----
    *Guarantee*: none on distances. *Complexity*: O(nodes + height * switches + switches * log(switches)).

    References
    ----------
    OpenPBS, commit cd7ab5e: ``sort.cpp``, ``buckets.cpp`` and ``node_info.cpp`` in src/scheduler.

    Examples
    --------
    >>> from allocsolve.model import SwitchTree
    >>> free = np.array([1, 1, 1, 1, 1, 0], dtype=np.bool_)
    >>> pbs_placement(SwitchTree.regular((2, 3)), free, 2).tolist()
    [3, 4]
    """
    mask, k = checked_tree_request(tree, free, k)
    wait = checks.flag("wait", wait)
    below, total = tree.nodes_below(mask), tree.nodes_below(np.ones(tree.num_nodes, dtype=np.bool_))
    in_list = np.lexsort((-tree.level, below, total))
    is_set = tree.parent[in_list] >= 0
    fitting = in_list[(below[in_list] >= k) & is_set]
    if not len(fitting):
        if wait and (total[in_list[is_set]] >= k).any():
            return None
        fitting = in_list[(below[in_list] >= k) & ~is_set]
        if not len(fitting):
            return None
    inside = below_domains(tree, fitting[:1])
    return np.flatnonzero(mask & inside[tree.switch])[:k]


@dataclass(frozen=True, slots=True)
class PbsPlacement:
    """Choose nodes as PBS does with placement sets: see `pbs_placement`.

    Parameters
    ----------
    wait
        As in `pbs_placement`.

    Raises
    ------
    InvalidOption
        If `wait` is neither True nor False.
    """

    wait: bool = False

    def __post_init__(self) -> None:
        checks.flag("wait", self.wait)

    def __call__(self, problem: PlacementProblem, budget: Budget, /) -> Result[Placement]:
        """Choose nodes; of the budget only the clock is used.

        Raises
        ------
        UnsupportedProblem
            If the problem asks for a level, segments or equal parts.
        """
        clock = budget.start()
        check_asked(problem, "pbs-placement")
        nodes = pbs_placement(problem.tree, problem.free, problem.size, wait=self.wait)
        return placement_result(problem, nodes, clock)
