"""Simulated annealing over list orders as a solver."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from allocsolve.heuristics.list_scheduling import ORDERS, Fit, list_order, list_starts, schedule_of
from allocsolve.heuristics.order_search import anneal_in_rounds, list_value
from allocsolve.model import Limit, Result, Status, parse_evolution_objective

if TYPE_CHECKING:
    from collections.abc import Iterator

    from allocsolve.model import (
        Budget,
        EvolutionObjective,
        EvolutionProblem,
        EvolutionSchedule,
        IntArray,
        Value,
    )

__all__ = ["Annealing"]

#: Schedules that are tried if the budget limits neither seconds nor iterations.
_DEFAULT_ITERATIONS = 250_000

#: Up to so few applications the walk ends when it has drawn each order about so many times.
_MANY, _TRIES_PER_ORDER = 8, 1000


@dataclass(frozen=True, slots=True)
class Annealing:
    """Search over list orders, with delays where nothing is expanded, forward and backward in time.

    Parameters
    ----------
    objective
        ``makespan`` (s), ``completion`` (mean completion time, s), ``waste`` (node-seconds), or several of
        them, lexicographic.

    Raises
    ------
    UnknownName, InvalidOption
        If the objective has an unknown term or repeats one.

    Notes
    -----
    Rounds of simulated annealing, equally long, each from the order by area; the best schedule of all. The
    budget's iterations count list schedules; without iterations and seconds it stops after 250,000, and in
    any case once it must have met every order of a few applications. Same seed and iterations, same answer.

    *Guarantee*: feasible; no worse than list scheduling in the sorted orders, which it tries first. No bound.
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

    def __post_init__(self) -> None:
        parse_evolution_objective(",".join(self.objective))  # refuses what is no objective

    def __call__(self, problem: EvolutionProblem, budget: Budget, /) -> Result[EvolutionSchedule]:
        """Search within the budget of seconds and iterations."""
        clock = budget.start()
        count = len(problem.applications)
        most: float = math.inf if budget.iterations is None else budget.iterations
        if most == clock.remaining == math.inf:
            most = _DEFAULT_ITERATIONS
        if count < _MANY:
            most = min(most, _TRIES_PER_ORDER * math.factorial(count))
        best: tuple[tuple[int, ...], IntArray] | None = None
        incumbents: list[tuple[float, Value]] = []
        limit = Limit.ITERATIONS
        try:
            for starts in self._schedules(problem, most, budget.seed):
                values = list_value(problem, starts, self.objective)
                if best is None or values < best[0]:
                    best = values, starts.copy()
                    incumbents.append((clock.elapsed, public_value(values, self.objective, count)))
                if clock.remaining == 0:
                    limit = Limit.TIME
                    break
        except KeyboardInterrupt:
            if best is None:
                raise
            limit = Limit.INTERRUPTED
        assert best is not None
        return Result(
            Status.FEASIBLE,
            schedule_of(problem, best[1]),
            public_value(best[0], self.objective, count),
            limit=limit,
            runtime=clock.elapsed,
            incumbents=tuple(incumbents),
        )

    def _schedules(self, problem: EvolutionProblem, most: float, seed: int) -> Iterator[IntArray]:
        """Yield step starts: of the sorted lists, then now and then of the best annealed one."""
        for tried, order in enumerate(ORDERS):
            if tried < max(1, most):
                yield list_starts(problem, list_order(problem, order, seed), Fit(1))
        if len(problem.applications) > 1:
            walk = anneal_in_rounds(problem, self.objective, most=most - len(ORDERS), seed=seed)
            for _, starts in walk:
                yield starts


def public_value(values: tuple[float, ...], objective: EvolutionObjective, num_applications: int) -> Value:
    """Return the value as results show it: the mean completion time, and a single term as a number."""
    shown = tuple(
        value / max(num_applications, 1) if term == "completion" else value
        for term, value in zip(objective, values, strict=True)
    )
    return shown[0] if len(shown) == 1 else shown
