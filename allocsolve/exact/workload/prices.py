"""The baseline of workloads: the best clairvoyant schedule and a certified bound, side by side."""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from allocsolve.bounds.workload import time_prices
from allocsolve.exact.workload._windows import (
    ALWAYS_BY_JOB,
    Earlier,
    TermBound,
    WindowParams,
    bound_by_jobs,
    bound_by_time,
    bound_of_jobs_alone,
    bounded_result,
    search_window,
)
from allocsolve.exact.workload.cpsat import WorkloadCpSat
from allocsolve.exact.workload.place_policies import best_on_places
from allocsolve.heuristics.workload.evolving_annealing import anneal_service_lists
from allocsolve.heuristics.workload.list_annealing import BestSchedule, anneal_schedules
from allocsolve.heuristics.workload.market import market_schedule, or_coarse_market, priced_term
from allocsolve.heuristics.workload.order_search import OrderSearch, OrderSearchParams
from allocsolve.heuristics.workload.reinsertion import (
    Reinserter,
    Reinsertion,
    default_moves,
    dual_plans,
    serial_plans,
)
from allocsolve.heuristics.workload.resources import check_rigid
from allocsolve.heuristics.workload.serial import BestPlan, Plan, job_sizes
from allocsolve.kernels import run_in_threads
from allocsolve.model import (
    Budget,
    Clock,
    Limit,
    Result,
    Status,
    WorkloadObjective,
    WorkloadSchedule,
    shown_values,
)
from allocsolve.model.options import Options, Params
from allocsolve.model.search import search_result

if TYPE_CHECKING:
    from allocsolve.bounds.workload import PriceBound
    from allocsolve.heuristics.workload.serial import Sizes
    from allocsolve.model import WorkloadProblem


@dataclass(frozen=True, slots=True)
class PricesParams(Params):
    """The numbers of `Prices`, measured on logs and on draws under load."""

    #: The share of the time in which serial generation may begin plans.
    series_share: float = 0.4
    #: With one worker, the share of the time for prices of node-seconds, and the share of the rest for prices
    #: per job.
    time_prices_share: float = 0.2
    job_prices_share: float = 0.5
    #: The share of the time, with malleable jobs, after which the market gets the rest.
    before_market_share: float = 2 / 3
    #: Where a term has no prices, the share of that rest for the prices of the market.
    market_prices_share: float = 0.5
    #: The share of the time for coarser prices, which give another market.
    coarse_prices_share: float = 1 / 12
    #: The share of the time, with evolving jobs and on nodes that are places, for the prices.
    evolving_prices_share: float = 0.5
    #: The most malleable jobs of which reinsertion is tried alone, too.
    few_jobs: int = 40
    #: The least gap, as a share of the value, with which prices per job are worth their time: wide jobs cause
    #: it.
    wide_gap: float = 0.01
    #: The most jobs that get prices per job without a time limit.
    most_jobs_unlimited: int = 1_200
    #: The most sizes of all jobs with which `WorkloadCpSat` closes the gap, without and with a time limit.
    closed_sizes: int = 12
    closed_sizes_in_time: int = 40
    #: Moves of reinsertion between two looks at the clock, after which new starts are tried.
    round_moves: int = 4_000
    #: Rounds without a gain in a row after which a window by CP-SAT follows each round. While moves gain,
    #: they gain far more in the same time.
    idle_rounds: int = 25
    #: On a machine that is not plain: the most jobs whose order is annealed, the share of the time for that,
    #: or of the moves, and, in place of the one above, the share for prices per job: they converge sooner.
    most_annealed_jobs: int = 500
    anneal_share: float = 0.9
    job_prices_share_beside: float = 0.3
    #: Those of the windows, and of the orders.
    windows: WindowParams = WindowParams()
    orders: OrderSearchParams = OrderSearchParams()


