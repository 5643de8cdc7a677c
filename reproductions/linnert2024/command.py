"""The command that redoes the simulations of Linnert et al. 2024: reproduce linnert2024."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from allocsolve.cli.output import say, show_table
from allocsolve.judge.reservation.rules import SIZE_CLASSES
from allocsolve.pictures.chart import Axis, Chart, counted, percent
from allocsolve.report.plain import plain
from reproductions.charts import stacked
from reproductions.claims import if_run
from reproductions.linnert2024.claims import sentences
from reproductions.linnert2024.experiment import (
    ADMISSIONS,
    COUNT,
    FREE_LEAK,
    LEAK,
    LOADS,
    PRINTED_COUNTS,
    PROGRAMS,
    READING_SEEDS,
    READINGS,
    SEEDS,
    STATIC,
    STRATEGIES,
    SYNCHRONOUS,
    TERMS,
    Figures,
    Label,
    Reproduction,
    Run,
    examine,
    planned_runs,
)
from reproductions.runs import BoundStore
from reproductions.study import Part, Recorded, Study
from reproductions.tables import once, say_verdicts, show, show_claims

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from allocsolve.pictures.chart import Drawing
    from reproductions.claims import Sentence
    from reproductions.linnert2024.experiment import Spread

#: Heads of the columns of kinds of programs.
_KINDS: Final = [f"kind {kind}" if kind != "mixed" else kind for kind in PROGRAMS]
#: Of each chart: filled bars, and the pixels of its plane.
_STYLE: Final[Any] = {"marks": "solid", "height": 130.0}

#: The part of the place of a kind that its bars fill.
_FILLED: Final = 0.8

#: In the order of `STRATEGIES`, and what only accepts.
_NAMES: Final = ("Hilbert", "MM (figure 8)", "leak", "leak, not contiguous")
_OTHERS: Final = ("count", "clairvoyant")


def reproduction_picture(reproduction: Reproduction) -> Drawing:
    """Draw accepted jobs, the cancelled share of them and successful jobs, load by load; means over seeds."""
    on = Figures(reproduction)
    charts = [_accepted(on)] if on.loads else []
    for figure, reading, title in (
        ("cancelled_share", READINGS[0].name, "Cancelled, asynchronous (figure 15)"),
        ("cancelled_share", SYNCHRONOUS, "Cancelled, synchronous (figure 16)"),
        ("successful", READINGS[0].name, "Successful, asynchronous (figure 17)"),
        ("successful", SYNCHRONOUS, "Successful, synchronous (figure 18)"),
    ):
        charts += [chart for load in on.loads if (chart := _executed(on, figure, reading, title, load))]
    return stacked(charts, "Reservations after Linnert et al. 2024", gap=2.0)


def _bars(chart: Chart, places: Sequence[Sequence[Spread | None]], factor: float = 1) -> None:
    """Draw for each place of the x axis a bar for each series, with its interval."""
    for place, spreads in enumerate(places):
        width = _FILLED / len(spreads)
        for idx, value in enumerate(spreads):
            if value is None:
                continue
            left = chart.x(place + (1 - _FILLED) / 2 + idx * width)
            right = chart.x(place + (1 - _FILLED) / 2 + (idx + 1) * width)
            top, bottom = chart.y(factor * value.mean), chart.y(0)
            chart.drawing.rectangles(
                f"f{idx}", [(left, top, round(right - left - 1, 1), round(bottom - top, 1))]
            )
            if math.isfinite(value.half) and value.half:
                middle = round((left + right - 1) / 2, 1)
                ends = [chart.y(max(factor * (value.mean + sign * value.half), 0)) for sign in (-1, 1)]
                chart.drawing.line((middle, ends[0]), (middle, ends[1]), kind="axis")


def _places(names: Sequence[str]) -> Axis:
    """Return an axis on which each name has a unit; the names are its ticks, in the middle."""

    def write(value: float) -> str:
        return names[int(value - 0.5)] if value % 1 == 0.5 else ""

    return _NamedAxis("", 0, len(names), write=write)


class _NamedAxis(Axis):
    """An axis with a tick in the middle of each unit."""

    def ticks(self) -> list[float]:
        return [idx + 0.5 for idx in range(int(self.high))]


def _accepted(on: Figures) -> Chart:
    """Draw figure 14 at all loads, with what is possible offline."""
    rows: list[list[Spread | None]] = []
    for load in on.loads:
        row = [if_run(on.booked, load, name, "accepted") for name in STATIC]
        row += [
            if_run(on.executed, load, name, PROGRAMS[-1], "accepted")
            for name in STRATEGIES
            if name not in STATIC
        ]
        rows.append([*row, if_run(on.booked, load, COUNT, "accepted"), if_run(_offline, on, load)])
    highest = max((value.mean for row in rows for value in row if value), default=1.0)
    heading = ["Accepted jobs (figure 14)", "Lines across: what the paper prints of the count"]
    axis, legend = Axis.around("jobs", [highest], steps=5), (*_NAMES, *_OTHERS)
    chart = Chart(heading[0], _places(on.loads), axis, legend=legend, heading=heading, **_STYLE)
    _bars(chart, rows)
    width = _FILLED / (len(_NAMES) + len(_OTHERS))
    for place, load in enumerate(on.loads):
        if PRINTED_COUNTS[load] <= highest:
            left = place + (1 - _FILLED) / 2 + len(_NAMES) * width
            y, label = chart.y(PRINTED_COUNTS[load]), f"paper, {load}: {PRINTED_COUNTS[load]}"
            chart.drawing.line((chart.x(left), y), (chart.x(left + width), y), kind="mean", label=label)
    return chart


def _offline(on: Figures, load: str) -> Spread:
    """Return the jobs of the clairvoyant schedules."""
    _, best, _ = on.offline(load, TERMS[0])
    jobs = on.executed(load, STRATEGIES[2], PROGRAMS[-1], "accepted").mean
    return type(best)(jobs * best.mean, jobs * best.half)


def _executed(on: Figures, figure: str, reading: str, title: str, load: str) -> Chart | None:
    """Draw a figure at one load by kind of programs, on the scale of all loads; None if there are no runs."""
    rows_of = {
        shown: [
            [if_run(on.executed, shown, name, kind, figure, reading) for name in STRATEGIES]
            for kind in PROGRAMS
        ]
        for shown in on.loads
    }
    rows = rows_of[load]
    if not any(value for row in rows for value in row):
        return None
    ends = [
        value.mean + (value.half if math.isfinite(value.half) else 0)
        for some in rows_of.values()
        for row in some
        for value in row
        if value
    ]
    factor = 100.0 if figure == "cancelled_share" else 1.0
    axis = Axis.around("cancelled [%]" if factor > 1 else "jobs", [factor * max(ends)], steps=5)
    legend = _NAMES if load == on.loads[0] else ()
    chart = Chart(title, _places(_KINDS), axis, legend=legend, heading=[f"{title}: {load} load"], **_STYLE)
    _bars(chart, rows, factor)
    return chart


class _Linnert2024(Study[Label, Reproduction]):
    """Run what is not recorded yet; show the strategies beside the paper and beside what is possible."""

    STORE = BoundStore
    RUN = Run

    def __init__(self, args: argparse.Namespace) -> None:
        super().__init__(args)
        self._seeds = args.seeds or SEEDS
        self._reading_seeds = min(self._seeds, READING_SEEDS)

    def parts(self) -> Iterator[Part[Label]]:
        for load in self.args.loads or LOADS:
            planned = planned_runs(
                load,
                seeds=self._seeds,
                reading_seeds=self._reading_seeds,
                num_jobs=self.args.length,
                seconds=self.args.seconds,
            )
            yield Part(f"{load} load", planned)

    def measured(self, recorded: Recorded[Label]) -> Reproduction:
        return examine(recorded.runs, recorded.records)

    def rows(self, measured: Reproduction) -> Iterator[Sequence[object]]:
        sizes = [f"accepted_from_{size}_nodes" for size in SIZE_CLASSES]
        yield [name for name in Run._fields if name != "by_size"] + sizes
        for run in measured.runs:
            values = run._asdict()
            by_size = values.pop("by_size")
            yield [*values.values(), *by_size]

    def document(self, measured: Reproduction) -> dict[str, Any]:
        figures = Figures(measured)
        return {
            "loads": figures.loads,
            "jobs": self.args.length,
            "seconds": self.args.seconds,
            "readings": [plain(reading) for reading in READINGS],
            "printed_counts": PRINTED_COUNTS,
            "accepted": figures.accepted_rows(),
            "bounds": figures.bound_rows(),
            "executed": figures.executed_rows(),
            "claims": [sentence.document() for sentence in sentences(measured)],
        }

    def show(self, measured: Reproduction) -> None:
        figures = Figures(measured)
        _show_accepted(figures)
        _show_sizes(figures)
        for title, figure, reading in _EXECUTED:
            _show_executed(figures, title, figure, reading)
        _show_readings(figures)
        claims = sentences(measured)
        show_claims(claims, ours="ours, as printed", listed=_listed)
        say_verdicts(claims)

    def remarks(self) -> Iterator[str]:
        seeds = counted(self._seeds, "seed")
        yield "The streams are fitted to the counts and the last deadlines that the paper prints."
        yield "The Manhattan median approach (MM) is `literal`: figure 8, in which a busy node ends a growth."
        yield f"Means over {seeds}, +- 95 %; readings after the first one over {self._reading_seeds}."
        yield f"Clairvoyant schedules and bounds: {self.args.seconds:g} s each, recomputed by the judge."
        yield "Bounds are those of jobs that book nodes: what leaks may end on fewer nodes."

    def picture(self, measured: Reproduction) -> Drawing:
        return reproduction_picture(measured)


linnert2024 = _Linnert2024.command


#: The tables of figures 15 to 18 of the paper: title, field of a run, and reading.
_EXECUTED: Final = (
    ("Cancelled of the accepted jobs, % (figure 15)", "cancelled_share", READINGS[0].name),
    ("The same with synchronous messages (figure 16)", "cancelled_share", SYNCHRONOUS),
    ("Successful jobs (figure 17)", "successful", READINGS[0].name),
    ("The same with synchronous messages (figure 18)", "successful", SYNCHRONOUS),
)


def _show_accepted(figures: Figures) -> None:
    rows = [row for load in figures.loads for row in _accepted_rows(figures, load)]
    heads = "load", "allocator", "jobs", "for each\nof count", "area %", "hops in\na job"
    title = "Accepted when booked at the arrival (figure 14), and by schedules that know all arrivals"
    show(heads, rows, title=title, texts=(0, 1))


def _accepted_rows(figures: Figures, load: str) -> Iterator[tuple[str, ...]]:
    yield load, "count, paper", f"{PRINTED_COUNTS[load]}", "", "", ""
    for name in ADMISSIONS:
        jobs, area, hops = (
            if_run(figures.booked, load, name, figure) for figure in ("accepted", "accepted_area", "hops")
        )
        ratio = None if name == COUNT else if_run(figures.ratio, load, name)
        if jobs and area and hops and (ratio or name == COUNT):
            of_count = ratio.text(1, 2) if ratio else ""
            yield "", name, jobs.text(), of_count, area.text(100, 1), f"{hops.mean:.2f}"
    for name in LEAK, FREE_LEAK:
        if leaked := if_run(figures.executed, load, name, PROGRAMS[-1], "accepted"):
            yield "", name, leaked.text(), "", "", ""
    jobs_of, area_of = (if_run(figures.offline, load, term) for term in TERMS)
    if jobs_of and area_of:
        count = figures.num_jobs(load)
        yield "", "clairvoyant", jobs_of[1].text(count), "", area_of[1].text(100, 1), ""
        yield "", "no schedule above", jobs_of[0].text(count), "", area_of[0].text(100, 1), ""
        yield "", "gap", percent(jobs_of[2].mean), "", percent(area_of[2].mean), ""


def _show_sizes(figures: Figures) -> None:
    rows = (
        (load, name, *(f"{100 * share.mean:.0f}" for share in shares))
        for load in figures.loads
        for name in ADMISSIONS
        if (shares := if_run(figures.by_size, load, name))
    )
    lasts = [size - 1 for size in SIZE_CLASSES[1:]]
    spans = zip(SIZE_CLASSES, lasts, strict=False)
    heads = [f"{low}-{last} nodes" if last > low else counted(low, "node") for low, last in spans]
    heads.append(f"{SIZE_CLASSES[-1]} nodes and more")
    title = "Accepted by size of the job, %"
    show(("load", "allocator", *heads), once(rows), title=title, texts=(0, 1))


def _executed_rows(figures: Figures, figure: str, reading: str) -> Iterator[tuple[str, str, list[Spread]]]:
    """Yield load, strategy and the figure by kind of programs, where all kinds were run."""
    for load in figures.loads:
        for name in STRATEGIES:
            row = [if_run(figures.executed, load, name, kind, figure, reading) for kind in PROGRAMS]
            spreads = [value for value in row if value]
            if len(spreads) == len(PROGRAMS):
                yield load, name, spreads


def _show_executed(figures: Figures, title: str, figure: str, reading: str) -> None:
    scale = (100, 1) if figure == "cancelled_share" else (1, 0)
    rows = (
        (load, name, *(value.text(*scale) for value in row))
        for load, name, row in _executed_rows(figures, figure, reading)
    )
    show(("load", "strategy", *_KINDS), once(rows), title=title, texts=(0, 1))


def _show_readings(figures: Figures) -> None:
    rows = (
        (reading.name, load, name, *(f"{100 * value.mean:.1f}" for value in row))
        for reading in READINGS
        for load, name, row in _executed_rows(figures, "cancelled_share", reading.name)
    )
    heads = ("reading", "load", "strategy", *_KINDS)
    title = "Cancelled of the accepted jobs in all readings, %"
    show_table(heads, once(rows), title=title, texts=(0, 1, 2))
    say(*(f"{reading.name}: {reading.text}" for reading in READINGS), "")


def _listed(sentence: Sentence) -> str:
    """Return in which readings a claim holds, where it depends on them."""
    return ", ".join(sentence.readings or ()) if sentence.verdict == "depends" else ""
