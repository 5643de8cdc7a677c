"""A report as one HTML file that needs nothing else: no network, no server, no other file.

Its figures are gaps, performance profiles, run time against gap, and the primal gap over time.

Problems and answers of a study may be large, and are decoded each time when they are asked for. So each
instance of a section is read once, for all that is shown of it.
"""

from __future__ import annotations

import base64
import gzip
import json
import math
from functools import cached_property
from itertools import count
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from allocsolve.bench.runs.given import is_given
from allocsolve.bench.runs.records import objective_terms
from allocsolve.bench.scores.summary import box_of
from allocsolve.families import family_of
from allocsolve.judge.quantiles import quantile
from allocsolve.model import terms
from allocsolve.pictures.chart import SERIES, Axis, Chart, Drawing, seconds_tick
from allocsolve.report.parts import document, escape, figure_html, isolated, table_html, unused_name
from allocsolve.report.tables import Table, TableCell, contradiction_tables, overview_tables, section_tables

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from allocsolve.bench import Comparison, Record
    from allocsolve.bench.scores.comparison import InstanceResult
    from allocsolve.bench.scores.gaps import Best
    from allocsolve.bench.scores.statistics import Steps
    from allocsolve.bench.scores.summary import Box
    from allocsolve.families import Exhibit
    from allocsolve.model import Answer, Problem
    from allocsolve.report.study import Findings, Section, StudyRecords

#: Of all exhibits of a page: of instances beyond it none are made.
EXHIBIT_BYTES: Final = 6_000_000

#: Certificates may be large: only those of the tightest bounds are read.
_CERTIFICATES: Final = 3


class InstanceExhibits(NamedTuple):
    """What there is to see of one instance; nothing but a remark where the page would be too large."""

    name: str
    about: str
    exhibits: tuple[Exhibit, ...]


class ShownInstances(NamedTuple):
    """What a report embeds of the instances of a study."""

    #: The index of all instances, then the blocks of their pictures: gzip'ed JSON in base64.
    blocks: list[str]
    #: Of all instances whose families have any.
    exhibits: list[InstanceExhibits]


def shown_instances(findings: Findings, study: StudyRecords) -> ShownInstances:
    """Return the pictures and the exhibits of all instances of a study.

    Of each solver the answer of its best run is shown. Exhibits show them in the order of their values under
    the objective of the first section that has the instance. Each section reads the problem of an instance
    once, and each answer that it shows once. Pictures beyond `PICTURE_BYTES` are left out, last sections
    first; likewise exhibits beyond `EXHIBIT_BYTES`.
    """
    index, exhibits = _Index(), _Exhibits(findings, study)
    for section in findings.sections:
        index.begin(section)
        for digest, best in section.comparison.best_by_digest.items():
            instance = _Instance(section.comparison, digest, best, study)
            index.add(instance)
            exhibits.add(instance)
    return ShownInstances(index.packed(), list(exhibits.collected.values()))


class _Instance:
    """One instance in one section; what is stored of it is read when it is asked for, and once."""

    def __init__(self, comparison: Comparison, digest: str, best: Best, study: StudyRecords) -> None:
        self.comparison = comparison
        self.digest = digest
        self.best = best
        self._study = study

    @cached_property
    def problem(self) -> Problem | None:
        """The problem; None if the records lack it."""
        try:
            return self._study.problem(self.digest)
        except KeyError:
            return None

    @cached_property
    def cells(self) -> dict[str, InstanceResult]:
        """The runs of each entrant that has any."""
        cells = self.comparison.cells.items()
        return {entrant: row[self.digest] for entrant, row in cells if self.digest in row}

    @cached_property
    def answers(self) -> dict[str, tuple[Record, Answer]]:
        """The best run of each entrant and its answer, if it has one."""
        answers: dict[str, tuple[Record, Answer]] = {}
        for entrant, cell in self.cells.items():
            run = cell.best_run
            answer = None if run is None or run.value is None else self._study.answer(run.key)
            if run is not None and answer is not None:
                answers[entrant] = run, answer
        return answers


