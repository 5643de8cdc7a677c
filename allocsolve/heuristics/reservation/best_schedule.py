"""The best schedule of a search, and when each better one came."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from allocsolve.bounds.reservation.node_prices import counted_weights
from allocsolve.heuristics.reservation.orders import greedy_starts
from allocsolve.heuristics.reservation.placement import placed, placed_in_order
from allocsolve.model import REJECTED

if TYPE_CHECKING:
    from allocsolve.model import (
        BoolArray,
        Clock,
        IntArray,
        ReservationObjective,
        ReservationProblem,
        ReservationSchedule,
        Value,
    )

__all__ = ["BestSchedule", "booked_starts", "rejected_shares", "shown_values"]


def rejected_shares(
    problem: ReservationProblem, objective: ReservationObjective, rejected: BoolArray
) -> tuple[float, ...]:
    """Return the terms of an objective for bookings, of which some jobs have none; sums are rounded once."""
    shares = []
    for term in objective:
        counts = counted_weights(problem, term)
        total = math.fsum(counts.tolist())
        shares.append(math.fsum(counts[rejected].tolist()) / total if total else 0.0)
    return tuple(shares)


def shown_values(values: tuple[float, ...]) -> Value:
    """Return values as results show them: a single term as a number."""
    return values[0] if len(values) == 1 else values


class BestSchedule:
    """The best schedule of a search.

    Parameters
    ----------
    problem, objective
        What is solved.
    clock
        Tells the times of the incumbents.
    """

    def __init__(self, problem: ReservationProblem, objective: ReservationObjective, clock: Clock) -> None:
        self.problem, self.objective, self.clock = problem, objective, clock
        self.values: tuple[float, ...] = ()
        self.incumbents: list[tuple[float, Value]] = []
        self.schedule: ReservationSchedule | None = None
        #: Shape (jobs,), seconds, negative for rejected jobs: the best schedule by count, whose nodes may
        #: lack the shape.
        self.count_starts: IntArray = np.full(len(problem.jobs), -1, dtype=np.int64)
        self._count_values: tuple[float, ...] = ()

    def offer_starts(self, starts: IntArray) -> bool:
        """Place jobs on nodes if their starts, which fit by count, are better than all before.

        Returns
        -------
        bool
            Whether the schedule is the best one now.
        """
        values = rejected_shares(self.problem, self.objective, starts < 0)
        if self._count_values and values >= self._count_values:
            return False
        self._count_values, self.count_starts = values, starts.copy()
        return self.offer(placed(self.problem, starts))

    def offer_order(self, order: IntArray) -> bool:
        """Offer the greedy schedule of an order, with nodes of the shape; return whether it is the best."""
        starts = greedy_starts(self.problem, order)
        if self.problem.shape == "any":
            return self.offer_starts(starts)
        values = rejected_shares(self.problem, self.objective, starts < 0)
        if not self._count_values or values < self._count_values:
            self._count_values, self.count_starts = values, starts
        return self.offer(placed_in_order(self.problem, order))

    def offer(self, schedule: ReservationSchedule) -> bool:
        """Keep a feasible schedule of bookings if it is better; return whether it is."""
        values = rejected_shares(self.problem, self.objective, schedule.outcomes == REJECTED)
        if self.values and values >= self.values:
            return False
        self.schedule, self.values = schedule, values
        self.incumbents.append((self.clock.elapsed, shown_values(values)))
        if not self._count_values or values < self._count_values:
            self._count_values, self.count_starts = values, booked_starts(schedule)
        return True


def booked_starts(schedule: ReservationSchedule) -> IntArray:
    """Return the starts of a schedule of bookings; -1 for a rejected job."""
    return np.nan_to_num(schedule.first_starts, nan=-1.0).astype(np.int64)
