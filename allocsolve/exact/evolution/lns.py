"""Large neighbourhood search: improve a schedule by freeing a few applications at a time, with CP-SAT."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated

import numpy as np

from allocsolve.bounds.evolution import least_values
from allocsolve.exact.evolution._conflicts import blocks_of, violated_covers
from allocsolve.exact.evolution.cpsat import BestTimes, start_budget, step_starts
from allocsolve.heuristics import Annealing
from allocsolve.model import EvolutionObjective, EvolutionSchedule, Limit
from allocsolve.model.options import Options, Params, Within

if TYPE_CHECKING:
    from collections.abc import Callable

    from ortools.sat.python import cp_model

    from allocsolve.exact.evolution._conflicts import Block
    from allocsolve.exact.evolution._order_model import OrderModel
    from allocsolve.model import Budget, Clock, EvolutionProblem, Result


@dataclass(frozen=True, slots=True)
class EvolutionLnsParams(Params):
    """The numbers of `EvolutionLns`."""

    #: The neighbourhoods that are searched if the budget limits neither seconds nor iterations.
    neighbourhoods: int = 50
    #: The effort for one neighbourhood, in CP-SAT's deterministic seconds (about a second each).
    effort_s: float = 1.0
    #: Applications that are free at first.
    free_applications: int = 4


@dataclass(frozen=True, slots=True)
class EvolutionLns(Options):
    """Start from annealing; free a few applications, keep the order of all others, and let CP-SAT improve.

    Made for expansion, where list schedules in the best order are still 1-14 % above the optimum.

    Parameters
    ----------
    objective
        As for `EvolutionCpSat`.
    max_applications
        Larger problems get the start schedule only (limit ``size``).

    Notes
    -----
    A neighbourhood frees one application, drawn at random, and those that start nearest to it; every order of
    blocks among the others that holds in the best schedule stays. It grows when nothing in it is better, and
    shrinks when CP-SAT has not searched it through. The budget's iterations count neighbourhoods; 50 if it
    limits nothing. With one worker, same seed and iterations give the same answer.

    *Guarantee*: feasible; no worse than its start. ``optimal``, a proof, if nothing is better with all
    applications free, or the cheap bounds of `allocsolve.bounds` are met.
    """

    objective: EvolutionObjective = ("makespan",)
    max_applications: Annotated[int, Within(0)] = 60
    params: EvolutionLnsParams = field(default=EvolutionLnsParams(), repr=False)

    def __call__(self, problem: EvolutionProblem, budget: Budget, /) -> Result[EvolutionSchedule]:
        """Search within the budget; workers are CP-SAT's threads."""
        search = _Search(problem, self.objective, budget, self.params)
        count = len(problem.applications)
        if count > self.max_applications:
            search.limit = Limit.SIZE
        elif count > 1 and search.limit is not Limit.INTERRUPTED and not search.is_closed:
            search.run()
        return search.result()


class _Search:
    """The state of a solve."""

    def __init__(
        self,
        problem: EvolutionProblem,
        objective: EvolutionObjective,
        budget: Budget,
        params: EvolutionLnsParams,
    ) -> None:
        self.params = params
        self.clock: Clock = budget.start()
        self.problem, self.objective, self.budget = problem, objective, budget
        start = Annealing(objective)(problem, start_budget(problem, budget, self.clock))
        assert start.answer is not None
        self.limit = Limit.INTERRUPTED if start.limit is Limit.INTERRUPTED else Limit.ITERATIONS
        starts = step_starts(start.answer)
        self.best = BestTimes(problem, objective, self.clock)
        self.best.offer(starts, starts + start.answer.durations)
        self.best.incumbents[:] = start.incumbents
        self._least = least_values(problem, objective)
        #: How many terms in a row are proven to be optimal.
        self.closed = 0
        self._close_if_least()
        self._blocks = blocks_of(problem)
        self._random = np.random.default_rng(budget.seed)

    @property
    def is_closed(self) -> bool:
        """Whether nothing is better than the best schedule."""
        return self.closed == len(self.objective)

    def _close_if_least(self) -> None:
        if self.best.least == self._least:
            self.closed = len(self.objective)

    def run(self) -> None:
        """Search neighbourhood after neighbourhood, each for one term of the objective in turn."""
        from allocsolve.exact.evolution._order_model import OrderModel  # noqa: PLC0415 - imports ortools

        count = len(self.problem.applications)
        max_neighbourhoods = self.budget.iterations
        if max_neighbourhoods is None:
            max_neighbourhoods = self.params.neighbourhoods if self.clock.remaining == math.inf else 2**62
        # Covers of three are added when violated, as a neighbourhood meets few of them.
        model = OrderModel(self.problem, self._horizon(), self.clock, largest_cover=2)
        free = min(self.params.free_applications, count)
        for number in range(max_neighbourhoods):
            if self.is_closed:
                return
            if self.clock.remaining == 0:
                self.limit = Limit.TIME
                return
            searched, better = self._search(model, number % len(self.objective), self._choose(free))
            if self.limit is Limit.INTERRUPTED:
                return
            # All applications were free and nothing was better, for each term in turn: a proof.
            self.closed = self.closed + 1 if free == count and searched and not better else 0
            self._close_if_least()
            if not better:
                free = min(free + 1, count) if searched else max(2, free - 1)

    def _horizon(self) -> int:
        """Return a time by which every schedule of interest ends."""
        if self.objective[0] == "makespan":
            return self.best.least[0]
        return self.problem.horizon

    def _choose(self, free: int) -> set[int]:
        """Return an application and those that start nearest to it, with some randomness."""
        assert self.best.answer is not None
        starts = self.best.answer[0][self.problem.packed.offsets[:-1]]
        middle = self._random.integers(len(starts))
        spread = max(1, int(starts.max()) // len(starts)) * 2
        distance = np.abs(starts - starts[middle]) + self._random.random(len(starts)) * spread
        distance[middle] = -1
        return set(np.argsort(distance)[:free].tolist())

    def _search(self, model: OrderModel, idx: int, free: set[int]) -> tuple[bool, bool]:
        """Improve term `idx` in a neighbourhood; return whether it was searched through, and if it helped."""
        from allocsolve.backends.cpsat import run_cpsat  # noqa: PLC0415 - imports ortools

        before = self.best.least
        learned: set[tuple[Block, ...]] = set()
        *first, minimised = [model.term(term) for term in self.objective[: idx + 1]]
        trial = model.model.clone()
        fixed = [app for app in range(len(self.problem.applications)) if app not in free]
        assert self.best.answer is not None
        trial.add_bool_and(model.orders(*self.best.answer, fixed))
        for term, value in zip(first, self.best.least, strict=False):
            trial.add(term <= value)
        trial.add(minimised < self.best.least[idx])
        trial.minimize(minimised)

        def take(value: Callable[[cp_model.LinearExpr], int]) -> bool:
            starts, ends = model.read_times(value)
            covers = violated_covers(self._blocks, self.problem.num_nodes, starts, ends)
            learned.update(covers)
            if not covers:
                self.best.offer(starts, ends)
            return not covers

        outcome = run_cpsat(
            trial,
            self.budget,
            self.clock,
            take,
            linear=self.objective[idx] == "waste",
            effort=self.params.effort_s,
        )
        if outcome.interrupted:
            self.limit = Limit.INTERRUPTED
        for cover in sorted(learned):
            model.exclude(cover)
        return outcome.infeasible or outcome.optimal, self.best.least < before or bool(learned)

    def result(self) -> Result[EvolutionSchedule]:
        """Return the best schedule."""
        return self.best.result(self.best.least if self.is_closed else (), self.limit)
