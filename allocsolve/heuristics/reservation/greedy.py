"""Offline greedy schedules: jobs in an order, each at its earliest start.

The module also holds what offline searches share: placing jobs whose starts fit by count on nodes (`placed`),
the values of schedules, the free nodes over time by count (`Capacity`), and the best schedule of a search
(`BestBookings`).

`Capacity` is a plain list of steps and not `allocsolve.kernels.free_nodes.FreeNodes`, which was tried in its
place, with the same results: both searches of `schedule_search` on 200 and 1,000 jobs took .84 to .98 of the
time, on 5,000 jobs .95 to 1.05, but the greedy placement 1.2 to 1.5 (.29 ms instead of .21 for 1,000 jobs),
and the kernels 5.1 s to compile instead of 2.9.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from allocsolve.bounds.reservation import counted_weights
from allocsolve.heuristics.reservation.calendar import ReservationCalendar
from allocsolve.heuristics.reservation.timetable import labelled_nodes
from allocsolve.kernels import bisect_right, inner_kernel, kernel
from allocsolve.model import (
    BOOKED,
    REJECTED,
    Limit,
    ReservationObjective,
    ReservationSchedule,
    Result,
    Status,
    frozen,
    shown_values,
)
from allocsolve.model.options import Options
from allocsolve.model.search import Best

if TYPE_CHECKING:
    from allocsolve.model import BoolArray, Budget, Clock, IntArray, PackedDeadlineJobs, ReservationProblem

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


#: The orders in which jobs are placed, the best orders first. Jobs with small values go first, unless it is
#: said otherwise.
ReservationOrder: TypeAlias = Literal[
    "deadline",
    "latest-start",
    "late-area",  # nodes times run time times deadline, which is counted from the first arrival
    "late-nodes",  # nodes times deadline, which is counted from the first arrival
    "runtime",
    "area",
    "nodes",
    "slack",
    "arrival",
    "density",  # the largest weight per node-second first
    "weight",  # the largest weight first
]

#: All orders, the best ones first.
RESERVATION_ORDERS: tuple[ReservationOrder, ...] = get_args(ReservationOrder)


def reservation_order(problem: ReservationProblem, order: ReservationOrder) -> IntArray:
    """Return the jobs in an order; ties are broken by the order of the problem."""
    packed = problem.packed
    area = packed.nodes.astype(np.float64) * packed.runtime
    late = packed.deadline.astype(np.float64) - int(packed.arrival.min(initial=2**53))
    keys = {
        "deadline": packed.deadline,
        "latest-start": packed.deadline - packed.runtime,
        "late-area": area * late,
        "late-nodes": packed.nodes * late,
        "runtime": packed.runtime,
        "area": area,
        "nodes": packed.nodes,
        "slack": packed.deadline - packed.runtime - packed.arrival,
        "arrival": packed.arrival,
        "density": -packed.weight / area,
        "weight": -packed.weight,
    }
    return frozen(np.argsort(keys[order], kind="stable"))


def greedy_starts(problem: ReservationProblem, order: IntArray) -> IntArray:
    """Return the starts of jobs that are placed in an order, each at its earliest start by count.

    The shape of node sets does not matter. Shape (jobs,), seconds; -1 for a rejected job.

    Notes
    -----
    *Complexity*: O(jobs * bookings), 1000 jobs in a millisecond.
    """
    capacity = new_capacity(problem.topology.num_nodes, len(problem.jobs))
    starts = np.empty(len(problem.jobs), dtype=np.int64)
    place_in_order(problem.packed, frozen(order.copy()), problem.topology.num_nodes, capacity, starts)
    return starts


def placed(problem: ReservationProblem, starts: IntArray) -> ReservationSchedule:
    """Return a schedule of bookings from starts that fit the machine by count.

    Starts are in seconds, shape (jobs,), and negative for a rejected job.

    Notes
    -----
    Sets of the shape ``any`` always exist: in the order of starts, each job takes free nodes. With another
    shape, jobs are placed again in the order of their starts, then the jobs without a start, by deadline.
    *Complexity*: O(nodes of all jobs) for any shape, else as `placed_in_order`.
    """
    if problem.shape == "any":
        return _labelled(problem, starts)
    return placed_in_order(
        problem, np.lexsort((problem.packed.deadline, np.where(starts < 0, 2**62, starts)))
    )


def placed_in_order(problem: ReservationProblem, order: IntArray) -> ReservationSchedule:
    """Return the schedule in which each job of an order takes the earliest nodes of the problem's shape.

    A run is the first one on the Hilbert curve; a connected set is grown.

    Notes
    -----
    *Complexity*: that of admission, see `allocsolve.heuristics.ReservationCalendar`; 1000 jobs on 128 nodes
    take .2 s.
    """
    jobs = problem.jobs
    allocator = "growth" if problem.shape == "connected" else "hilbert"
    calendar = ReservationCalendar(problem.topology, allocator, shape=problem.shape)
    bookings: dict[int, tuple[int, IntArray]] = {}
    for idx in order.tolist():
        job = jobs[idx]
        if job.arrival + job.runtime > job.deadline:
            continue
        slot = calendar.ask(job.nodes, job.runtime, job.deadline, earliest_start=job.arrival)
        if slot is not None and not isinstance(slot.nodes, int):
            calendar.book(*slot)
            bookings[idx] = slot.start, slot.nodes
    return ReservationSchedule.of(problem, bookings)


def _labelled(problem: ReservationProblem, starts: IntArray) -> ReservationSchedule:
    """Return the schedule of starts that fit by count, on nodes of any shape."""
    packed = problem.packed
    offsets = np.concatenate([[0], np.cumsum(np.where(starts >= 0, packed.nodes, 0))])
    nodes = labelled_nodes(starts.astype(np.int64), packed.runtime, offsets, problem.topology.num_nodes)
    outcomes = np.where(starts >= 0, BOOKED, REJECTED)
    return ReservationSchedule.of_sets(problem, outcomes, starts, offsets, nodes)


def rejected_shares(
    problem: ReservationProblem, objective: ReservationObjective, rejected: BoolArray
) -> tuple[float, ...]:
    """Return the terms of an objective if these jobs are rejected; sums are rounded only once."""
    shares = []
    for term in objective:
        counts = counted_weights(problem, term)
        total = math.fsum(counts.tolist())
        shares.append(math.fsum(counts[rejected].tolist()) / total if total else 0.0)
    return tuple(shares)


class BestBookings(Best["ReservationSchedule"]):
    """The best schedule of bookings of a search."""

    def __init__(self, problem: ReservationProblem, objective: ReservationObjective, clock: Clock) -> None:
        super().__init__(clock)
        self.problem, self.objective = problem, objective
        #: Shape (jobs,), seconds, negative for rejected jobs: the best schedule by count, for which there may
        #: be no nodes of the shape.
        self.count_starts: IntArray = np.full(len(problem.jobs), -1, dtype=np.int64)
        self._count_values: tuple[float, ...] = ()

    def offer_starts(self, starts: IntArray) -> bool:
        """Place jobs on nodes if their starts, which fit by count, are better than all starts so far.

        Return whether the schedule is the new best one.
        """
        values = rejected_shares(self.problem, self.objective, starts < 0)
        if self._count_values and values >= self._count_values:
            return False
        self._count_values, self.count_starts = values, starts.copy()
        return self.offer(placed(self.problem, starts))

    def offer_order(self, order: IntArray) -> bool:
        """Offer the greedy schedule of an order, on nodes of the shape; return whether it is the best."""
        starts = greedy_starts(self.problem, order)
        if self.problem.shape == "any":
            return self.offer_starts(starts)
        values = rejected_shares(self.problem, self.objective, starts < 0)
        if not self._count_values or values < self._count_values:
            self._count_values, self.count_starts = values, starts
        return self.offer(placed_in_order(self.problem, order))

    def offer(self, schedule: ReservationSchedule) -> bool:
        """Store a feasible schedule of bookings if it is better; return whether it is."""
        values = rejected_shares(self.problem, self.objective, schedule.outcomes == REJECTED)
        if not self.keep(schedule, values):
            return False
        if not self._count_values or values < self._count_values:
            self._count_values, self.count_starts = values, booked_starts(schedule)
        return True


def booked_starts(schedule: ReservationSchedule) -> IntArray:
    """Return the starts of a schedule of bookings; -1 for a rejected job."""
    return np.nan_to_num(schedule.first_starts, nan=-1.0).astype(np.int64)


@dataclass(frozen=True, slots=True)
class ReservationGreedy(Options):
    """The best of eleven offline greedy schedules: all jobs are known before the first one starts.

    Parameters
    ----------
    objective
        ``rejected``, ``rejected-area``, ``unsuccessful``, or several of them, lexicographic.

    Notes
    -----
    *Method*: each of `RESERVATION_ORDERS`, of which deadlines and latest starts win nearly always, job by job
    at the earliest start: by count, with nodes afterwards, or where nodes of the problem's shape are free.
    *Complexity*: O(jobs * bookings) for each order, 1000 jobs in a millisecond; with a shape .2 s.
    """

    objective: ReservationObjective = ("rejected",)

    def __call__(self, problem: ReservationProblem, budget: Budget, /) -> Result[ReservationSchedule]:
        """Try as many orders as the time allows, and at least the first one."""
        clock = budget.start()
        best = BestBookings(problem, self.objective, clock)
        limit = None
        for order in RESERVATION_ORDERS:
            best.offer_order(reservation_order(problem, order))
            if clock.remaining == 0:
                limit = Limit.TIME
                break
        return Result(
            Status.FEASIBLE,
            best.answer,
            shown_values(best.values),
            limit=limit,
            runtime=clock.elapsed,
            incumbents=tuple(best.incumbents),
        )
