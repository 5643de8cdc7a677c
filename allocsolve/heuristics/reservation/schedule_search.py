"""Search for offline schedules by count: greedy orders, order search, and ejection of jobs in the way.

`eject` puts a rejected job in at a random place, takes out jobs that are in its way and puts these back. The
other search, `search_orders`, moves a rejected job forward in an order and places all jobs again.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from allocsolve.bounds.reservation import counted_weights
from allocsolve.heuristics.reservation.greedy import (
    RESERVATION_ORDERS,
    Capacity,
    ReservationOrder,
    book,
    earliest_start,
    fits,
    new_capacity,
    reservation_order,
)
from allocsolve.kernels import bisect_right, inner_kernel, kernel
from allocsolve.kernels.random import uniform
from allocsolve.model.options import Params

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from allocsolve.bounds.reservation import ReservationPriceBound
    from allocsolve.heuristics.reservation.greedy import BestBookings
    from allocsolve.model import (
        Clock,
        FloatArray,
        IntArray,
        PackedDeadlineJobs,
        ReservationObjective,
        ReservationProblem,
    )

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


@dataclass(frozen=True, slots=True)
class ScheduleSearchParams(Params):
    """The numbers of `ScheduleSearch`, measured on 1,000 jobs."""

    #: The weight of the second term against the first in moves, in mean counts of a job: small, so that it
    #: decides among equals only.
    second_term: float = 1e-3
    #: The temperatures of ejection in turn, in mean counts of a job: low, so that a move seldom loses a whole
    #: job.
    temperatures: tuple[float, ...] = (0.05, 0.1, 0.15)
    #: The weight of the cost of a job under prices against its count: 0 ignores prices, 1 counts them in
    #: full.
    price_weight: float = 0.5
    #: Jobs that gain at least this much under prices (in mean counts of a job) are placed before the others;
    #: just below 0, so that jobs on the edge are among them.
    worthwhile_gain: float = -0.02
    #: The orders from which a search starts (the best ones), and the number of rounds from each.
    orders: tuple[ReservationOrder, ...] = ("deadline", "latest-start")
    rounds: int = 1_000
    #: Rounds of order search, and moves of ejection, between two looks at the clock: about 20 ms.
    look_rounds: int = 25
    look_moves: int = 2_000
    #: The number of looks without a gain after which ejection ends, and the number of looks for which orders
    #: are searched then: about a second, and about half a second.
    idle_looks: int = 50
    order_looks: int = 20
    #: Moves for each job if there is no other limit.
    moves_per_job: int = 200


class ScheduleSearch:
    """The state of a search, whose best schedules go to a `BestBookings`; it can be stopped at any time.

    Prices say which jobs are worthwhile and when nodes are scarce; without them (`bound`) all jobs are
    worthwhile. The same seed gives the same schedules, unless a time limit ends the search.

    Notes
    -----
    *Method*: first come greedy schedules in all orders; if there are prices, also with the worthwhile jobs
    first. Then an order search starts from the orders by deadline and by latest start: a rejected job moves
    forward, all jobs are placed again, and an order that is not worse stays. Then ejection starts from the
    best schedule: a rejected job goes in at a random place and jobs in its way go elsewhere; losses are
    accepted as in simulated annealing, at three low temperatures in turn. When ejection gains nothing for
    long, orders are searched again. Moves compare the first two distinct terms of the objective.
    *Complexity*: O(jobs * bookings) for an order, .3 ms for 1000 jobs; O(jobs + bookings) for a move of
    ejection, 10 microseconds.
    """

    def __init__(
        self,
        best: BestBookings,
        bound: ReservationPriceBound | None,
        seed: int,
        params: ScheduleSearchParams = ScheduleSearchParams(),
    ) -> None:
        self._best, problem, self._params = best, best.problem, params
        self._problem = problem
        self._guide = _guide(problem, best.objective, bound, params)
        count = len(problem.jobs)
        self._first = np.ones(count, dtype=np.bool_)
        if bound is not None:
            self._first = self._guide.gains >= params.worthwhile_gain
        self._capacity = new_capacity(problem.topology.num_nodes, count)
        starts, best_starts, rejected, ejected, old, added = (np.zeros(count + 2, np.int64) for _ in range(6))
        random = np.random.default_rng(seed).integers(1, 2**63, 1).astype(np.uint64)
        reached = np.zeros((2, 2))
        self._walk = Walk(starts[:count], best_starts[:count], reached, rejected, ejected, old, added, random)
        self._aim = 0.0 if bound is None or len(best.objective) > 1 else bound.value
        self._is_over = False  # whether no job is rejected that could be accepted
        # Which kernels a run needs depends on chance and time: call all of them once, so that every run
        # compiles them.
        nothing = np.zeros(0, dtype=np.int64)
        search_orders(*self._machine(), nothing, 0)
        self._walk.starts[:] = best.count_starts
        fill(*self._machine())
        eject(problem.packed, self._guide, self._capacity, self._walk, params.temperatures[0], 0)

    def run(self, clock: Clock, moves: int | None) -> bool:
        """Search until the time is over or `moves` moves are made; return whether the search is complete.

        It is complete if all moves were made or nothing can be gained. At least one order is tried. A round
        of an order search counts as a move.
        """
        self._greedy(clock)
        left = (
            self._params.moves_per_job * len(self._problem.jobs)
            if moves is None and clock.remaining == math.inf
            else moves
        )
        for name in self._params.orders:
            order = self._in_two_parts(reservation_order(self._problem, name))
            left = self._search_order(order, clock, self._params.rounds // self._params.look_rounds, left)
        temperatures = itertools.cycle(self._params.temperatures)
        while self._may_gain() and clock.remaining > 0 and left != 0:
            left = self._eject(next(temperatures), clock, left)
            if clock.remaining > 0 and left != 0:
                left = self._search_order(self._by_start(), clock, self._params.order_looks, left)
        return not self._may_gain() or left == 0

    def _may_gain(self) -> bool:
        """Return whether a better schedule may exist."""
        return not self._is_over and any(value > self._aim for value in self._best.values)

    def _machine(self) -> tuple[PackedDeadlineJobs, Guide, int, Capacity, Walk]:
        problem = self._problem
        return problem.packed, self._guide, problem.topology.num_nodes, self._capacity, self._walk

    def _greedy(self, clock: Clock) -> None:
        for name in RESERVATION_ORDERS:
            order = reservation_order(self._problem, name)
            self._best.offer_order(order)
            if not self._first.all() and clock.remaining > 0:
                self._best.offer_order(self._in_two_parts(order))
            if clock.remaining == 0 or not self._may_gain():
                return

    def _in_two_parts(self, order: IntArray) -> IntArray:
        """Return an order with the worthwhile jobs first."""
        return np.concatenate([order[self._first[order]], order[~self._first[order]]])

    def _by_start(self) -> IntArray:
        """Return the jobs by their best starts, then the rejected ones; in this order no job starts later."""
        starts = self._best.count_starts
        return np.argsort(np.where(starts < 0, 2**62, starts), kind="stable")

    def _search_order(self, order: IntArray, clock: Clock, looks: int, left: int | None) -> int | None:
        """Search from an order; return the number of moves that are left."""
        for _ in range(looks):
            if clock.remaining == 0 or left == 0 or not self._may_gain():
                break
            rounds = self._params.look_rounds if left is None else min(self._params.look_rounds, left)
            left = None if left is None else left - rounds
            self._is_over = not search_orders(*self._machine(), order, rounds)
            self._best.offer_starts(self._walk.best_starts)
        return left

    def _eject(self, temperature: float, clock: Clock, left: int | None) -> int | None:
        """Eject from the best schedule until nothing is gained for long; return the number of moves left."""
        self._walk.starts[:] = self._best.count_starts
        fill(*self._machine())
        idle = 0
        while idle < self._params.idle_looks and clock.remaining > 0 and left != 0 and self._may_gain():
            moves = self._params.look_moves if left is None else min(self._params.look_moves, left)
            left = None if left is None else left - moves
            before = self._walk.reached[1].copy()
            packed = self._problem.packed
            self._is_over = not eject(packed, self._guide, self._capacity, self._walk, temperature, moves)
            idle = 0 if (self._walk.reached[1] != before).any() else idle + 1
            self._best.offer_starts(self._walk.best_starts)
        return left


def _guide(
    problem: ReservationProblem,
    objective: ReservationObjective,
    bound: ReservationPriceBound | None,
    params: ScheduleSearchParams,
) -> Guide:
    """Return the counts of jobs in the objective, and their gains and the prices of a bound, for kernels."""
    distinct = list(dict.fromkeys("area" if term == "rejected-area" else "jobs" for term in objective))
    counts = np.zeros((2, len(problem.jobs)))
    for row, kind in enumerate(distinct):
        counts[row] = counted_weights(problem, "rejected-area" if kind == "area" else "rejected")
    mean, second = (_mean(row) for row in counts)
    score = counts[0] / mean + params.second_term * counts[1] / second
    gains, edges, until = np.zeros(len(score)), np.zeros(1, dtype=np.int64), np.zeros(1)
    if bound is not None:
        gains = np.maximum(bound.gains / mean, -1e300)
        edges = bound.edges.copy()
        until = np.concatenate([[0.0], np.cumsum(bound.prices * np.diff(edges))]) / mean
    charge = np.array([params.price_weight if bound is not None else 0.0])
    for array in (counts, score, gains, edges, until, charge):
        array.setflags(write=False)
    return Guide(counts, score, gains, edges, until, charge)


def _mean(counts: FloatArray) -> float:
    """Return the mean of the positive counts; 1 if there are none."""
    counting = counts[counts > 0]
    return float(counting.mean()) if len(counting) else 1.0
