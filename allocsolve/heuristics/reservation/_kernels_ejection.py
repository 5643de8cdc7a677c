"""Ejection: put a rejected job in at a random place, take out what is in its way, and put that back."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from allocsolve.heuristics.reservation._kernels_capacity import Capacity, book, earliest_start, fits
from allocsolve.kernels import inner_kernel, kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from allocsolve.model import FloatArray, IntArray, PackedDeadlineJobs

__all__ = ["Guide", "Walk", "draw_below", "draw_uniform", "eject", "fill"]

#: At most so many jobs are taken out, and so many other rejected ones tried after that.
_MOST_EJECTED = 12
_TRIED = 3
#: How likely a job that is put back is put at a random place, not at the earliest.
_SCATTERED = 0.5


class Guide(NamedTuple):
    """What is to be gained; read-only."""

    #: Shape (2, jobs): what each job counts in the first and in the second term.
    counts: FloatArray
    score: FloatArray  #: shape (jobs,): both in one, in mean counts of a job
    gains: FloatArray  #: shape (jobs,): how much more a job counts than it costs under prices
    edges: IntArray  #: shape (slots + 1,), seconds
    until: FloatArray  #: shape (slots + 1,): what a node costs up to each edge, as part of a score
    charge: FloatArray  #: one number: how much what a job costs weighs against its score


class Walk(NamedTuple):
    """Where the search is, and what was best; written."""

    starts: IntArray  #: shape (jobs,): seconds, negative if rejected
    best_starts: IntArray
    reached: FloatArray  #: shape (2, 2): both terms, of now and of the best
    rejected: IntArray  #: shape (jobs,), the rejected jobs that may be accepted, first
    ejected: IntArray  #: shape (jobs,), jobs in the way of a move
    old_starts: IntArray  #: shape (jobs,)
    added: IntArray  #: shape (jobs,), jobs that a move puts in
    random: NDArray[np.uint64]  #: one number, the state of the random numbers


@inner_kernel
def draw_uniform(random: NDArray[np.uint64]) -> float:
    """Return a number in [0, 1): xorshift64* (Vigna, ACM Trans. Math. Software 42(4), 2016)."""
    x = random[0]
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    random[0] = x
    return float((x * np.uint64(0x2545F4914F6CDD1D)) >> np.uint64(11)) / 9007199254740992.0


@inner_kernel
def draw_below(random: NDArray[np.uint64], count: int) -> int:
    """Return a number in 0..count - 1."""
    return min(count - 1, int(draw_uniform(random) * count))


@inner_kernel
def _paid(guide: Guide, moment: int) -> float:
    """Return what a node costs up to a moment."""
    edges, until = guide.edges, guide.until
    last = len(edges) - 1
    if moment >= edges[last]:
        return float(until[last])
    if moment <= edges[0]:
        return 0.0
    low, high = 0, last
    while high - low > 1:
        middle = (low + high) >> 1
        if edges[middle] <= moment:
            low = middle
        else:
            high = middle
    part = (moment - edges[low]) / (edges[low + 1] - edges[low])
    return float(until[low] + part * (until[low + 1] - until[low]))


@inner_kernel
def _worth_at(guide: Guide, jobs: PackedDeadlineJobs, job: int, start: int) -> float:
    """Return the score of a job less a part of what it costs there."""
    paid = _paid(guide, start + jobs.runtime[job]) - _paid(guide, start)
    return float(guide.score[job] - guide.charge[0] * jobs.nodes[job] * paid)


@inner_kernel
def _put(
    jobs: PackedDeadlineJobs, guide: Guide, capacity: Capacity, walk: Walk, job: int, start: int
) -> float:
    """Put a job in; return what that gains."""
    book(capacity, start, jobs.runtime[job], jobs.nodes[job])
    walk.starts[job] = start
    walk.reached[0, 0] += guide.counts[0, job]
    walk.reached[0, 1] += guide.counts[1, job]
    return _worth_at(guide, jobs, job, start)


@inner_kernel
def _take(jobs: PackedDeadlineJobs, guide: Guide, capacity: Capacity, walk: Walk, job: int) -> float:
    """Take a job out; return what that loses."""
    start = walk.starts[job]
    book(capacity, start, jobs.runtime[job], -jobs.nodes[job])
    walk.starts[job] = -1
    walk.reached[0, 0] -= guide.counts[0, job]
    walk.reached[0, 1] -= guide.counts[1, job]
    return _worth_at(guide, jobs, job, start)


@inner_kernel
def _list_rejected(jobs: PackedDeadlineJobs, guide: Guide, walk: Walk) -> int:
    """Fill in the rejected jobs that may be accepted; return how many."""
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
    """Take random jobs out until one fits at a start; return how many, and what that loses."""
    end, count = start + jobs.runtime[job], 0
    for other in range(len(walk.starts)):
        at = walk.starts[other]
        if at >= 0 and at < end and at + jobs.runtime[other] > start:
            walk.ejected[count] = other
            count += 1
    taken, lost = 0, 0.0
    while taken < min(count, _MOST_EJECTED) and not fits(capacity, start, jobs.runtime[job], jobs.nodes[job]):
        drawn = taken + draw_below(walk.random, count - taken)
        other = walk.ejected[drawn]
        walk.ejected[drawn] = walk.ejected[taken]
        walk.ejected[taken], walk.old_starts[taken] = other, walk.starts[other]
        lost += _take(jobs, guide, capacity, walk, other)
        taken += 1
    return taken, lost


@inner_kernel
def _put_back(jobs: PackedDeadlineJobs, guide: Guide, capacity: Capacity, walk: Walk, taken: int) -> float:
    """Put jobs that were taken out back where they fit, in random order; return what that gains."""
    gained = 0.0
    for at in range(taken):
        drawn = at + draw_below(walk.random, taken - at)
        job, old = walk.ejected[drawn], walk.old_starts[drawn]
        walk.ejected[drawn], walk.old_starts[drawn] = walk.ejected[at], walk.old_starts[at]
        walk.ejected[at], walk.old_starts[at] = job, old
        length, nodes = jobs.runtime[job], jobs.nodes[job]
        first, last = jobs.arrival[job], jobs.deadline[job] - length
        start = -1
        if draw_uniform(walk.random) < _SCATTERED:
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
    for at in range(added):
        _take(jobs, guide, capacity, walk, walk.added[at])
    for at in range(taken):
        if walk.starts[walk.ejected[at]] >= 0:
            _take(jobs, guide, capacity, walk, walk.ejected[at])
    for at in range(taken):
        _put(jobs, guide, capacity, walk, walk.ejected[at], walk.old_starts[at])


@inner_kernel
def _note(walk: Walk) -> None:
    """Keep the starts if they are better than the best ones."""
    reached = walk.reached
    margin = 1e-9 * (1 + abs(reached[1, 0]))
    ahead = reached[0, 0] - reached[1, 0]
    if ahead > margin or (ahead > -margin and reached[0, 1] > reached[1, 1] * (1 + 1e-9) + 1e-9):
        reached[1, 0], reached[1, 1] = reached[0, 0], reached[0, 1]
        for job in range(len(walk.starts)):
            walk.best_starts[job] = walk.starts[job]


@kernel
def fill(jobs: PackedDeadlineJobs, guide: Guide, num_nodes: int, capacity: Capacity, walk: Walk) -> None:
    """Make the capacity and what is reached those of the starts, which become the best ones."""
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
    """Make so many moves; return how many rejected jobs are left that may be accepted.

    A move puts a rejected job in at a random start, takes random jobs out that are in its way, puts them back
    elsewhere, and tries some other rejected jobs. It is taken back if it loses, with a probability that grows
    with the loss in temperatures (in mean counts of a job). Jobs that cost more than they count are seldom
    tried. O(jobs + steps) a move.
    """
    count = _list_rejected(jobs, guide, walk)
    for _ in range(moves):
        if not count:
            break
        job = walk.rejected[draw_below(walk.random, count)]
        if draw_uniform(walk.random) > math.exp(min(0.0, 10.0 * guide.gains[job])):
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
            if gained >= 0 or draw_uniform(walk.random) < math.exp(gained / temperature):
                _note(walk)
                count = _list_rejected(jobs, guide, walk)
                continue
        _undo(jobs, guide, capacity, walk, taken, added)
    return count
