"""The match policies of Fluxion, the scheduler of Flux.

A plain function for simulators, which returns the nodes by id, and the solver over it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import numpy as np

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

#: Match policies.
FluxionPolicy: TypeAlias = Literal["low", "high", "locality"]

FLUXION_POLICIES: tuple[FluxionPolicy, ...] = get_args(FluxionPolicy)


def fluxion(
    tree: SwitchTree, free: Sequence[bool] | BoolArray, k: int, *, policy: FluxionPolicy = "low"
) -> IntArray:
    """Take the nodes that Fluxion takes; it sees their ids only.

    ``low`` and ``high`` take the lowest and the highest ids. ``locality`` means to take the longest run of
    ids, but compares runs by their position: the run with the highest ids comes first. Of free nodes 1 to 6,
    20 and 21 it takes 20 and 21 first. In a run the lowest ids are taken.

    Parameters
    ----------
    tree
        The machine.
    free
        Which nodes may be taken, shape (nodes,); not changed.
    k
        How many to take.
    policy
        A match policy.

    Returns
    -------
    IntArray
        Shape (k,), rising. They may lie below several roots.

    Raises
    ------
    InvalidProblem
        If `free` is not a mask over the nodes, or `k` is below 1 or above the number of free nodes.
    UnknownName
        If there is no such policy.

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
    checks.choice("policy of fluxion", policy, FLUXION_POLICIES)
    mask, k = checked_tree_request(tree, free, k)
    nodes = np.flatnonzero(mask)
    if policy == "low":
        nodes = nodes[:k]
    elif policy == "high":
        nodes = nodes[-k:]
    else:
        run = np.cumsum(np.diff(nodes, prepend=-1) > 1, dtype=np.int64)
        nodes = np.sort(nodes[np.argsort(-run, kind="stable")[:k]], kind="stable")
    return nodes


@dataclass(frozen=True, slots=True)
class Fluxion:
    """Choose nodes as Fluxion does: see `fluxion`.

    Parameters
    ----------
    policy
        As in `fluxion`.

    Raises
    ------
    UnknownName
        If there is no such policy.
    """

    policy: FluxionPolicy = "low"

    def __post_init__(self) -> None:
        checks.choice("policy of fluxion", self.policy, FLUXION_POLICIES)

    def __call__(self, problem: PlacementProblem, budget: Budget, /) -> Result[Placement]:
        """Choose nodes; of the budget only the clock is used.

        Raises
        ------
        UnsupportedProblem
            If the problem asks for a level, segments or equal parts.
        """
        clock = budget.start()
        check_asked(problem, "fluxion")
        nodes = fluxion(problem.tree, problem.free, problem.size, policy=self.policy)
        return placement_result(problem, nodes, clock)
