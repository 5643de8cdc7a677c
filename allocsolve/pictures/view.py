"""What a family of problems shows: the contract that each family fills once, for all commands and reports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from allocsolve.pictures.svg import Drawing

__all__ = ["Line", "View"]

P = TypeVar("P")
A = TypeVar("A")
M = TypeVar("M")

#: A line of a terminal: texts side by side, each with the name of its style (as ``rich`` has them) or "".
Line = tuple[tuple[str, str], ...]


def _no_terminal_picture(problem: object, answer: object, width: int) -> list[Line]:
    """Return nothing: the pictures of most families have too many points for a terminal."""
    del problem, answer, width
    return []


@dataclass(frozen=True, slots=True)
class View(Generic[P, A, M]):
    """What is shown of the problems, answers and metrics of a family.

    All functions are pure: they return what is to be shown and print nothing.
    """

    #: Of each term of an objective.
    units: Mapping[str, str]
    #: A problem in a few words.
    describe: Callable[[P], str]
    #: Why no answer to a problem can be drawn, as it is too large; nothing if it can.
    undrawable: Callable[[P], str]
    #: The drawing of an answer to a problem that is not `undrawable`.
    plot: Callable[[P, A], Drawing]
    #: The metrics of an answer, as names and texts.
    metric_fields: Callable[[P, M], list[tuple[str, str]]]
    #: The lines that show an answer in a terminal with so many letters to a line; none if it does not fit.
    terminal_picture: Callable[[P, A, int], Sequence[Line]] = _no_terminal_picture
    #: The drawings of several answers on one scale; left out where the scale of `plot` is always the same.
    plot_together: Callable[[P, Sequence[A]], Sequence[Drawing]] | None = None

    def plots(self, problem: P, answers: Sequence[A]) -> Sequence[Drawing]:
        """Return the drawings of several answers, as they are to be looked at side by side."""
        if self.plot_together is not None:
            return self.plot_together(problem, answers)
        return [self.plot(problem, answer) for answer in answers]
