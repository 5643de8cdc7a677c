"""Rigid jobs under load: a tree over the dates of wide jobs closes the gap from both sides."""

from __future__ import annotations

import heapq
import itertools
import math
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from allocsolve.bounds.workload import MEAN_TERMS
from allocsolve.errors import InvalidAnswer
from allocsolve.exact.workload._date_forest import DateForest
from allocsolve.exact.workload._date_tree import DateTreeParams
from allocsolve.exact.workload._windows import Earlier
from allocsolve.exact.workload.prices import Prices
from allocsolve.heuristics.workload.date_shifts import DateShiftParams, DateShifts
from allocsolve.heuristics.workload.reinsertion import Reinserter
from allocsolve.heuristics.workload.serial import BestPlan, Plan, job_sizes, plan_values
from allocsolve.kernels import run_in_threads
from allocsolve.model import (
    Jobs,
    Limit,
    Result,
    Status,
    WorkloadObjective,
    WorkloadProblem,
    WorkloadSchedule,
    terms,
)
from allocsolve.model.arrays import frozen
from allocsolve.model.options import Options, Params
from allocsolve.model.search import search_result

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from allocsolve.exact.workload._date_forest import Stretch
    from allocsolve.exact.workload._date_tree import Leaf
    from allocsolve.model import Budget, Clock, FloatArray, IntArray

#: The certificates with which trees begin.
_PER_JOB = ("job-prices", "date-tree", "date-trees")
#: The most leaves times prices times nodes: the judge refuses twice as many.
_MOST_STEPS = 10**10


@dataclass(frozen=True, slots=True)
class DateBranchingParams(Params):
    """The numbers of `DateBranching`, measured on logs under load."""

    #: The share of the time for `Prices` at first, and with a certificate of prices per job of an earlier
    #: run.
    prices_share: float = 0.25
    prices_share_again: float = 0.05
    #: Ascents without a time limit.
    ascents_unlimited: int = 100
    #: Moves of reinsertion with the wide jobs kept near the dates of a leaf, and after that without.
    kept_moves: int = 10_000
    free_moves: int = 20_000
    #: Windows (s) of the cheapest starts in which other jobs come by their area; None for the starts
    #: themselves.
    windows: tuple[float | None, ...] = (None, 900.0, 3_600.0, 14_400.0)
    #: Shifts of dates between two looks at the clock; with one worker so many follow each ascent.
    look_shifts: int = 20
    #: The share of its gap that a stretch is expected to gain by so many ascents before it has gained
    #: anything.
    hoped_gain: float = 0.1
    hoped_ascents: int = 5
    #: The time that is kept for the certificate, in times of valuing each leaf once.
    certifying: float = 6.0
    #: How often a leaf is valued to time it: the first time compiles kernels, and any may wait for a
    #: processor.
    timed_values: int = 5
    #: Those of the trees and of the shifts of dates.
    trees: DateTreeParams = DateTreeParams()
    shifts: DateShiftParams = DateShiftParams()


