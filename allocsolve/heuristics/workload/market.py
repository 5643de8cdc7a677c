"""Clairvoyant schedules of malleable jobs from prices of nodes and of work."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from allocsolve.heuristics.workload._kernels_clearing import profit_takers
from allocsolve.heuristics.workload._kernels_queue import ORDER_CODES
from allocsolve.heuristics.workload.rebalancing import RebalancingRule, initial_auction, run_auctions
from allocsolve.judge.workload.rules import workload_value
from allocsolve.model import Clock, Limit, Result, Status, WorkloadObjective, frozen, terms
from allocsolve.model.options import Options, Params
from allocsolve.simulation import EngineRules

if TYPE_CHECKING:
    from allocsolve.bounds.workload import PriceBound
    from allocsolve.model import Budget, WorkloadProblem, WorkloadSchedule, WorkloadTerm


@dataclass(frozen=True, slots=True)
class MarketParams(Params):
    """The numbers of `Market`, measured on logs."""

    #: Shares of the time limit for the prices and for the coarse prices; the rest is for the two markets.
    prices_share: float = 0.6
    coarse_prices_share: float = 0.08
    #: The hysteresis of sizes (a share, see `RebalancingRule`) where they change at points only. Without one,
    #: jobs change at each of their points, which takes ten times as long and gives no better schedule.
    hysteresis_at_points: float = 0.1


@dataclass(frozen=True, slots=True)
class Market(Options):
    """Clairvoyant: jobs are paid for their work, and pay for nodes; every call clears the market.

    The prices of node-seconds whose bound is best (`allocsolve.bounds.workload.time_prices`) tell what the
    work of each malleable job is worth, and when each job starts if it is alone with these prices. No job
    starts earlier. At every call each running malleable job wants the size on which it earns most a second,
    at the price of a node at which all want as many nodes as there are; where jobs have points, they keep
    sizes that differ from it by no more than a tenth. With a time limit a second market has coarser prices if
    the time suffices; the better schedule counts.

    Parameters
    ----------
    objective
        ``turnaround``, ``slowdown``, ``wait``, ``makespan``, or several of them. The prices are those of
        slowdown if that comes first, else those of turnaround.

    Notes
    -----
    *Complexity*: that of `StaticPrice`, after three fifths of the time limit for prices. The first market is
    run to its end: 3 s for 41,524 jobs, 8 s if they have points.
    *Guarantee*: feasible; jobs that cannot change their sizes run on the size that is cheapest under the
    prices.

    Examples
    --------
    >>> from allocsolve.model import Amdahl, Budget, Job, WorkloadProblem
    >>> job = {"min_nodes": 1, "max_nodes": 6, "speedup": Amdahl(0.9), "kind": "malleable"}
    >>> problem = WorkloadProblem(6, [Job(0, 2, 110, **job), Job(40, 2, 110, **job)])
    >>> [[piece[2] for piece in Market()(problem, Budget()).answer.pieces(idx)] for idx in range(2)]
    [[6, 5], [1, 6]]
    """

    objective: WorkloadObjective = ("turnaround",)
    params: MarketParams = field(default=MarketParams(), repr=False)

    def __call__(self, problem: WorkloadProblem, budget: Budget, /) -> Result[WorkloadSchedule]:
        """Find prices within three fifths of the time, and run markets."""
        from allocsolve.bounds.workload import time_prices  # noqa: PLC0415 - loads more kernels

        problem.check_plain("sizes")
        EngineRules().check(problem, answers=False)
        clock = budget.start()
        seconds, fine = (
            self.params.coarse_prices_share * clock.divisible,
            clock.stage(self.params.prices_share),
        )
        bound = time_prices(problem, priced_term(self.objective), clock=fine)
        if bound.interrupted:
            raise KeyboardInterrupt
        schedule = market_schedule(problem, bound, params=self.params)
        try:
            schedule, stopped = or_coarse_market(
                problem, self.objective, schedule, clock, seconds, self.params
            )
        except KeyboardInterrupt:
            limit: Limit | None = Limit.INTERRUPTED
        else:
            limit = Limit.TIME if stopped or 0 in (fine.remaining, clock.remaining) else None
        return Result(Status.FEASIBLE, schedule, limit=limit, runtime=clock.elapsed)


def or_coarse_market(
    problem: WorkloadProblem,
    objective: WorkloadObjective,
    schedule: WorkloadSchedule,
    clock: Clock,
    seconds: float,
    params: MarketParams = MarketParams(),
) -> tuple[WorkloadSchedule, bool]:
    """Return a schedule, or that of a second market if it is better; its prices take at most `seconds`.

    The second value says whether a clock stopped anything: then another run may return another schedule.

    Near the best prices many starts are almost equally cheap, and it is chance which of them is the cheapest;
    coarse prices choose other starts. There is no second market without a time limit, or if the clock ends
    it.

    `KeyboardInterrupt` at Ctrl-C, also while it finds prices.
    """
    from allocsolve.bounds.workload import time_prices  # noqa: PLC0415 - loads more kernels

    if seconds == math.inf:
        return schedule, False
    if clock.remaining <= seconds:
        return schedule, True
    coarse_clock = Clock(seconds)
    coarse = time_prices(problem, priced_term(objective), clock=coarse_clock)
    if coarse.interrupted:
        raise KeyboardInterrupt
    stopped = coarse_clock.remaining <= 0
    try:
        other = market_schedule(problem, coarse, clock, params)
    except TimeoutError:
        return schedule, True
    values = (terms(workload_value(problem, answer, objective)) for answer in (schedule, other))
    return (schedule if next(values) <= next(values) else other), stopped


def priced_term(objective: WorkloadObjective) -> WorkloadTerm:
    """Return the term of the objective by which prices are made."""
    return "slowdown" if objective[0] == "slowdown" else "turnaround"


def market_schedule(
    problem: WorkloadProblem,
    bound: PriceBound,
    clock: Clock | None = None,
    params: MarketParams = MarketParams(),
) -> WorkloadSchedule:
    """Return the schedule of a market at the prices of a bound; see `Market`.

    `TimeoutError` if there is a clock and its time ends before the market does.
    """
    from allocsolve.bounds.workload import work_prices  # noqa: PLC0415 - loads more kernels

    packed = problem.packed
    demand = profit_takers(packed, work_prices(problem, bound))
    auction = initial_auction(demand, frozen(np.asarray(bound.starts, dtype=np.float64).copy()))
    hysteresis = params.hysteresis_at_points if packed.points.any() else 0.0
    rule = RebalancingRule(hysteresis, ORDER_CODES["smallest-area"])
    return run_auctions(problem, auction, rule, EngineRules(), packed.runtime, clock).schedule
