"""The placement rule of the KAI scheduler."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from allocsolve.heuristics.placement.rule import Request, Rule, below_domains, fitting_domains

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allocsolve.model import BoolArray, IntArray, SwitchTree


@dataclass(frozen=True, slots=True)
class Kai(Rule):
    """Take the nodes that KAI takes for a job that prefers level 1.

    The tree is sorted: below each switch, those with fewer free nodes come first, and of equal ones the
    first. The lowest level counts at which a domain (switch) holds the job, and there the first domain in
    this order that does. Its nodes are taken by score, highest first, then by name. The score is that of the
    switch of level 1: of n of them in the whole sorted tree the i-th (from 0) has floor(10 (i + 1) / n), so
    that beyond ten of them several share a score and their nodes are taken by name.

    A job that must stay below a switch of a level (``within``, KAI's required level) gets no nodes if no such
    switch holds it.

    The job waits if no root has so many free nodes below it. The names of nodes sort as their ids. A switch
    counts at all levels from its own to below that of its parent.

    Notes
    -----
    *Guarantee*: no job spans a level more than it must; none on distances within. *Complexity*: O(nodes *
    log(nodes) + height * switches * log(switches)).

    References
    ----------
    KAI-Scheduler, commit d5bc503: ``job_filtering.go`` and ``node_scoring.go`` in
    pkg/scheduler/plugins/topology.

    Examples
    --------
    >>> from allocsolve.model import SwitchTree
    >>> free = np.array([1, 1, 1, 1, 1, 0], dtype=np.bool_)
    >>> kai(SwitchTree.regular((2, 3)), free, 4).tolist()
    [0, 1, 2, 3]
    """

    name = "kai"
    knows = ("within",)

    def take(self, request: Request) -> IntArray | None:
        """Return the nodes that the job gets; None if it waits."""
        tree, free, k, *_ = request
        below = tree.nodes_below(free)
        level, fitting = fitting_domains(tree, below, k, 1, tree.height)
        if not level:
            return None
        place, first = _sorted_places(tree, below)
        domain = fitting[np.argmin(first[fitting])]
        score = 10 * (place + 1) // np.count_nonzero(place >= 0)
        nodes = np.flatnonzero(free & below_domains(tree, [domain])[tree.switch])
        return np.sort(nodes[np.argsort(-score[tree.switch[nodes]], kind="stable")[:k]], kind="stable")


def _sorted_places(tree: SwitchTree, below: IntArray) -> tuple[IntArray, IntArray]:
    """Return the places of the switches of level 1 in the sorted tree, else -1; and the first below each."""
    rack = np.zeros(tree.num_switches, dtype=np.int64)
    rack[tree.switch] = 1  # switches of level 1 without nodes are no domains
    racks = tree.sums_below(rack)
    first = np.zeros(tree.num_switches, dtype=np.int64)
    at = np.flatnonzero(tree.parent < 0)
    start = np.zeros(len(at), dtype=np.int64)
    while len(at):
        # Brothers stand together, in their order; each begins where those before it end.
        order = np.lexsort((at, below[at], tree.parent[at]))
        at, start = at[order], start[order]
        ends = np.cumsum(racks[at])
        before = ends - racks[at]
        families = np.flatnonzero(np.diff(tree.parent[at], prepend=-2))
        first[at] = start + before - np.repeat(before[families], np.diff(families, append=len(at)))
        children = np.flatnonzero(np.isin(tree.parent, at))
        at, start = children, first[tree.parent[children]]
    return np.where(rack > 0, first, -1), first


def kai(tree: SwitchTree, free: Sequence[bool] | BoolArray, k: int) -> IntArray | None:
    """Take nodes by `Kai`; see `Request.of` for the arguments."""
    return Kai().take(Request.of(tree, free, k))
