"""Best fit below the lowest switch that holds a job."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from allocsolve.heuristics.placement.rule import (
    Request,
    Rule,
    below_domains,
    first_nodes,
    fitting_domains,
    last_best_fit,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allocsolve.model import BoolArray, IntArray, SwitchTree


@dataclass(frozen=True, slots=True)
class LowestSwitch(Rule):
    """Take nodes below the lowest switch that holds the job, by best fit all the way down.

    Of the switches of the lowest level at which one has enough free nodes, the one with fewest free nodes is
    taken. Of the switches below it, the largest give all their nodes until one of the others holds the rest;
    the smallest that does gives it, by the same rule. Of equal ones the first is taken.

    A job that must stay below a switch of a level (``within``) gets no nodes if no such switch holds it.

    The job waits if no root has so many free nodes below it. A switch counts at all levels from its own to
    below that of its parent, so that ways of different lengths to a root do no harm.

    Notes
    -----
    *Guarantee*: no job spans a level more than it must; none on distances within. *Complexity*: O(nodes +
    height * switches).

    Examples
    --------
    >>> from allocsolve.model import SwitchTree
    >>> free = np.array([1, 1, 0, 1, 1, 1, 0, 0, 0], dtype=np.bool_)
    >>> lowest_switch(SwitchTree.regular((3, 3)), free, 2).tolist()
    [0, 1]
    """

    name = "lowest-switch"
    knows = ("within",)

    def take(self, request: Request) -> IntArray | None:
        """Return the nodes that the job gets; None if it waits."""
        tree, free, k, *_ = request
        below = tree.nodes_below(free)
        level, fitting = fitting_domains(tree, below, k, 1, tree.height)
        if not level:
            return None
        switch = int(fitting[np.argmin(below[fitting])])
        whole: list[int] = []
        while tree.level[switch] > 1:
            children = np.flatnonzero(tree.parent == switch)
            *largest, last = children[last_best_fit(below[children], k)].tolist()
            whole += largest
            k -= int(below[largest].sum())
            switch = last
        take = np.where(below_domains(tree, whole), below, 0)
        take[switch] = k
        return first_nodes(tree, free, take)


def lowest_switch(tree: SwitchTree, free: Sequence[bool] | BoolArray, k: int) -> IntArray | None:
    """Take nodes by `LowestSwitch`; see `Request.of` for the arguments."""
    return LowestSwitch().take(Request.of(tree, free, k))
