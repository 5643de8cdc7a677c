"""How problems and answers of each family are shown to people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from allocsolve.cli import show_evolution, show_partition
from allocsolve.model import EvolutionProblem, PartitionProblem

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from allocsolve.cli.svg import Drawing
    from allocsolve.model import Answer, Problem

__all__ = ["check_drawable", "describe", "metric_fields", "plot", "show_picture", "units"]


class _View(NamedTuple):
    describe: Callable[[Any], str]
    #: Of each term of an objective.
    units: Mapping[str, str]
    metric_fields: Callable[[Any, Any], list[tuple[str, str]]]
    #: Prints a picture of the answer, if it is of a size that a terminal can show.
    show_picture: Callable[[Any, Any], None]
    #: Refuses problems whose answers are too large to be drawn.
    check_drawable: Callable[[Any], None]
    plot: Callable[[Any, Any], Drawing]


_VIEWS: Final[Mapping[type, _View]] = {
    EvolutionProblem: _View(
        show_evolution.describe,
        show_evolution.UNITS,
        show_evolution.metric_fields,
        show_evolution.show_picture,
        show_evolution.check_drawable,
        show_evolution.plot,
    ),
    PartitionProblem: _View(
        show_partition.describe,
        show_partition.UNITS,
        show_partition.metric_fields,
        show_partition.show_picture,
        show_partition.check_drawable,
        show_partition.plot,
    ),
}


def describe(problem: Problem) -> str:
    """Return a problem in a few words."""
    return _VIEWS[type(problem)].describe(problem)


def units(problem: Problem) -> Mapping[str, str]:
    """Return the unit of each term of an objective."""
    return _VIEWS[type(problem)].units


def metric_fields(problem: Problem, worth: object) -> list[tuple[str, str]]:
    """Return the metrics of an answer as names and values."""
    return _VIEWS[type(problem)].metric_fields(problem, worth)


def show_picture(problem: Problem, answer: Answer) -> None:
    """Print a picture of an answer, where its family has one and a terminal can show it."""
    _VIEWS[type(problem)].show_picture(problem, answer)


def check_drawable(problem: Problem) -> None:
    """Refuse a problem whose answers cannot be drawn.

    Raises
    ------
    InvalidOption
        If they are too large.
    """
    _VIEWS[type(problem)].check_drawable(problem)


def plot(problem: Problem, answer: Answer) -> Drawing:
    """Return a drawing of an answer, if it is not too large: see `check_drawable`."""
    return _VIEWS[type(problem)].plot(problem, answer)
