"""One call for every figure, and all figures of a study as files."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from allocsolve.errors import InvalidOption, UnknownName
from allocsolve.figures.study import gap_boxes, primal_gaps, profile_curves
from allocsolve.figures.style import SERIES, style
from allocsolve.figures.timeline import gantt, node_use
from allocsolve.report import Findings, Section, examine
from allocsolve.report.parts import unused_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from allocsolve.bench import Record
    from allocsolve.figures.style import FigureFormat
    from allocsolve.model import Problem
    from allocsolve.report import StudyRecords

_OF_STUDIES: Final[Mapping[str, Callable[..., Axes]]] = {
    "gaps": gap_boxes,
    "profile": profile_curves,
    "proof-profile": partial(profile_curves, of="time"),
    "primal": primal_gaps,
}
_OF_ANSWERS: Final[Mapping[str, Callable[..., Axes]]] = {"gantt": gantt, "use": node_use}


def plot(
    what: Section | Findings | Iterable[Record] | Problem,
    answer: object = None,
    *,
    kind: str = "",
    ax: Axes | Figure | None = None,
) -> Axes:
    """Draw a figure for print and return its axes.

    Of a study: ``gaps`` (the default), boxes of the gaps of each solver to the best known bounds, in per
    cent, from quartile to quartile, with whiskers to the furthest gap within 1.5 times that width;
    ``profile``, on which share of the instances a solver is within a multiple of the best value of all (Dolan
    & More 2002), and ``proof-profile``, the same of the time to a proven optimum; ``primal``, the mean gap to
    the best known value over time in seconds, 100 % until there is an answer (Berthold 2013). Curves are of
    at most 7 solvers: `Section.leading`.

    Of an answer: ``gantt`` (the default), a row for each of at most 48 jobs, with bars as high as it has
    nodes; a black triangle points up where it grows, a white one down where it shrinks, and hatched is what
    is held longer than asked; ``use``, the nodes in use over time, beyond 300 changes as means.

    Parameters
    ----------
    what
        Records, `Findings` with one section, or a section of them; or a problem.
    answer
        To the problem, or a result with one; of the kind ``use`` also up to 7 by their names.
    kind
        One of those above.
    ax
        Axes of yours, which keep their size and style; or an empty figure, which gets axes, the style of
        print, and a size of 3.4 inches across (a Gantt chart 7). None: a new figure of pyplot like that.

    Raises
    ------
    SolverUnavailable
        If there is no matplotlib: it comes with ``pip install 'allocsolve[plots]'``.
    InvalidOption
        If there is nothing to draw or too much, or findings have several sections.
    UnknownName
        If there is no such kind.
    """
    is_study = answer is None and isinstance(what, Section | Findings | Iterable)
    kinds = _OF_STUDIES if is_study else _OF_ANSWERS
    draw = kinds.get(kind or next(iter(kinds)))
    if draw is None:
        raise UnknownName("kind of figure", kind, kinds)
    return draw(_section(what), ax=ax) if is_study else draw(what, answer, ax=ax)


def _section(study: Any) -> Section:  # noqa: ANN401 - records, findings, or a section of them
    if isinstance(study, Section):
        return study
    findings = study if isinstance(study, Findings) else examine(study)
    if len(findings.sections) != 1:
        names = "; ".join(section.name for section in findings.sections)
        raise InvalidOption(f"a figure is of one section of a study, which has {names or 'none'}")
    return findings.sections[0]


def write_figures(
    findings: Findings, folder: Path, file_format: FigureFormat = "pdf", *, study: StudyRecords | None = None
) -> list[Path]:
    """Write all figures for print that the records of a study suffice for; return their files.

    They are named by section and kind, in a folder that exists; files of the same names are replaced. With
    the `study` that problems and answers come from, the best answers to the only instance of a section are
    drawn, too. Raises `SolverUnavailable` if there is no matplotlib.
    """
    written: dict[str, Path] = {}
    undated = {"pdf": {"CreationDate": None}, "svg": {"Date": None}}.get(file_format)
    for section in findings.sections:
        kinds = {kind: partial(draw, section) for kind, draw in _OF_STUDIES.items()}
        kinds |= {} if study is None else _of_only_instance(section, study)
        for kind, draw in kinds.items():
            with style(), suppress(InvalidOption):  # the records do not suffice for each kind
                from matplotlib.figure import Figure  # noqa: PLC0415 - an optional dependency

                draw(ax=(figure := Figure()))
                key = unused_name(f"{section.name} {kind}", written)
                written[key] = folder / f"{key}.{file_format}"
                figure.savefig(written[key], metadata=undated)
    return [*written.values()]


def _of_only_instance(section: Section, study: StudyRecords) -> dict[str, partial[Axes]]:
    """Return what draws the best answers to the only instance of a section."""
    if len(section.comparison.best_by_digest) != 1:
        return {}
    (digest,) = section.comparison.best_by_digest
    try:
        problem = study.problem(digest)
    except KeyError:  # it is damaged
        return {}
    runs = {
        entrant: section.comparison.cells[entrant][digest].best_run for entrant in section.leading(SERIES)
    }
    answers = {entrant: study.answer(run.key) for entrant, run in runs.items() if run}
    answers = {entrant: answer for entrant, answer in answers.items() if answer is not None}
    kinds = {f"{entrant}-gantt": partial(gantt, problem, answer) for entrant, answer in answers.items()}
    return {**kinds, "use": partial(node_use, problem, answers)}
