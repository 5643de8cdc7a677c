"""The command that redoes the experiments of Posner 2024 as simulations: reproduce posner2024."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, Any

from allocsolve.cli.files import check_outputs, make_folder
from allocsolve.cli.output import count_bar, plain, remark, say, show_table, write_json
from allocsolve.cli.study import keys_again, with_resume_hint
from allocsolve.errors import InvalidOption
from allocsolve.pictures.chart import counted, percent

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from allocsolve.bench import Record
    from reproductions.posner2024 import Batch, BoundRow, Reproduction, Row, Sentence

__all__ = ["posner2024"]


def posner2024(args: argparse.Namespace) -> int:
    """Run what is not recorded yet; show both schedulers beside the paper and beside the certified bound."""
    from allocsolve.bench import RecordStore, open_executor, run  # noqa: PLC0415 - when the command runs
    from reproductions import posner2024 as paper  # noqa: PLC0415 - when the command runs

    check_outputs(args.plot, force=args.force)
    shares = args.shares or paper.SHARES
    batches = _batches(args, shares)
    planned = paper.planned_runs(batches, shares, seconds=args.seconds, workers=args.workers)
    make_folder(args.out)
    rows, table = args.out / "records.sqlite", args.out / "runs.csv"
    tasks = list({one.task.key: one.task for one in planned}.values())
    with RecordStore(rows, tell=remark) as store:
        again = keys_again(args, tasks, store)
        with (
            with_resume_hint(store, rows),
            count_bar("starting") as progress,
            open_executor(args.executor, args.jobs) as cells,
        ):
            records = run(tasks, store=store, again=again, executor=cells, progress=progress, announce=remark)
        measured = paper.examine(planned, store)
    told = paper.sentences(measured)
    _write_runs(table, measured)
    if args.plot is not None:
        args.plot.write_text(str(paper.reproduction_picture(measured)), encoding="utf-8")
    failed = [record for record in records if record.error]
    if args.json:
        write_json(_document(args, batches, measured, told, failed) | {"records": rows, "runs": table})
        return 1 if failed else 0
    _show_schedulers(measured)
    _show_readings(measured)
    _show_bounds(measured.bounds)
    _show_sentences(told)
    for record in failed:
        say(f"{record.solver} failed on {record.instance}: {record.error}")
    say(*_remarks(args, batches), f"Records: {rows}; runs one by one: {table}")
    say(*([f"Plot: {args.plot}"] if args.plot else []))
    return 1 if failed else 0


def _batches(args: argparse.Namespace, shares: Sequence[float]) -> tuple[Batch, ...]:
    """Return the batches of a file, or drawn ones.

    Raises
    ------
    InvalidOption
        If both are asked for, or something that cannot be drawn.
    """
    from reproductions import posner2024 as paper  # noqa: PLC0415 - when the command runs

    if args.batches is None:
        return paper.drawn_batches(
            paper.FIRST_SEED if args.seed is None else args.seed, args.count or paper.NUM_BATCHES, shares
        )
    for option, value in (("--seed", args.seed), ("--count", args.count)):
        if value is not None:
            msg = f"{option} draws batches, --batches reads them: one of the two"
            raise InvalidOption(msg)
    return paper.read_batches(args.batches)


def _document(
    args: argparse.Namespace,
    batches: Sequence[Batch],
    measured: Reproduction,
    told: Sequence[Sentence],
    failed: Sequence[Record],
) -> dict[str, Any]:
    from reproductions.posner2024 import PRINTED, READINGS  # noqa: PLC0415 - when the command runs

    return {
        "paper": args.paper,
        "batches": [batch.name for batch in batches],
        "seconds": args.seconds,
        "workers": args.workers,
        "readings": [plain(reading) for reading in READINGS],
        "rows": [
            plain(row) | {"printed": PRINTED.get((row.scheduler, row.share), {})} for row in measured.rows
        ],
        "bounds": measured.bounds,
        "sentences": told,
        "failures": [{"solver": r.solver, "problem": r.instance, "error": r.error} for r in failed],
    }


def _write_runs(path: Path, measured: Reproduction) -> None:
    """Write the runs of the policies as a table, one a line."""
    from reproductions.posner2024 import Run  # noqa: PLC0415 - when the command runs

    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(Run._fields)
        table.writerows(measured.runs)


def _cells(row: Row) -> tuple[str, ...]:
    """Return the figures of a row."""
    of = row.figures
    return (
        *(f"{of['makespan']:.1f}", f"{of['turnaround']:.1f}", f"{of['wait']:.1f}", f"{of['run']:.1f}"),
        *(percent(of["utilisation"]), f"{of['expansions']:.1f}, {of['shrinks']:.1f}"),
    )


_FIGURES = ("makespan\ns", "turnaround\ns", "wait\ns", "run\ns", "utili-\nsation", "nodes come,\ngo per job")


def _show_schedulers(measured: Reproduction) -> None:
    heads = "\njobs", "\n", *_FIGURES, "makespan,\nbound", "turnaround,\nbound", "above\nit"
    title = "Means over the batches, as the published program decides; what no schedule can be below"
    show_table(heads, _scheduler_rows(measured), title=title, texts=(0, 1))
    say("")


def _scheduler_rows(measured: Reproduction) -> Iterator[tuple[str, ...]]:
    """Yield the rows share by share, each below what the paper prints."""
    from reproductions.posner2024 import (  # noqa: PLC0415 - when the command runs
        COMPARED,
        EVOLV,
        PRINTED,
        READINGS,
    )

    bounds = {(row.scheduler, row.share): row for row in measured.bounds}
    for row in measured.rows:
        if row.reading != READINGS[0].name:
            continue
        kind = _kind(row)
        jobs = f"{100 * row.share:g} % {kind}" if row.share else kind
        printed = PRINTED.get((row.scheduler, row.share))
        if printed:
            columns = [
                printed.get(name, "") for name in ("makespan", "turnaround", "wait", "run", "utilisation")
            ]
            changes = [printed[name] for name in ("expansions", "shrinks") if name in printed]
            yield jobs, f"{row.scheduler}, paper", *columns, ", ".join(changes), "", "", ""
            jobs = ""
        bound = bounds[EVOLV if row.scheduler == COMPARED else row.scheduler, row.share]
        above = percent(row.figures["turnaround"] / bound.turnaround - 1)
        yield jobs, row.scheduler, *_cells(row), f"{bound.makespan:.1f}", f"{bound.turnaround:.1f}", above


def _kind(row: Row | BoundRow) -> str:
    """Return what the jobs are that are not rigid."""
    from reproductions.posner2024 import EASY  # noqa: PLC0415 - when the command runs

    return "rigid" if not row.share else "moldable" if row.scheduler == EASY else "evolving"


def _show_readings(measured: Reproduction) -> None:
    """Show what the readings come to where all jobs evolve; where none does, only what is not the same."""
    from reproductions.posner2024 import EASY, EVOLV, READINGS  # noqa: PLC0415 - when the command runs

    texts = {reading.name: reading.text for reading in READINGS}
    rows = [
        (row.reading, texts[row.reading], _kind(row), *_cells(row))
        for reading in READINGS
        for row in measured.rows
        if row.reading == reading.name and (row.share, row.scheduler) in {(0, EASY), (1, EVOLV)}
        if row.share or reading.others != READINGS[0].others or reading is READINGS[0]
    ]
    title = "The same in all readings, where no job evolves and where all do"
    show_table(("\nreading", "\n", "\njobs", *_FIGURES), rows, title=title, texts=(0, 1, 2))
    say("")


def _show_bounds(rows: Sequence[BoundRow]) -> None:
    from reproductions.posner2024 import EASY  # noqa: PLC0415 - when the command runs

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
    show_table(heads, cells, title="The least mean turnaround that any schedule can have", texts=(0, 1))
    say("")


def _show_sentences(told: Sequence[Sentence]) -> None:
    heads = "the paper", "", "in", "ours, as published"
    cells = ((one.text, one.verdict, _listed(one), one.figures) for one in told)
    show_table(heads, cells, title="What the paper says of its results", texts=(0, 1, 2, 3))
    count = {verdict: sum(one.verdict == verdict for one in told) for verdict in ("holds", "depends")}
    text = f"{count['holds']} hold in all readings, {count['depends']} in some"
    say(f"{counted(len(told), 'sentence')}: {text}", "")


def _listed(one: Sentence) -> str:
    """Return in which readings a sentence holds, where it depends on them."""
    from reproductions.posner2024 import READINGS  # noqa: PLC0415 - when the command runs

    if one.verdict != "depends":
        return ""
    others = [reading.name for reading in READINGS if reading.name not in one.readings]
    return f"all but {', '.join(others)}" if len(others) < len(one.readings) else ", ".join(one.readings)


def _remarks(args: argparse.Namespace, batches: Sequence[Batch]) -> Iterator[str]:
    yield "The paper measured real runs; these are simulations, in which every phase lasts its mean."
    yield f"Means over the batches {', '.join(batch.name for batch in batches)}."
    yield f"Bounds: {args.seconds:g} s and {counted(args.workers, 'worker')} each, recomputed by the judge."