#: Of all pictures together, compressed; base64 makes a third more of it.
PICTURE_BYTES: Final = 12_000_000

#: A block is unpacked when one of its pictures is asked for.
_BLOCK: Final = 1_000_000


class _Blocks:
    """Collects pictures in blocks of about a megabyte of JSON."""

    def __init__(self) -> None:
        self.packed: list[str] = []
        self._open: list[str] = []
        self._open_size = self._packed_size = 0

    @property
    def full(self) -> bool:
        return self._packed_size >= PICTURE_BYTES

    def add(self, picture: object) -> tuple[int, int]:
        """Take a picture in and return its block and its place there; the first block is the index."""
        place = len(self.packed) + 1, len(self._open)
        self._open.append(_json(picture))
        self._open_size += len(self._open[-1])
        if self._open_size >= _BLOCK:
            self.close()
        return place

    def close(self) -> None:
        """Compress what there is."""
        if self._open:
            self.packed.append(_packed(f"[{','.join(self._open)}]"))
            self._packed_size += 3 * len(self.packed[-1]) // 4
        self._open, self._open_size = [], 0


class _Index:
    """Collects the index of all instances, section by section, and the blocks of their pictures."""

    def __init__(self) -> None:
        self._blocks = _Blocks()
        self._sections: list[dict[str, Any]] = []

    def begin(self, section: Section) -> None:
        """Let the instances that follow be those of a section."""
        comparison = section.comparison
        self._sections.append(
            {
                "name": section.name,
                "terms": objective_terms(comparison.objective),
                "units": {},
                "solvers": comparison.entrants,
                "instances": [],
                "cells": [],
            }
        )

    def add(self, instance: _Instance) -> None:
        """Take in an instance of the section."""
        section = self._sections[-1]
        if instance.problem is None:
            about = missing = "the problem is not in the records"
        else:
            family = family_of(instance.problem)
            view = family.view
            section["units"] |= {term.name: term.unit for term in family.objectives}
            about, missing = view.about(instance.problem), view.undrawable(instance.problem)
        if not missing and self._blocks.full:
            missing = "left out: the page would be too large"
        place = len(section["instances"])
        entrants = {entrant: idx for idx, entrant in enumerate(section["solvers"])}
        at = None if missing else self._blocks.add(_pictures(instance, entrants))
        best = instance.best
        section["instances"].append(
            {
                "name": best.instance,
                "about": about,
                "best": None if best.value is None else _plain(terms(best.value)),
                "bound": _plain(terms(best.bound)),
                "standing": best.standing,
                "stated": best.bound_stated_by or best.value_stated_by,
                "proven": best.proven,
                "at": at,
                "missing": missing,
            }
        )
        section["cells"] += [
            [place, entrants[entrant], *_cell_values(cell)] for entrant, cell in instance.cells.items()
        ]

    def packed(self) -> list[str]:
        """Return the index, then the blocks."""
        self._blocks.close()
        return [_packed(_json({"sections": self._sections})), *self._blocks.packed]


def _cell_values(cell: InstanceResult) -> list[object]:
    gap = None if cell.gap is None else "inf" if math.isinf(cell.gap) else float(f"{cell.gap:.6g}")
    value = None if cell.value is None else _plain(cell.value)
    return [value, gap, float(f"{cell.runtime_s:.4g}"), len(cell.runs), cell.failed + cell.unanswered]


def _pictures(
    instance: _Instance, entrants: Mapping[str, int]
) -> dict[int, tuple[str, int, list[float | None]]]:
    """Return drawing, seed and value of the best run of each entrant that has an answer, by its number."""
    assert instance.problem is not None, "it is drawn"
    view = family_of(instance.problem).view
    drawings = view.plots(instance.problem, [answer for _, answer in instance.answers.values()])
    return {
        entrants[entrant]: (drawing.inline(), run.seed, [] if run.value is None else _plain(terms(run.value)))
        for (entrant, (run, _)), drawing in zip(instance.answers.items(), drawings, strict=True)
    }


