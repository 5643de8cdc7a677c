"""Offline greedy: jobs in an order, each at its earliest start."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from allocsolve.heuristics.reservation.best_schedule import BestSchedule, shown_values
from allocsolve.heuristics.reservation.orders import RESERVATION_ORDERS, reservation_order
from allocsolve.model import Limit, Result, Status, parse_reservation_objective

if TYPE_CHECKING:
    from allocsolve.model import Budget, ReservationObjective, ReservationProblem, ReservationSchedule

__all__ = ["ReservationGreedy"]


@dataclass(frozen=True, slots=True)
class ReservationGreedy:
    """The best of eleven offline greedy schedules: all jobs are known before the first one starts.

    Parameters
    ----------
    objective
        ``rejected``, ``rejected-area``, ``unsuccessful``, or several of them, lexicographic.

    Raises
    ------
    UnknownName, InvalidOption
        If the objective has an unknown term or repeats one.

    Notes
    -----
    *Method*: each of `RESERVATION_ORDERS`, of which deadlines and latest starts win nearly always, job by job
    at the earliest start: by count, with nodes afterwards, or where nodes of the problem's shape are free.
    *Complexity*: O(jobs * bookings) for each order, 1000 jobs in a millisecond; with a shape .2 s.
    """

    objective: ReservationObjective = ("rejected",)

    def __post_init__(self) -> None:
        object.__setattr__(self, "objective", parse_reservation_objective(self.objective))

    def __call__(self, problem: ReservationProblem, budget: Budget, /) -> Result[ReservationSchedule]:
        """Try the orders, as many as the time allows, and at least the first."""
        clock = budget.start()
        best = BestSchedule(problem, self.objective, clock)
        limit = None
        for order in RESERVATION_ORDERS:
            best.offer_order(reservation_order(problem, order))
            if clock.remaining == 0:
                limit = Limit.TIME
                break
        return Result(
            Status.FEASIBLE,
            best.schedule,
            shown_values(best.values),
            limit=limit,
            runtime=clock.elapsed,
            incumbents=tuple(best.incumbents),
        )