@dataclass(frozen=True, slots=True)
class Prices(Options):
    """The best schedule that clairvoyant heuristics make, and a lower bound that the judge recomputes.

    It shows how far any schedule of the same jobs is from the best possible one.

    `UnsupportedProblem` when called, if the machine is not plain and a job is not rigid.

    Parameters
    ----------
    objective
        ``turnaround``, ``slowdown``, ``wait``, ``makespan``, or several of them, lexicographic; the bound is
        on the first.
    start
        A feasible schedule from which the search goes on, such as the answer of an earlier run.
    certificate
        That of an earlier result: the ascent goes on from its prices, on its slots and on finer ones.

    Notes
    -----
    *Below*: prices of node-seconds (`allocsolve.bounds.workload.time_prices`); then, for up to 100 jobs
    always and else where the gap is at least 1 %, prices per job. The makespan is bounded by the longest job,
    the area and the wide jobs.
    *Above*: serial generation in several orders, also in windows of the starts that are cheapest under the
    prices; remove-and-reinsert from the best plan; windows by CP-SAT where that gains nothing.
    With two workers and more both run side by side, with one they share the time. These plans know constant
    sizes only; malleable jobs change them in one more schedule, that of `allocsolve.heuristics.Market`, for
    which a third of the time is left, and in lists and moves (`allocsolve.heuristics.ListAnnealing`, up to
    5,000 jobs), which get what the market leaves of it. Without a time limit the ascent of the prices runs
    until it converges (prices per job for up to 1,200 jobs), and 50 moves are made for each job, or as many
    as the budget's iterations say; these count lists, too. Up to 40 rigid jobs (12 without a time limit) are
    left to `WorkloadCpSat`, which uses the same prices and closes the gap.

    On *machines that are not plain*, with counted resources or closed windows, jobs are rigid and each
    resource has prices (`allocsolve.bounds.workload.machine_prices`); up to 1,200 jobs get prices of their
    own (`allocsolve.bounds.workload.machine_job_prices`). The order of up to 500 jobs is annealed before
    reinsertion. The makespan has a bound without a certificate.

    Where *nodes are places* the schedule is the best of first fit and of EASY with true run times in all
    orders of the queue, by all rules of choice, as far as time goes; the bound is that of prices of what is
    counted (`allocsolve.model.WorkloadProblem.on_counts`).

    With *evolving jobs* the schedule is that of lists in whose order they are served
    (`allocsolve.heuristics.EvolvingAnnealing`), which get half of the time.

    *Guarantee*: the schedule is feasible, the bound valid; ``optimal`` only if they meet. The certificate
    proves the bound except for what an exact search adds. No result is worse than `start`, or proves less
    than `certificate`; none is worse than a registered policy, or another heuristic that does not search:
    they are run first, as long as a quarter of a second or a tenth of the time lasts (of more than 1,000 jobs
    without those whose time grows with the square of the queue).
    *Complexity*: 41,524 jobs on 9,688 nodes: .5 % of gap within 5 s.
    """

    objective: WorkloadObjective = ("turnaround",)
    start: WorkloadSchedule | None = field(default=None, repr=False)
    certificate: Mapping[str, object] | None = field(default=None, repr=False, hash=False)
    params: PricesParams = field(default=PricesParams(), repr=False)

    def __call__(self, problem: WorkloadProblem, budget: Budget, /) -> Result[WorkloadSchedule]:
        """Search within the budget; workers are threads."""
        clock = budget.start()
        coarse_s = self.params.coarse_prices_share * clock.divisible
        check_rigid(problem)
        if not len(problem.jobs):
            zeros = shown_values((0.0,) * len(self.objective))
            return Result(Status.OPTIMAL, WorkloadSchedule.of(problem, []), zeros, zeros)
        earlier = Earlier.judged(problem, self.objective, self.start, self.certificate)
        earlier = earlier.or_quick(clock, budget.seed)
        if problem.node_types:
            return earlier.or_better(
                best_on_places(earlier, budget, clock, self.params.evolving_prices_share)
            )
        if problem.is_evolving:
            return earlier.or_better(_with_evolving_jobs(earlier, budget, clock, self.params))
        sizes = job_sizes(problem)
        closed = self.params.closed_sizes_in_time if clock.divisible < math.inf else self.params.closed_sizes
        if len(sizes.nodes) <= closed and not problem.is_malleable:
            return earlier.or_better(WorkloadCpSat(self.objective, earlier.unbroken)(problem, budget))
        share = self.params.before_market_share if problem.is_malleable else 1.0
        search = _Search(problem, self.objective, budget, clock.stage(share), sizes, self.params)
        interrupted = False
        try:
            search.begin(earlier)
            search.run()
        except KeyboardInterrupt:
            if not search.best.values:
                raise
            interrupted = True
        result = earlier.or_better(search.result(interrupted=interrupted))
        if problem.is_malleable and not interrupted and result.status is not Status.OPTIMAL:
            result = self._or_market(problem, result, search.bound.prices, clock, coarse_s)
            result = self._or_reinserted(problem, result, budget, clock)
            result = self._or_annealed(problem, result, budget, clock)
        return result

    def _or_reinserted(
        self, problem: WorkloadProblem, result: Result[WorkloadSchedule], budget: Budget, clock: Clock
    ) -> Result[WorkloadSchedule]:
        """Return a result, of few jobs with that of reinsertion alone if it is better.

        The plan of a policy, from which the search has begun, may be a dead end.
        """
        if (
            len(problem.jobs) > self.params.few_jobs
            or clock.remaining == 0
            or result.limit is Limit.INTERRUPTED
        ):
            return result
        moves = default_moves(problem) if budget.iterations is None else budget.iterations
        alone = Reinsertion(self.objective)(
            problem, Budget(seconds=clock.remaining, iterations=moves, seed=budget.seed)
        )
        result = Earlier(problem, self.objective, alone.answer, None).or_better(result)
        return replace(result, runtime=clock.elapsed)

    def _or_annealed(
        self, problem: WorkloadProblem, result: Result[WorkloadSchedule], budget: Budget, clock: Clock
    ) -> Result[WorkloadSchedule]:
        """Return a result, with the schedule of annealing in the time that is left if it is better."""
        ended = clock.remaining == 0 or result.limit is Limit.INTERRUPTED
        if ended or result.status is Status.OPTIMAL or result.answer is None:
            return result
        best = BestSchedule(problem, self.objective, clock)
        best.offer(result.answer)
        limit = result.limit
        try:
            anneal_schedules(best, [result.answer], budget)
        except KeyboardInterrupt:
            limit = Limit.INTERRUPTED
        else:
            limit = Limit.TIME if clock.remaining == 0 else limit
        result = Earlier(problem, self.objective, best.answer, None).or_better(result)
        proven = result.status is Status.OPTIMAL
        return replace(result, limit=None if proven else limit, runtime=clock.elapsed)

    def _or_market(
        self,
        problem: WorkloadProblem,
        result: Result[WorkloadSchedule],
        prices: PriceBound | None,
        clock: Clock,
        coarse_s: float,
    ) -> Result[WorkloadSchedule]:
        """Return a result with the schedule of a market if that is better and comes within the time."""
        limit = result.limit
        try:
            if prices is None:  # there are none of this term
                own = clock.stage(self.params.market_prices_share)
                prices = time_prices(problem, priced_term(self.objective), clock=own)
                if prices.interrupted:
                    raise KeyboardInterrupt
            schedule = market_schedule(problem, prices, clock)
            result = Earlier(problem, self.objective, schedule, None).or_better(result)
            schedule, _ = or_coarse_market(problem, self.objective, schedule, clock, coarse_s)
            result = Earlier(problem, self.objective, schedule, None).or_better(result)
        except TimeoutError:
            limit = Limit.TIME
        except KeyboardInterrupt:
            limit = Limit.INTERRUPTED
        else:
            limit = Limit.TIME if clock.remaining == 0 else limit
        proven = result.status is Status.OPTIMAL
        return replace(result, limit=None if proven else limit, runtime=clock.elapsed)


