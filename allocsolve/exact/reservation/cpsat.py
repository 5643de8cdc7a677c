"""Reservations by CP-SAT: every term and shape, with a proof where the budget allows.

What the exact solvers of reservations share is here: the start, the proof by CP-SAT, and the result.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Final

from allocsolve.bounds.reservation import PriceAscent
from allocsolve.errors import InvalidAnswer
from allocsolve.families import quick_answers
from allocsolve.heuristics.reservation.greedy import BestBookings, reservation_order
from allocsolve.heuristics.reservation.schedule_search import ScheduleSearch, ScheduleSearchParams
from allocsolve.judge.reservation.rules import reservation_violations
from allocsolve.model import BOOKED, Limit, ReservationObjective, ReservationSchedule
from allocsolve.model.options import Options, Params, Within
from allocsolve.model.search import search_result

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ortools.sat.python import cp_model

    from allocsolve.bounds.reservation import ReservationPriceBound
    from allocsolve.exact.reservation._model import ReservationModel, ScaledTerm
    from allocsolve.model import Budget, ReservationProblem, Result


def offer_start(best: BestBookings, start: ReservationSchedule | None) -> None:
    """Offer a schedule to start from."""
    if start is None:
        return
    faults = reservation_violations(best.problem, start)
    if not faults and (start.outcomes > BOOKED).any():
        faults = ("it was executed: only schedules of bookings can be improved on",)
    if faults:
        raise InvalidAnswer(f"the schedule to start from is not feasible: {faults[0]}")
    best.offer(start)


def offer_quick(best: BestBookings, seed: int) -> None:
    """Offer the schedules of the quick solvers."""
    for schedule, _ in quick_answers(best.problem, best.objective, best.clock, seed=seed):
        best.offer(schedule)


def is_same(objective: ReservationObjective, idx: int) -> bool:
    """Return whether a term is the same as one before it, for bookings."""
    by_area = objective[idx] == "rejected-area"
    return any((term == "rejected-area") == by_area for term in objective[:idx])


def proven_result(
    best: BestBookings, bounds: list[float], limit: Limit | None, certificate: Mapping[str, object] | None
) -> Result[ReservationSchedule]:
    """Return the best schedule and what is proven.

    `bounds` are proven lower bounds on the first terms, each under the condition that the terms before it are
    as good as those of the schedule. They end at the first one that is below the schedule's.
    """
    values = best.values
    if best.problem.leaking:  # prices do not hold for nodes that are not booked
        bounds, certificate = [0.0], None
    proven = [min(bound, value) for bound, value in zip(bounds, values, strict=False)]
    while len(proven) < len(values) and proven == [*values[: len(proven)]]:
        proven.append(0.0)  # no term is below 0
        if is_same(best.objective, len(proven) - 1):
            proven[-1] = values[len(proven) - 1]
    assert best.answer is not None
    return search_result(
        best.answer, values, proven, limit, best.clock, best.incumbents, certificate=certificate
    )


#: The share of the remaining time for the prices of a later term.
_PRICED_BY_CPSAT: Final = 0.1
#: The largest product of time and nodes: beyond it sums would not fit 64 bits.
_MOST_NODE_TIME: Final = 2**60


class CpSatProof:
    """The state of a proof: the best schedule and, term by term, the proven bounds.

    `bound` is that on the first term; CP-SAT gets the workers and the seed of the budget.
    """

    def __init__(self, best: BestBookings, bound: ReservationPriceBound, budget: Budget) -> None:
        self.best, self.budget = best, budget
        self.limit: Limit | None = None
        self._problem, self._clock = best.problem, best.clock
        self._bounds = [bound.value]  # proven, for the terms treated so far
        self._certificate = bound.certificate

    def run(self, max_jobs: int) -> None:
        """Minimise term by term, as far as the time allows; Ctrl-C ends that and becomes the limit.

        With more jobs no model is built: then only values that meet their bounds are proven.
        """
        try:
            self._run(is_small=len(self._problem.jobs) <= max_jobs)
        except KeyboardInterrupt:
            self.limit = Limit.INTERRUPTED

    def _run(self, *, is_small: bool) -> None:
        from allocsolve.exact.reservation._model import (  # noqa: PLC0415 - imports ortools
            ReservationModel,
            scaled_term,
        )

        model: ReservationModel | None = None
        for idx, term in enumerate(self.best.objective):
            if idx == len(self._bounds):
                self._bounds.append(0.0 if not self.best.values[idx] else self._priced(idx).value)
            if is_same(self.best.objective, idx):
                self._bounds[idx] = self.best.values[idx]
            if self._bounds[idx] >= self.best.values[idx] and idx == len(self.best.objective) - 1:
                return
            reach = self._problem.horizon * self._problem.topology.num_nodes
            if not is_small or reach >= _MOST_NODE_TIME:
                if self._bounds[idx] >= self.best.values[idx]:
                    continue
                self.limit = Limit.SIZE
                return
            if model is None:
                model = ReservationModel(self._problem)
            scaled = scaled_term(self._problem, term)
            rejected = model.rejected(scaled)
            if self._bounds[idx] < self.best.values[idx]:
                self._minimise(idx, model, scaled, rejected)
            if self._bounds[idx] < self.best.values[idx]:
                if self.limit is None:
                    self.limit = self._limit(model, scaled)
                return
            if self.best.answer is not None:
                model.model.add(rejected <= scaled.rejected(self.best.answer))

    def _priced(self, idx: int) -> ReservationPriceBound:
        ascent = PriceAscent(self._problem, self.best.objective[idx])
        ascent.climb(self._clock.stage(_PRICED_BY_CPSAT))
        return ascent.bound()

    def _limit(self, model: ReservationModel, scaled: ScaledTerm) -> Limit:
        """Return the reason why a gap is left."""
        if not self._clock.remaining:
            return Limit.TIME
        if not model.has_shape:
            return Limit.SIZE
        return Limit.ROUNDING if scaled.rounding else Limit.TIME

    def _minimise(
        self, idx: int, model: ReservationModel, scaled: ScaledTerm, rejected: cp_model.LinearExpr
    ) -> None:
        """Close the gap between the bound and the best value of a term, as far as the time allows."""
        from allocsolve.backends.cpsat import run_cpsat  # noqa: PLC0415 - imports ortools

        if self.best.answer is not None:
            model.hint(self.best.answer)
        model.model.minimize(rejected)
        model.model.add(rejected >= scaled.at_least(self._bounds[idx]))
        reached = [2**62]

        def take(value: Callable[[cp_model.LinearExpr], int]) -> bool:
            reached[0] = min(reached[0], value(rejected))
            self.best.offer(model.read(value))
            return True

        outcome = run_cpsat(model.model, self.budget, self._clock, take, edge_finding=True)
        if outcome.interrupted:
            self.limit = Limit.INTERRUPTED
        if outcome.infeasible:
            return
        least_count = reached[0] if outcome.optimal else math.ceil(outcome.bound * (1 - 1e-12) - 1e-6)
        bound = scaled.bound(least_count)
        self._bounds[idx] = min(max(self._bounds[idx], bound), self.best.values[idx])

    def result(self) -> Result[ReservationSchedule]:
        """Return the best schedule and what is proven."""
        return proven_result(self.best, self._bounds, self.limit or Limit.TIME, self._certificate)


@dataclass(frozen=True, slots=True)
class ReservationCpSatParams(Params):
    """The numbers of `ReservationCpSat`."""

    #: The shares of the time for prices, and for the search before the model.
    prices_share: float = 0.1
    search_share: float = 0.1
    #: The moves of that search for each job.
    moves_per_job: int = 500
    #: Those of the search itself.
    search: ScheduleSearchParams = ScheduleSearchParams()


@dataclass(frozen=True, slots=True)
class ReservationCpSat(Options):
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
    max_jobs: Annotated[int, Within(0)] = 300
    params: ReservationCpSatParams = field(default=ReservationCpSatParams(), repr=False)

    def __call__(self, problem: ReservationProblem, budget: Budget, /) -> Result[ReservationSchedule]:
        """Solve within the budget; workers are CP-SAT's threads."""
        best = BestBookings(problem, self.objective, budget.start())
        offer_start(best, self.start)
        best.offer_order(reservation_order(problem, "deadline"))
        ascent = PriceAscent(problem, self.objective[0])
        try:
            ascent.climb(best.clock.stage(self.params.prices_share))
            bound = ascent.bound()
            search = ScheduleSearch(best, bound, budget.seed, self.params.search)
            moves = self.params.moves_per_job * len(problem.jobs)
            search.run(best.clock.stage(self.params.search_share), moves)
        except KeyboardInterrupt:
            bound = ascent.bound()
            return proven_result(best, [bound.value], Limit.INTERRUPTED, bound.certificate)
        proof = CpSatProof(best, bound, budget)
        proof.run(self.max_jobs)
        return proof.result()
