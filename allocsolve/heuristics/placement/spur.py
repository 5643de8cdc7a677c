"""The placement rule of spur, a scheduler of AMD."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from allocsolve.heuristics.placement.rule import Request, Rule, first_nodes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allocsolve.model import BoolArray, IntArray, SwitchTree


@dataclass(frozen=True, slots=True)
class Spur(Rule):
    """Take the nodes that spur takes.

    The switch of level 1 with most free nodes gives them; if it has too few, it gives all it has, and the
    others follow by their distance to it in links between switches, then by falling numbers of free nodes,
    then by id. There is no best fit.

    The job waits if the root of the largest switch has too few free nodes: spur would go on below other
    roots.

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

    name = "spur"

    def take(self, request: Request) -> IntArray | None:
        """Return the nodes that the job gets; None if it waits."""
        tree, free, k, *_ = request
        counts = np.bincount(tree.switch[free], minlength=tree.num_switches)
        seed = int(np.argmax(counts))
        links = _links_from(tree, seed)
        racks = np.flatnonzero((counts > 0) & (links >= 0))
        racks = racks[np.lexsort((racks, -counts[racks], links[racks]))]
        ends = np.cumsum(counts[racks])
        if ends[-1] < k:
            return None
        take = np.zeros(tree.num_switches, dtype=np.int64)
        take[racks] = np.clip(k - (ends - counts[racks]), 0, counts[racks])
        return first_nodes(tree, free, take)


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


def spur(tree: SwitchTree, free: Sequence[bool] | BoolArray, k: int) -> IntArray | None:
    """Take nodes by `Spur`; see `Request.of` for the arguments."""
    return Spur().take(Request.of(tree, free, k))
