"""Rigid jobs under load: a tree over the dates of wide jobs closes the gap from both sides."""

from __future__ import annotations

import heapq
import itertools
import math
import threading
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from allocsolve.bounds.workload import MEAN_TERMS, job_costs
from allocsolve.errors import InvalidAnswer
from allocsolve.exact.workload._date_tree import DateTree
from allocsolve.exact.workload._windows import Earlier
from allocsolve.exact.workload.prices import Prices
from allocsolve.heuristics.workload.reinsertion import Reinserter
from allocsolve.heuristics.workload.serial import BestPlan, Plan, job_sizes, plan_values, shown_values
from allocsolve.kernels import run_in_threads
from allocsolve.model import (
    Jobs,
    Limit,
    Result,
    Status,
    WorkloadProblem,
    WorkloadSchedule,
    parse_workload_objective,
    terms,
)
from allocsolve.model.arrays import frozen

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from numpy.typing import NDArray

    from allocsolve.exact.workload._date_tree import Leaf
    from allocsolve.model import Budget, Clock, FloatArray, IntArray, WorkloadObjective

#: The share of the time for `Prices` at first, and if an earlier tree goes on.
_PRICES, _PRICES_AGAIN = 0.25, 0.05
#: Ascents without a time limit.
_UNLIMITED = 100
#: Moves of reinsertion with the wide jobs kept near the dates of a leaf, and after that without.
_KEPT_MOVES, _FREE_MOVES = 10_000, 20_000
#: Windows (s) of the cheapest starts in which other jobs come by their area; None for the starts themselves.
_WINDOWS = (None, 900.0, 3_600.0, 14_400.0)
#: The time that is kept for the certificate, in times of valuing each leaf once.
_CERTIFYING = 6.0
#: How often a leaf is valued to time it: the first time compiles kernels, and any may wait for a processor.
_TIMED = 5
#: The most leaves times prices times nodes: the judge refuses twice as many.
_MOST_STEPS = 10**10


@dataclass(frozen=True, slots=True)
class DateBranching:
    """A tree over the dates of wide jobs: each leaf has a bound by prices, and a schedule about its dates.

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

    Raises
    ------
    UnknownName, InvalidOption
        If the objective has an unknown term or repeats one.
    InvalidAnswer
        When called, if `start` is not feasible, or `certificate` proves no bound on the first term.

    Notes
    -----
    `Prices` comes first, with a quarter of the time, or with all iterations; where it has no prices per job
    (jobs that are not rigid, a gap below 1 %, the makespan), it has all of the time. Then the leaf with the
    least bound is taken, again and again. A leaf is all schedules whose starts lie in certain windows: a job
    surely runs between its latest start and its earliest end, where others share the rest. At first it has
    the prices of the leaf that it is a part of; then its prices rise near the window that was cut last; then
    a job is chosen, by the bounds that the parts would have, and its window is cut. Starts that cost more
    than the best known schedule are cut off first. In each leaf a schedule is made: the jobs with windows not
    before their cheapest starts, the others around them, then reinsertion. Workers are threads, each with a
    leaf of its own.
    There are as many ascents as iterations; without them and without a time limit 100.

    *Guarantee*: the schedule is feasible, the bound valid; ``optimal`` only if they meet. The certificate
    proves the bound: a tree, or what `Prices` proves. No result is worse than `start`, or proves less than
    `certificate`. Same seed and budget with one worker, same answer, unless time ends the search.
    *Complexity*: exponential; 820 jobs on 256 nodes: about 4 ascents a second.

    References
    ----------
    Carøe & Schultz, "Dual decomposition in stochastic integer programming", Operations Research Letters
    24(1-2), 1999 (branching on a Lagrangian dual).
    """

    objective: WorkloadObjective = ("turnaround",)
    start: WorkloadSchedule | None = field(default=None, repr=False)
    certificate: Mapping[str, object] | None = field(default=None, repr=False, hash=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "objective", parse_workload_objective(self.objective))

    def __call__(self, problem: WorkloadProblem, budget: Budget, /) -> Result[WorkloadSchedule]:
        """Search within the budget; workers are threads."""
        clock = budget.start()
        again = self.certificate is not None and self.certificate.get("kind") == "date-tree"
        share = 1.0 if budget.iterations is not None else _PRICES_AGAIN if again else _PRICES
        first = Prices(self.objective, self.start, self.certificate)
        result = first(problem, replace(budget, seconds=share * budget.seconds))
        if _is_over(result, clock):
            return replace(result, runtime=clock.elapsed)
        certificate = result.certificate
        priced = certificate is not None and certificate.get("kind") in ("job-prices", "date-tree")
        if priced and problem.is_rigid and self.objective[0] in MEAN_TERMS and problem.packed.weight.any():
            result = _branched(problem, self.objective, result, budget, clock)
            if _is_over(result, clock):
                return replace(result, runtime=clock.elapsed)
        if clock.remaining == math.inf or budget.iterations is not None:  # `Prices` has done all of its work
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
        kind = None if result.certificate is None else result.certificate["kind"]
        if kind != "job-prices":
            return result
        packed = problem.packed
        ends = packed.submit.max() + np.cumsum(packed.runtime)
        slow = WorkloadSchedule.of(problem, ends - packed.runtime)
        return _branched(
            problem, self.objective, replace(result, answer=slow, incumbents=()), budget, budget.start()
        )