def _plain(values: Sequence[float]) -> list[float | None]:
    """Return numbers as JSON has them: whole ones without a point, infinite ones as null."""
    return [None if math.isinf(x) else int(x) if x == int(x) else float(f"{x:.10g}") for x in values]


def _json(document: object) -> str:
    return json.dumps(document, allow_nan=False, separators=(",", ":"))


def _packed(text: str) -> str:
    return base64.b64encode(gzip.compress(text.encode(), 6, mtime=0)).decode()


class _Exhibits:
    """Collects the exhibits of instances, each where it is met first."""

    def __init__(self, findings: Findings, study: StudyRecords) -> None:
        self.collected: dict[str, InstanceExhibits] = {}
        self._findings = findings
        self._study = study
        self._size = 0

    def add(self, instance: _Instance) -> None:
        """Take in an instance, if its family has exhibits and it has not been met before."""
        problem, digest = instance.problem, instance.digest
        if digest in self.collected or problem is None or (view := family_of(problem).view).exhibits is None:
            return
        name, about = instance.best.instance, view.about(problem)
        if self._size >= EXHIBIT_BYTES:
            about += "; its pictures are left out: the page would be too large"
            self.collected[digest] = InstanceExhibits(name, about, ())
            return
        given = _given(instance.comparison, digest)
        certificates = _certificates(self._findings, self._study, digest)
        shown = tuple(view.exhibits(problem, _by_value(instance), certificates, given))
        self._size += sum(len(exhibit.drawing.inline()) for exhibit in shown if exhibit.drawing is not None)
        self.collected[digest] = InstanceExhibits(name, about, shown)


def _by_value(instance: _Instance) -> dict[str, Answer]:
    """Return the answers to an instance by entrant, the best first."""
    ranked = sorted(
        (terms(run.value), entrant) for entrant, (run, _) in instance.answers.items() if run.value is not None
    )
    return {entrant: instance.answers[entrant][1] for _, entrant in ranked}


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
    return [certificate for certificate in read if certificate is not None]


#: An axis is logarithmic if the largest value is more than this multiple of the median.
_SKEWED: Final = 20

#: Pixels: dots nearer than that to each other, as seen from a grid, are drawn once.
_GRID: Final = 2


#: Per cent: less is drawn as none.
_LEAST_GAP: Final = 0.01


class Figure(NamedTuple):
    """A drawing with the name of its kind and what is to be said of it."""

    name: str
    title: str
    note: str
    drawing: Drawing


def figures(findings: Findings) -> dict[str, str]:
    """Return all figures as SVG documents by file name, without the ending.

    The names are made of the section and the kind of the figure: letters, digits and hyphens only.
    """
    documents: dict[str, str] = {}
    for section in findings.sections:
        for figure in section_figures(section):
            documents[unused_name(f"{section.name} {figure.name}", documents)] = str(figure.drawing)
    return documents


def section_figures(section: Section) -> tuple[Figure, ...]:
    """Return the figures that the records of a section suffice for."""
    drawn = (
        _gaps(section),
        _value_profile(section),
        _scatter(section),
        _primal(section),
        _proof_profile(section),
    )
    return tuple(figure for figure in drawn if figure is not None)


def _chosen(section: Section) -> tuple[list[str], str]:
    """Return the entrants that have a colour, and a remark if they are not all."""
    count = len(section.summaries)
    remark = f" Of {count} solvers the {SERIES} with most answers, then least shifted mean gap."
    return section.leading(SERIES), remark if count > SERIES else ""


