"""The command that redoes the experiments of Posner 2024 as simulations: reproduce posner2024."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from allocsolve.cli.output import say
from allocsolve.errors import InvalidOption
from allocsolve.pictures.chart import Axis, Chart, counted, percent
from allocsolve.report.plain import plain
from reproductions.charts import Plane, draw_cross, draw_line, stacked
from reproductions.posner2024.batches import FIRST_SEED, NUM_BATCHES, SHARES, drawn_batches, read_batches
from reproductions.posner2024.claims import sentences
from reproductions.posner2024.experiment import (
    COMPARED,
    EASY,
    EVOLV,
    PRINTED,
    READINGS,
    SCHEDULERS,
    Cell,
    Reproduction,
    Run,
    examine,
    planned_runs,
)
from reproductions.study import Part, Recorded, Study
from reproductions.tables import show, show_claims

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from allocsolve.pictures.chart import Drawing
    from reproductions.claims import Sentence
    from reproductions.posner2024.batches import Batch
    from reproductions.posner2024.experiment import BoundRow, Row


class _Posner2024(Study[Cell, Reproduction]):
    """Run what is not recorded yet; show both schedulers beside the paper and beside the certified bound."""

    RUN = Run

    def parts(self) -> Iterator[Part[Cell]]:
        args, shares = self.args, self.args.shares or SHARES
        self._batches = _batches(args, shares)
        planned = planned_runs(self._batches, shares, seconds=args.seconds, workers=args.workers)
        yield Part("starting", planned)

    def measured(self, recorded: Recorded[Cell]) -> Reproduction:
        return examine(recorded.runs, recorded.records)

    def document(self, measured: Reproduction) -> dict[str, Any]:
        return {
            "batches": [batch.name for batch in self._batches],
            "seconds": self.args.seconds,
            "workers": self.args.workers,
            "readings": [plain(reading) for reading in READINGS],
            "rows": [
                plain(row) | {"printed": PRINTED.get((row.scheduler, row.share), {})} for row in measured.rows
            ],
            "bounds": measured.bounds,
            "sentences": [sentence.document() for sentence in sentences(measured)],
        }

    def show(self, measured: Reproduction) -> None:
        _show_schedulers(measured)
        _show_readings(measured)
        _show_bounds(measured.bounds)
        claims = sentences(measured)
        show_claims(claims, ours="ours, as published", sections=False, listed=_listed)
        verdicts = [claim.verdict for claim in claims]
        hold, depend = verdicts.count("holds"), verdicts.count("depends")
        say(f"{counted(len(claims), 'sentence')}: {hold} hold in all readings, {depend} in some", "")

    def remarks(self) -> Iterator[str]:
        seconds, workers = self.args.seconds, counted(self.args.workers, "worker")
        yield "The paper measured real runs; these are simulations, in which every phase lasts its mean."
        yield f"Means over the batches {', '.join(batch.name for batch in self._batches)}."
        yield f"Bounds: {seconds:g} s and {workers} each, recomputed by the judge."

    def picture(self, measured: Reproduction) -> Drawing:
        return reproduction_picture(measured)


posner2024 = _Posner2024.command


def _batches(args: argparse.Namespace, shares: Sequence[float]) -> tuple[Batch, ...]:
    """Return the batches of a file, or drawn ones."""
    if args.batches is None:
        first = FIRST_SEED if args.seed is None else args.seed
        return drawn_batches(first, args.count or NUM_BATCHES, shares)
    for option, value in (("--seed", args.seed), ("--count", args.count)):
        if value is not None:
            msg = f"{option} draws batches, a file has them: one of the two"
            raise InvalidOption(msg)
    return read_batches(args.batches)


_FIGURES: Final = (
    *("makespan\ns", "turnaround\ns", "wait\ns", "run\ns", "utili-\nsation"),
    "nodes come,\ngo per job",
)


def _cells(row: Row) -> tuple[str, ...]:
    """Return the figures of a row."""
    of = row.figures
    return (
        *(f"{of[name]:.1f}" for name in ("makespan", "turnaround", "wait", "run")),
        *(percent(of["utilisation"]), f"{of['expansions']:.1f}, {of['shrinks']:.1f}"),
    )


def _show_schedulers(measured: Reproduction) -> None:
    heads = "\njobs", "\n", *_FIGURES, "makespan,\nbound", "turnaround,\nbound", "above\nit"
    title = "Means over the batches, as the published program decides; what no schedule can be below"
    show(heads, _scheduler_rows(measured), title=title, texts=(0, 1))


def _scheduler_rows(measured: Reproduction) -> Iterator[tuple[str, ...]]:
    """Yield the rows share by share, each below what the paper prints."""
    bounds = {(row.scheduler, row.share): row for row in measured.bounds}
    for row in measured.rows:
        if row.reading != READINGS[0].name:
            continue
        kind = _kind(row)
        jobs = f"{100 * row.share:g} % {kind}" if row.share else kind
        printed = PRINTED.get((row.scheduler, row.share))
        if printed:
            names = ("makespan", "turnaround", "wait", "run", "utilisation")
            changes = [printed[name] for name in ("expansions", "shrinks") if name in printed]
            columns = [*(printed.get(name, "") for name in names), ", ".join(changes)]
            yield jobs, f"{row.scheduler}, paper", *columns, "", "", ""
            jobs = ""
        bound = bounds[EVOLV if row.scheduler == COMPARED else row.scheduler, row.share]
        above = percent(row.figures["turnaround"] / bound.turnaround - 1)
        yield jobs, row.scheduler, *_cells(row), f"{bound.makespan:.1f}", f"{bound.turnaround:.1f}", above


def _kind(row: Row | BoundRow) -> str:
    """Return what the jobs are that are not rigid."""
    return "rigid" if not row.share else "moldable" if row.scheduler == EASY else "evolving"


def _show_readings(measured: Reproduction) -> None:
    """Show what the readings come to where all jobs evolve; where none does, only what is not the same."""
    rows = [
        (row.reading, reading.text, _kind(row), *_cells(row))
        for reading in READINGS
        for row in measured.rows
        if row.reading == reading.name and (row.share, row.scheduler) in {(0, EASY), (1, EVOLV)}
        if row.share or reading.others != READINGS[0].others or reading is READINGS[0]
    ]
    title = "The same in all readings, where no job evolves and where all do"
    show(("\nreading", "\n", "\njobs", *_FIGURES), rows, title=title, texts=(0, 1, 2))


def _show_bounds(rows: Sequence[BoundRow]) -> None:
    heads = "\nshare", "\njobs", "certified\nbound s", "claimed\nbound s", "best known\nschedule s", "gap"
    cells = (
        (
            *(f"{100 * row.share:g} %", _kind(row)),
            *(f"{row.turnaround:.1f}", f"{row.claimed:.1f}", f"{row.best:.1f}"),
            percent(row.best / row.claimed - 1),
        )
        for row in rows
        if row.share or row.scheduler == EASY
    )
    show(heads, cells, title="The least mean turnaround that any schedule can have", texts=(0, 1))


def _listed(sentence: Sentence) -> str:
    """Return in which readings a sentence holds, where it depends on them."""
    if sentence.verdict != "depends":
        return ""
    names = sentence.readings or ()
    others = [reading.name for reading in READINGS if reading.name not in names]
    return f"all but {', '.join(others)}" if len(others) < len(names) else ", ".join(names)


#: Of the lines in the charts: those of policies, then those of bounds.
_NAMES: Final = (
    f"{EASY}, moldable jobs",
    f"{EVOLV}, evolving jobs",
    f"{COMPARED}, evolving jobs",
    "certified bound, moldable jobs",
    "certified bound, evolving jobs",
)
_PLANES: Final = (
    Plane("makespan", "Makespan of a batch (figure 5)", "s", bounded=True),
    Plane("turnaround", "Mean turnaround (figure 7)", "s", bounded=True),
    Plane("wait", "Mean wait (figure 7)", "s"),
    Plane("utilisation", "Utilisation (figure 6)", "%", 100),
    Plane("expansions", "Nodes that come to a job while it runs (figure 4)", "per job"),
    Plane("shrinks", "Nodes that it gives back (figure 4)", "per job"),
)


def reproduction_picture(reproduction: Reproduction) -> Drawing:
    """Draw each figure by share: means over the batches in the first reading, and bounds.

    Crosses are figures that the text of the paper prints.
    """
    charts = (_chart(reproduction, plane) for plane in _PLANES)
    shown = [chart for chart in charts if chart is not None]
    return stacked(shown, "Evolving jobs in the batches of Posner 2024")


def _chart(reproduction: Reproduction, plane: Plane) -> Chart | None:
    """Draw a figure, the first one with the legend; None if there are no runs."""
    lines: list[dict[float, float]] = [{} for _ in _NAMES]
    schedulers = (*SCHEDULERS, COMPARED)
    for row in reproduction.rows:
        if row.reading == READINGS[0].name:
            lines[schedulers.index(row.scheduler)][row.share] = plane.factor * row.figures[plane.figure]
    if plane.bounded:
        for bound in reproduction.bounds:
            value: float = getattr(bound, plane.figure)
            lines[3 + SCHEDULERS.index(bound.scheduler)][bound.share] = value
    crosses = [
        (share, number)
        for (_, share), printed in PRINTED.items()
        for number in map(float, re.findall(r"[\d.]+", printed.get(plane.figure, "")))
    ]
    if not lines[1]:
        return None
    values = [value for line in lines for value in line.values()] + [number for _, number in crosses]
    axis = Axis.around(f"{plane.figure} [{plane.unit}]", values)
    if plane.figure == "utilisation":
        axis = Axis(axis.title, 70, 100)
    first = plane is _PLANES[0]
    heading = [plane.title, *(["Crosses: what the text of the paper prints"] if first else [])]
    share_axis, names = Axis("jobs that are not rigid [%]", 0, 100), _NAMES if first else ()
    chart = Chart(plane.title, share_axis, axis, legend=names, heading=heading, height=210.0)
    for idx, line in enumerate(lines):
        draw_line(chart, idx, _NAMES[idx], line)
    for share, number in crosses:
        draw_cross(chart, share, number, f"paper, {100 * share:g} %: {number:g}")
    return chart
