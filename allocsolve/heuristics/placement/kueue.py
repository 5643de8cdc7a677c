"""The placement rule of Kueue, topology-aware scheduling."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import numpy as np

from allocsolve.errors import UnsupportedProblem
from allocsolve.heuristics.placement.rule import Request, Rule, domain_of, fitting_domains, last_best_fit
from allocsolve.kernels import kernel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allocsolve.model import BoolArray, IntArray, SwitchTree


@kernel
def least_surplus(counts: IntArray, needed: int, size: int) -> IntArray:
    """Choose so many counts that their sum is at least the size and exceeds it least.

    Counts fall, shape (racks,); `needed` of them, the fewest that suffice, are chosen. Return their places,
    rising: of equal sums the one that is met first, when the counts are gone through in their order, and each
    is added to all choices without it that do not suffice yet.
    """
    most = counts[0]
    # What is still missing after so many choices, from -most on: the place of the last choice, -1 if none.
    last = np.full((needed + 1, size + most + 1), -1, dtype=np.int64)
    for place in range(len(counts)):
        count = counts[place]
        if count == 0:
            break
        for chosen in range(min(needed, place + 1), 0, -1):
            low = 1 if chosen > 1 else size
            for missing in range(max(low, size - (chosen - 1) * most), size + 1):
                if chosen > 1 and last[chosen - 1, missing + most] < 0:
                    continue
                after = missing - count + most
                if last[chosen, after] < 0:
                    last[chosen, after] = place
    missing = 0
    while last[needed, missing + most] < 0:
        missing -= 1
    places = np.empty(needed, dtype=np.int64)
    for chosen in range(needed, 0, -1):
        places[chosen - 1] = last[chosen, missing + most]
        missing += counts[places[chosen - 1]]
    return places


#: The profiles of Kueue.
KueueMode: TypeAlias = Literal[
    "best-fit",  # by default
    "balanced",  # the feature gate TASBalancedPlacement, alpha
    "unconstrained",  # a job that asks for no level: the first free nodes
]

KUEUE_MODES: tuple[KueueMode, ...] = get_args(KueueMode)


@dataclass(frozen=True, slots=True)
class Kueue(Rule):
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

    A level within which the job must stay (``within``) is Kueue's required level.

    The job waits if no domain of the required level holds it, or, if no level is required, no root does. Jobs
    of the profile ``unconstrained`` may span roots. The names of nodes and switches sort as their ids. A
    switch counts at all levels from its own to below that of its parent; in Kueue all ways to the root are
    equally long.

    Parameters
    ----------
    mode
        A profile.

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

    name = "kueue"
    knows = ("within",)
    mode: KueueMode = "best-fit"

    def take(self, request: Request) -> IntArray | None:
        """Return the nodes that the job gets; None if it waits."""
        tree, free, k, within, *_ = request
        if self.mode == "unconstrained":
            if within:
                raise UnsupportedProblem(f"within {within}: Kueue's unconstrained jobs know nothing of it")
            return np.flatnonzero(free)[:k]
        below = tree.nodes_below(free)
        racks = None
        if self.mode == "balanced" and not within and tree.height > 1:
            racks = _balanced(tree, below, k)
        if racks is None:
            racks = _best_fit(tree, below, k, within)
        if racks is None:
            return None
        chosen = np.zeros(tree.num_switches, dtype=np.bool_)
        chosen[racks] = True
        return np.flatnonzero(free & chosen[tree.switch])[:k]


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


def kueue(
    tree: SwitchTree,
    free: Sequence[bool] | BoolArray,
    k: int,
    *,
    mode: KueueMode = "best-fit",
    within: int = 0,
) -> IntArray | None:
    """Take nodes by `Kueue`; see `Request.of` for the arguments."""
    return Kueue(mode).take(Request.of(tree, free, k, within=within))