def _gap_axis(gaps: Sequence[float], *, unanswered: bool) -> Axis:
    """Return an axis in per cent, with bands for what is on no logarithmic axis."""
    return Axis.around(
        "gap to the best known bound [%]",
        [100 * gap for gap in gaps],
        log=True,
        zero="0",
        infinity="/".join(["inf"] * (math.inf in gaps) + ["none"] * unanswered),
    )


def _gaps(section: Section) -> Figure | None:
    by_entrant = {
        summary.entrant: [100 * gap for gap in section.gaps(summary.entrant)] for summary in section.summaries
    }
    everything = [gap for gaps in by_entrant.values() for gap in gaps]
    if not everything:
        return None
    positive = [gap for gap in everything if 0 < gap < math.inf]
    skewed = math.inf in everything or max(positive, default=0) > _SKEWED * quantile(positive or [1], 0.5)
    title = "gap to the best known bound [%]"
    axis = (
        _gap_axis([gap / 100 for gap in everything], unanswered=False)
        if skewed
        else Axis.around(title, everything)
    )
    chart = Chart(
        f"{section.name}: gaps", axis, rows=list(by_entrant), pitch=44, width=Chart.NARROW, names_above=True
    )
    for idx, gaps in enumerate(by_entrant.values()):
        if gaps:
            _box(chart, idx, box_of(gaps))
    note = (
        "Boxes from the lower to the upper quartile with the median; whiskers to the furthest value within "
        "1.5 times the width of the box, dots beyond; red: the mean."
    )
    return Figure("gaps", "Gaps", note, chart.drawing)


def _box(chart: Chart, idx: int, box: Box) -> None:
    left, right = map(chart.x, box.whiskers)
    y, draw = chart.row(idx), chart.drawing
    draw.line((left, y), (right, y), kind="whisker")
    draw.line((left, y - 5), (left, y + 5), kind="whisker")
    draw.line((right, y - 5), (right, y + 5), kind="whisker")
    draw.rectangles("box", [(chart.x(box.low), y - 8, max(chart.x(box.high) - chart.x(box.low), 1), 16)])
    middle = chart.x(box.median)
    draw.line((middle, y - 8), (middle, y + 8), kind="median", label=f"{box.median:.3g} %")
    if math.isfinite(box.mean):
        mean = chart.x(box.mean)
        draw.line((mean, y - 8), (mean, y + 8), kind="mean", label=f"{box.mean:.3g} %")
    draw.dots("outlier", sorted({(chart.x(gap), y) for gap in box.beyond}))


def _value_profile(section: Section) -> Figure | None:
    note = (
        "on which a solver is within a multiple of the least value (Dolan & More 2002); a curve ends at the "
        "share answered"
    )
    return _profile(section, section.profiles, "profile", ("value", "Performance profile"), note)


def _proof_profile(section: Section) -> Figure | None:
    note = (
        "that a solver has proven optimal within a multiple of the least time of all solvers (Dolan & More "
        "2002); a curve ends at the share proven"
    )
    return _profile(
        section, section.proof_profiles, "proof-profile", ("time", "Time to a proven optimum"), note
    )


def _profile(
    section: Section, profiles: Mapping[str, Steps], name: str, titles: tuple[str, str], note: str
) -> Figure | None:
    if not profiles:
        return None
    chosen, remark = _chosen(section)
    highest = max((ratio for entrant in chosen for ratio, _ in profiles[entrant]), default=1.0)
    what, title = titles
    label = f"{what}, as a multiple of the least of all solvers"
    if highest > 10:
        axis = Axis(label, 1.0, Axis.around("", [highest], log=True).high, log=True)
    else:
        axis = Axis(label, 1.0, 1.0 + Axis.around("", [highest - 1]).high)
    chart = Chart(
        f"{section.name}: {title.lower()}",
        axis,
        Axis("share of the instances", 0, 1),
        legend=chosen,
        width=Chart.NARROW,
    )
    for idx, entrant in enumerate(chosen):
        chart.steps(idx, profiles[entrant], 0, label=entrant)
    count = len(section.comparison.common)
    note = f"Share of the {count} instances (those that all solvers were run on) {note}.{remark}"
    return Figure(name, title, note, chart.drawing)


