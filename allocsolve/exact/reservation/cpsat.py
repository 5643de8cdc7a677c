"""Reservations by CP-SAT: every term and shape, with a proof where the budget allows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated

from allocsolve.bounds.reservation import PriceAscent
from allocsolve.exact.reservation._proof import CpSatProof, offer_start, proven_result
from allocsolve.heuristics.reservation.greedy import BestBookings, reservation_order
from allocsolve.heuristics.reservation.schedule_search import ScheduleSearch, ScheduleSearchParams
from allocsolve.model import Limit, ReservationObjective, ReservationSchedule
from allocsolve.model.options import Options, Params, Within

if TYPE_CHECKING:
    from allocsolve.model import Budget, ReservationProblem, Result


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