@dataclass(frozen=True, slots=True)
class DateBranching(Options):
    """Trees over the dates of wide jobs: each leaf has a bound by prices, and a schedule about its dates.

    For rigid jobs where the gap of `Prices` stays wide: under load, wide jobs have many dates in the bound at
    once, and reinsertion cannot move them by hours.

    Parameters
    ----------
    objective
        ``turnaround``, ``slowdown``, ``wait``, ``makespan``, or several of them, lexicographic; the bound is
        on the first.
    start
        A feasible schedule from which the search goes on, such as the answer of an earlier run.
    certificate
        That of an earlier result: a tree goes on where it was.

    Notes
    -----
    `Prices` comes first, with a quarter of the time, or with all iterations; where it has no prices per job
    (jobs that are not rigid, a gap below 1 %, the makespan) it has all of the time. Then the leaf with the
    least bound is taken, again and again. A leaf is all schedules whose starts lie in certain windows: a job
    surely runs between its latest start and its earliest end, where others share the rest. At first it has
    the prices of the leaf that it is a part of; then its prices rise near the window that was cut last; then
    a job is chosen, by the bounds that the parts would have, and its window is cut. Starts that cost more
    than the best known schedule are cut off first. In each leaf a schedule is made: the jobs with windows not
    before their cheapest starts, the others around them, then reinsertion. Workers are threads, each with a
    leaf of its own.

    On machines that are not plain others share the rest of each resource, jobs start where nothing that they
    need is closed, and wide is who needs much of some resource. What a closed window divides is a cut as any
    other: a job runs before it or after it.

    More than 1,000 jobs are divided into stretches of 100 to 400 that follow one another, each with a tree of
    its own. Where jobs of two stretches have prices, these stay as they are, and the bounds of the trees add
    up; so a long log has no more leaves than its stretches have. The tree is next that has gained most for
    each ascent. Schedules come from shifts (`allocsolve.heuristics.workload.date_shifts.DateShifts`): a wide
    job is moved by hours, and those around it are put in again. One of the workers does nothing else; a
    single worker makes some after each ascent.

    There are as many ascents as iterations; without them and without a time limit 100.

    *Guarantee*: the schedule is feasible, the bound valid; ``optimal`` only if they meet. The certificate
    proves the bound: a tree, or what `Prices` proves. No result is worse than `start`, or proves less than
    `certificate`. Same seed and budget with one worker, same answer, unless time ends the search.
    *Complexity*: exponential; 820 jobs on 256 nodes: about 4 ascents a second; 28,467 jobs on 100 nodes: 150
    shifts a second.

    References
    ----------
    Carøe & Schultz, "Dual decomposition in stochastic integer programming", Operations Research Letters
    24(1-2), 1999 (branching on a Lagrangian dual).
    """

    objective: WorkloadObjective = ("turnaround",)
    start: WorkloadSchedule | None = field(default=None, repr=False)
    certificate: Mapping[str, object] | None = field(default=None, repr=False, hash=False)
    params: DateBranchingParams = field(default=DateBranchingParams(), repr=False)

    def __call__(self, problem: WorkloadProblem, budget: Budget, /) -> Result[WorkloadSchedule]:
        """Search within the budget; workers are threads."""
        clock = budget.start()
        again = self.certificate is not None and self.certificate.get("kind") in _PER_JOB
        first_s = clock.stage(self.params.prices_share_again if again else self.params.prices_share).remaining
        first = Prices(self.objective, self.start, self.certificate)
        result = first(problem, replace(budget, seconds=max(first_s, 1e-9)))
        if _is_over(result, clock):
            return replace(result, runtime=clock.elapsed)
        certificate = result.certificate
        branched = _knows(certificate) and problem.is_rigid and self.objective[0] in MEAN_TERMS
        if branched and problem.jobs.packed.weight.any():
            result = self._branched(problem, result, budget, clock)
            if _is_over(result, clock):
                return replace(result, runtime=clock.elapsed)
        if clock.divisible == math.inf:  # `Prices` has done all of its work
            return replace(result, runtime=clock.elapsed)
        rest = replace(budget, seconds=clock.remaining)
        last = Prices(self.objective, result.answer, result.certificate)(problem, rest)
        began = result.runtime
        later = tuple((began + when, value) for when, value in last.incumbents)
        better = tuple(
            each for each in later if result.objective is None or terms(each[1]) < terms(result.objective)
        )
        return replace(last, incumbents=(*result.incumbents, *better), runtime=clock.elapsed)

    def warm_up(self, problem: WorkloadProblem, budget: Budget, /) -> Result[WorkloadSchedule]:
        """Search a tree, which problems that `Prices` proves never reach, below one job at a time."""
        result = Prices(self.objective)(problem, budget)
        if not _knows(result.certificate):
            return result
        packed = problem.jobs.packed
        begin = float(problem.jobs.requirements.release(packed.submit).max())
        begin = max([begin, *(window.end for window in problem.closed)])
        ends = begin + np.cumsum(packed.runtime)
        slow = WorkloadSchedule.of(problem, ends - packed.runtime)
        slow_result = replace(result, answer=slow, incumbents=())
        return self._branched(problem, slow_result, budget, budget.start())

    def _branched(
        self, problem: WorkloadProblem, result: Result[WorkloadSchedule], budget: Budget, clock: Clock
    ) -> Result[WorkloadSchedule]:
        """Return a result that is no worse, after a search of the tree."""
        assert result.answer is not None
        assert result.certificate is not None
        search = _Search(
            problem,
            self.objective,
            result.answer,
            result.certificate,
            budget,
            clock=clock,
            params=self.params,
        )
        interrupted = False
        try:
            search.run()
        except KeyboardInterrupt:
            interrupted = True
        certificate, bound = dict(result.certificate), terms(result.bound)[0]
        try:
            trees, proven_by_trees = search.forest.certificate()
            if proven_by_trees >= bound:
                certificate, bound = trees, proven_by_trees
        except InvalidAnswer:  # it is too large
            pass
        values = search.best.values
        limit = Limit.INTERRUPTED if interrupted else Limit.TIME if clock.remaining == 0 else Limit.ITERATIONS
        found = search_result(
            search.best.schedule(),
            values,
            (min(bound, values[0]),),
            limit,
            clock,
            (*result.incumbents, *search.best.incumbents[1:]),
            certificate=certificate,
        )
        return Earlier(problem, self.objective, result.answer, None).or_better(found)


