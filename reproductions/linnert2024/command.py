"""The command that redoes the simulations of Linnert et al. 2024: reproduce linnert2024."""

from __future__ import annotations

import csv
import math
from typing import TYPE_CHECKING, Any

from allocsolve.cli.files import check_outputs, make_folder
from allocsolve.cli.output import plain, remark, say, show_table, write_json
from allocsolve.cli.progress import count_bar
from allocsolve.cli.study import keys_again, with_resume_hint
from allocsolve.pictures.chart import counted, percent

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from allocsolve.bench import Record
    from reproductions.linnert2024 import Figures, Reproduction, Sentence, Spread

__all__ = ["linnert2024"]


def linnert2024(args: argparse.Namespace) -> int:
    """Run what is not recorded yet; show the strategies beside the paper and beside what is possible."""
    from allocsolve.bench import open_executor, run  # noqa: PLC0415 - when the command runs
    from reproductions import linnert2024 as paper  # noqa: PLC0415 - when the command runs

    check_outputs(args.plot, force=args.force)
    make_folder(args.out)
    rows, table = args.out / "records.sqlite", args.out / "runs.csv"
    parts: list[Reproduction] = []
    failed: list[Record] = []
    with (
        paper.FigureStore(rows, tell=remark) as store,
        with_resume_hint(store, rows),
        open_executor(args.executor, args.jobs) as cells,
    ):
        # One load after the other: the streams of all of them together take much memory.
        for load in args.loads or paper.LOADS:
            planned = paper.planned_runs(
                load,
                seeds=args.seeds or paper.SEEDS,
                reading_seeds=min(args.seeds or paper.SEEDS, paper.READING_SEEDS),
                num_jobs=args.length,
                seconds=args.seconds,
            )
            tasks = list({one.task.key: one.task for one in planned}.values())
            again = keys_again(args, tasks, store)
            with count_bar(f"{load} load") as progress:
                records = run(
                    tasks, store=store, again=again, executor=cells, progress=progress, announce=remark
                )
            parts.append(paper.examine(planned, {record.key: record for record in records}))
            failed += [record for record in records if record.error]
    measured = paper.joined(parts)
    told = paper.sentences(measured)
    _write_runs(table, measured)
    if args.plot is not None:
        args.plot.write_text(str(paper.reproduction_picture(measured)), encoding="utf-8")
    figures = paper.Figures(measured)
    if args.json:
        write_json(_document(args, figures, told, failed) | {"records": rows, "runs": table})
        return 1 if failed else 0
    _show_accepted(figures)
    _show_sizes(figures)
    for title, figure, reading in _EXECUTED:
        _show_executed(figures, title, figure, reading)
    _show_readings(figures)
    _show_sentences(told)
    for record in failed:
        say(f"{record.solver} failed on {record.instance}: {record.error}")
    say(*_remarks(args), f"Records: {rows}; runs one by one: {table}")
    say(*([f"Plot: {args.plot}"] if args.plot else []))
    return 1 if failed else 0


#: The tables of figures 15 to 18 of the paper: title, field of a run, and reading; an empty one is the first.
_EXECUTED = (
    ("Cancelled of the accepted jobs, % (figure 15)", "cancelled_share", ""),
    ("The same with synchronous messages (figure 16)", "cancelled_share", "synchronous"),
    ("Successful jobs (figure 17)", "successful", ""),
    ("The same with synchronous messages (figure 18)", "successful", "synchronous"),
)


def _write_runs(path: Path, measured: Reproduction) -> None:
    """Write the runs as a table, one a line."""
    from allocsolve.judge.reservation.rules import SIZE_CLASSES  # noqa: PLC0415 - when the command runs
    from reproductions.linnert2024 import Run  # noqa: PLC0415 - when the command runs

    sizes = [f"accepted_from_{size}_nodes" for size in SIZE_CLASSES]
    with path.open("w", encoding="utf-8", newline="") as file:
        lines = csv.writer(file, lineterminator="\n")
        lines.writerow([name for name in Run._fields if name != "by_size"] + sizes)
        for run in measured.runs:
            values = run._asdict()
            by_size = values.pop("by_size")
            lines.writerow([*values.values(), *by_size])