def _scatter(section: Section) -> Figure | None:
    chosen, remark = _chosen(section)
    cells = {entrant: list(section.comparison.cells[entrant].values()) for entrant in chosen}
    shown = [cell for row in cells.values() for cell in row]
    times = [cell.runtime_s for cell in shown]
    if not any(cell.gap is not None for cell in shown) or not max(times) > 0:
        return None
    gaps = [cell.gap for cell in shown if cell.gap is not None]
    x = Axis.around("run time", times, log=True, write=seconds_tick)
    y = _gap_axis(gaps, unanswered=any(cell.value is None for cell in shown))
    chart = Chart(f"{section.name}: time against gap", x, y, legend=chosen, marks="dots", width=Chart.NARROW)
    unbounded = 0
    for idx, row in enumerate(cells.values()):
        dots = set()
        for cell in row:
            unbounded += cell.gap is None and cell.value is not None
            if cell.gap is not None or cell.value is None:
                gap = math.inf if cell.gap is None else 100 * cell.gap
                at = chart.x(cell.runtime_s), chart.y(gap)
                dots.add((_GRID * round(at[0] / _GRID), _GRID * round(at[1] / _GRID)))
        chart.drawing.dots(f"d{idx}", sorted(dots))
    note = (
        "One dot per instance and solver, seeds averaged; none: an instance without an answer to every seed "
        f"(instances without a bound have no dot: {unbounded}). "
        f"Dots that would cover each other (on a grid of {_GRID} pixels) are drawn once.{remark}"
    )
    return Figure("time-gap", "Time against gap", note, chart.drawing)


def _primal(section: Section) -> Figure | None:
    chosen, remark = _chosen(section)
    curves = [curve for curve in section.primal_curves if curve.entrant in chosen]
    times = [time for curve in curves for time, _ in curve.steps if time > 0]
    if not times:
        return None
    x = Axis.around("time", times, log=True, write=seconds_tick)
    levels = [100 * gap for curve in curves for _, gap in curve.steps if 100 * gap >= _LEAST_GAP]
    y = Axis.around("mean primal gap [%]", [100.0, *levels], log=True, zero=f"<{_LEAST_GAP:g}")
    chart = Chart(f"{section.name}: primal gap over time", x, y, legend=chosen, width=Chart.NARROW)
    for curve in curves:
        steps = [(time, 100 * gap) for time, gap in curve.steps]
        chart.steps(chosen.index(curve.entrant), steps, 100.0, label=curve.entrant)
    note = (
        "Mean over the instances of the gap to the best known value, relative to the larger of the two; "
        f"100 % until there is an answer (Berthold 2013).{remark}"
    )
    return Figure("primal", "Primal gap over time", note, chart.drawing)


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
    body += exhibit_lines(InstanceExhibits(title, view.about(problem), shown), count())
    return document(title, [*body, "</main>"])


def exhibit_lines(instance: InstanceExhibits, numbers: Iterator[int]) -> Iterator[str]:
    """Yield the lines of the exhibits of an instance; `numbers` are those of its tables."""
    yield f'<p class="note">{escape(instance.about)}</p>'
    drawings = [exhibit for exhibit in instance.exhibits if exhibit.drawing is not None]
    yield '<div class="figures">'
    for exhibit in drawings:
        assert exhibit.drawing is not None, "chosen by it"
        yield figure_html(exhibit.title, exhibit.drawing, exhibit.note)
    yield "</div>"
    for exhibit in instance.exhibits:
        if exhibit.drawing is None:
            rows = tuple(tuple(TableCell(*cell) for cell in row) for row in exhibit.rows)
            yield table_html(Table(exhibit.title, exhibit.heads, rows, exhibit.note), next(numbers))


#: So many sections are open at first; of more only the first one.
_OPEN: Final = 3


