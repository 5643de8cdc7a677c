"""How a family shows its problems and answers: a part of the contract of a family."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeAlias, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

P = TypeVar("P")
A = TypeVar("A")


class Picture(Protocol):
    """A drawing, such as `allocsolve.pictures.Drawing`; its text is a whole SVG file."""

    @property
    def size(self) -> tuple[float, float]:
        """Width and height in pixels."""
        ...

    def inline(self) -> str:
        """Return the SVG element, for a page that has the style rules of all drawings."""
        ...


#: A line of a terminal: texts side by side, each with the name of its style (as ``rich`` has them) or "".
Line: TypeAlias = tuple[tuple[str, str], ...]


class Exhibit(NamedTuple):
    """A drawing or a table with which a page shows a problem and several answers to it."""

    title: str
    #: The text beside it.
    note: str
    drawing: Picture | None = None
    heads: tuple[str, ...] = ()
    #: For each cell the shown text, and the number or text by which it is sorted.
    rows: tuple[tuple[tuple[str, float | str], ...], ...] = ()


class GanttRow(NamedTuple):
    """A job, or an application, over time."""

    name: str
    #: Seconds: from when on it may start.
    ready: float
    #: In order of time: from which to which second how many nodes are held, and whether longer than asked.
    pieces: tuple[tuple[float, float, int, bool], ...]


class Timeline(NamedTuple):
    """An answer over time."""

    rows: tuple[GanttRow, ...]
    num_nodes: int
    #: From which to which second how many nodes are closed.
    closed: tuple[tuple[float, float, int], ...] = ()


def nothing(problem: object) -> str:
    """Return nothing: most problems have nothing that files and certificates do not know."""
    del problem
    return ""


class Export(NamedTuple):
    """A file that another program reads, made of a problem, an answer and a window of time."""

    #: For which program it is, in a few words; its name is a format of `convert`.
    summary: str
    #: The text of the file; the window is its first and last instant in seconds, None for all there is.
    #: Raises `InvalidOption` where that is more than the other program can take.
    text: Callable[[Any, Any, tuple[float, float] | None], str]
    #: Whether a window makes a difference.
    windowed: bool = True
    #: What a problem has that such a file cannot hold, so that none is written; nothing by default.
    cannot_hold: Callable[[Any], str] = nothing


def _no_terminal_picture(problem: object, answer: object, width: int) -> list[Line]:
    """Return nothing: the pictures of many families have too many points for a terminal."""
    del problem, answer, width
    return []


@dataclass(frozen=True, slots=True)
class View(Generic[P, A]):
    """What is shown of the problems, answers and metrics of a family.

    All functions are pure: they return what is to be shown and print nothing.
    """

    #: A problem in a few words.
    describe: Callable[[P], str]
    #: Why no answer to a problem can be drawn, such as its size; nothing if it can.
    undrawable: Callable[[P], str]
    #: The drawing of an answer to a problem that is not `undrawable`.
    plot: Callable[[P, A], Picture]
    #: The metrics of an answer, as names and texts.
    metric_fields: Callable[[P, Any], list[tuple[str, str]]]
    #: The lines that show an answer in a terminal of a given width; none if it does not fit.
    terminal_picture: Callable[[P, A, int], Sequence[Line]] = _no_terminal_picture
    #: What a problem leaves out of what it is made of, such that figures may mislead; nothing by default.
    caution: Callable[[P], str] = nothing
    #: What is shown of a problem, its answers by the names of their solvers (the best first), the
    #: certificates of its bounds (the tightest first), and the names of answers that no solver has made; left
    #: out where the pictures of answers show it all.
    exhibits: (
        Callable[[P, Mapping[str, A], Sequence[Mapping[str, Any]], Collection[str]], Sequence[Exhibit]] | None
    ) = None
    #: Files for other programs, by the names of their formats in `convert`.
    exports: Mapping[str, Export] = field(default_factory=dict)
    #: The drawings of several answers on one scale; left out where the scale of `plot` is always the same.
    plot_together: Callable[[P, Sequence[A]], Sequence[Picture]] | None = None
    #: An answer over time, of which `allocsolve.figures` makes Gantt charts; left out where answers have no
    #: time.
    timeline: Callable[[P, A], Timeline] | None = None

    def about(self, problem: P) -> str:
        """Return a problem in a few words, and what it leaves out of what it is made of."""
        caution = self.caution(problem)
        return f"{self.describe(problem)}. {caution}" if caution else self.describe(problem)

    def plots(self, problem: P, answers: Sequence[A]) -> Sequence[Picture]:
        """Return the drawings of several answers, to be compared side by side."""
        if self.plot_together is not None:
            return self.plot_together(problem, answers)
        return [self.plot(problem, answer) for answer in answers]
