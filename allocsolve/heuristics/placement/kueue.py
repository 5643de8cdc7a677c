"""The placement rule of Kueue, topology-aware scheduling.

A plain function for simulators, which returns the nodes by id, and the solver over it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import numpy as np

from allocsolve.errors import UnsupportedProblem
from allocsolve.heuristics.placement._kernels_racks import least_surplus
from allocsolve.heuristics.placement._trees import (
    domain_of,
    fitting_domains,
    last_best_fit,
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

#: The profiles of Kueue.
KueueMode: TypeAlias = Literal[
    "best-fit",  # by default
    "balanced",  # the feature gate TASBalancedPlacement, alpha
    "unconstrained",  # a job that asks for no level: the first free nodes
]

KUEUE_MODES: tuple[KueueMode, ...] = get_args(KueueMode)


def kueue(
    tree: SwitchTree,
    free: Sequence[bool] | BoolArray,
    k: int,
    *,
    mode: KueueMode = "best-fit",
    within: int = 0,
) -> IntArray | None:
    """Take the nodes that Kueue takes.

    ``best-fit``: at the asked level, the domain (switch) with fewest free nodes of those that hold the job;
    if there is none, at the next level up. From there down, the domains below *all* chosen ones are pooled,
    whatever those were meant to give: the largest are chosen until one of the others holds the rest, and of
    those the smallest. Last, the nodes are taken by name over all chosen switches of level 1: with 4 and 10
    free nodes, a job of 11 takes 4 and 7, not 1 and 10. Of equal domains the first is taken.

    ``balanced``: the switch of level 2 that holds the job with fewest switches of level 1, the first of
    equal ones; there so many of these as have the fewest free nodes in all. Their nodes are taken by name.
    If no switch of level 2 holds the job: as ``best-fit``.

    ``unconstrained``: the first free nodes by name.

    Parameters
    ----------
    tree
        The machine; the names of nodes and switches sort as their ids. A switch counts at all levels from its
        own to below that of its parent; in Kueue all ways to the root are equally long.
    free
        Which nodes may be taken, shape (nodes,); not changed.
    k
        How many to take.
    mode
        A profile.
    within
        The level that is required: no other is tried. 0: level 1 is preferred. With a required level,
        ``balanced`` is as ``best-fit``, and ``unconstrained`` is no job of Kueue.

    Returns
    -------
    IntArray or None
        Shape (k,), rising; None if no domain of the required level, or, where none is, no root holds the
        job. Jobs of the profile ``unconstrained`` may span roots.

    Raises
    ------
    InvalidProblem
        If `free` is not a mask over the nodes, or `k` is below 1 or above the number of free nodes.
    UnknownName
        If there is no such profile.
    UnsupportedProblem
        If a level is required of the profile ``unconstrained``.

    Notes
    -----
    *Guarantee*: ``best-fit`` and ``balanced`` use the lowest level possible; none on distances.
    *Complexity*: O(nodes + height * switches * log(switches)); ``balanced`` also O(r * s * k) for the s
    switches of level 1, of which r are used, below that of level 2.

    References
    ----------
    Kueue, commit ff69552: ``tas_flavor_snapshot.go``, ``tas_balanced_placement.go`` in pkg/cache/scheduler.

    Examples
    --------
    >>> from allocsolve.model import SwitchTree
    >>> free = np.array([1, 1, 0, 1, 1, 1], dtype=np.bool_)
    >>> kueue(SwitchTree.regular((2, 3)), free, 4).tolist()
    [0, 1, 3, 4]
    """
    checks.choice("mode of kueue", mode, KUEUE_MODES)
    mask, k = checked_tree_request(tree, free, k)
    if mode == "unconstrained":
        if within:
            msg = f"within {within}: Kueue's unconstrained jobs know nothing of it"
            raise UnsupportedProblem(msg)
        return np.flatnonzero(mask)[:k]
    below = tree.nodes_below(mask)
    racks = None
    if mode == "balanced" and not within and tree.height > 1:
        racks = _balanced(tree, below, k)
    if racks is None:
        racks = _best_fit(tree, below, k, within)
    if racks is None:
        return None
    chosen = np.zeros(tree.num_switches, dtype=np.bool_)
    chosen[racks] = True
    return np.flatnonzero(mask & chosen[tree.switch])[:k]


def _best_fit(tree: SwitchTree, below: IntArray, size: int, within: int) -> IntArray | None:
    """Return the chosen switches of level 1."""
    asked = min(within, tree.height) or 1
    level, fitting = fitting_domains(tree, below, size, asked, asked if within else tree.height)
    if not level:
        return None
    chosen = fitting[[np.argmin(below[fitting])]]
    for lower in range(level - 1, 0, -1):
        domains = np.unique(domain_of(tree, np.flatnonzero(tree.level == 1), lower))
        domains = domains[np.isin(domain_of(tree, domains, lower + 1), chosen)]
        chosen = domains[last_best_fit(below[domains], size)]
    return chosen


def _balanced(tree: SwitchTree, below: IntArray, size: int) -> IntArray | None:
    """Return the chosen switches of level 1, None if no switch of level 2 holds the job."""
    racks = np.flatnonzero(tree.level == 1)
    above = domain_of(tree, racks, 2)
    # Pod by pod, the largest racks first, and the first of equal ones.
    order = np.lexsort((racks, -below[racks], above))
    racks, above = racks[order], above[order]
    counts = below[racks]
    sums = np.cumsum(counts)
    starts = np.flatnonzero(np.diff(above, prepend=-1))
    before = np.repeat(sums[starts] - counts[starts], np.diff(starts, append=len(racks)))
    enough = np.flatnonzero(sums - before >= size)
    pods, first = np.unique(above[enough], return_index=True)
    if not len(pods):
        return None
    needed = enough[first] + 1 - starts[np.searchsorted(above[starts], pods)]
    best = int(np.argmin(needed))
    inside = above == pods[best]
    chosen: IntArray = racks[inside][least_surplus(counts[inside], int(needed[best]), size)]
    return chosen


@dataclass(frozen=True, slots=True)
class Kueue:
    """Choose nodes as Kueue does: see `kueue`.

    A level within which the job must stay (``within``) is Kueue's required level.

    Parameters
    ----------
    mode
        As in `kueue`.

    Raises
    ------
    UnknownName
        If there is no such profile.

    Examples
    --------
    >>> from allocsolve.model import Budget, PlacementProblem, SwitchTree
    >>> problem = PlacementProblem.of(SwitchTree.regular((2, 3)), busy=[2], size=4)
    >>> Kueue()(problem, Budget()).answer.nodes.tolist()
    [0, 1, 3, 4]
    """

    mode: KueueMode = "best-fit"

    def __post_init__(self) -> None:
        checks.choice("mode of kueue", self.mode, KUEUE_MODES)

    def __call__(self, problem: PlacementProblem, budget: Budget, /) -> Result[Placement]:
        """Choose nodes; of the budget only the clock is used.

        Raises
        ------
        UnsupportedProblem
            If the problem asks for segments or equal parts, or of the profile ``unconstrained`` for a level.
        """
        clock = budget.start()
        check_asked(problem, "kueue", "within")
        nodes = kueue(problem.tree, problem.free, problem.size, mode=self.mode, within=problem.within)
        return placement_result(problem, nodes, clock)
