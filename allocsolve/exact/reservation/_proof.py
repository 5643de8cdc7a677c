"""What the exact solvers of reservations share: where they start from, and what their results claim."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from allocsolve.errors import InvalidAnswer
from allocsolve.heuristics.reservation.best_schedule import shown_values
from allocsolve.judge.reservation import reservation_violations
from allocsolve.model import BOOKED, Result, Status

if TYPE_CHECKING:
    from collections.abc import Mapping

    from allocsolve.heuristics.reservation.best_schedule import BestSchedule
    from allocsolve.model import Limit, ReservationObjective, ReservationSchedule

__all__ = ["is_same", "offer_start", "proven_result"]


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
