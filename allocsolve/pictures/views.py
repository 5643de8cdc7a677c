"""Pictures of problems and answers, whatever their family."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from allocsolve.model import EvolutionProblem, PartitionProblem
from allocsolve.pictures import evolution, partition

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from allocsolve.model import Answer, Problem
    from allocsolve.pictures.svg import Drawing

__all__ = ["answer_data", "describe", "plot", "problem_data", "undrawable", "units"]


class _View(NamedTuple):
    #: Of each term of an objective.
    units: Mapping[str, str]
    describe: Callable[[Any], str]
    undrawable: Callable[[Any], str]
    plot: Callable[[Any, Any], Drawing]
    problem_data: Callable[[Any], dict[str, object]]
    answer_data: Callable[[Any], object]


_VIEWS: Final[Mapping[type, _View]] = {
    EvolutionProblem: _View(
        evolution.UNITS,
        evolution.describe,
        evolution.undrawable,
        evolution.plot,
        evolution.problem_data,
        evolution.answer_data,
    ),
    PartitionProblem: _View(
        partition.UNITS,
        partition.describe,
        partition.undrawable,
        partition.plot,
        partition.problem_data,
        partition.answer_data,
    ),
}


def units(problem: Problem | type) -> Mapping[str, str]:
    """Return the unit of each term of an objective, for a problem or a type of problems."""
    return _VIEWS[problem if isinstance(problem, type) else type(problem)].units


def describe(problem: Problem) -> str:
    """Return a problem in a few words."""
    return _VIEWS[type(problem)].describe(problem)


def undrawable(problem: Problem) -> str:
    """Return why no answer to a problem can be drawn, as it is too large; nothing if it can."""
    return _VIEWS[type(problem)].undrawable(problem)


def plot(problem: Problem, answer: Answer) -> Drawing:
    """Return a drawing of an answer to a problem that is not `undrawable`."""
    return _VIEWS[type(problem)].plot(problem, answer)


def problem_data(problem: Problem) -> dict[str, object]:
    """Return what the script of the page draws of a problem."""
    return _VIEWS[type(problem)].problem_data(problem)


def answer_data(problem: Problem, answer: Answer) -> object:
    """Return what the script of the page draws of an answer to a problem, without the problem."""
    return _VIEWS[type(problem)].answer_data(answer)