def _document(
    args: argparse.Namespace, figures: Figures, told: Sequence[Sentence], failed: Sequence[Record]
) -> dict[str, Any]:
    from reproductions.linnert2024 import PRINTED_COUNTS, READINGS  # noqa: PLC0415 - when it runs

    return {
        "paper": args.paper,
        "loads": figures.loads,
        "jobs": args.length,
        "seconds": args.seconds,
        "readings": [plain(reading) for reading in READINGS],
        "printed_counts": PRINTED_COUNTS,
        "accepted": figures.accepted_rows(),
        "bounds": figures.bound_rows(),
        "executed": figures.executed_rows(),
        "claims": told,
        "failures": [{"solver": r.solver, "problem": r.instance, "error": r.error} for r in failed],
    }


def _text(one: Spread, factor: float = 1, digits: int = 0) -> str:
    """Return a mean with its interval."""
    mean = f"{factor * one.mean:.{digits}f}"
    return f"{mean} +- {factor * one.half:.{digits}f}" if math.isfinite(one.half) else mean


def _show_accepted(figures: Figures) -> None:
    from reproductions.linnert2024 import (  # noqa: PLC0415 - when the command runs
        ADMISSIONS,
        COUNT,
        FREE_LEAK,
        LEAK,
        PRINTED_COUNTS,
        PROGRAMS,
        TERMS,
        MissingRunsError,
    )

    rows: list[tuple[str, ...]] = []
    for load in figures.loads:
        rows.append((load, "count, paper", f"{PRINTED_COUNTS[load]}", "", "", ""))
        for name in ADMISSIONS:
            try:
                ratio = "" if name == COUNT else _text(figures.ratio(load, name), 1, 2)
                row = (_text(figures.booked(load, name, "accepted")), ratio)
                area = _text(figures.booked(load, name, "accepted_area"), 100, 1)
                hops = f"{figures.booked(load, name, 'hops').mean:.2f}"
            except MissingRunsError:
                continue
            rows.append(("", name, *row, area, hops))
        for name in LEAK, FREE_LEAK:
            try:
                leaked = figures.executed(load, name, PROGRAMS[-1], "accepted")
            except MissingRunsError:
                continue
            rows.append(("", name, _text(leaked), "", "", ""))
        try:
            jobs, area_of = (figures.offline(load, term) for term in TERMS)
        except MissingRunsError:
            continue
        count = figures.num_jobs(load)
        for place, name in ((1, "clairvoyant"), (0, "no schedule above")):
            cells = _text(jobs[place], count), "", _text(area_of[place], 100, 1), ""
            rows.append(("", name, *cells))
        rows.append(("", "gap", percent(jobs[2].mean), "", percent(area_of[2].mean), ""))
    heads = "load", "allocator", "jobs", "for each\nof count", "area %", "hops in\na job"
    title = "Accepted when booked at the arrival (figure 14), and by schedules that know all arrivals"
    show_table(heads, rows, title=title, texts=(0, 1))
    say("")


def _show_sizes(figures: Figures) -> None:
    from allocsolve.judge.reservation.rules import SIZE_CLASSES  # noqa: PLC0415 - when the command runs
    from reproductions.linnert2024 import ADMISSIONS, MissingRunsError  # noqa: PLC0415 - when it runs

    rows: list[tuple[str, ...]] = []
    for load in figures.loads:
        for name in ADMISSIONS:
            try:
                shares = figures.by_size(load, name)
            except MissingRunsError:
                continue
            cells = (f"{100 * one.mean:.0f}" for one in shares)
            rows.append((_head(rows, load), name, *cells))
    lasts = [size - 1 for size in SIZE_CLASSES[1:]]
    spans = zip(SIZE_CLASSES, lasts, strict=False)
    heads = [f"{low}-{last} nodes" if last > low else counted(low, "node") for low, last in spans]
    heads.append(f"{SIZE_CLASSES[-1]} nodes and more")
    show_table(("load", "allocator", *heads), rows, title="Accepted by size of the job, %", texts=(0, 1))
    say("")