def _knows(certificate: Mapping[str, object] | None) -> bool:
    """Return whether trees begin with this certificate: one of prices per job."""
    return certificate is not None and certificate.get("kind") in _PER_JOB


def _is_over(result: Result[WorkloadSchedule], clock: Clock) -> bool:
    return (
        result.status is Status.OPTIMAL
        or result.answer is None
        or result.limit is Limit.INTERRUPTED
        or clock.remaining == 0
    )


class _Front:
    """The open leaves of the tree of a stretch."""

    def __init__(self, stretch: Stretch, jobs: IntArray, params: DateBranchingParams) -> None:
        self.tree, self.rows, self.jobs, self._params = stretch.tree, stretch.rows, jobs, params
        self.open: list[tuple[float, int, Leaf]] = []
        #: The bounds of the leaves at which workers are.
        self.busy: list[float] = []
        #: The least bound of leaves that cannot be split.
        self.smallest = math.inf
        #: The costs of the jobs in the best plan, what they pay of shared prices included.
        self.most = math.inf
        self.ascents = 0
        #: The bound before the search.
        self.began = 0.0
        #: What it takes to value a leaf, in seconds, and in steps of the judge.
        self.seconds = 0.0
        self.steps = float(len(self.tree.windows.prices)) * self.tree.cells

    @property
    def least(self) -> float:
        """The least bound of all leaves."""
        return min([self.smallest, *self.busy, *(bound for bound, *_ in self.open[:1])])

    @property
    def is_done(self) -> bool:
        """Whether no open leaf is below the costs of the best plan, and below those that cannot be split."""
        return not self.open or self.open[0][0] >= min(self.most, self.smallest)

    @property
    def rank(self) -> float:
        """What was gained for each ascent, where at first a share of the gap is hoped for."""
        least = self.open[0][0]
        hoped = self._params.hoped_gain * (self.most - least)
        return (least - self.began + hoped) / (self._params.hoped_ascents + self.ascents)


