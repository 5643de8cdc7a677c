"""The match policies of Fluxion, the scheduler of Flux."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import numpy as np

from allocsolve.heuristics.placement.rule import Request, Rule

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allocsolve.model import BoolArray, IntArray, SwitchTree


#: Match policies.
FluxionPolicy: TypeAlias = Literal["low", "high", "locality"]

FLUXION_POLICIES: tuple[FluxionPolicy, ...] = get_args(FluxionPolicy)


@dataclass(frozen=True, slots=True)
class Fluxion(Rule):
    """Take the nodes that Fluxion takes; it sees their ids only.

    ``low`` and ``high`` take the lowest and the highest ids. ``locality`` means to take the longest run of
    ids, but compares runs by their position: the run with the highest ids comes first. Of free nodes 1 to 6,
    20 and 21 it takes 20 and 21 first. In a run the lowest ids are taken.

    The nodes may lie below several roots.

    Parameters
    ----------
    policy
        A match policy.

    Notes
    -----
    *Guarantee*: none on distances. *Complexity*: O(nodes * log(nodes)).

    References
    ----------
    flux-sched, commit fd257f7: ``dfu_match_low_id_first.cpp``, ``dfu_match_high_id_first.cpp`` and
    ``dfu_match_locality.cpp`` in resource/policies; ``interval_greater`` in resource/evaluators.

    Examples
    --------
    >>> from allocsolve.model import SwitchTree
    >>> free = np.zeros(24, dtype=np.bool_)
    >>> free[[1, 2, 3, 4, 5, 6, 20, 21]] = True
    >>> fluxion(SwitchTree.regular((2, 12)), free, 3, policy="locality").tolist()
    [1, 20, 21]
    """

    name = "fluxion"
    policy: FluxionPolicy = "low"

    def take(self, request: Request) -> IntArray:
        """Return the nodes that the job gets."""
        nodes, k = np.flatnonzero(request.free), request.size
        if self.policy == "low":
            nodes = nodes[:k]
        elif self.policy == "high":
            nodes = nodes[-k:]
        else:
            run = np.cumsum(np.diff(nodes, prepend=-1) > 1, dtype=np.int64)
            nodes = np.sort(nodes[np.argsort(-run, kind="stable")[:k]], kind="stable")
        return nodes


def fluxion(
    tree: SwitchTree, free: Sequence[bool] | BoolArray, k: int, *, policy: FluxionPolicy = "low"
) -> IntArray:
    """Take nodes by `Fluxion`; see `Request.of` for the arguments."""
    return Fluxion(policy).take(Request.of(tree, free, k))
