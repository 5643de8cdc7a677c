"""Which steps some optimal schedule expands: those in the valleys of a profile, from the bottom up.

While a step is expanded its nodes are held for nothing. If the next step needs no more nodes, it may as well
start earlier and be expanded instead. If the step before needs no more, that step may be expanded and this
one start later. The same holds for every step further down the slope: the steps in between are shifted as
they are. At the end of an application nothing need be expanded: it completes earlier. At its beginning it
starts later instead.

*Lemma.* Of the schedules with the least makespan some have this form: if a step i is expanded, then every
step on either slope down from it is expanded to its limit. These are the steps j after i with fewer nodes
than i, and j before i with no more, where nodes nowhere rise on the way from i to j. So a step from which a
slope leads to the first or the last step of its application (which has no more nodes) is not expanded at all.
*Proof.* Move a second of expansion from i to such a j below its limit, or out of the application. At any time
no more nodes are held than before, no application completes later, and none starts before its release. Each
move makes (wasted node-seconds, seconds of expansion, sum of the positions of expanded seconds) smaller in
lexicographic order; these are natural numbers, so the moves come to an end. The same holds for the mean
completion, the waste and lexicographic orders of the three.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from allocsolve.model import EvolutionProblem

#: The latest second of schedules that are considered: all differences of times then fit 32 bits.
LATEST = 1 << 29


def expansion_order(problem: EvolutionProblem) -> list[list[list[int] | None]]:
    """Return for each step of each application the steps that are expanded to their limits before it.

    None stands for a step that some optimal schedule that ends by `LATEST` does not expand at all.
    O(steps^2) per application.
    """
    packed = problem.packed
    orders = []
    for (a, b), release in zip(pairwise(packed.offsets.tolist()), problem.releases, strict=True):
        durations, nodes = packed.durations[a:b].tolist(), packed.nodes[a:b].tolist()
        # The longest time for which a step can be held at all.
        room = LATEST - release - sum(durations)
        limits = [
            min(longest - duration, room + 1)
            for longest, duration in zip(packed.max_durations[a:b].tolist(), durations, strict=True)
        ]
        orders.append([_takers_with_limit(nodes, limits, room, step) for step in range(b - a)])
    return orders


def _takers_with_limit(nodes: list[int], limits: list[int], room: int, step: int) -> list[int] | None:
    """Return the steps that are at their limits if `step` is expanded; None if it is never expanded."""
    if step in (0, len(nodes) - 1) or min(limits[step], room) <= 0:
        return None
    takers = _takers(nodes, step)
    if any(taker in (0, len(nodes) - 1) or limits[taker] > room for taker in takers):
        return None
    return [taker for taker in takers if limits[taker] > 0]


def _takers(nodes: list[int], step: int) -> list[int]:
    """Return the steps to which a step can pass on its expansion, the nearest first on either side."""
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
