"""What the terminal shows of problems and answers of each family."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from allocsolve.cli import show_evolution, show_partition
from allocsolve.model import EvolutionProblem, PartitionProblem

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from allocsolve.model import Answer, Problem

__all__ = ["metric_fields", "show_picture"]


class _View(NamedTuple):
    metric_fields: Callable[[Any, Any], list[tuple[str, str]]]
    #: Prints a picture of the answer, if it is of a size that a terminal can show.
    show_picture: Callable[[Any, Any], None]


_VIEWS: Final[Mapping[type, _View]] = {
    EvolutionProblem: _View(
        show_evolution.metric_fields,
        show_evolution.show_picture,
    ),
    PartitionProblem: _View(
        show_partition.metric_fields,
        show_partition.show_picture,
    ),
}


def metric_fields(problem: Problem, worth: object) -> list[tuple[str, str]]:
    """Return the metrics of an answer as names and values."""
    return _VIEWS[type(problem)].metric_fields(problem, worth)


def show_picture(problem: Problem, answer: Answer) -> None:
    """Print a picture of an answer, where its family has one and a terminal can show it."""
    _VIEWS[type(problem)].show_picture(problem, answer)
