"""The placement rule of Volcano, network-topology-aware plugin in hard mode."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from allocsolve.heuristics.placement.rule import Request, Rule, first_nodes, fitting_domains
from allocsolve.kernels import kernel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allocsolve.model import BoolArray, FloatArray, IntArray, SwitchTree


@kernel
def random_fill(
    parent: IntArray, is_rack: IntArray, below: IntArray, domain: int, size: int, draws: FloatArray
) -> IntArray:
    """Fill switches of level 1 below a domain one after the other, near ones first.

    `parent` is the switch above each switch, `is_rack` 1 for those of level 1, else 0, and `below` how many
    free nodes are below each, which is changed; shape (switches,). So many nodes are taken below `domain`,
    with the random numbers `draws` in [0, 1), shape (size,). Return how many are taken from each switch of
    level 1, shape (switches,).
    """
    take = np.zeros(len(parent), dtype=np.int64)
    reached, turn = domain, 0
    while size > 0:
        # The lowest switch above all that is taken so far with free nodes; one of these at random.
        while below[reached] == 0:
            reached = parent[reached]
        node = int(draws[turn] * below[reached])
        rack = -1
        while node >= 0:
            rack += 1
            if is_rack[rack] == 0 or below[rack] == 0:
                continue
            above = rack
            while above >= 0 and above != reached:
                above = parent[above]
            if above == reached:
                node -= below[rack]
        if turn == 0:
            reached = rack
        turn += 1
        count = min(size, below[rack])
        take[rack] = count
        size -= count
        above = rack
        while above >= 0:
            below[above] -= count
            above = parent[above]
    return take


@dataclass(frozen=True, slots=True)
class Volcano(Rule):
    """Take the nodes that Volcano takes in hard mode.

    Of the domains (switches, there *hypernodes*) of the lowest level at which one holds the job, one with the
    highest share of busy nodes after it is chosen, a random one of equal ones. There a random free node is
    drawn, and its switch of level 1 is filled. As long as nodes are needed, a random free node below the
    lowest switch that is above all chosen ones and has free nodes left is drawn, and its switch of level 1
    is filled. Of such a switch the first nodes are taken: they are alike.

    A job that must stay below a switch of a level (``within``, there the highest tier allowed) gets no nodes
    if no such switch holds it.

    The job waits if no root has so many free nodes below it. A switch counts at all levels from its own to
    below that of its parent.

    Notes
    -----
    *Guarantee*: no job spans a level more than it must; none on distances within. *Complexity*: O(nodes +
    height * switches * r) for r switches of level 1 that are used.

    References
    ----------
    Volcano, commit ed72c7c: ``network_topology_aware.go`` in
    pkg/scheduler/plugins/network-topology-aware.

    Examples
    --------
    >>> from allocsolve.model import SwitchTree
    >>> free = np.array([1, 1, 1, 1, 1, 0], dtype=np.bool_)
    >>> volcano(SwitchTree.regular((2, 3)), free, 2, seed=1).tolist()
    [3, 4]
    """

    name = "volcano"
    knows = ("within",)

    def take(self, request: Request) -> IntArray | None:
        """Return the nodes that the job gets; None if it waits."""
        tree, free, k, *_ = request
        random = np.random.default_rng(request.seed)
        below, total = tree.nodes_below(free), tree.nodes_below(np.ones(tree.num_nodes, dtype=np.bool_))
        level, fitting = fitting_domains(tree, below, k, 1, tree.height)
        if not level:
            return None
        # The busiest after the job: the least share of free nodes, as a fraction of whole numbers.
        left = below[fitting] - k
        best = np.argmin(left / total[fitting])
        equal = fitting[left * total[fitting[best]] == left[best] * total[fitting]]
        domain = int(random.choice(equal))
        is_rack = (tree.level == 1).astype(np.int64)
        take = random_fill(tree.parent, is_rack, below, domain, k, random.random(k))
        return first_nodes(tree, free, take)


def volcano(tree: SwitchTree, free: Sequence[bool] | BoolArray, k: int, *, seed: int) -> IntArray | None:
    """Take nodes by `Volcano`; see `Request.of` for the arguments."""
    return Volcano().take(Request.of(tree, free, k, seed=seed))