def _show_executed(figures: Figures, title: str, figure: str, reading: str) -> None:
    from reproductions.linnert2024 import (  # noqa: PLC0415 - when the command runs
        PROGRAMS,
        READINGS,
        STRATEGIES,
        MissingRunsError,
    )

    rows: list[tuple[str, ...]] = []
    scale = (100, 1) if figure == "cancelled_share" else (1, 0)
    for load in figures.loads:
        for name in STRATEGIES:
            try:
                row = [
                    figures.executed(load, name, kind, figure, reading or READINGS[0].name)
                    for kind in PROGRAMS
                ]
            except MissingRunsError:
                continue
            cells = (_text(one, *scale) for one in row)
            rows.append((_head(rows, load), name, *cells))
    heads = "load", "strategy", *(f"kind {kind}" if kind != "mixed" else "mixed" for kind in PROGRAMS)
    show_table(heads, rows, title=title, texts=(0, 1))
    say("")


def _show_readings(figures: Figures) -> None:
    from reproductions.linnert2024 import (  # noqa: PLC0415 - when the command runs
        PROGRAMS,
        READINGS,
        STRATEGIES,
        MissingRunsError,
    )

    rows: list[tuple[str, ...]] = []
    for reading in READINGS:
        part: list[tuple[str, ...]] = []
        for load in figures.loads:
            for name in STRATEGIES:
                try:
                    row = [
                        figures.executed(load, name, kind, "cancelled_share", reading.name)
                        for kind in PROGRAMS
                    ]
                except MissingRunsError:
                    continue
                head = "" if part else reading.name
                part.append((head, load, name, *(f"{100 * one.mean:.1f}" for one in row)))
        rows += part
    heads = ("reading", "load", "strategy", *(f"kind {one}" if one != "mixed" else one for one in PROGRAMS))
    title = "Cancelled of the accepted jobs in all readings, %"
    show_table(heads, rows, title=title, texts=(0, 1, 2))
    say(*(f"{reading.name}: {reading.text}" for reading in READINGS), "")


def _head(rows: Sequence[tuple[str, ...]], load: str) -> str:
    """Return the load as it stands in the next row: in the first one of a load only."""
    named = [row[0] for row in rows if row[0]]
    return "" if named and named[-1] == load else load


def _show_sentences(told: Sequence[Sentence]) -> None:
    heads = "section", "the paper", "", "in", "ours, as printed"
    cells = ((one.section, one.text, one.verdict, _listed(one), one.figures) for one in told)
    show_table(heads, cells, title="What the paper says of its results", texts=(0, 1, 2, 3, 4))
    verdicts = list(dict.fromkeys(one.verdict for one in told))
    parts = (f"{sum(one.verdict == verdict for one in told)} {verdict}" for verdict in verdicts)
    say(f"{counted(len(told), 'claim')}: {', '.join(parts)}", "")


def _listed(one: Sentence) -> str:
    """Return in which readings a claim holds, where it depends on them."""
    return ", ".join(one.readings) if one.verdict == "depends" else ""


def _remarks(args: argparse.Namespace) -> Iterator[str]:
    from reproductions.linnert2024 import READING_SEEDS, SEEDS  # noqa: PLC0415 - when it runs

    seeds = args.seeds or SEEDS
    yield "The streams are fitted to the counts and the last deadlines that the paper prints."
    yield "The Manhattan median approach (MM) is `literal`: figure 8, in which a busy node ends a growth."
    few = min(seeds, READING_SEEDS)
    yield f"Means over {counted(seeds, 'seed')}, +- 95 %; readings after the first one over {few}."
    yield f"Clairvoyant schedules and bounds: {args.seconds:g} s each, recomputed by the judge."
    yield "Bounds are those of jobs that book nodes: what leaks may end on fewer nodes."
