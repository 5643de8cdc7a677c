"""What a report shows of a single problem and all its answers together, such as of a log and its schedules.

Families say what that is, as `families.Exhibit`; here it becomes part of a page, or a page of its own.
"""

from __future__ import annotations

import math
from itertools import count
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from allocsolve.bench.runs.answers import is_given
from allocsolve.families import family_of
from allocsolve.model import terms
from allocsolve.report.parts import document, escape, figure_html, isolated, table_html
from allocsolve.report.table import Table, TableCell

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from allocsolve.bench import Comparison, Record
    from allocsolve.families import Exhibit
    from allocsolve.model import Answer, Problem
    from allocsolve.report.study import Findings, StudyRecords

__all__ = ["EXHIBIT_BYTES", "InstanceExhibits", "exhibit_lines", "instance_exhibits", "log_page"]

#: Of all exhibits of a page: of instances beyond it none are made.
EXHIBIT_BYTES: Final = 6_000_000

#: Certificates may be large: only those of the tightest bounds are read.
_CERTIFICATES: Final = 3


class InstanceExhibits(NamedTuple):
    """What there is to see of one instance; nothing but a remark where the page would be too large."""

    name: str
    about: str
    exhibits: tuple[Exhibit, ...]


def log_page(
    problem: Problem,
    answers: Mapping[str, Answer],
    certificates: Sequence[Mapping[str, Any]] = (),
    *,
    given: Collection[str] = (),
    title: str = "",
) -> str:
    """Return a page on one problem as an HTML document that needs nothing else.

    Parameters
    ----------
    problem
        Of any family; one without exhibits has a page that only describes it.
    answers
        Feasible ones, by the names of their solvers, the best first.
    certificates
        Of bounds on the objective, the tightest first.
    given
        Names of answers that no solver has made, which are shown even if many are better.
    title
        Of the page; the name of the problem if empty.
    """
    view = family_of(problem).view
    shown = () if view.exhibits is None else tuple(view.exhibits(problem, answers, certificates, given))
    title = title or problem.name or "Problem"
    body = [f"<header><h1>{isolated(title)}</h1></header>", "<main>"]
    body += exhibit_lines(InstanceExhibits(title, view.describe(problem), shown), count())
    return document(title, [*body, "</main>"])


def instance_exhibits(findings: Findings, study: StudyRecords) -> list[InstanceExhibits]:
    """Return the exhibits of all instances of a study whose families have any.

    Of each solver the answer of its best run is shown, in the order of their values under the objective of
    the first section that has the instance.
    """
    collected: dict[str, InstanceExhibits] = {}
    size = 0
    for section in findings.sections:
        for digest, best in section.comparison.best_by_digest.items():
            try:
                problem = None if digest in collected else study.problem(digest)
            except KeyError:
                continue
            if problem is None or (view := family_of(problem).view).exhibits is None:
                continue
            about = view.describe(problem)
            if size >= EXHIBIT_BYTES:
                about += "; its pictures are left out: the page would be too large"
                collected[digest] = InstanceExhibits(best.instance, about, ())
                continue
            answers = _answers(section.comparison, study, digest)
            certificates = _certificates(findings, study, digest)
            shown = tuple(view.exhibits(problem, answers, certificates, _given(section.comparison, digest)))
            size += sum(len(one.drawing.inline()) for one in shown if one.drawing is not None)
            collected[digest] = InstanceExhibits(best.instance, about, shown)
    return list(collected.values())


def _answers(comparison: Comparison, study: StudyRecords, digest: str) -> dict[str, Answer]:
    """Return the answers to an instance by entrant, the best first."""
    runs: list[tuple[tuple[float, ...], str, Record]] = []
    for entrant, cells in comparison.cells.items():
        run = cells[digest].best_run if digest in cells else None
        if run is not None and run.value is not None:
            runs.append((terms(run.value), entrant, run))
    runs.sort(key=lambda one: one[:2])
    answers = ((entrant, study.answer(run.key)) for _, entrant, run in runs)
    return {entrant: answer for entrant, answer in answers if answer is not None}


def _given(comparison: Comparison, digest: str) -> frozenset[str]:
    """Return the entrants whose answer to an instance is no solver's."""
    runs = ((entrant, cells[digest].runs) for entrant, cells in comparison.cells.items() if digest in cells)
    return frozenset(entrant for entrant, row in runs if any(is_given(run) for run in row))


def _certificates(findings: Findings, study: StudyRecords, digest: str) -> list[Mapping[str, Any]]:
    """Return the certificates of the tightest bounds on an instance."""
    certified = [
        run
        for run in findings.records
        if run.digest == digest and math.isfinite(terms(run.certified_bound)[0])
    ]
    certified.sort(key=lambda run: terms(run.certified_bound), reverse=True)
    read = (study.certificate(run.key) for run in certified[:_CERTIFICATES])
    return [one for one in read if one is not None]


def exhibit_lines(instance: InstanceExhibits, numbers: Iterator[int]) -> Iterator[str]:
    """Yield the lines of the exhibits of an instance; `numbers` are those of its tables."""
    yield f'<p class="note">{escape(instance.about)}</p>'
    drawings = [one for one in instance.exhibits if one.drawing is not None]
    yield '<div class="figures">'
    for one in drawings:
        assert one.drawing is not None, "chosen by it"
        yield figure_html(one.title, one.drawing, one.note)
    yield "</div>"
    for one in instance.exhibits:
        if one.drawing is None:
            rows = tuple(tuple(TableCell(*cell) for cell in row) for row in one.rows)
            yield table_html(Table(one.title, one.heads, rows, one.note), next(numbers))
