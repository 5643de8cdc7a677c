"""The placement rule of the KAI scheduler.

A plain function for simulators, which returns the nodes by id, and the solver over it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from allocsolve.heuristics.placement._trees import (
    below_domains,
    fitting_domains,
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


def kai(tree: SwitchTree, free: Sequence[bool] | BoolArray, k: int) -> IntArray | None:
    """Take the nodes that KAI takes for a job that prefers level 1.

    The tree is sorted: below each switch, those with fewer free nodes come first, and of equal ones the
    first. The lowest level counts at which a domain (switch) holds the job, and there the first domain in
    this order that does. Its nodes are taken by score, highest first, then by name. The score is that of the
    switch of level 1: of n of them in the whole sorted tree the i-th (from 0) has floor(10 (i + 1) / n), so
    that beyond ten of them several share a score and their nodes are taken by name.

    Parameters
    ----------
    tree
        The machine; the names of nodes sort as their ids. A switch counts at all levels from its own to below
        that of its parent.
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
    mask, k = checked_tree_request(tree, free, k)
    below = tree.nodes_below(mask)
    level, fitting = fitting_domains(tree, below, k, 1, tree.height)
    if not level:
        return None
    place, first = _sorted_places(tree, below)
    domain = fitting[np.argmin(first[fitting])]
    score = 10 * (place + 1) // np.count_nonzero(place >= 0)
    nodes = np.flatnonzero(mask & below_domains(tree, [domain])[tree.switch])
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


@dataclass(frozen=True, slots=True)
class Kai:
    """Choose nodes as KAI does: see `kai`.

    A job that must stay below a switch of a level (``within``, KAI's required level) gets no nodes if no such
    switch holds it.

    Examples
    --------
    >>> from allocsolve.model import Budget, PlacementProblem, SwitchTree
    >>> problem = PlacementProblem.of(SwitchTree.regular((2, 3)), busy=[5], size=4)
    >>> Kai()(problem, Budget()).answer.nodes.tolist()
    [0, 1, 2, 3]
    """

    def __call__(self, problem: PlacementProblem, budget: Budget, /) -> Result[Placement]:
        """Choose nodes; of the budget only the clock is used.

        Raises
        ------
        UnsupportedProblem
            If the problem asks for segments or equal parts.
        """
        clock = budget.start()
        check_asked(problem, "kai", "within")
        return placement_result(problem, kai(problem.tree, problem.free, problem.size), clock)
