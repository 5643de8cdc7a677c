"""Schedules by count: free nodes over time, greedy placement, and two local searches.

`eject` puts a rejected job in at a random place, takes out jobs that are in its way and puts these back. The
other search, `search_orders`, moves a rejected job forward in an order and places all jobs again.

`Capacity` is a plain list of steps and not `allocsolve.kernels.free_nodes.FreeNodes`, which was tried in its
place, with the same results: both searches on 200 and 1,000 jobs took .84 to .98 of the time, on 5,000 jobs
.95 to 1.05, but the greedy placement 1.2 to 1.5 (.29 ms instead of .21 for 1,000 jobs), and the kernels 5.1 s
to compile instead of 2.9.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from allocsolve.kernels import bisect_right, inner_kernel, kernel
from allocsolve.kernels.random import uniform

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from allocsolve.model import FloatArray, IntArray, PackedDeadlineJobs

#: The start that stands for a rejected job.
REJECTED_START = -1


class Capacity(NamedTuple):
    """The free nodes over time, as steps; kernels change the arrays.

    The last step never ends, and nothing is booked in it.
    """

    times: IntArray  #: when each step begins, in seconds; the first at 0
    free: IntArray  #: the free nodes of each step
    used: IntArray  #: shape (1,): the number of steps


def new_capacity(num_nodes: int, num_jobs: int) -> Capacity:
    """Return the free nodes over time without bookings, with room for `num_jobs` jobs."""
    times, free = np.zeros(2 * num_jobs + 3, dtype=np.int64), np.zeros(2 * num_jobs + 3, dtype=np.int64)
    free[0] = num_nodes
    return Capacity(times, free, np.ones(1, dtype=np.int64))


@inner_kernel
def _step(capacity: Capacity, moment: int) -> int:
    """Return the step that contains a moment."""
    return bisect_right(capacity.times, capacity.used[0], moment) - 1


@inner_kernel
def earliest_start(capacity: Capacity, first: int, last: int, length: int, nodes: int) -> int:
    """Return the earliest start from `first` to `last` with enough free nodes for `length` seconds; or -1."""
    times, free, used = capacity.times, capacity.free, capacity.used[0]
    step, start = _step(capacity, first), first
    while start <= last:
        if free[step] < nodes:  # the last step has all nodes
            step += 1
            while free[step] < nodes:
                step += 1
            start = times[step]
        elif step + 1 >= used or times[step + 1] >= start + length:
            return int(start)
        else:
            step += 1
    return REJECTED_START


@inner_kernel
def fits(capacity: Capacity, start: int, length: int, nodes: int) -> bool:
    """Return whether `nodes` nodes are free from `start` on for `length` seconds."""
    step = _step(capacity, start)
    while step < capacity.used[0] and capacity.times[step] < start + length:
        if capacity.free[step] < nodes:
            return False
        step += 1
    return True


@inner_kernel
def _cut(capacity: Capacity, moment: int) -> int:
    """Return the step that begins at a moment; split one if there is none."""
    times, free = capacity.times, capacity.free
    step = _step(capacity, moment)
    if times[step] == moment:
        return step
    for later in range(capacity.used[0], step + 1, -1):
        times[later], free[later] = times[later - 1], free[later - 1]
    times[step + 1], free[step + 1] = moment, free[step]
    capacity.used[0] += 1
    return step + 1


@inner_kernel
def _join(capacity: Capacity, step: int) -> None:
    """Join a step to the step before it if both have the same free nodes."""
    times, free = capacity.times, capacity.free
    if step == 0 or free[step] != free[step - 1]:
        return
    for later in range(step + 1, capacity.used[0]):
        times[later - 1], free[later - 1] = times[later], free[later]
    capacity.used[0] -= 1


@inner_kernel
def book(capacity: Capacity, start: int, length: int, nodes: int) -> None:
    """Book nodes from `start` on for `length` seconds; a negative number gives them back."""
    begin = _cut(capacity, start)
    end = _cut(capacity, start + length)
    for step in range(begin, end):
        capacity.free[step] -= nodes
    _join(capacity, end)
    _join(capacity, begin)


@kernel
def place_in_order(
    jobs: PackedDeadlineJobs, order: IntArray, num_nodes: int, capacity: Capacity, starts: IntArray
) -> None:
    """Remove all bookings, then place each job of an order at its earliest start; write all starts.

    O(jobs * steps).
    """
    capacity.times[0], capacity.free[0], capacity.used[0] = 0, num_nodes, 1
    for job in range(len(starts)):
        starts[job] = REJECTED_START
    for at in range(len(order)):
        job = order[at]
        nodes, length = jobs.nodes[job], jobs.runtime[job]
        start = earliest_start(capacity, jobs.arrival[job], jobs.deadline[job] - length, length, nodes)
        if start >= 0:
            starts[job] = start
            book(capacity, start, length, nodes)


#: The largest number of jobs that a move takes out, and the number of other rejected jobs that it tries after
#: that: both keep a move short.
_MAX_EJECTED = 12
_TRIED = 3
#: The probability that a job that is put back goes to a random place instead of the earliest one.
_SCATTERED = 0.5


class Guide(NamedTuple):
    """The gains that guide the search, as read-only arrays."""

    #: Shape (2, jobs): the count of each job in the first and in the second term of the objective.
    counts: FloatArray
    score: FloatArray  #: shape (jobs,): both counts combined, in mean counts of a job
    gains: FloatArray  #: shape (jobs,): the count of a job less its cost under prices
    edges: IntArray  #: shape (slots + 1,), seconds
    until: FloatArray  #: shape (slots + 1,): the cost of a node up to each edge, as part of a score
    charge: FloatArray  #: shape (1,): the weight of the cost of a job against its score


class Walk(NamedTuple):
    """The state of the search and its best result; kernels change the arrays."""

    starts: IntArray  #: shape (jobs,): seconds, negative if rejected
    best_starts: IntArray
    reached: FloatArray  #: shape (2, 2): both terms, of the present and of the best schedule
    rejected: IntArray  #: shape (jobs,): it begins with the rejected jobs that may be accepted
    ejected: IntArray  #: shape (jobs,): the jobs in the way of a move
    old_starts: IntArray  #: shape (jobs,): the starts of these jobs before the move, in seconds
    added: IntArray  #: shape (jobs,): the jobs that a move puts in
    random: NDArray[np.uint64]  #: shape (1,): the state of the random numbers


@inner_kernel
def draw_below(random: NDArray[np.uint64], count: int) -> int:
    """Return a random integer in 0..count - 1."""
    return min(count - 1, int(uniform(random) * count))


@inner_kernel
def _paid(guide: Guide, moment: int) -> float:
    """Return the cost of a node up to a moment."""
    edges, until = guide.edges, guide.until
    last = len(edges) - 1
    if moment >= edges[last]:
        return float(until[last])
    if moment <= edges[0]:
        return 0.0
    low = bisect_right(edges, last, moment) - 1
    part = (moment - edges[low]) / (edges[low + 1] - edges[low])
    return float(until[low] + part * (until[low + 1] - until[low]))


@inner_kernel
def _score_at(guide: Guide, jobs: PackedDeadlineJobs, job: int, start: int) -> float:
    """Return the score of a job less the weighted cost of its nodes if it starts at `start`."""
    paid = _paid(guide, start + jobs.runtime[job]) - _paid(guide, start)
    return float(guide.score[job] - guide.charge[0] * jobs.nodes[job] * paid)


@inner_kernel
def _put(
    jobs: PackedDeadlineJobs, guide: Guide, capacity: Capacity, walk: Walk, job: int, start: int
) -> float:
    """Put a job in; return the gain of score."""
    book(capacity, start, jobs.runtime[job], jobs.nodes[job])
    walk.starts[job] = start
    walk.reached[0, 0] += guide.counts[0, job]
    walk.reached[0, 1] += guide.counts[1, job]
    return _score_at(guide, jobs, job, start)


@inner_kernel
def _take(jobs: PackedDeadlineJobs, guide: Guide, capacity: Capacity, walk: Walk, job: int) -> float:
    """Take a job out; return the loss of score."""
    start = walk.starts[job]
    book(capacity, start, jobs.runtime[job], -jobs.nodes[job])
    walk.starts[job] = -1
    walk.reached[0, 0] -= guide.counts[0, job]
    walk.reached[0, 1] -= guide.counts[1, job]
    return _score_at(guide, jobs, job, start)


@inner_kernel
def _list_rejected(jobs: PackedDeadlineJobs, guide: Guide, walk: Walk) -> int:
    """List the rejected jobs that may be accepted; return their number."""
    count = 0
    for job in range(len(walk.starts)):
        in_time = jobs.arrival[job] + jobs.runtime[job] <= jobs.deadline[job]
        if walk.starts[job] < 0 and in_time and guide.score[job] > 0:
            walk.rejected[count] = job
            count += 1
    return count


@inner_kernel
def _clear(
    jobs: PackedDeadlineJobs, guide: Guide, capacity: Capacity, walk: Walk, job: int, start: int
) -> tuple[int, float]:
    """Take random jobs out until a job fits at a start; return their number and the loss of score."""
    end, count = start + jobs.runtime[job], 0
    for other in range(len(walk.starts)):
        at = walk.starts[other]
        if at >= 0 and at < end and at + jobs.runtime[other] > start:
            walk.ejected[count] = other
            count += 1
    taken, lost = 0, 0.0
    while taken < min(count, _MAX_EJECTED) and not fits(capacity, start, jobs.runtime[job], jobs.nodes[job]):
        drawn = taken + draw_below(walk.random, count - taken)
        other = walk.ejected[drawn]
        walk.ejected[drawn] = walk.ejected[taken]
        walk.ejected[taken], walk.old_starts[taken] = other, walk.starts[other]
        lost += _take(jobs, guide, capacity, walk, other)
        taken += 1
    return taken, lost


@inner_kernel
def _put_back(jobs: PackedDeadlineJobs, guide: Guide, capacity: Capacity, walk: Walk, taken: int) -> float:
    """Put jobs that were taken out back where they fit, in random order; return the gain of score."""
    gained = 0.0
    for at in range(taken):
        drawn = at + draw_below(walk.random, taken - at)
        job, old = walk.ejected[drawn], walk.old_starts[drawn]
        walk.ejected[drawn], walk.old_starts[drawn] = walk.ejected[at], walk.old_starts[at]
        walk.ejected[at], walk.old_starts[at] = job, old
        length, nodes = jobs.runtime[job], jobs.nodes[job]
        first, last = jobs.arrival[job], jobs.deadline[job] - length
        start = -1
        if uniform(walk.random) < _SCATTERED:
            after = first + draw_below(walk.random, last - first + 1)
            start = earliest_start(capacity, after, last, length, nodes)
        if start < 0:
            start = earliest_start(capacity, first, last, length, nodes)
        if start >= 0:
            gained += _put(jobs, guide, capacity, walk, job, start)
    return gained


@inner_kernel
def _undo(
    jobs: PackedDeadlineJobs, guide: Guide, capacity: Capacity, walk: Walk, taken: int, added: int
) -> None:
    """Undo a move: remove the jobs that it put in, and put the jobs that it took out back at their starts."""
    for at in range(added):
        _take(jobs, guide, capacity, walk, walk.added[at])
    for at in range(taken):
        if walk.starts[walk.ejected[at]] >= 0:
            _take(jobs, guide, capacity, walk, walk.ejected[at])
    for at in range(taken):
        _put(jobs, guide, capacity, walk, walk.ejected[at], walk.old_starts[at])


@inner_kernel
def _store_if_best(walk: Walk) -> None:
    """Store the starts as the best ones if they are better."""
    reached = walk.reached
    margin = 1e-9 * (1 + abs(reached[1, 0]))  # smaller differences come from rounding
    ahead = reached[0, 0] - reached[1, 0]
    if ahead > margin or (ahead > -margin and reached[0, 1] > reached[1, 1] * (1 + 1e-9) + 1e-9):
        reached[1, 0], reached[1, 1] = reached[0, 0], reached[0, 1]
        for job in range(len(walk.starts)):
            walk.best_starts[job] = walk.starts[job]


@kernel
def fill(jobs: PackedDeadlineJobs, guide: Guide, num_nodes: int, capacity: Capacity, walk: Walk) -> None:
    """Book the present starts on an empty capacity and count their terms; they become the best starts."""
    capacity.times[0], capacity.free[0], capacity.used[0] = 0, num_nodes, 1
    for row in range(2):
        for term in range(2):
            walk.reached[row, term] = 0.0
    for job in range(len(walk.starts)):
        walk.best_starts[job] = walk.starts[job]
        if walk.starts[job] >= 0:
            _put(jobs, guide, capacity, walk, job, walk.starts[job])
    walk.reached[1, 0], walk.reached[1, 1] = walk.reached[0, 0], walk.reached[0, 1]


@kernel
def eject(
    jobs: PackedDeadlineJobs, guide: Guide, capacity: Capacity, walk: Walk, temperature: float, moves: int
) -> int:
    """Make `moves` moves; return how many rejected jobs are left that may be accepted.

    A move puts a rejected job in at a random start, takes out random jobs that are in its way, puts these
    back elsewhere, and tries some other rejected jobs. A move that loses score is undone with a probability
    that grows with the ratio of the loss to the temperature (both in mean counts of a job), as in simulated
    annealing. Jobs that cost more than they count are seldom tried. O(jobs + steps) for a move.
    """
    count = _list_rejected(jobs, guide, walk)
    for _ in range(moves):
        if not count:
            break
        job = walk.rejected[draw_below(walk.random, count)]
        if uniform(walk.random) > math.exp(min(0.0, 10.0 * guide.gains[job])):
            continue
        length = jobs.runtime[job]
        first, last = jobs.arrival[job], jobs.deadline[job] - length
        start = first + draw_below(walk.random, last - first + 1)
        taken, lost = _clear(jobs, guide, capacity, walk, job, start)
        added, gained = 0, -lost
        if fits(capacity, start, length, jobs.nodes[job]):
            gained += _put(jobs, guide, capacity, walk, job, start)
            walk.added[0] = job
            added = 1
            gained += _put_back(jobs, guide, capacity, walk, taken)
            for _ in range(_TRIED):
                other = walk.rejected[draw_below(walk.random, count)]
                if walk.starts[other] >= 0:
                    continue
                latest = jobs.deadline[other] - jobs.runtime[other]
                at = earliest_start(
                    capacity, jobs.arrival[other], latest, jobs.runtime[other], jobs.nodes[other]
                )
                if at >= 0:
                    gained += _put(jobs, guide, capacity, walk, other, at)
                    walk.added[added] = other
                    added += 1
            if gained >= 0 or uniform(walk.random) < math.exp(gained / temperature):
                _store_if_best(walk)
                count = _list_rejected(jobs, guide, walk)
                continue
        _undo(jobs, guide, capacity, walk, taken, added)
    return count


#: The largest number of draws for a job that is likely to gain more than it costs.
_DRAWS = 20


@inner_kernel
def _replay(
    jobs: PackedDeadlineJobs, guide: Guide, num_nodes: int, capacity: Capacity, walk: Walk, order: IntArray
) -> None:
    """Place the jobs in an order, each at its earliest start, and count the terms of the result."""
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
    """Try `rounds` orders; return how many rejected jobs are left that may be accepted.

    In each round, a rejected job moves forward to a random place. The new order stays if it is not worse. At
    the end, `walk` holds the best starts and `order` the best order. O(jobs * steps) for a round.
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
        else:  # move the job back to its old place
            job = order[walk.added[0]]
            for at in range(walk.added[0], walk.added[1]):
                order[at] = order[at + 1]
            order[walk.added[1]] = job
        if not left or done == rounds:
            break
        place = walk.rejected[draw_below(walk.random, left)]
        job = order[place]
        for _ in range(_DRAWS):
            if uniform(walk.random) <= math.exp(min(0.0, 10.0 * guide.gains[job])):
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
