"""Solvers and kernels that are worse than they were, for the tests of the regression gate."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from allocsolve.bench import suite
from allocsolve.model import EvolutionProblem, EvolutionSchedule, Result, Status

if TYPE_CHECKING:
    from collections.abc import Callable

    from allocsolve.families import AnySolver
    from allocsolve.model import Budget


#: The problems that list schedules answer.
TINY: Final = tuple(problem for problem in suite("tiny") if isinstance(problem, EvolutionProblem))


def doubled(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Return a kernel that does its work twice; for one that leaves its arguments as they are."""

    def twice(*args: Any, **options: Any) -> Any:
        kernel(*args, **options)
        return kernel(*args, **options)

    return twice


def delayed(answer: EvolutionSchedule, percent: int) -> EvolutionSchedule:
    """Return the schedule with every start later by so much of the makespan, at least a second."""
    delay = -(-int(answer.completions.max()) * percent // 100)
    return EvolutionSchedule(answer.starts + delay, answer.offsets, answer.durations, answer.nodes)


@dataclass(frozen=True, slots=True)
class Delayed:
    """The answers of another solver, delayed by some per cent."""

    solver: AnySolver
    percent: int = 1

    def __call__(self, problem: EvolutionProblem, budget: Budget, /) -> Result[EvolutionSchedule]:
        result = self.solver(problem, budget)
        assert result.answer is not None
        return replace(result, status=Status.FEASIBLE, answer=delayed(result.answer, self.percent))


@dataclass(frozen=True)
class Swapped:
    """Called one thing in all baselines, whatever it does today."""

    solver: AnySolver

    def __call__(self, problem: EvolutionProblem, budget: Budget, /) -> Result[Any]:
        return self.solver(problem, budget)

    def __repr__(self) -> str:
        return "Swapped()"


def nothing(_: object, __: Budget) -> Result[Any]:
    return Result(Status.UNKNOWN)


def raising(_: object, __: Budget) -> Result[Any]:
    msg = "no\nidea"
    raise ZeroDivisionError(msg)
