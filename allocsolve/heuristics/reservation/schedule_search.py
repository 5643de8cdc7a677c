"""Search for offline schedules by count: greedy orders, order search, and ejection of jobs in the way."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from allocsolve.bounds.reservation.node_prices import counted_weights
from allocsolve.heuristics.reservation import _kernels_ejection as kernels
from allocsolve.heuristics.reservation.greedy import RESERVATION_ORDERS, ReservationOrder, reservation_order
from allocsolve.model.options import Params

if TYPE_CHECKING:
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
        self._capacity = kernels.new_capacity(problem.topology.num_nodes, count)
        starts, best_starts, rejected, ejected, old, added = (np.zeros(count + 2, np.int64) for _ in range(6))
        random = np.random.default_rng(seed).integers(1, 2**63, 1).astype(np.uint64)
        reached = np.zeros((2, 2))
        self._walk = kernels.Walk(
            starts[:count], best_starts[:count], reached, rejected, ejected, old, added, random
        )
        self._aim = 0.0 if bound is None or len(best.objective) > 1 else bound.value
        self._is_over = False  # whether no job is rejected that could be accepted
        # Which kernels a run needs depends on chance and time: call all of them once, so that every run
        # compiles them.
        nothing = np.zeros(0, dtype=np.int64)
        kernels.search_orders(*self._machine(), nothing, 0)
        self._walk.starts[:] = best.count_starts
        kernels.fill(*self._machine())
        kernels.eject(problem.packed, self._guide, self._capacity, self._walk, params.temperatures[0], 0)

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

    def _machine(self) -> tuple[PackedDeadlineJobs, kernels.Guide, int, kernels.Capacity, kernels.Walk]:
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
            self._is_over = not kernels.search_orders(*self._machine(), order, rounds)
            self._best.offer_starts(self._walk.best_starts)
        return left

    def _eject(self, temperature: float, clock: Clock, left: int | None) -> int | None:
        """Eject from the best schedule until nothing is gained for long; return the number of moves left."""
        self._walk.starts[:] = self._best.count_starts
        kernels.fill(*self._machine())
        idle = 0
        while idle < self._params.idle_looks and clock.remaining > 0 and left != 0 and self._may_gain():
            moves = self._params.look_moves if left is None else min(self._params.look_moves, left)
            left = None if left is None else left - moves
            before = self._walk.reached[1].copy()
            packed = self._problem.packed
            self._is_over = not kernels.eject(
                packed, self._guide, self._capacity, self._walk, temperature, moves
            )
            idle = 0 if (self._walk.reached[1] != before).any() else idle + 1
            self._best.offer_starts(self._walk.best_starts)
        return left


def _guide(
    problem: ReservationProblem,
    objective: ReservationObjective,
    bound: ReservationPriceBound | None,
    params: ScheduleSearchParams,
) -> kernels.Guide:
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
    return kernels.Guide(counts, score, gains, edges, until, charge)


def _mean(counts: FloatArray) -> float:
    """Return the mean of the positive counts; 1 if there are none."""
    counting = counts[counts > 0]
    return float(counting.mean()) if len(counting) else 1.0