def _is_over(result: Result[WorkloadSchedule], clock: Clock) -> bool:
    return (
        result.status is Status.OPTIMAL
        or result.answer is None
        or result.limit is Limit.INTERRUPTED
        or clock.remaining == 0
    )


def _branched(
    problem: WorkloadProblem,
    objective: WorkloadObjective,
    result: Result[WorkloadSchedule],
    budget: Budget,
    clock: Clock,
) -> Result[WorkloadSchedule]:
    """Return a result that is no worse, after a search of the tree."""
    assert result.answer is not None
    assert result.certificate is not None
    search = _Search(problem, objective, result.answer, result.certificate, budget, clock)
    interrupted = False
    try:
        search.run()
    except KeyboardInterrupt:
        interrupted = True
    certificate, bound = dict(result.certificate), terms(result.bound)[0]
    try:
        tree, proven_by_tree = search.tree.certificate()
        if proven_by_tree >= bound:
            certificate, bound = tree, proven_by_tree
    except InvalidAnswer:  # it is too large
        pass
    values = search.best.values
    lower = min(bound, values[0])
    proven = len(values) == 1 and lower == values[0]
    limit = Limit.INTERRUPTED if interrupted else Limit.TIME if clock.remaining == 0 else Limit.ITERATIONS
    found = Result(
        Status.OPTIMAL if proven else Status.FEASIBLE,
        search.best.schedule(),
        shown_values(values),
        shown_values((lower, *(-math.inf,) * (len(values) - 1))),
        None if proven else limit,
        clock.elapsed,
        (*result.incumbents, *search.best.incumbents[1:]),
        certificate,
    )
    return Earlier(problem, objective, result.answer, None).or_better(found)


