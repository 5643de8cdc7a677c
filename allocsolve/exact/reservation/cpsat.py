"""Reservations by CP-SAT: every term and shape, with a proof where the budget allows."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from allocsolve.bounds.reservation import PriceAscent
from allocsolve.exact.reservation.prices import is_same, offer_start, proven_result
from allocsolve.heuristics.reservation.best_schedule import BestSchedule
from allocsolve.heuristics.reservation.orders import reservation_order
from allocsolve.heuristics.reservation.schedule_search import ScheduleSearch
from allocsolve.model import Clock, Limit, parse_reservation_objective
from allocsolve.model.checks import natural

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ortools.sat.python import cp_model

    from allocsolve.bounds.reservation import ReservationPriceBound
    from allocsolve.exact.reservation._model import ReservationModel, ScaledTerm
    from allocsolve.model import (
        Budget,
        ReservationObjective,
        ReservationProblem,
        ReservationSchedule,
        Result,
    )

__all__ = ["ReservationCpSat"]

#: Shares of the time for prices, and for the search before the model.
_PRICED: Final = 0.1
_SEARCHED: Final = 0.1
#: Moves of that search, for each job.
_MOVES_PER_JOB: Final = 500
#: Times and nodes beyond which sums would leave 64 bits.
_MOST_NODE_TIME: Final = 2**60


@dataclass(frozen=True, slots=True)
class ReservationCpSat:
    """Minimise by CP-SAT, with a proof: an optional interval for each job, one cumulative constraint.

    Parameters
    ----------
    objective
        ``rejected``, ``rejected-area``, ``unsuccessful``, which is the same for bookings, or several of them,
        lexicographic: each is minimised among the schedules that are optimal in those before it.
    start
        A feasible schedule of bookings to improve on; the solver finds one itself in any case.
    max_jobs
        Larger problems get a schedule of the heuristics and the bound by prices only (limit ``size``).

    Raises
    ------
    UnknownName, InvalidOption
        If the objective has an unknown term or repeats one, or `max_jobs` is negative.
    InvalidAnswer
        When called, if `start` is not feasible or was executed.

    Notes
    -----
    *Method*: schedule and bound as in `ReservationPrices`; then, term by term, the count of nodes as a
    cumulative constraint, with that schedule as a hint. Nodes of the shape ``any`` are found afterwards, for
    which there is always a way. For ``run`` there are rectangles of time and ranks on the curve, which do not
    overlap; for ``connected`` each job has one of all connected sets of its size. Where these are more than
    20,000, the count is solved alone: its optimum is a bound, and is met if its jobs find connected sets.
    Times are in units of their greatest common divisor.
    *Guarantee*: ``optimal`` is a proof over all schedules of bookings; the bound holds at any time.
    *Complexity*: exponential. 60 jobs take seconds, 100 jobs seldom less than minutes.
    """

    objective: ReservationObjective = ("rejected",)
    start: ReservationSchedule | None = field(default=None, repr=False)
    max_jobs: int = 300

    def __post_init__(self) -> None:
        object.__setattr__(self, "objective", parse_reservation_objective(self.objective))
        object.__setattr__(self, "max_jobs", natural("max_jobs", self.max_jobs))

    def __call__(self, problem: ReservationProblem, budget: Budget, /) -> Result[ReservationSchedule]:
        """Solve within the budget; workers are CP-SAT's threads."""
        search = _Search(problem, self.objective, budget)
        offer_start(search.best, self.start)
        try:
            search.begin()
            search.run(is_small=len(problem.jobs) <= self.max_jobs)
        except KeyboardInterrupt:
            search.limit = Limit.INTERRUPTED
        return search.result()


