"""Which steps some optimal schedule expands: in the valleys of a profile, from the bottom up.

While a step is expanded its nodes are held for nothing. If a neighbour needs no more nodes, it may as well be
the neighbour that is expanded: to the right it then starts earlier, to the left it ends later, and in between
fewer nodes are held. The same goes for all steps on the way down from the step: those in between are shifted
as they are. What reaches the end of the application in this way makes it complete earlier, what reaches its
beginning makes it start later, and no step is expanded any more.

*Lemma.* Some schedule that is optimal in makespan, mean completion, waste or any lexicographic order of them
has this form: if a step i is expanded, then every step that it can pass its expansion on to is expanded to
its limit. These are the steps j after i, nodes not rising from i to j, with fewer nodes than i, and the steps
j before i, nodes not rising from i (leftwards) to j; the first and the last step of the application have no
limit in this. *Proof.* Passing on one second changes neither a makespan nor a completion for the worse, and
reduces (waste, expansion, sum of positions of expanded seconds) lexicographically: it ends.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from allocsolve.model import EvolutionProblem, IntArray

__all__ = ["expansion_order", "settled"]


def expansion_order(problem: EvolutionProblem, horizon: int) -> list[list[list[int] | None]]:
    """Return for each step of each application what is expanded to its limit before it is expanded.

    None for a step that need not be expanded at all: in some optimal schedule that ends by `horizon`.
    O(steps^2) per application.
    """
    packed = problem.packed
    orders = []
    for (a, b), release in zip(pairwise(packed.offsets.tolist()), problem.releases, strict=True):
        durations, nodes = packed.durations[a:b].tolist(), packed.nodes[a:b].tolist()
        # The most that a step can be held at all.
        room = horizon - release - sum(durations)
        limits = [
            min(longest - duration, room + 1)
            for longest, duration in zip(packed.max_durations[a:b].tolist(), durations, strict=True)
        ]
        orders.append([_takers_with_limit(nodes, limits, room, step) for step in range(b - a)])
    return orders


def _takers_with_limit(nodes: list[int], limits: list[int], room: int, step: int) -> list[int] | None:
    """Return the steps that are at their limit if `step` is expanded, None if it is never expanded."""
    if step in (0, len(nodes) - 1) or min(limits[step], room) <= 0:
        return None
    takers = _takers(nodes, step)
    if any(taker in (0, len(nodes) - 1) or limits[taker] > room for taker in takers):
        return None
    return [taker for taker in takers if limits[taker] > 0]


def _takers(nodes: list[int], step: int) -> list[int]:
    """Return the steps to which a step can pass its expansion on, the nearest first on either side."""
    last = len(nodes) - 1
    takers = []
    after = step
    while after < last and nodes[after + 1] <= nodes[after]:
        after += 1
        if nodes[after] < nodes[step] or after == last:
            takers.append(after)
    before = step
    while before > 0 and nodes[before - 1] <= nodes[before]:
        before -= 1
        takers.append(before)
    return takers


def settled(problem: EvolutionProblem, starts: IntArray, ends: IntArray) -> tuple[IntArray, IntArray]:
    """Return a schedule of the form of the lemma that is no worse than the given one, as step times."""
    packed = problem.packed
    starts, ends = starts.copy(), ends.copy()
    for a, b in pairwise(packed.offsets.tolist()):
        durations, nodes = packed.durations[a:b], packed.nodes[a:b].tolist()
        idle = ends[a:b] - starts[a:b] - durations
        limits = packed.max_durations[a:b] - durations
        first, last = 0, b - a - 1
        begin = int(starts[a])
        moving = True
        while moving:
            moving = False
            for step in range(1, last):
                for taker in _takers(nodes, step):
                    if taker in (first, last):
                        passed = idle[step]
                        begin += int(passed) if taker == first else 0
                    else:
                        passed = min(idle[step], limits[taker] - idle[taker])
                        idle[taker] += passed
                    idle[step] -= passed
                    moving = moving or bool(passed > 0)
        begin += int(idle[0]) if last else 0
        idle[0] = 0
        idle[-1] = 0
        ends[a:b] = begin + np.cumsum(durations + idle)
        starts[a:b] = ends[a:b] - durations - idle
    return starts, ends
