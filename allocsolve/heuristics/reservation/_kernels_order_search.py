"""Order search: a rejected job moves forward in the order in which jobs are placed."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from allocsolve.heuristics.reservation._kernels_capacity import Capacity, book, earliest_start
from allocsolve.heuristics.reservation._kernels_ejection import Guide, Walk, draw_below, draw_uniform
from allocsolve.kernels import inner_kernel, kernel

if TYPE_CHECKING:
    from allocsolve.model import IntArray, PackedDeadlineJobs

__all__ = ["search_orders"]

#: So many jobs at most are drawn for one that is likely to be worth its costs.
_DRAWS = 20


@inner_kernel
def _replay(
    jobs: PackedDeadlineJobs, guide: Guide, num_nodes: int, capacity: Capacity, walk: Walk, order: IntArray
) -> None:
    """Place the jobs in an order, each at its earliest start."""
    capacity.times[0], capacity.free[0], capacity.used[0] = 0, num_nodes, 1
    walk.reached[0, 0], walk.reached[0, 1] = 0.0, 0.0
    for at in range(len(order)):
        job = order[at]
        nodes, length = jobs.nodes[job], jobs.runtime[job]
        start = earliest_start(capacity, jobs.arrival[job], jobs.deadline[job] - length, length, nodes)
        walk.starts[job] = start
        if start >= 0:
            book(capacity, start, length, nodes)
            walk.reached[0, 0] += guide.counts[0, job]
            walk.reached[0, 1] += guide.counts[1, job]


@kernel
def search_orders(
    jobs: PackedDeadlineJobs,
    guide: Guide,
    num_nodes: int,
    capacity: Capacity,
    walk: Walk,
    order: IntArray,
    rounds: int,
) -> int:
    """Try so many orders; return how many rejected jobs are left that may be accepted.

    In each, a rejected job goes to a random place in front of its own. The order is kept if it is not worse.
    What is best, and where it is, ends up in the walk and in the order. O(jobs * steps) a round.
    """
    count = len(order)
    _replay(jobs, guide, num_nodes, capacity, walk, order)
    left = 0
    for done in range(rounds + 1):
        margin = 1e-9 * (1 + abs(walk.reached[1, 0]))
        ahead = walk.reached[0, 0] - walk.reached[1, 0]
        level = ahead > -margin and walk.reached[0, 1] >= walk.reached[1, 1] * (1 - 1e-9)
        if done == 0 or ahead > margin or level:
            walk.reached[1, 0], walk.reached[1, 1] = walk.reached[0, 0], walk.reached[0, 1]
            left = 0
            for at in range(count):
                job = order[at]
                walk.best_starts[job] = walk.starts[job]
                in_time = jobs.arrival[job] + jobs.runtime[job] <= jobs.deadline[job]
                if walk.starts[job] < 0 and in_time and guide.score[job] > 0:
                    walk.rejected[left] = at
                    left += 1
        else:  # back to where it was
            job = order[walk.added[0]]
            for at in range(walk.added[0], walk.added[1]):
                order[at] = order[at + 1]
            order[walk.added[1]] = job
        if not left or done == rounds:
            break
        place = walk.rejected[draw_below(walk.random, left)]
        job = order[place]
        for _ in range(_DRAWS):
            if draw_uniform(walk.random) <= math.exp(min(0.0, 10.0 * guide.gains[job])):
                break
            place = walk.rejected[draw_below(walk.random, left)]
            job = order[place]
        ahead_of = draw_below(walk.random, place + 1)
        for at in range(place, ahead_of, -1):
            order[at] = order[at - 1]
        order[ahead_of] = job
        walk.added[0], walk.added[1] = ahead_of, place
        _replay(jobs, guide, num_nodes, capacity, walk, order)
    return left
