"""Offline greedy: jobs in an order, each at its earliest start by count, nodes afterwards."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import numpy as np

from allocsolve.heuristics.reservation._kernels_capacity import new_capacity, place_in_order
from allocsolve.heuristics.reservation.best_schedule import BestSchedule, shown_values
from allocsolve.model import Limit, Result, Status, frozen, parse_reservation_objective

if TYPE_CHECKING:
    from allocsolve.model import (
        Budget,
        IntArray,
        ReservationObjective,
        ReservationProblem,
        ReservationSchedule,
    )

__all__ = [
    "RESERVATION_ORDERS",
    "ReservationGreedy",
    "ReservationOrder",
    "greedy_starts",
    "reservation_order",
]

#: The orders in which jobs are placed, the best ones first; a small number goes first.
ReservationOrder: TypeAlias = Literal[
    "deadline",
    "latest-start",
    "late-area",  # nodes times run time times deadline, from the first arrival on
    "late-nodes",  # nodes times deadline, from the first arrival on
    "runtime",
    "area",
    "nodes",
    "slack",
    "arrival",
    "density",  # the most weight to a node-second
    "weight",  # the most weight
]

RESERVATION_ORDERS: tuple[ReservationOrder, ...] = get_args(ReservationOrder)


def reservation_order(problem: ReservationProblem, order: ReservationOrder) -> IntArray:
    """Return the jobs in an order; equal ones as they are announced."""
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

    Parameters
    ----------
    problem
        The problem; shapes of node sets play no part.
    order
        The jobs to be placed, by index.

    Returns
    -------
    IntArray
        Shape (jobs,), seconds; -1 for a rejected job.

    Notes
    -----
    *Complexity*: O(jobs * bookings), 1000 jobs in a millisecond.
    """
    capacity = new_capacity(problem.topology.num_nodes, len(problem.jobs))
    starts = np.empty(len(problem.jobs), dtype=np.int64)
    place_in_order(problem.packed, frozen(order.copy()), problem.topology.num_nodes, capacity, starts)
    return starts


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
    *Method*: `greedy_starts` in each of `RESERVATION_ORDERS`, of which deadlines and latest starts win nearly
    always; nodes as in `allocsolve.heuristics.reservation.placement`.
    *Complexity*: O(jobs * bookings) for each order.
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
            best.offer_starts(greedy_starts(problem, reservation_order(problem, order)))
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
