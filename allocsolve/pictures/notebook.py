"""What problems, answers and results show of themselves in notebooks, and their pictures.

Models are frozen data that know nothing of pictures, so they are given ``_repr_html_`` here, when the first
public name of the package is used; families and their views are loaded when something is shown.
"""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING, Any, Final

from allocsolve.errors import InvalidOption
from allocsolve.model import EvolutionProblem, EvolutionSchedule, Partition, PartitionProblem, Result, terms

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from allocsolve.families import Picture
    from allocsolve.model import Problem

#: Rows of a table; of more the first ones are shown.
_ROWS: Final = 20

#: The method that notebooks ask for.
_METHOD: Final = "_repr_html_"


def plot(problem: Problem, answer: object) -> Picture:
    """Draw an answer to a problem, as ``solve --plot`` does.

    Parameters
    ----------
    answer
        An answer to it, or a result with one. A result does not know its problem, hence both.

    Returns
    -------
    Picture
        Notebooks show it; its text, ``str(picture)``, is an SVG document.

    Raises
    ------
    InvalidOption
        If the result has no answer, or the problem is too large to be drawn.

    Examples
    --------
    >>> from allocsolve import EvolutionProblem, EvolutionProfile, solve
    >>> problem = EvolutionProblem(4, (EvolutionProfile([(10, 3), (20, 1)]),))
    >>> str(plot(problem, solve(problem, "noX")))[:4]
    '<svg'
    """
    from allocsolve.families import family_of  # noqa: PLC0415 - when something is drawn

    view = family_of(problem).view
    drawn = answer.answer if isinstance(answer, Result) else answer
    if drawn is None:
        raise InvalidOption("there is no answer to draw")
    if reason := view.undrawable(problem):
        raise InvalidOption(reason)
    return view.plot(problem, drawn)


def _table(rows: Iterable[Sequence[str]], *, heads: Sequence[str] = ()) -> str:
    """Return a table; names are isolated, so that they turn nothing beside them round."""
    above = "".join(f"<th>{escape(head)}</th>" for head in heads)
    lines = ["".join(f"<td><bdi>{escape(cell)}</bdi></td>" for cell in row) for row in rows]
    more = len(lines) - _ROWS
    note = f"<p>and {more} more</p>" if more > 0 else ""
    body = "".join(f"<tr>{line}</tr>" for line in lines[:_ROWS])
    return f"<table>{f'<tr>{above}</tr>' if above else ''}{body}</table>{note}"


def _problem(problem: Any) -> str:  # noqa: ANN401 - of any family
    from allocsolve.families import family_of  # noqa: PLC0415 - when something is shown

    family = family_of(problem)
    features = family.features(problem)
    rows = [("name", problem.name or "-"), ("kind", family.kind), ("problem", family.view.describe(problem))]
    return _table([*rows, *((name, str(value)) for name, value in features.items())])


def _schedule(schedule: EvolutionSchedule) -> str:
    rows = [
        (str(app), str(start), str(end), str(schedule.profile(app).peak))
        for app, (start, end) in enumerate(
            zip(schedule.starts.tolist(), schedule.completions.tolist(), strict=True)
        )
    ]
    return _table(rows, heads=("application", "start, s", "completion, s", "most nodes"))


def _partition(partition: Partition) -> str:
    return _table(
        [("size", str(len(partition.nodes))), ("nodes", ", ".join(map(str, partition.nodes.tolist())))]
    )


def _result(result: Result[Any]) -> str:
    rows = [
        ("status", f"{result.status}{f', stopped: {result.limit}' if result.limit else ''}"),
        ("objective", "no answer" if result.objective is None else _numbers(result.objective)),
        ("bound", _numbers(result.bound)),
        ("run time", f"{result.runtime:.3g} s"),
    ]
    shown = getattr(result.answer, _METHOD, None)
    return _table(rows) + (shown() if shown else "")


def _numbers(value: float | tuple[float, ...]) -> str:
    return ", ".join("none" if math.isinf(term) else f"{term:.10g}" for term in terms(value))


_SHOWN: Final[tuple[tuple[type, Callable[[Any], str]], ...]] = (
    (EvolutionProblem, _problem),
    (PartitionProblem, _problem),
    (EvolutionSchedule, _schedule),
    (Partition, _partition),
    (Result, _result),
)
for _type, _html in _SHOWN:
    setattr(_type, _METHOD, _html)
