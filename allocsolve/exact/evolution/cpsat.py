"""Evolution-profile scheduling by CP-SAT: an ordering relaxation, closed by covers added when violated."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Annotated

import numpy as np

from allocsolve.bounds import (
    makespan_bound,
    mean_busy_time,
    strong_completion_bound,
    strong_makespan_bound,
    total_completion,
)
from allocsolve.errors import InvalidAnswer
from allocsolve.exact.evolution._conflicts import blocks_of, violated_covers
from allocsolve.families import quick_answers
from allocsolve.heuristics import Annealing, Fit, list_starts
from allocsolve.heuristics.evolution.annealing import reported_value
from allocsolve.heuristics.evolution.list_scheduling import schedule_of
from allocsolve.heuristics.evolution.order_search import interval_value
from allocsolve.model import Budget, Clock, EvolutionObjective, EvolutionSchedule, Limit, Result, Status
from allocsolve.model.options import Options, Params, Within
from allocsolve.model.search import Best, search_result

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ortools.sat.python import cp_model

    from allocsolve.exact.evolution._conflicts import Block
    from allocsolve.exact.evolution._order_model import OrderModel
    from allocsolve.model import EvolutionProblem, EvolutionTerm, IntArray, Value


@dataclass(frozen=True, slots=True)
class EvolutionCpSatParams(Params):
    """The numbers of `EvolutionCpSat`."""

    #: The share of the time for the search from above, by term; the rest goes into refuting values from
    #: below. The mean completion of 12 applications is proven in half a minute, or not in several minutes
    #: either.
    above_share_of_makespan: float = 0.75
    above_share_of_completion: float = 0.5
    above_share_of_waste: float = 1.0
    #: A value from below lies above the bound by this share of the gap, and by half of that after a failure.
    first_step: float = 0.3
    #: A try takes up to this share of the time left. (20 applications: 4 s up to 84 % of the best, 7 s up to
    #: 88 %.)
    try_share: float = 0.65
    #: The deterministic seconds, and the share of those so far, for which a search by CP-SAT is young: then
    #: it begins again when it learns covers.
    young_s: float = 1.0
    young_share: float = 0.1
    #: Up to so many applications, covers of four are in the model from the beginning where there is
    #: expansion.
    few_applications: int = 10
    #: The share of the time left that the bound by configurations may take, and that by falling prices.
    bound_share: float = 0.05
    falling_bound_share: float = 0.2

    def above_share(self, term: EvolutionTerm) -> float:
        """Return the share of the time for the search from above."""
        share: float = getattr(self, f"above_share_of_{term}")
        return share


@dataclass(frozen=True, slots=True)
class EvolutionCpSat(Options):
    """Minimise by CP-SAT, with a proof: order literals, block pairs and triples, lazy covers.

    Parameters
    ----------
    objective
        ``makespan`` (s), ``completion`` (mean completion time, s), ``waste`` (node-seconds), or several of
        them, lexicographic: each is minimised among the schedules that are optimal in those before it.
    start
        A feasible schedule to improve on; the solver finds one itself if there is none.
    max_applications
        Larger problems get the start schedule and a combinatorial bound only (limit ``size``).

    Notes
    -----
    *Method*: a relaxation knows the resource only through clauses over "block I of application a ends before
    block J of application b starts" (`allocsolve.exact.pairs_relaxation`). Minimise it below the best known
    schedule; an answer that over-commits the cluster gives new clauses (and a list schedule in its order,
    perhaps better than the best known one); no answer below the best known schedule proves it optimal. If
    that is not done in most of the time (half of it for completion), the rest goes into refuting values
    between the bound and the best value.
    *Guarantee*: ``optimal`` is a proof; the bound holds at any time. Finite: there are finitely many covers.
    No schedule is worse than those of list scheduling, all of which are tried first.
    *Complexity*: exponential. Klein-sized steps: 5-12 applications take seconds without expansion, up to
    about 8 with unlimited expansion.
    """

    objective: EvolutionObjective = ("makespan",)
    start: EvolutionSchedule | None = field(default=None, repr=False)
    max_applications: Annotated[int, Within(0)] = 200
    params: EvolutionCpSatParams = field(default=EvolutionCpSatParams(), repr=False)

    def __call__(self, problem: EvolutionProblem, budget: Budget, /) -> Result[EvolutionSchedule]:
        """Solve within the budget; workers are CP-SAT's threads."""
        search = _Search(problem, self.objective, budget, self.params)
        if not problem.applications:
            zero: Value = 0 if len(self.objective) == 1 else (0,) * len(self.objective)
            return Result(Status.OPTIMAL, schedule_of(problem, problem.packed.durations), zero, zero)
        if self.start is not None:
            search.accept_start(self.start)
        search.find_start()
        try:
            search.run(small=len(problem.applications) <= self.max_applications)
        except KeyboardInterrupt:
            search.limit = Limit.INTERRUPTED
        return search.result()


