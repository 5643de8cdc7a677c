"""The proof by CP-SAT, term by term, that goes on from a schedule and bounds."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from allocsolve.bounds.reservation import PriceAscent
from allocsolve.exact.reservation._proof import is_same, proven_result
from allocsolve.model import Clock, Limit

if TYPE_CHECKING:
    from collections.abc import Callable

    from ortools.sat.python import cp_model

    from allocsolve.bounds.reservation import ReservationPriceBound
    from allocsolve.exact.reservation._model import ReservationModel, ScaledTerm
    from allocsolve.heuristics.reservation.best_schedule import BestSchedule
    from allocsolve.model import Budget, ReservationSchedule, Result

__all__ = ["CpSatProof"]

#: The share of the time left for the prices of a later term.
_PRICED: Final = 0.1
#: Times and nodes beyond which sums would leave 64 bits.
_MOST_NODE_TIME: Final = 2**60


class CpSatProof:
    """State of a proof: the best schedule and, term by term, what is proven.

    Parameters
    ----------
    best
        The schedule, the problem and the clock; it improves.
    bound
        On the first term.
    budget
        Whose workers and seed CP-SAT gets.
    """

    def __init__(self, best: BestSchedule, bound: ReservationPriceBound, budget: Budget) -> None:
        self.best, self.budget = best, budget
        self.limit: Limit | None = None
        self._problem, self._clock = best.problem, best.clock
        self._bounds = [bound.value]  # proven, for the terms treated so far
        self._certificate = bound.certificate

    def run(self, max_jobs: int) -> None:
        """Minimise term by term, as far as the time goes; Ctrl-C ends it and becomes the limit.

        With more jobs no model is built: what is proven then is what the bounds meet.
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
            if self.best.schedule is not None:
                model.model.add(rejected <= scaled.rejected(self.best.schedule))

    def _priced(self, idx: int) -> ReservationPriceBound:
        ascent = PriceAscent(self._problem, self.best.objective[idx])
        ascent.climb(Clock(_PRICED * self._clock.remaining))
        return ascent.bound()

    def _limit(self, model: ReservationModel, scaled: ScaledTerm) -> Limit:
        """Return why a gap is left."""
        if not self._clock.remaining:
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
        least = reached[0] if outcome.optimal else math.ceil(outcome.bound * (1 - 1e-12) - 1e-6)
        bound = scaled.bound(least)
        self._bounds[idx] = min(max(self._bounds[idx], bound), self.best.values[idx])

    def result(self) -> Result[ReservationSchedule]:
        """Return the best schedule and what is proven."""
        return proven_result(self.best, self._bounds, self.limit or Limit.TIME, self._certificate)
