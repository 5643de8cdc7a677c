"""The placement sets of PBS."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from allocsolve.heuristics.placement.rule import Request, Rule, below_domains

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allocsolve.model import BoolArray, IntArray, SwitchTree


@dataclass(frozen=True, slots=True)
class PbsPlacement(Rule):
    """Take the nodes that PBS takes, with each switch below a root as a placement set.

    The sets of all levels stand in one list: by all their nodes, then by their free ones, both rising, then
    higher levels first, then by id. The first set with enough free nodes gives its first ones. If there is
    none, the job spans all sets: the first free nodes below the root that comes first in the same order.

    The job waits if no root has so many free nodes below it.

    Parameters
    ----------
    wait
        Whether a job that no set holds now waits if one could hold it when empty, as PBS lets it; else it
        spans the sets, as in PBS only jobs do that no set could ever hold.

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

    name = "pbs-placement"
    wait: bool = False

    def take(self, request: Request) -> IntArray | None:
        """Return the nodes that the job gets; None if it waits."""
        tree, free, k, *_ = request
        below, total = tree.nodes_below(free), tree.nodes_below(np.ones(tree.num_nodes, dtype=np.bool_))
        in_list = np.lexsort((-tree.level, below, total))
        is_set = tree.parent[in_list] >= 0
        fitting = in_list[(below[in_list] >= k) & is_set]
        if not len(fitting):
            if self.wait and (total[in_list[is_set]] >= k).any():
                return None
            fitting = in_list[(below[in_list] >= k) & ~is_set]
            if not len(fitting):
                return None
        inside = below_domains(tree, fitting[:1])
        return np.flatnonzero(free & inside[tree.switch])[:k]


def pbs_placement(
    tree: SwitchTree, free: Sequence[bool] | BoolArray, k: int, *, wait: bool = False
) -> IntArray | None:
    """Take nodes by `PbsPlacement`; see `Request.of` for the arguments."""
    return PbsPlacement(wait).take(Request.of(tree, free, k))
