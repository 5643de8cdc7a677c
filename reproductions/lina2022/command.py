"""The command that redoes the simulations of Lina et al. 2022: reproduce lina2022."""

from __future__ import annotations

import csv
import math
from typing import TYPE_CHECKING, Any

from allocsolve.cli.files import make_folder
from allocsolve.cli.output import count_bar, plain, remark, say, show_table, write_json
from allocsolve.cli.study import keys_again, with_resume_hint
from allocsolve.pictures.chart import counted, percent

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from allocsolve.bench import Record
    from reproductions.lina2022 import BoundRow, Claim, Contrast, Figures, Reproduction

__all__ = ["lina2022"]


def lina2022(args: argparse.Namespace) -> int:
    """Run what is not recorded yet; show the algorithms beside the paper and beside certified bounds."""
    from allocsolve.bench import open_executor, run  # noqa: PLC0415 - when the command runs
    from reproductions import lina2022 as paper  # noqa: PLC0415 - when the command runs

    args.seeds = args.seeds or paper.SEEDS
    logs = paper.paper_logs(args.traces, args.logs or (*paper.LOGS, *paper.FULL))
    shares = args.shares or paper.SHARES
    first = paper.variants(logs[0], shares, args.seeds)
    make_folder(args.out)
    rows, table = args.out / "records.sqlite", args.out / "runs.csv"
    parts: list[Reproduction] = []
    failed: list[Record] = []
    with (
        paper.FigureStore(rows, tell=remark) as store,
        with_resume_hint(store, rows),
        open_executor(args.executor, args.jobs) as cells,
    ):
        # One workload after the other: the variants of all of them together take much memory.
        for log in logs:
            chosen = first if log is logs[0] else paper.variants(log, shares, args.seeds)
            planned = paper.planned_runs(chosen, full=log.full, seconds=args.seconds)
            tasks = [one.task for one in planned]
            again = keys_again(args, tasks, store)
            with count_bar(log.name) as progress:
                records = run(
                    tasks, store=store, again=again, executor=cells, progress=progress, announce=remark
                )
            parts.append(paper.examine(planned, {record.key: record for record in records}))
            failed += [record for record in records if record.error]
    found = paper.joined(parts)
    told, figures = paper.claims(found), paper.Figures(found)
    with table.open("w", encoding="utf-8", newline="") as file:
        lines = csv.writer(file, lineterminator="\n")
        lines.writerow(paper.Run._fields)
        lines.writerows(found.runs)
    contrasts = _contrasts(figures)
    if args.json:
        document = _document(args, found, contrasts, told, failed)
        write_json(document | {"records": rows, "runs": table})
        return 1 if failed else 0
    _show_means(figures, found)
    _show_bounds(found.bounds)
    _show_contrasts(contrasts)
    _show_claims(told)
    for record in failed:
        say(f"{record.solver} failed on {record.instance}: {record.error}")
    say(*_remarks(args), f"Records: {rows}; runs one by one: {table}")
    return 1 if failed else 0


def _contrasts(figures: Figures) -> list[Contrast]:
    """Return table 3 as it is here; empty if runs are missing."""
    from reproductions.lina2022 import ALGORITHMS, MissingRunsError  # noqa: PLC0415 - when it runs

    try:
        return figures.contrasts(ALGORITHMS)
    except MissingRunsError:
        return []


def _document(
    args: argparse.Namespace,
    found: Reproduction,
    contrasts: Sequence[Contrast],
    told: Sequence[Claim],
    failed: Sequence[Record],
) -> dict[str, Any]:
    return {
        "paper": args.paper,
        "seeds": args.seeds,
        "seconds": args.seconds,
        "cells": found.cells,
        "bounds": found.bounds,
        "orders": [plain(one) for one in contrasts],
        "claims": told,
        "failures": [{"solver": r.solver, "problem": r.instance, "error": r.error} for r in failed],
    }


def _show_means(figures: Figures, found: Reproduction) -> None:
    from reproductions.lina2022 import ALGORITHMS, FULL, METRICS  # noqa: PLC0415 - when it runs

    texts = {"turnaround": "{:.0f}", "utilisation": "{:.3f}", "slowdown": "{:.1f}"}
    cells: list[tuple[str, ...]] = []
    logs = list(dict.fromkeys(run.log for run in found.runs))
    for log in logs:
        for metric in METRICS:
            for algorithm in ALGORITHMS:
                values = [figures.rigid(log, metric)]
                if log in FULL:
                    values += [figures.one(log, s, algorithm, "gain", metric) for s in figures.shares]
                else:
                    values += figures.path(log, algorithm, metric)
                head = (log if (algorithm, metric) == (ALGORITHMS[0], METRICS[0]) else "", metric)
                cells.append((*head, algorithm, *(texts[metric].format(value) for value in values)))
    heads = ("workload", "metric", "algorithm", "rigid", *(f"{100 * s:g} %" for s in figures.shares))
    title = "By share of elastic jobs: means over orders of victims (Gain in the last two) and seeds"
    show_table(heads, cells, title=title, texts=(0, 1, 2))
    say("")


def _show_bounds(rows: Sequence[BoundRow]) -> None:
    heads = "workload", "elastic\njobs", "certified\nbound s", "best schedule\nof all runs s", "gap"
    cells = (
        (
            *(row.log, f"{100 * row.share:g} %", f"{row.bound:.1f}"),
            *((f"{row.best:.1f}", percent(row.best / row.bound - 1)) if row.best < math.inf else ("-", "-")),
        )
        for row in rows
    )
    title = "The least mean turnaround that any schedule can have, first seed"
    show_table(heads, cells, title=title, texts=(0,))
    say("")


def _show_contrasts(rows: Sequence[Contrast]) -> None:
    from reproductions.lina2022 import RULES  # noqa: PLC0415 - when it runs

    heads = "workload", "algorithm", "metric", "paper", "ours"
    cells = []
    for row in rows:
        paper = "-"
        if row.printed is not None:
            best, worst, difference, share = row.printed
            paper = f"{RULES[best]} / {RULES[worst]} {difference:g} % at {share} %"
        ours = f"{RULES[row.best]} / {RULES[row.worst]} {percent(row.difference)} at {100 * row.share:g} %"
        cells.append((row.log, row.algorithm, row.metric, paper, ours))
    title = "Orders of victims that differ most: best / worst, and at which share (table 3)"
    show_table(heads, cells, title=title, texts=(0, 1, 2, 3, 4))
    say("")


def _show_claims(told: Sequence[Claim]) -> None:
    heads = "section", "the paper", "", "ours"
    cells = ((one.section, one.text, one.verdict, one.figures) for one in told)
    show_table(heads, cells, title="What the paper says of its results", texts=(0, 1, 2, 3))
    verdicts = list(dict.fromkeys(one.verdict for one in told))
    parts = (f"{sum(one.verdict == verdict for one in told)} {verdict}" for verdict in verdicts)
    say(f"{counted(len(told), 'claim')}: {', '.join(parts)}", "")


def _remarks(args: argparse.Namespace) -> Iterator[str]:
    yield "System is run as its text says (system-text) and as its listing is printed (system-printed)."
    yield "Slowdown counts run times below 10 s as 10 s; utilisation is that of the nodes that jobs hold."
    yield f"Means over {counted(args.seeds, 'seed')}; the paper has ten runs, of other draws."
    yield f"Bounds: {args.seconds:g} s each, of the first seed at few shares, recomputed by the judge."