class _Search:
    """The state of a solve: the best schedule and, term by term, the proven bounds."""

    def __init__(
        self,
        problem: EvolutionProblem,
        objective: EvolutionObjective,
        budget: Budget,
        params: EvolutionCpSatParams,
    ) -> None:
        self.problem, self.objective, self.budget, self.params = problem, objective, budget, params
        self.clock = budget.start()
        self.limit: Limit | None = None
        self.blocks = blocks_of(problem)
        self.best = BestTimes(problem, objective, self.clock)
        self.bounds: list[int] = []  # proven, for the terms treated so far
        self._covers: set[tuple[Block, ...]] = set()  # violated by some relaxed answer
        self._effort = 0.0  # of CP-SAT so far, in its deterministic seconds

    # Schedules, as (starts, ends) of all steps

    def value(self, term: EvolutionTerm, starts: IntArray, ends: IntArray) -> int:
        """Return an objective term; completion as the total."""
        return interval_value(self.problem, starts, ends, (term,))[0]

    def fits(self, starts: IntArray, ends: IntArray) -> bool:
        """Return whether a vector of step times is a schedule of the problem."""
        offsets, durations, _, longest, releases = self.problem.packed
        held = ends - starts
        joined = np.ones(len(starts), dtype=bool)
        joined[1:] = starts[1:] == ends[:-1]
        joined[offsets[:-1]] = True
        return (
            bool(joined.all() and (held >= durations).all() and (held <= longest).all())
            and bool((starts[offsets[:-1]] >= releases).all())
            and not violated_covers(self.blocks, self.problem.num_nodes, starts, ends)
        )

    def offer_starts(self, starts: IntArray) -> None:
        """Offer a list schedule: last steps are not expanded."""
        schedule = schedule_of(self.problem, starts)
        self.best.offer(starts, starts + schedule.durations)

    def accept_start(self, start: EvolutionSchedule) -> None:
        """Offer the caller's schedule, once it is checked."""
        packed = self.problem.packed
        if np.array_equal(start.offsets, packed.offsets) and np.array_equal(start.nodes, packed.nodes):
            starts = step_starts(start)
            if self.fits(starts, starts + start.durations):
                self.best.offer(starts, starts + start.durations)
                return
        raise InvalidAnswer("the start schedule is not a feasible schedule of the problem")

    def offer_schedule(self, schedule: EvolutionSchedule) -> None:
        """Offer a schedule that is feasible."""
        starts = step_starts(schedule)
        self.best.offer(starts, starts + schedule.durations)

    def find_start(self) -> None:
        """Offer what annealing finds in a small part of the budget, and what the quick solvers give."""
        spent = self.clock.elapsed
        annealed = Annealing(self.objective)(
            self.problem, start_budget(self.problem, self.budget, self.clock)
        )
        assert annealed.answer is not None
        if self.best.answer is None:
            self.best.incumbents += [(spent + seconds, value) for seconds, value in annealed.incumbents[:-1]]
        self.offer_schedule(annealed.answer)
        if annealed.limit is Limit.INTERRUPTED:
            self.limit = annealed.limit
        if annealed.limit is Limit.INTERRUPTED or annealed.status is Status.OPTIMAL:
            return
        for schedule, _ in quick_answers(self.problem, self.objective, self.clock, seed=self.budget.seed):
            self.offer_schedule(schedule)

    def polish(self, starts: IntArray, ends: IntArray) -> None:
        """Offer list schedules in the order of a relaxed answer, by starts and by completions."""
        offsets = self.problem.packed.offsets
        for key in (starts[offsets[:-1]], ends[offsets[1:] - 1]):
            order = np.argsort(key, kind="stable")
            self.offer_starts(list_starts(self.problem, order, Fit(1)))
            if self.problem.expand_limit > 1:
                self.offer_starts(list_starts(self.problem, order, Fit(compacting=True)))

    # The exact search

    def run(self, *, small: bool) -> None:
        """Minimise one term after another, as far as the budget allows."""
        for idx, term in enumerate(self.objective):
            if self.limit is Limit.INTERRUPTED:
                return
            self.bounds.append(self._combinatorial_bound(term))
            if self.bounds[idx] < self.best.least[idx]:
                if not small:
                    self.limit = Limit.SIZE
                    return
                if term == "makespan":
                    strong = strong_makespan_bound(
                        self.problem, seconds=self.params.bound_share * self.clock.remaining
                    )
                    self.bounds[idx] = strong.value
                self._minimise(idx)
            if self.bounds[idx] < self.best.least[idx]:
                return

    def _open(self, idx: int) -> bool:
        """Return whether term `idx` has a gap left."""
        return self.bounds[idx] < self.best.least[idx]

    def _model(self, idx: int, cutoff: int) -> OrderModel:
        """Return a model for term `idx` up to `cutoff`, with earlier terms at their optima, and all covers.

        Each term needs its own model: the cutoffs of one term exclude the schedules that the next one chooses
        from.
        """
        from allocsolve.exact.evolution._order_model import OrderModel  # noqa: PLC0415 - imports ortools

        problem = self._reduced(idx)
        horizon = self._horizon(idx, cutoff)
        model = OrderModel(problem, horizon, self.clock, largest_cover=self._largest_cover())
        for cover in self._covers:
            model.exclude(cover)
        for term, proven in zip(self.objective[:idx], self.bounds, strict=False):
            model.model.add(model.term(term) <= proven)
        return model

    def _reduced(self, idx: int) -> EvolutionProblem:
        """Return the problem without expansion, if the terms before term `idx` leave no room for it."""
        if idx > 0 and self.objective[0] == "waste" and self.problem.packed.nodes.all():
            return replace(self.problem, expand_limit=1)
        return self.problem

    def _largest_cover(self) -> int:
        """Return the size of the largest covers in the model from the beginning.

        It was measured: with expansion, covers of four save most rounds as long as they are few (some
        thousands for 8 applications); without expansion, most of them are never violated.
        """
        few = len(self.problem.applications) <= self.params.few_applications
        return 4 if few and self.problem.expand_limit > 1 else 3

    def _combinatorial_bound(self, term: EvolutionTerm) -> int:
        if term == "waste":
            return 0
        return makespan_bound(self.problem) if term == "makespan" else mean_busy_time(self.problem)

    def _horizon(self, idx: int, cutoff: int) -> int:
        """Return a time by which every schedule that is better than the best one ends, with `cutoff`."""
        assert self.best.answer is not None
        # The waste of the best schedule is 0, so a better schedule is no worse in the term after it.
        term = next((term for term in self.objective if term != "waste"), None)
        best = cutoff if term == self.objective[idx] else self.value(term, *self.best.answer) if term else 0
        if term == "makespan":
            return min(self.problem.horizon, best)
        if term == "completion":
            # One application takes what is left when all others complete as soon as they can.
            slack = best - total_completion(self.problem)
            ends = [
                r + app.duration
                for r, app in zip(self.problem.releases, self.problem.applications, strict=True)
            ]
            return min(self.problem.horizon, max(ends) + slack)
        return self.problem.horizon

    def _minimise(self, idx: int) -> None:
        """Close the gap between the bound and the best value of a term, as far as the time allows."""
        self._search_from_above(
            idx, Clock(self.params.above_share(self.objective[idx]) * self.clock.remaining)
        )
        if self.limit is not Limit.INTERRUPTED and self._open(idx):
            self._refute_from_below(idx)
        if self._open(idx):
            self.limit = self.limit or Limit.TIME

    def _search_from_above(self, idx: int, clock: Clock) -> None:
        """Search for better values than the best one, again and again, until there is none."""
        from allocsolve.backends.cpsat import run_cpsat  # noqa: PLC0415 - imports ortools

        model = self._model(idx, self.best.least[idx])
        expression = model.term(self.objective[idx])
        model.model.minimize(expression)
        while self._open(idx) and clock.remaining and self.limit is not Limit.INTERRUPTED:
            cutoff = self.best.least[idx]
            model.model.add(expression < cutoff)
            model.model.add(expression >= self.bounds[idx])
            outcome = run_cpsat(
                model.model,
                self.budget,
                clock,
                self._on_relaxed_answer(model),
                linear=self.objective[idx] == "waste",
                settled=max(self.params.young_s, self.params.young_share * self._effort),
            )
            self._effort += outcome.effort
            if outcome.interrupted:
                self.limit = Limit.INTERRUPTED
            bound = cutoff if outcome.infeasible else min(cutoff, math.ceil(outcome.bound - 1e-6))
            self.bounds[idx] = max(self.bounds[idx], bound)
            for cover in self._covers:
                model.exclude(cover)  # covers that the model has already are ignored

    def _refute_from_below(self, idx: int) -> None:
        """Refute values between the bound and the best one, as far up as the time allows.

        The effort grows steeply with the value: most of the gap closes long before the search from above
        ends. Each value is a model of its own, whose horizon is part of it.
        """
        from allocsolve.backends.cpsat import run_cpsat  # noqa: PLC0415 - imports ortools

        if self.objective[idx] == "completion":
            seconds = self.params.falling_bound_share * self.clock.remaining
            strong = strong_completion_bound(self.problem, seconds=seconds)
            self.bounds[idx] = max(self.bounds[idx], strong.value)
        part = self.params.first_step
        while self._open(idx) and self.clock.remaining and self.limit is not Limit.INTERRUPTED:
            num_covers = len(self._covers)
            aim = self.bounds[idx] + int(part * (self.best.least[idx] - 1 - self.bounds[idx]))
            model = self._model(idx, aim)
            model.model.add(model.term(self.objective[idx]) <= aim)
            clock = Clock(max(self.params.try_share * self.clock.remaining, min(1.0, self.clock.remaining)))
            outcome = run_cpsat(model.model, self.budget, clock, self._on_relaxed_answer(model), settled=0.0)
            self._effort += outcome.effort
            if outcome.interrupted:
                self.limit = Limit.INTERRUPTED
            if outcome.infeasible:
                self.bounds[idx] = max(self.bounds[idx], aim + 1)
                part = self.params.first_step
            elif len(self._covers) == num_covers:
                part /= 2

    def _on_relaxed_answer(self, model: OrderModel) -> Callable[[Callable[[cp_model.LinearExpr], int]], bool]:
        """Return the callback of a run: it takes answers that fit and learns covers from those that do not.

        A search that is not settled is better begun again with the new covers.
        """

        def take(value: Callable[[cp_model.LinearExpr], int]) -> bool:
            starts, ends = model.read_times(value)
            covers = violated_covers(self.blocks, self.problem.num_nodes, starts, ends)
            if not covers:
                self.best.offer(starts, ends)
                return True
            self._covers |= covers
            self.polish(starts, ends)
            return False

        return take

    def result(self) -> Result[EvolutionSchedule]:
        """Return the best schedule and what is proven."""
        return self.best.result(self.bounds, self.limit or Limit.TIME)