class _Search:
    """The trees, their open leaves and the best plan."""

    def __init__(
        self,
        problem: WorkloadProblem,
        objective: WorkloadObjective,
        schedule: WorkloadSchedule,
        certificate: Mapping[str, Any],
        budget: Budget,
        *,
        clock: Clock,
        params: DateBranchingParams,
    ) -> None:
        self.problem, self.objective, self.budget, self.clock = problem, objective, budget, clock
        self.params = params
        self.sizes = job_sizes(problem)
        self.best = BestPlan(problem, objective, clock)
        self.best.offer(Plan.repeating(problem, self.sizes, schedule))
        self.forest = DateForest(problem, objective[0], certificate, params.trees)
        counted = self.forest.counted
        self._fronts = [_Front(each, counted[each.rows], params) for each in self.forest.stretches]
        self._numbers = itertools.count()
        self._ascents = 0
        self._most_ascents: float = math.inf if clock.divisible < math.inf else params.ascents_unlimited
        if budget.iterations is not None:
            self._most_ascents = budget.iterations
        self._halt = threading.Event()
        self._changed = threading.Condition()
        self._shifts = DateShifts(self.best.plan(), objective, budget.seed, params.shifts)
        self._values: tuple[float, ...] = ()
        for front in self._fronts:
            leaves = [*front.tree.root.leaves()]
            front.seconds = min(self._valued(front, leaves[0]) for _ in range(params.timed_values))
            for leaf in leaves:
                if not self._stop():
                    front.tree.value(leaf)
                self._push(front, leaf)
            front.began = front.least

    def run(self) -> None:
        """Search until the bound meets the best value, nothing can be split, or the limit."""
        searches = [self._work] * self.budget.racing_workers
        if not self.forest.is_one and len(searches) > 1:
            searches[0] = self._shift
        run_in_threads(searches, self._halt)

    def _stop(self) -> bool:
        if self._halt.is_set() or self._ascents >= self._most_ascents:
            return True
        steps = sum(front.tree.size * front.steps for front in self._fronts)
        seconds = sum(front.tree.size * front.seconds for front in self._fronts)
        return steps > _MOST_STEPS or self.clock.remaining <= self.params.certifying * seconds

    def _valued(self, front: _Front, leaf: Leaf) -> float:
        """Return the seconds that it takes to value a leaf."""
        began = time.perf_counter()
        front.tree.value(leaf)
        return time.perf_counter() - began

    def _push(self, front: _Front, leaf: Leaf) -> None:
        heapq.heappush(front.open, (leaf.bound, next(self._numbers), leaf))

    def _choose(self) -> _Front | None:
        """Return the stretch with the largest gap for each ascent, or None if all are done."""
        if self.best.values != self._values:
            self._values = self.best.values
            costs = self.forest.shared_costs(self.best.placed(self.sizes).starts[self.forest.counted])
            for front in self._fronts:
                front.most = float(costs[front.rows].sum())
        left = [front for front in self._fronts if not front.is_done]
        left = [front for front in left if not front.busy] or left
        return max(left, key=lambda front: front.rank) if left else None

    def _next(self) -> tuple[_Front, Leaf] | None:
        """Return an open leaf with the least bound of its stretch, or None if the search is over."""
        with self._changed:
            front = self._choose()
            # A leaf at which another worker is may be better, or have better parts.
            while front is None and any(each.busy for each in self._fronts) and not self._stop():
                self._changed.wait(0.2)
                front = self._choose()
            if front is None or self._stop():
                self._halt.set()
                return None
            leaf = heapq.heappop(front.open)[2]
            front.busy.append(leaf.bound)
            return front, leaf

    def _work(self) -> None:
        while (found := self._next()) is not None:
            front, leaf = found
            before, left = leaf.bound, [leaf]
            try:
                if not leaf.valued:
                    front.tree.value(leaf)
                elif not front.tree.is_climbed(leaf):
                    self._climb(front, leaf)
                else:
                    left = front.tree.split(leaf, front.most)
                    if not left and leaf.cut is None:  # it is as small as it can be
                        front.smallest = min(front.smallest, leaf.bound)
            finally:
                with self._changed:
                    front.busy.remove(before)
                    for part in left:
                        self._push(front, part)
                    self._changed.notify_all()

    def _climb(self, front: _Front, leaf: Leaf) -> None:
        first = not leaf.climbs
        self._ascents += 1
        front.ascents += 1
        front.tree.climb(leaf, self._stop)
        if not self.forest.is_one:
            if self.budget.racing_workers == 1:
                self._shifts.run(self.params.look_shifts)
                self.best.offer(self._shifts.plan)
        elif first and leaf.job >= 0 and leaf.bound < front.most:
            self._schedule(front, leaf)

    def _schedule(self, front: _Front, leaf: Leaf) -> None:
        """Make a schedule of all jobs about the dates of a leaf, and offer it."""
        problem, tree = self.problem, front.tree
        packed, asked = problem.jobs.packed, problem.jobs.requirements
        starts = asked.release(packed.submit).copy()
        wide = np.zeros(len(starts), dtype=bool)
        wide[front.jobs] = (leaf.latest < math.inf) | (leaf.earliest > tree.root.earliest)
        release = starts.copy()
        starts[front.jobs] = tree.cheapest(leaf)
        release[wide] = starts[wide]
        needs, partitions = [dict(mine) for mine in asked.needs] or None, asked.partitions or None
        kept = replace(
            problem,
            jobs=Jobs(
                *(release, packed.nodes, packed.runtime),
                weight=packed.weight,
                needs=needs,
                partitions=partitions,
            ),
        )
        plans = [
            Plan.in_order(kept, self.sizes, self._chosen, self._order(starts, wide, window))
            for window in self.params.windows
        ]
        plan = min(plans, key=self._values_of)
        seed = self.budget.seed + next(self._numbers)
        Reinserter(plan, self.objective, seed).run(self.params.kept_moves)
        order = frozen(np.argsort(plan.placed.starts, kind="stable"))
        plan = Plan.in_order(problem, self.sizes, self._chosen, order)
        Reinserter(plan, self.objective, seed).run(self.params.free_moves)
        self.best.offer(plan)

    def _shift(self) -> None:
        """Shift dates of wide jobs until the search is over, and offer what is better."""
        while not self._stop() and self._shifts.run(self.params.look_shifts):
            self.best.offer(self._shifts.plan)

    @property
    def _chosen(self) -> IntArray:
        return self.sizes.offsets[:-1].copy()

    def _values_of(self, plan: Plan) -> tuple[float, ...]:
        starts = plan.placed.starts
        return plan_values(self.problem, self.objective, starts, starts + plan.seconds)

    def _order(self, starts: FloatArray, wide: NDArray[np.bool_], window: float | None) -> IntArray:
        """Return the jobs with windows, the widest first, then the others by start and area."""
        packed = self.problem.jobs.packed
        area = packed.nodes * packed.runtime
        about = starts if window is None else np.floor(starts / window)
        order = np.lexsort((packed.submit, area, np.where(wide, -packed.nodes, about), ~wide))
        return frozen(order)