class _StoppableClock(Clock):
    """A clock whose time, that of another one, is also over when an event is set."""

    def __init__(self, clock: Clock, stop: threading.Event) -> None:
        super().__init__(math.inf, is_divided=clock.is_divided, whole=clock)
        self._stop = stop

    @property
    def remaining(self) -> float:
        """Seconds left."""
        return 0.0 if self._stop.is_set() else super().remaining


class _Search:
    """The state of a solve: the best plan and the best bound."""

    def __init__(
        self,
        problem: WorkloadProblem,
        objective: WorkloadObjective,
        budget: Budget,
        clock: Clock,
        sizes: Sizes,
        params: PricesParams,
    ) -> None:
        self.problem, self.objective, self.budget, self.params = problem, objective, budget, params
        self.clock, self.sizes = clock, sizes
        self.best = BestPlan(problem, objective, self.clock)
        self.bound = TermBound(bound_of_jobs_alone(problem, objective[0], self.sizes))
        self.limit: Limit | None = None
        self._halt = threading.Event()
        self._target = 0.0
        #: Of a schedule that is no plan, such as that of a policy which changes sizes.
        self._met = math.inf

    @property
    def _value(self) -> float:
        """The best known value of the first term."""
        return min(self.best.values[0], self._met)

    def begin(self, earlier: Earlier) -> None:
        """Take over the results of an earlier run, and offer the plans of serial generation."""
        if earlier.bound is not None:
            self.bound = earlier.bound
        if earlier.unbroken is not None:
            self.best.offer(Plan.repeating(self.problem, self.sizes, earlier.unbroken))
        self._met = min(earlier.values[:1], default=math.inf)
        if self.objective[0] == "makespan":
            self.bound = bound_by_time(self.problem, "makespan", self.sizes, self.clock)
            self._target = self.bound.value
        clock = self.clock.stage(self.params.series_share)
        for plan in serial_plans(self.problem, self.sizes):
            self.best.offer(plan)
            if not clock.remaining:
                return

    def run(self) -> None:
        """Raise the bound and lower the value."""
        clock = _StoppableClock(self.clock, self._halt)
        if self.objective[0] == "makespan":
            self._above(clock)
        elif self.budget.racing_workers > 1:
            run_in_threads([lambda: self._below(clock, 1.0, 1.0), lambda: self._above(clock)], self._halt)
        else:
            params = self.params
            by_jobs = params.job_prices_share_beside if self._is_annealed else params.job_prices_share
            self._below(clock, params.time_prices_share, by_jobs)
            self._above(clock)

    # The bound

    def _below(self, clock: Clock, by_time: float, by_jobs: float) -> None:
        """Raise the bound by prices of node-seconds, then per job if the gap is large."""
        self._by_time(clock.stage(by_time))
        if self._pays():
            self._by_jobs(clock.stage(by_jobs))

    def _by_time(self, clock: Clock) -> None:
        """Price node-seconds, unless jobs have prices already."""
        if self.bound.prices is None:
            self.bound = bound_by_time(
                self.problem, self.objective[0], self.sizes, clock, self.bound.certificate
            )

    def _by_jobs(self, clock: Clock) -> None:
        beside = 1 if self.budget.racing_workers > 1 else 0
        workers = self.budget.workers - beside
        self.bound = bound_by_jobs(self.problem, self.objective[0], self.bound, clock, workers)

    def _pays(self) -> bool:
        count, value = len(self.problem.jobs), self._value
        if self.bound.prices is None or value <= self.bound.value:
            return False
        if count <= ALWAYS_BY_JOB:
            return True
        limited = self.clock.divisible < math.inf or count <= self.params.most_jobs_unlimited
        return limited and value - self.bound.value >= self.params.wide_gap * value

    # The schedule

    def _above(self, clock: Clock) -> None:
        """Lower the value by reinsertion; new starts of least cost are tried after each round."""
        random = np.random.default_rng(self.budget.seed)
        left: float = math.inf
        if self.budget.iterations is not None:
            left = self.budget.iterations
        elif clock.remaining == math.inf:
            left = default_moves(self.problem)
        if self._is_annealed:
            left -= self._anneal(clock, left)
        prices = None
        search = self._reinserter(0)
        restarts, idle = 0, 0
        while left > 0 and clock.remaining > 0:
            if self.bound.prices is not prices and self.bound.prices is not None:
                prices = self.bound.prices
                better = False
                for plan in dual_plans(self.problem, prices.starts, prices.sizes, self.sizes):
                    better |= self.best.offer(plan)
                    if clock.remaining == 0:
                        break
                if better:
                    restarts += 1
                    search = self._reinserter(restarts)
            moves = int(min(left, self.params.round_moves))
            if not search.run(moves):
                return
            left -= moves
            if idle >= self.params.idle_rounds and self.objective[0] != "makespan" and clock.remaining > 0:
                search_window(search, random, clock, self._halt.is_set, self.params.windows)
            idle = 0 if self.best.offer(search.plan) else idle + 1
            if self._value <= self.bound.value and len(self.objective) == 1:
                return
        self.limit = Limit.TIME if clock.remaining == 0 else Limit.ITERATIONS

    @property
    def _is_annealed(self) -> bool:
        """Whether the order of jobs is annealed: of few jobs on a machine that is not plain."""
        few = len(self.problem.jobs) <= self.params.most_annealed_jobs
        return few and not self.problem.is_plain and self.objective[0] != "makespan"

    def _anneal(self, clock: Clock, moves: float) -> int:
        """Anneal the order of the best plan; return the moves that were made of so many."""
        if self._value <= self.bound.value:
            return 0
        share = self.params.anneal_share
        counted = math.floor(share * moves) if moves < math.inf else None
        search = OrderSearch(self.best.plan(), self.objective, self.budget.seed, self.params.orders)
        search.run(clock.stage(share), math.inf if counted is None else counted, self._halt.is_set)
        self.best.offer(search.best())
        return counted or 0

    def _reinserter(self, restarts: int) -> Reinserter:
        return Reinserter(self.best.plan(), self.objective, self.budget.seed + restarts, self._target)

    # The end

    def result(self, *, interrupted: bool) -> Result[WorkloadSchedule]:
        """Return the best schedule and the best bound."""
        best, limit = self.best, Limit.TIME if self.bound.timed_out else self.limit
        return search_result(
            best.schedule(),
            best.values,
            (min(self.bound.value, best.values[0]),),
            Limit.INTERRUPTED if interrupted else limit,
            self.clock,
            best.incumbents,
            certificate=self.bound.certificate,
        )


def _with_evolving_jobs(
    earlier: Earlier, budget: Budget, clock: Clock, params: PricesParams
) -> Result[WorkloadSchedule]:
    """Return the schedule of the best list with the bound of prices on the first term."""
    problem, term = earlier.problem, earlier.objective[0]
    bound, limit = TermBound(bound_of_jobs_alone(problem, term, None)), None
    certificate = None if earlier.bound is None else earlier.bound.certificate
    best = BestSchedule(problem, earlier.objective, clock)
    # No policy that is run first may have a feasible schedule; lists have one of any problem.
    starts = [] if earlier.schedule is None else [earlier.schedule]
    for schedule in starts:
        best.offer(schedule)
    single = len(earlier.objective) == 1
    try:
        if not single or bound.value < best.values[0]:
            bound = bound_by_time(problem, term, None, clock.stage(params.evolving_prices_share), certificate)
            least = bound.value if single else -math.inf
            limit = anneal_service_lists(best, starts, budget, least=least)
            limit = Limit.TIME if bound.timed_out else limit
    except KeyboardInterrupt:
        if best.answer is None:
            raise
        limit = Limit.INTERRUPTED
    return bounded_result(best, bound, limit, clock)