class _Search:
    """State of one solve: the best schedule and, term by term, what is proven."""

    def __init__(self, problem: ReservationProblem, objective: ReservationObjective, budget: Budget) -> None:
        self.problem, self.objective, self.budget = problem, objective, budget
        self.clock = budget.start()
        self.limit: Limit | None = None
        self.best = BestSchedule(problem, objective, self.clock)
        self.bounds: list[float] = []  # proven, for the terms treated so far
        self.certificate: Mapping[str, object] | None = None
        self.best.offer_order(reservation_order(problem, "deadline"))

    def begin(self) -> None:
        """Bound the first term by prices, and search for a schedule, in a part of the time."""
        bound = self._priced(0)
        self.bounds, self.certificate = [bound.value], bound.certificate
        clock = Clock(_SEARCHED * self.clock.remaining)
        moves = _MOVES_PER_JOB * len(self.problem.jobs)
        ScheduleSearch(self.best, bound, self.budget.seed).run(clock, moves)

    def _priced(self, idx: int) -> ReservationPriceBound:
        ascent = PriceAscent(self.problem, self.objective[idx])
        ascent.climb(Clock(_PRICED * self.clock.remaining))
        return ascent.bound()

    def run(self, *, is_small: bool) -> None:
        """Minimise term by term, as far as the time goes."""
        from allocsolve.exact.reservation._model import (  # noqa: PLC0415 - imports ortools
            ReservationModel,
            scaled_term,
        )

        model: ReservationModel | None = None
        for idx, term in enumerate(self.objective):
            if idx == len(self.bounds):
                self.bounds.append(0.0 if not self.best.values[idx] else self._priced(idx).value)
            if is_same(self.objective, idx):
                self.bounds[idx] = self.best.values[idx]
            if self.bounds[idx] >= self.best.values[idx] and idx == len(self.objective) - 1:
                return
            reach = self.problem.horizon * self.problem.topology.num_nodes
            if not is_small or reach >= _MOST_NODE_TIME:
                if self.bounds[idx] >= self.best.values[idx]:
                    continue
                self.limit = Limit.SIZE
                return
            if model is None:
                model = ReservationModel(self.problem)
            scaled = scaled_term(self.problem, term)
            rejected = model.rejected(scaled)
            if self.bounds[idx] < self.best.values[idx]:
                self._minimise(idx, model, scaled, rejected)
            if self.bounds[idx] < self.best.values[idx]:
                if self.limit is None:
                    self.limit = self._limit(model, scaled)
                return
            if self.best.schedule is not None:
                model.model.add(rejected <= scaled.rejected(self.best.schedule))

    def _limit(self, model: ReservationModel, scaled: ScaledTerm) -> Limit:
        """Return why a gap is left."""
        if not self.clock.remaining:
            return Limit.TIME
        if not model.has_shape:
            return Limit.SIZE
        return Limit.ROUNDING if scaled.rounding else Limit.TIME

    def _minimise(
        self, idx: int, model: ReservationModel, scaled: ScaledTerm, rejected: cp_model.LinearExpr
    ) -> None:
        """Close the gap between the bound and the best value of a term, as far as the time goes."""
        from allocsolve.backends.cpsat import run_cpsat  # noqa: PLC0415 - imports ortools

        if self.best.schedule is not None:
            model.hint(self.best.schedule)
        model.model.minimize(rejected)
        model.model.add(rejected >= scaled.at_least(self.bounds[idx]))
        reached = [2**62]

        def take(value: Callable[[cp_model.LinearExpr], int]) -> bool:
            reached[0] = min(reached[0], value(rejected))
            self.best.offer(model.read(value))
            return True

        outcome = run_cpsat(model.model, self.budget, self.clock, take, edge_finding=True)
        if outcome.interrupted:
            self.limit = Limit.INTERRUPTED
        if outcome.infeasible:
            return
        least = reached[0] if outcome.optimal else math.ceil(outcome.bound * (1 - 1e-12) - 1e-6)
        bound = scaled.bound(least)
        self.bounds[idx] = min(max(self.bounds[idx], bound), self.best.values[idx])

    def result(self) -> Result[ReservationSchedule]:
        """Return the best schedule and what is proven."""
        return proven_result(self.best, self.bounds, self.limit or Limit.TIME, self.certificate)
