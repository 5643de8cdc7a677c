"""Simulated annealing over lists of malleable jobs and over the pieces of their schedules, as a solver."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from allocsolve.bounds.workload import time_prices, workload_bound
from allocsolve.families import quick_answers
from allocsolve.heuristics.workload.list_decoding import Decoder, ListAnnealer, check_listed
from allocsolve.heuristics.workload.market import market_schedule, priced_term
from allocsolve.heuristics.workload.piece_moves import PieceAnnealer
from allocsolve.heuristics.workload.reinsertion import Reinsertion, default_moves, dual_plans
from allocsolve.heuristics.workload.serial import job_sizes
from allocsolve.judge.workload.rules import workload_value, workload_violations
from allocsolve.model import Budget, Clock, Limit, WorkloadObjective, terms
from allocsolve.model.options import Options, Params
from allocsolve.model.search import Best, search_result

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from allocsolve.heuristics.workload.service import ServiceAnnealer
    from allocsolve.model import Result, WorkloadProblem, WorkloadSchedule


@dataclass(frozen=True, slots=True)
class ListParams(Params):
    """The numbers of an annealing over lists, measured on logs and on draws of malleable jobs."""

    #: The temperatures of the first and the last list, in the mean cost of a job under the list to begin
    #: with.
    hot_lists: float = 1.0
    cold_lists: float = 0.01
    #: The most jobs of which lists are tried: one more list takes 10 ms.
    most_jobs: int = 5_000
    #: Lists if the budget limits neither seconds nor iterations: so many over the number of jobs, within
    #: limits.
    lists_times_jobs: int = 4_000_000
    least_lists: int = 1_000
    most_lists: int = 200_000
    #: Lists for each job, and the least number of lists, if the budget limits the seconds only: a search of
    #: few jobs ends by these long before its time.
    timed_lists_per_job: int = 50_000
    least_timed_lists: int = 200_000
    #: Lists between two looks at the clock: at most this share of all, and about so many seconds.
    look_share: float = 0.01
    look_s: float = 0.02
    #: The seconds of a list for each job, and for each pair of jobs.
    list_s_per_job: float = 5e-8
    list_s_per_pair: float = 5e-10


@dataclass(frozen=True, slots=True)
class ListAnnealingParams(ListParams):
    """The numbers of `ListAnnealing`: those of its lists, and of moves of pieces after them."""

    #: The temperatures of the first and the last move of pieces, in the mean cost of a job: the schedule to
    #: begin with is good already.
    hot_moves: float = 0.1
    cold_moves: float = 0.005
    #: Moves of pieces for each job if the budget limits nothing, within limits.
    moves_per_job: int = 200
    least_moves: int = 20_000
    most_moves: int = 200_000
    #: Moves of pieces for each job, and the least number of them, if it limits the seconds only.
    timed_moves_per_job: int = 50_000
    least_timed_moves: int = 200_000
    #: Moves of pieces between two looks at the clock: so many over the number of jobs, within limits; about
    #: .01 s.
    look_moves_times_jobs: int = 200_000
    least_look_moves: int = 20
    most_look_moves: int = 1_000
    #: Shares of the time that is left for the prices of the market, for coarser prices and for reinsertion.
    prices_share: float = 0.15
    coarse_prices_share: float = 0.05
    reinsertion_share: float = 0.05
    #: The share of the time for lists, the rest is for moves of pieces; of more than `few_jobs` jobs it is
    #: less, as a list takes as long as many moves.
    lists_share: float = 0.5
    few_jobs: int = 100


@dataclass(frozen=True, slots=True)
class ListAnnealing(Options):
    """Clairvoyant: jobs take nodes in the order of a list, up to caps; order and caps are annealed.

    A job begins as soon as its fewest nodes are free, grows and shrinks with what jobs before it in the list
    leave, up to its cap, and begins later where it would have to stop. So a list can keep nodes for a job
    that comes later, which policies cannot. After that the schedule itself is annealed: a few jobs leave it
    and take nodes again, one after the other, while the others keep what they hold.

    `UnsupportedProblem` when called, if a job is evolving, or the machine has counted resources or closed
    windows.

    Parameters
    ----------
    objective
        ``turnaround``, ``slowdown``, ``wait``, ``makespan``, or several of them, lexicographic: lists are
        compared by the first one, schedules by all.

    Notes
    -----
    A move takes a job to another place in the list, lets two jobs change places or draws a cap; it is kept
    by Metropolis' rule, at a temperature that falls from the mean cost of a job (above its least cost) to a
    hundredth of it. A move of the second kind takes up to 20 jobs out of the best schedule then known and
    lets them take nodes again in another order or with other caps, at temperatures from a tenth of that cost
    on; the makespan, which is no sum of costs, has none. The budget's iterations count lists, and moves as
    well; if it limits nothing, 4,000,000 lists over the number of jobs are tried, 1,000 to 200,000, and 200
    moves made for each job, 20,000 to 200,000; if it limits the time only, 50,000 of each for each job, at
    least 200,000. Lists have half of the time, of more than 100 jobs less. Same seed and iterations, same
    answer.

    *Guarantee*: feasible; no worse than a registered policy or another heuristic that does not search, as
    `allocsolve.families.quick_answers` runs them, nor than the markets at two kinds of prices, serial
    generation in the order of the starts that are cheapest under them, and `Reinsertion` in a part of the
    time.
    Lists begin with the order in which jobs start or end in one of these schedules, or with one of serial
    generation. The cheap bound ends the search where a schedule meets it: that is ``optimal``. No other
    bound. More than 5,000 jobs get the best of these schedules only (limit ``size``).
    *Not in any list*: moldable jobs on another size than their cap, and changes of jobs that stall at them:
    such jobs keep their caps. With points a job has, part by part, the most nodes that it can have.
    *Complexity*: a list of 10 jobs takes .5 microseconds, one of 150 jobs 20; a move 2 to 10.

    References
    ----------
    Schrimpf, Schneider, Stamm-Wilbrandt & Dueck, "Record breaking optimization results using the ruin and
    recreate principle", Journal of Computational Physics 159(2), 2000 (the moves of the second kind).

    Examples
    --------
    >>> from allocsolve.model import Budget, Job, PowerLaw, WorkloadProblem
    >>> job = {"min_nodes": 1, "max_nodes": 3, "speedup": PowerLaw(1), "kind": "malleable"}
    >>> problem = WorkloadProblem(4, [Job(0, 3, 100, **job), Job(10, 3, 100, **job)])
    >>> round(ListAnnealing()(problem, Budget(iterations=100)).objective, 9)
    130.0
    """

    objective: WorkloadObjective = ("turnaround",)
    params: ListAnnealingParams = field(default=ListAnnealingParams(), repr=False)

    def __call__(self, problem: WorkloadProblem, budget: Budget, /) -> Result[WorkloadSchedule]:
        """Search within the budget of seconds and lists."""
        clock = budget.start()
        check_listed(problem)
        best = BestSchedule(problem, self.objective, clock)
        return best.searched(
            self._starts(problem, budget, clock),
            lambda starts, least: anneal_schedules(best, starts, budget, self.params, least=least),
        )

    def _starts(self, problem: WorkloadProblem, budget: Budget, clock: Clock) -> Iterator[WorkloadSchedule]:
        """Yield schedules of other heuristics."""
        for schedule, _ in quick_answers(problem, self.objective, clock, seed=budget.seed):
            yield schedule
        if problem.is_malleable:
            # Near the best prices it is chance which starts are the cheapest; coarse prices choose others.
            first, second = self.params.prices_share, self.params.coarse_prices_share
            for share in (first, second) if clock.divisible < math.inf else (first,):
                if clock.remaining > 0:
                    yield from self._priced(problem, clock.stage(share), clock)
        if len(problem.jobs) and clock.remaining > 0:
            moves = default_moves(problem)
            if budget.iterations is not None:
                moves = min(moves, budget.iterations)
            seconds = clock.stage(self.params.reinsertion_share).remaining
            part = Budget(seconds=max(seconds, 1e-9), iterations=moves, seed=budget.seed)
            answer = Reinsertion(self.objective)(problem, part).answer
            if answer is not None:
                yield answer

    def _priced(self, problem: WorkloadProblem, pricing: Clock, clock: Clock) -> Iterator[WorkloadSchedule]:
        """Yield the market, and serial generation in the order of the cheapest starts, under prices."""
        prices = time_prices(problem, priced_term(self.objective), clock=pricing)
        if prices.interrupted:
            raise KeyboardInterrupt
        with suppress(TimeoutError):
            yield market_schedule(problem, prices, clock)
        for plan in dual_plans(problem, prices.starts, prices.sizes, job_sizes(problem)):
            if clock.remaining == 0:
                return
            yield plan.schedule()


class BestSchedule(Best["WorkloadSchedule"]):
    """The best schedule of a search."""

    def __init__(self, problem: WorkloadProblem, objective: WorkloadObjective, clock: Clock) -> None:
        super().__init__(clock)
        self.problem, self.objective = problem, objective

    def offer(self, schedule: WorkloadSchedule) -> None:
        """Keep a schedule if it is better and the judge finds no fault with it."""
        values = terms(workload_value(self.problem, schedule, self.objective))
        if values < self.values and not workload_violations(self.problem, schedule):
            self.keep(schedule, values)

    def searched(
        self,
        schedules: Iterable[WorkloadSchedule],
        anneal: Callable[[list[WorkloadSchedule], float], Limit | None],
    ) -> Result[WorkloadSchedule]:
        """Return the result of annealing from schedules, unless one of them meets the cheap bound.

        `anneal` gets the schedules and the bound, and returns the limit that has ended it.
        """
        starts: list[WorkloadSchedule] = []
        least = -math.inf if len(self.objective) > 1 else workload_bound(self.problem, self.objective[0])
        try:
            for schedule in schedules:
                self.offer(schedule)
                starts.append(schedule)
                if self.values[0] <= least:
                    break
            limit = anneal(starts, least)
        except KeyboardInterrupt:
            if self.answer is None:
                raise
            limit = Limit.INTERRUPTED
        assert self.answer is not None, "some policy takes every problem"
        bounds = self.values if self.values[0] <= least else ()
        return search_result(self.answer, self.values, bounds, limit, self.clock, self.incumbents)


def anneal_schedules(
    best: BestSchedule,
    starts: list[WorkloadSchedule],
    budget: Budget,
    params: ListAnnealingParams = ListAnnealingParams(),
    *,
    least: float = -math.inf,
) -> Limit | None:
    """Anneal lists, from the best one of some schedules, then pieces; return the limit that ended it.

    None if no schedule can be better. `least` is a lower bound on the first term, if it is the only one; the
    time is that of the clock of `best`, of the budget the iterations and the seed count.
    """
    problem, clock, count = best.problem, best.clock, len(best.problem.jobs)
    if best.values[0] <= least:
        return None
    if count > params.most_jobs:
        return Limit.SIZE
    if clock.remaining == 0:
        return Limit.TIME
    decoder = Decoder(problem, best.objective[0])
    if not count or (count == 1 and not decoder.has_choices):
        return Limit.ITERATIONS
    has_moves = best.objective[0] != "makespan"  # the makespan is no sum
    share = params.lists_share * min(1.0, params.few_jobs / count) if has_moves else 1.0
    limit = _anneal_lists(best, decoder, starts, budget, params, least=least, clock=clock.stage(share))
    if best.values[0] <= least or not has_moves:
        return limit
    if clock.remaining == 0:
        return Limit.TIME
    return _anneal_pieces(best, decoder, budget, params, least)


def _anneal_lists(
    best: BestSchedule,
    decoder: Decoder,
    starts: list[WorkloadSchedule],
    budget: Budget,
    params: ListAnnealingParams,
    *,
    least: float,
    clock: Clock,
) -> Limit | None:
    lists_of_starts = [listed for schedule in starts for listed in decoder.lists_of(schedule)]
    listed = min([*lists_of_starts, *decoder.serial_lists()], key=decoder.cost)
    search = ListAnnealer(decoder, listed, budget.seed)
    if search.best_cost == math.inf:  # there is no room for the steps of this list
        return Limit.SIZE
    return anneal_lists(best, search, budget, params, least=least, clock=clock)


def anneal_lists(
    best: BestSchedule,
    search: ListAnnealer | ServiceAnnealer,
    budget: Budget,
    params: ListParams,
    *,
    least: float,
    clock: Clock,
) -> Limit | None:
    """Try lists with ever lower temperatures within the time of the clock; return the limit that ended it.

    None if a schedule is as good as `least`.
    """
    count = len(best.problem.jobs)
    lists = number_of_moves(
        budget,
        clock,
        timed=max(params.least_timed_lists, params.timed_lists_per_job * count),
        unlimited=min(params.most_lists, max(params.least_lists, params.lists_times_jobs // count)),
    )
    list_s = count * (params.list_s_per_job + count * params.list_s_per_pair)
    most = math.ceil(min(params.look_share * lists, params.look_s / list_s))
    cooling = Cooling(lists, most, clock, timed=budget.iterations is None)
    # Jobs that wait for each other for ever have no cost; then any other list is as good.
    unit = search.best_cost / count if search.best_cost < math.inf else 1.0
    hot, cold = params.hot_lists, params.cold_lists
    known = math.inf
    while True:
        if search.best_cost < known:
            known = search.best_cost
            schedule = search.schedule()
            if schedule is not None:
                best.offer(schedule)
        if best.values[0] <= least:
            return None
        if cooling.is_over:
            return cooling.limit
        search.run(unit * hot * (cold / hot) ** cooling.share, cooling.next_moves())


def _anneal_pieces(
    best: BestSchedule, decoder: Decoder, budget: Budget, params: ListAnnealingParams, least: float
) -> Limit | None:
    assert best.answer is not None
    count = len(best.problem.jobs)
    search = PieceAnnealer(decoder, best.answer, budget.seed)
    moves = number_of_moves(
        budget,
        best.clock,
        timed=max(params.least_timed_moves, params.timed_moves_per_job * count),
        unlimited=min(params.most_moves, max(params.least_moves, params.moves_per_job * count)),
    )
    most = max(params.least_look_moves, min(params.most_look_moves, params.look_moves_times_jobs // count))
    cooling = Cooling(moves, most, best.clock, timed=budget.iterations is None)
    unit, known = search.cost / count, search.cost
    while not cooling.is_over:
        search.run(
            unit * params.hot_moves * (params.cold_moves / params.hot_moves) ** cooling.share,
            cooling.next_moves(),
        )
        if search.cost < known:
            known = search.cost
            best.offer(search.schedule())
            if best.values[0] <= least:
                return None
    return cooling.limit


class Cooling:
    """How many moves are left, and which share of them or of the time is over.

    Of all moves `most` are made between two looks at the clock; when its time is over, no more are made. The
    share is that of the time if it is the larger one and the search is `timed`.
    """

    def __init__(self, moves: int, most: int, clock: Clock, *, timed: bool) -> None:
        self._moves, self._left, self._most, self._clock = moves, moves, most, clock
        self._begin, self._seconds = clock.elapsed, clock.remaining
        self._timed = timed and self._seconds < math.inf

    @property
    def share(self) -> float:
        """The share of the moves or of the time that is over."""
        share = 1 - self._left / self._moves
        if self._timed:
            share = max(share, min(1.0, (self._clock.elapsed - self._begin) / self._seconds))
        return share

    @property
    def is_over(self) -> bool:
        """Whether no moves or no time are left."""
        return self._left == 0 or self._clock.remaining == 0

    @property
    def limit(self) -> Limit:
        """What ended the moves."""
        return Limit.TIME if self._left else Limit.ITERATIONS

    def next_moves(self) -> int:
        """Return how many moves are made up to the next look at the clock."""
        moves = min(self._left, self._most)
        self._left -= moves
        return moves


def number_of_moves(budget: Budget, clock: Clock, *, timed: int, unlimited: int) -> int:
    """Return how many moves a budget allows: `timed` if it limits the time only, `unlimited` if nothing."""
    if budget.iterations is not None:
        return budget.iterations
    return timed if clock.remaining < math.inf else unlimited
