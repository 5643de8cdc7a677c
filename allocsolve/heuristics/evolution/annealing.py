"""Simulated annealing over list orders as a solver."""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from allocsolve.bounds.evolution import least_values
from allocsolve.heuristics.evolution.list_scheduling import ORDERS, Fit, list_order, list_starts, schedule_of
from allocsolve.heuristics.evolution.order_search import OrderSearchParams, anneal_in_rounds, starts_value
from allocsolve.kernels.threads import run_in_threads
from allocsolve.model import EvolutionObjective, Limit, shown_values
from allocsolve.model.options import Options
from allocsolve.model.search import Best, search_result

if TYPE_CHECKING:
    from collections.abc import Iterator

    from allocsolve.model import Budget, Clock, EvolutionProblem, EvolutionSchedule, IntArray, Result, Value


@dataclass(frozen=True, slots=True)
class Annealing(Options):
    """Search over list orders, with delays where nothing is expanded, forward and backward in time.

    Parameters
    ----------
    objective
        ``makespan`` (s), ``completion`` (mean completion time, s), ``waste`` (node-seconds), or several of
        them, lexicographic.

    Notes
    -----
    Rounds of simulated annealing, equally long, each from the order by area; the best schedule of all. The
    budget's iterations count list schedules; without iterations and seconds it stops after 250,000, and in
    any case once it must have met every order of a few applications, or when a schedule meets the cheap
    bounds of `allocsolve.bounds` on all terms: then it is ``optimal``. Rounds run in as many threads as there
    are workers. Same seed and iterations, same answer, however many.

    *Guarantee*: feasible; no worse than list scheduling in the sorted orders, which it tries first. No
    other bound.
    Without expansion every schedule that cannot be tightened is some order with some delays; with expansion,
    for some problems no list order in either direction is optimal.
    *Complexity*: 2 to 5 microseconds per schedule of 15-20 applications; without expansion O(applications x
    steps) memory, or no delays if these are more than 2^18.

    Examples
    --------
    >>> from allocsolve.model import Budget, EvolutionProblem, EvolutionProfile
    >>> problem = EvolutionProblem(4, tuple(EvolutionProfile([(10, n)]) for n in (1, 2, 2, 3)))
    >>> Annealing()(problem, Budget(iterations=100)).objective
    20
    """

    objective: EvolutionObjective = ("makespan",)
    params: OrderSearchParams = field(default=OrderSearchParams(), repr=False)

    def __call__(self, problem: EvolutionProblem, budget: Budget, /) -> Result[EvolutionSchedule]:
        """Search within the budget of seconds and iterations."""
        clock = budget.start()
        count = len(problem.applications)
        max_schedules: float = math.inf if budget.iterations is None else budget.iterations
        if max_schedules == clock.remaining == math.inf:
            max_schedules = self.params.schedules
        if count < self.params.few_applications:
            max_schedules = min(max_schedules, self.params.tries_per_order * math.factorial(count))
        best = _Best(problem, self.objective, clock)
        limit = None
        try:
            for tried, order in enumerate(ORDERS):
                if not tried or (tried < max_schedules and clock.remaining > 0 and not best.is_least()):
                    best.offer(-1, list_starts(problem, list_order(problem, order, budget.seed), Fit(1)))
            if count > 1 and not best.is_least():
                rounds = anneal_in_rounds(
                    problem,
                    self.objective,
                    max_schedules=max_schedules - len(ORDERS),
                    seed=budget.seed,
                    params=self.params,
                )
                best.search(rounds, budget.workers)
        except KeyboardInterrupt:
            if not best.incumbents:
                raise
            limit = Limit.INTERRUPTED
        assert best.answer is not None
        return search_result(
            schedule_of(problem, best.answer),
            best.values,
            best.values if best.is_least() else (),
            limit or (Limit.ITERATIONS if clock.remaining > 0 else Limit.TIME),
            clock,
            best.incumbents,
            shown=best.shown,
        )


class _Best(Best["IntArray"]):
    """The best schedule of several threads; of equal ones that of the earliest round, as with one thread."""

    def __init__(self, problem: EvolutionProblem, objective: EvolutionObjective, clock: Clock) -> None:
        count = len(problem.applications)
        super().__init__(clock, partial(reported_value, objective=objective, num_applications=count))
        self._problem, self._objective = problem, objective
        self._lock = threading.Lock()
        self._round = -1
        self._least = least_values(problem, objective)

    def offer(self, number: int, starts: IntArray) -> None:
        """Keep the step starts of a round if they are better."""
        values = starts_value(self._problem, starts, self._objective)
        with self._lock:
            if values < self.values or (values == self.values and number < self._round):
                self._round, kept = number, starts.copy()
                if not self.keep(kept, values):
                    self.answer = kept

    def is_least(self, number: int = -1) -> bool:
        """Return whether nothing can be better than what this round, or one before it, has met; all if -1."""
        with self._lock:
            return self.values == self._least and (number < 0 or self._round <= number)

    def search(self, rounds: Iterator[Iterator[tuple[int, IntArray]]], workers: int) -> None:
        """Work through the rounds, as many at a time as there are workers, while there is time."""
        stop = threading.Event()
        numbered = enumerate(rounds)

        def work() -> None:
            while self.clock.remaining > 0 and not stop.is_set():
                with self._lock:
                    number, walk = next(numbered, (0, None))
                if walk is None or self.is_least(number):
                    return
                for _, starts in walk:
                    self.offer(number, starts)
                    if self.clock.remaining == 0 or stop.is_set() or self.is_least(number):
                        return

        if workers > 1:
            run_in_threads([work] * workers, stop)
        else:
            work()


def reported_value(values: tuple[float, ...], objective: EvolutionObjective, num_applications: int) -> Value:
    """Return the value as results show it: completion as the mean, and a single term as a number."""
    shown = tuple(
        value / max(num_applications, 1) if term == "completion" else value
        for term, value in zip(objective, values, strict=True)
    )
    return shown_values(shown)