class _Search:
    """The tree, its open leaves and the best plan."""

    def __init__(
        self,
        problem: WorkloadProblem,
        objective: WorkloadObjective,
        schedule: WorkloadSchedule,
        certificate: Mapping[str, Any],
        budget: Budget,
        clock: Clock,
    ) -> None:
        self.problem, self.objective, self.budget, self.clock = problem, objective, budget, clock
        self.sizes = job_sizes(problem)
        self.best = BestPlan(problem, objective, clock)
        self.best.offer(Plan.repeating(problem, self.sizes, schedule))
        self.tree = DateTree(problem, objective[0], certificate)
        costs = job_costs(problem, objective[0])
        self._scale, self._offset = costs.scale, costs.offset
        self._numbers = itertools.count()
        self._open: list[tuple[float, int, Leaf]] = []
        self._busy = 0
        #: The least bound of leaves that cannot be split.
        self._smallest = math.inf
        self._ascents = 0
        unlimited = _UNLIMITED if clock.remaining == math.inf else math.inf
        self._most_ascents = unlimited if budget.iterations is None else budget.iterations
        self._halt = threading.Event()
        self._changed = threading.Condition()
        for leaf in self.tree.root.leaves():
            self._push(leaf)
        self._seconds = min(self._valued(leaf) for _ in range(_TIMED))

    def run(self) -> None:
        """Search until the bound meets the best value, nothing can be split, or the limit."""
        run_in_threads([self._work] * self.budget.workers, self._halt)

    @property
    def _most(self) -> float:
        """The sum of costs of the best plan."""
        return self.best.values[0] * self._scale + self._offset

    def _stop(self) -> bool:
        steps = self.tree.size * len(self.tree.windows.prices) * self.tree.capacity
        return (
            self._halt.is_set()
            or steps > _MOST_STEPS
            or self.clock.remaining <= _CERTIFYING * self._seconds * self.tree.size
            or self._ascents >= self._most_ascents
        )

    def _valued(self, leaf: Leaf) -> float:
        """Return the seconds that it takes to value a leaf."""
        began = time.perf_counter()
        self.tree.value(leaf)
        return time.perf_counter() - began

    def _push(self, leaf: Leaf) -> None:
        heapq.heappush(self._open, (leaf.bound, next(self._numbers), leaf))

    @property
    def _is_done(self) -> bool:
        """Whether no open leaf is below the best value, and below those that cannot be split."""
        return not self._open or self._open[0][0] >= min(self._most, self._smallest)

    def _next(self) -> Leaf | None:
        """Return the open leaf with the least bound, or None if the search is over."""
        with self._changed:
            # A leaf at which another worker is may be better, or have better parts.
            while self._is_done and self._busy and not self._stop():
                self._changed.wait(0.2)
            if self._is_done or self._stop():
                self._halt.set()
                return None
            self._busy += 1
            return heapq.heappop(self._open)[2]

    def _work(self) -> None:
        while (leaf := self._next()) is not None:
            left: list[Leaf] = [leaf]
            try:
                if not leaf.valued:
                    self.tree.value(leaf)
                elif not leaf.is_climbed:
                    self._climb(leaf)
                else:
                    left = self.tree.split(leaf, self._most)
                    if not left and leaf.cut is None:  # it is as small as it can be
                        self._smallest = min(self._smallest, leaf.bound)
            finally:
                with self._changed:
                    self._busy -= 1
                    for part in left:
                        self._push(part)
                    self._changed.notify_all()

    def _climb(self, leaf: Leaf) -> None:
        first = not leaf.climbs
        self._ascents += 1
        self.tree.climb(leaf, self._stop)
        if first and leaf.job >= 0 and leaf.bound < self._most:
            self._schedule(leaf)

    def _schedule(self, leaf: Leaf) -> None:
        """Make a schedule about the dates of a leaf, and offer it."""
        problem, tree = self.problem, self.tree
        starts = problem.packed.submit.copy()
        starts[tree.counted] = tree.cheapest(leaf)
        wide = np.zeros(len(starts), dtype=bool)
        wide[tree.counted] = (leaf.latest < math.inf) | (leaf.earliest > tree.jobs.submit)
        release = np.where(wide, starts, problem.packed.submit)
        packed = problem.packed
        kept = WorkloadProblem(
            problem.num_nodes, Jobs(release, packed.nodes, packed.runtime, weight=packed.weight)
        )
        plans = [
            Plan.in_order(kept, self.sizes, self._chosen, self._order(starts, wide, window))
            for window in _WINDOWS
        ]
        plan = min(plans, key=self._values)
        seed = self.budget.seed + next(self._numbers)
        Reinserter(plan, self.objective, seed).run(_KEPT_MOVES)
        order = frozen(np.argsort(plan.placed.starts, kind="stable"))
        plan = Plan.in_order(problem, self.sizes, self._chosen, order)
        Reinserter(plan, self.objective, seed).run(_FREE_MOVES)
        self.best.offer(plan)

    @property
    def _chosen(self) -> IntArray:
        return self.sizes.offsets[:-1].copy()

    def _values(self, plan: Plan) -> tuple[float, ...]:
        starts = plan.placed.starts
        return plan_values(self.problem, self.objective, starts, starts + plan.seconds)

    def _order(self, starts: FloatArray, wide: NDArray[np.bool_], window: float | None) -> IntArray:
        """Return the jobs with windows, the widest first, then the others by start and area."""
        packed = self.problem.packed
        area = packed.nodes * packed.runtime
        about = starts if window is None else np.floor(starts / window)
        order = np.lexsort((packed.submit, area, np.where(wide, -packed.nodes, about), ~wide))
        return frozen(order)