_INSTANCES: Final = """\
<section id="instances">
<h2>Instances</h2>
<noscript><p>The tables and pictures of single instances need JavaScript.</p></noscript>
<div class="controls">
<label>Section <select id="pick-section"></select></label>
<label>Search <input id="search" type="search" placeholder="instance or solver" autocomplete="off"></label>
<label>Instance <select id="pick-instance"></select></label>
<label>Solver <select id="pick-solver"></select></label>
</div>
<p id="about" role="status"></p>
<div id="pictures"><figure id="chosen"></figure><figure id="reference"></figure></div>
<p class="note">All instances and solvers; a row chosen shows its picture above.</p>
<div class="scroll" tabindex="0" role="region" aria-label="All instances">
<table id="cells">
<thead><tr></tr></thead><tbody></tbody></table></div>
<p><span id="shown"></span> <button type="button" id="more">Show more rows</button></p>
</section>"""


def html(findings: Findings, study: StudyRecords) -> str:
    """Return the report as an HTML document.

    A content security policy keeps it from loading anything. Whatever comes from outside (names, errors) is
    shown as text. The drawings of instances are compressed; the script of the page unpacks what is asked for.

    Parameters
    ----------
    study
        Where the problems and answers come from: those of the best run of each solver on each instance.

    Notes
    -----
    *Complexity*: one drawing of each answer shown. Pictures and exhibits that would make the page too large
    are left out, and the page says so; see `shown_instances`.
    """
    data, exhibited = shown_instances(findings, study)
    numbers = count()
    body = [f"<header><h1>{isolated(findings.title)}</h1>"]
    body += [f'<p class="headline">{escape(sentence)}</p>' for sentence in findings.headlines]
    body += [f'<p class="note">{escape(findings.made)}</p>'] if findings.made else []
    body += ['<section class="warning">'] if findings.contradictions else []
    body += [table_html(table, next(numbers)) for table in contradiction_tables(findings)]
    body += ["</section>"] if findings.contradictions else []
    body += [*_contents(findings, exhibited), "</header>", "<main>"]
    body += [
        "<section>",
        *(table_html(table, next(numbers)) for table in overview_tables(findings)),
        "</section>",
    ]
    opened = len(findings.sections) if len(findings.sections) <= _OPEN else 1
    for idx, section in enumerate(findings.sections):
        body.append(f'<details class="section" id="s{idx}"{" open" if idx < opened else ""}>')
        body.append(f"<summary><h2>{isolated(section.name)}</h2></summary>")
        first, *others = section_tables(section)
        body.append(table_html(first, next(numbers)))
        figures = (figure_html(each.title, each.drawing, each.note) for each in section_figures(section))
        body += ['<div class="figures">', *figures, "</div>"]
        body += [*(table_html(table, next(numbers)) for table in others), "</details>"]
    for idx, instance in enumerate(exhibited):
        body.append(f'<details class="section" id="e{idx}"{" open" if len(exhibited) == 1 else ""}>')
        body.append(f"<summary><h2>{isolated(instance.name)}</h2></summary>")
        body += [*exhibit_lines(instance, numbers), "</details>"]
    body += [*([_INSTANCES] if findings.sections else []), "</main>"]
    for idx, block in enumerate(data if findings.sections else ()):  # the first is the index
        body.append(f'<script type="application/gzip" id="data{idx}">{block}</script>')
    return document(findings.title, body)


def _contents(findings: Findings, exhibited: Sequence[InstanceExhibits]) -> Iterator[str]:
    yield "<nav><ul>"
    for idx, section in enumerate(findings.sections):
        yield f'<li><a href="#s{idx}">{isolated(section.name)}</a></li>'
    for idx, instance in enumerate(exhibited):
        yield f'<li><a href="#e{idx}">{isolated(instance.name)}</a></li>'
    yield '<li><a href="#instances">instances</a></li>' if findings.sections else ""
    yield "</ul></nav>"
