"""The baseline of reservations: the best offline schedule and a certified bound, side by side."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from allocsolve.bounds.reservation import PriceAscent
from allocsolve.errors import InvalidAnswer
from allocsolve.heuristics.reservation.best_schedule import BestSchedule, shown_values
from allocsolve.heuristics.reservation.orders import reservation_order
from allocsolve.heuristics.reservation.schedule_search import ScheduleSearch
from allocsolve.judge.reservation import reservation_violations
from allocsolve.model import BOOKED, Clock, Limit, Result, Status, parse_reservation_objective

if TYPE_CHECKING:
    from collections.abc import Mapping

    from allocsolve.bounds.reservation import ReservationPriceBound
    from allocsolve.model import Budget, ReservationObjective, ReservationProblem, ReservationSchedule

__all__ = ["ReservationPrices", "is_same", "offer_start", "proven_result"]

#: The share of the time that goes into prices.
_PRICED: Final = 0.3


@dataclass(frozen=True, slots=True)
class ReservationPrices:
    """The best schedule of bookings that offline heuristics make, and a bound that the judge recomputes.

    It tells how far any online strategy is from the best that was possible with the same jobs.

    Parameters
    ----------
    objective
        ``rejected``, ``rejected-area``, ``unsuccessful``, which is the same for bookings, or several of them,
        lexicographic; the bound is on the first.
    start
        A feasible schedule of bookings to improve on, such as the answer of an earlier run.
    certificate
        That of an earlier result: the ascent begins with its prices.

    Raises
    ------
    UnknownName, InvalidOption
        If the objective has an unknown term or repeats one.
    InvalidAnswer
        When called, if `start` is not feasible or was executed, or `certificate` is none of the problem.

    Notes
    -----
    *Below*: prices of node-seconds (`allocsolve.bounds.reservation.node_prices`), in 30 % of the time.
    *Above*: greedy schedules, order search and ejection by count, led by the prices
    (`allocsolve.heuristics.reservation.schedule_search`). Nodes of the shape ``any`` are found
    afterwards; for another one the jobs of each better schedule are placed again, by start.
    Without a time limit the ascent runs to its end, and 200 moves are made for each job, or as many as the
    budget's iterations say. One thread.

    *Guarantee*: the schedule is feasible, the bound holds for all schedules of bookings; ``optimal`` only if
    they meet. No result is worse than `start`, or proves less than `certificate`.
    *Complexity*: 1000 jobs on 128 nodes that arrive within a quarter of an hour: 2 % of gap in the jobs, .1 %
    in the area, in ten seconds; with more time between arrivals less than 1.5 % in a second.
    """

    objective: ReservationObjective = ("rejected",)
    start: ReservationSchedule | None = field(default=None, repr=False)
    certificate: Mapping[str, object] | None = field(default=None, repr=False, hash=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "objective", parse_reservation_objective(self.objective))

    def __call__(self, problem: ReservationProblem, budget: Budget, /) -> Result[ReservationSchedule]:
        """Search within the budget."""
        clock = budget.start()
        ascent = PriceAscent(problem, self.objective[0], self.certificate)
        best = BestSchedule(problem, self.objective, clock)
        offer_start(best, self.start)
        best.offer_order(reservation_order(problem, "deadline"))
        limit: Limit | None = None
        bound: ReservationPriceBound | None = None
        try:
            ascent.climb(Clock(_PRICED * budget.seconds))
            bound = ascent.bound()
            finished = ScheduleSearch(best, bound, budget.seed).run(clock, budget.iterations)
            limit = Limit.ITERATIONS if finished else Limit.TIME
        except KeyboardInterrupt:
            limit = Limit.INTERRUPTED
        bound = bound or ascent.bound()
        return proven_result(best, [bound.value], limit, bound.certificate)


def offer_start(best: BestSchedule, start: ReservationSchedule | None) -> None:
    """Offer a schedule to start from.

    Raises
    ------
    InvalidAnswer
        If it is not feasible, or was executed.
    """
    if start is None:
        return
    faults = reservation_violations(best.problem, start)
    if not faults and (start.outcomes > BOOKED).any():
        faults = ("it was executed: only schedules of bookings can be improved on",)
    if faults:
        msg = f"the schedule to start from is not feasible: {faults[0]}"
        raise InvalidAnswer(msg)
    best.offer(start)


def is_same(objective: ReservationObjective, idx: int) -> bool:
    """Return whether a term is the same as one before it, for bookings."""
    by_area = objective[idx] == "rejected-area"
    return any((term == "rejected-area") == by_area for term in objective[:idx])


def proven_result(
    best: BestSchedule, bounds: list[float], limit: Limit | None, certificate: Mapping[str, object] | None
) -> Result[ReservationSchedule]:
    """Return the best schedule and what is proven.

    Parameters
    ----------
    best
        The schedule.
    bounds
        Proven lower bounds on the first terms, each under the condition that the terms before it are as good
        as those of the schedule. They end at the first one that is below the schedule's.
    limit
        Why it ended, if it is not proven to be optimal.
    certificate
        Of the bound on the first term.
    """
    values = best.values
    if best.problem.leaking:  # whatever is not booked has no price
        bounds, certificate = [0.0], None
    proven = [min(bound, value) for bound, value in zip(bounds, values, strict=False)]
    while len(proven) < len(values) and proven == [*values[: len(proven)]]:
        proven.append(0.0)  # no term is below 0
        if is_same(best.objective, len(proven) - 1):
            proven[-1] = values[len(proven) - 1]
    is_optimal = proven == [*values]
    proven += [-math.inf] * (len(values) - len(proven))
    return Result(
        Status.OPTIMAL if is_optimal else Status.FEASIBLE,
        best.schedule,
        shown_values(values),
        shown_values(tuple(proven)),
        None if is_optimal else limit,
        best.clock.elapsed,
        tuple(best.incumbents),
        certificate,
    )
