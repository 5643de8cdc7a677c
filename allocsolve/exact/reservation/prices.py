"""The baseline of reservations: the best offline schedule and a certified bound, side by side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING

from allocsolve.bounds.reservation import PriceAscent
from allocsolve.exact.reservation.cpsat import CpSatProof, offer_quick, offer_start, proven_result
from allocsolve.heuristics.reservation.greedy import BestBookings, reservation_order
from allocsolve.heuristics.reservation.schedule_search import ScheduleSearch, ScheduleSearchParams
from allocsolve.model import Limit, ReservationObjective, ReservationSchedule
from allocsolve.model.options import Options, Params

if TYPE_CHECKING:
    from allocsolve.bounds.reservation import ReservationPriceBound
    from allocsolve.model import Budget, ReservationProblem, Result


@dataclass(frozen=True, slots=True)
class ReservationPricesParams(Params):
    """The numbers of `ReservationPrices`."""

    #: The share of the time for prices; with few jobs, the search before CP-SAT gets as much.
    prices_share: float = 0.3
    #: The most jobs of which CP-SAT finds the optimum in seconds.
    few_jobs: int = 60
    #: The moves for each job with few jobs, unless the budget has a number of iterations.
    few_jobs_moves: int = 500
    #: Those of the search for schedules.
    search: ScheduleSearchParams = ScheduleSearchParams()


@dataclass(frozen=True, slots=True)
class ReservationPrices(Options):
    """The best schedule of bookings that offline heuristics make, and a bound that the judge recomputes.

    It shows how far any online strategy is from the best that was possible with the same jobs.

    Parameters
    ----------
    objective
        ``rejected``, ``rejected-area``, ``unsuccessful``, which is the same for bookings, or several of them,
        lexicographic; the bound is on the first.
    start
        A feasible schedule of bookings to improve on, such as the answer of an earlier run.
    certificate
        That of an earlier result: the ascent begins with its prices.

    Notes
    -----
    *Below*: prices of node-seconds (`allocsolve.bounds.reservation.node_prices`), in 30 % of the time.
    *Above*: greedy schedules, order search and ejection by count, led by the prices
    (`allocsolve.heuristics.reservation.schedule_search`). Nodes of the shape ``any`` are found
    afterwards; for another one the jobs of each better schedule are placed again, by start.
    Without a time limit the ascent runs to its end, and 200 moves are made for each job, or as many as the
    budget's iterations say. One thread. What is open then with at most 60 jobs is for CP-SAT, if ortools is
    installed, in the time left: see `ReservationCpSat`.

    *Guarantee*: the schedule is feasible, the bound holds for all schedules of bookings; ``optimal`` only if
    they meet. No result is worse than `start`, or proves less than `certificate`; none is worse than a
    registered heuristic.
    *Complexity*: 1000 jobs on 128 nodes that arrive within a quarter of an hour: 2 % of gap in the jobs, .1 %
    in the area, in ten seconds; with more time between arrivals less than 1.5 % in a second.
    """

    objective: ReservationObjective = ("rejected",)
    start: ReservationSchedule | None = field(default=None, repr=False)
    certificate: Mapping[str, object] | None = field(default=None, repr=False, hash=False)
    params: ReservationPricesParams = field(default=ReservationPricesParams(), repr=False)

    def __call__(self, problem: ReservationProblem, budget: Budget, /) -> Result[ReservationSchedule]:
        """Search within the budget."""
        clock, params = budget.start(), self.params
        ascent = PriceAscent(problem, self.objective[0], self.certificate)
        best = BestBookings(problem, self.objective, clock)
        offer_start(best, self.start)
        best.offer_order(reservation_order(problem, "deadline"))
        offer_quick(best, budget.seed)
        limit: Limit | None = None
        bound: ReservationPriceBound | None = None
        is_small = (
            len(problem.jobs) <= params.few_jobs and not problem.leaking and find_spec("ortools") is not None
        )
        try:
            ascent.climb(clock.stage(params.prices_share))
            bound = ascent.bound()
            time, moves = clock, budget.iterations
            if is_small:
                time = clock.stage(params.prices_share)
                moves = params.few_jobs_moves * len(problem.jobs) if moves is None else moves
            finished = ScheduleSearch(best, bound, budget.seed, params.search).run(time, moves)
            limit = Limit.ITERATIONS if finished else Limit.TIME
        except KeyboardInterrupt:
            limit = Limit.INTERRUPTED
        bound = bound or ascent.bound()
        if is_small and limit is not Limit.INTERRUPTED:
            proof = CpSatProof(best, bound, budget)
            proof.run(params.few_jobs)
            return proof.result()
        return proven_result(best, [bound.value], limit, bound.certificate)