class BestTimes(Best["tuple[IntArray, IntArray]"]):
    """The best schedule of a search, as starts and ends of all steps."""

    def __init__(self, problem: EvolutionProblem, objective: EvolutionObjective, clock: Clock) -> None:
        count = len(problem.applications)
        super().__init__(clock, partial(reported_value, objective=objective, num_applications=count))
        self._problem, self._objective = problem, objective
        #: The terms of the best schedule, with completion as the total.
        self.least: tuple[int, ...] = ()

    def offer(self, starts: IntArray, ends: IntArray) -> None:
        """Keep a feasible schedule if it is better than the best."""
        values = interval_value(self._problem, starts, ends, self._objective)
        if self.keep((starts, ends), values):
            self.least = values

    def result(self, bounds: Sequence[float], limit: Limit) -> Result[EvolutionSchedule]:
        """Return the best schedule and what is proven."""
        assert self.answer is not None
        starts, ends = self.answer
        offsets, _, nodes, _, _ = self._problem.packed
        answer = EvolutionSchedule(starts[offsets[:-1]], offsets, ends - starts, nodes)
        return search_result(answer, self.least, bounds, limit, self.clock, self.incumbents, shown=self.shown)


def start_budget(problem: EvolutionProblem, budget: Budget, clock: Clock) -> Budget:
    """Return the budget of the annealing before an exact search: less for few applications."""
    count, steps = len(problem.applications), len(problem.packed.durations)
    seconds = max(1e-9, clock.stage(0.1).remaining)
    schedules = min(1000 * count**2, 20_000_000 // max(1, steps))
    return Budget(seconds, schedules, seed=budget.seed, workers=budget.workers)


def step_starts(schedule: EvolutionSchedule) -> IntArray:
    """Return the starts of all steps of a schedule."""
    before: IntArray = np.cumsum(schedule.durations) - schedule.durations
    shift: IntArray = schedule.starts - before[schedule.offsets[:-1]]
    starts: IntArray = before + np.repeat(shift, np.diff(schedule.offsets))
    return starts
