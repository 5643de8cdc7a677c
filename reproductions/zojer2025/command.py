"""The command that redoes the simulations of Zojer 2025: reproduce zojer2025."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, Any

from allocsolve.cli.files import check_outputs, make_folder
from allocsolve.cli.output import count_bar, plain, remark, say, show_table, write_json
from allocsolve.cli.study import keys_again, with_resume_hint
from allocsolve.pictures.chart import counted, percent

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from allocsolve.bench import Record
    from reproductions.zojer2025 import BoundRow, PolicyRow, Reproduction, Sentence, Spread

__all__ = ["zojer2025"]


def zojer2025(args: argparse.Namespace) -> int:
    """Run what is not recorded yet; show the policies beside the thesis and beside the certified bound."""
    from allocsolve.bench import RecordStore, open_executor, run  # noqa: PLC0415 - when the command runs
    from reproductions import zojer2025 as paper  # noqa: PLC0415 - when the command runs

    args.seeds = args.seeds or paper.SEEDS
    policies = args.policies or (*paper.POLICIES, *paper.COMPARED)
    check_outputs(args.plot, force=args.force)
    log = paper.cori_knl(args.traces)
    chosen = paper.variants(log, args.shares or paper.SHARES, args.seeds)
    planned = paper.planned_runs(chosen, policies, seconds=args.seconds, workers=args.workers)
    make_folder(args.out)
    rows, table = args.out / "records.sqlite", args.out / "runs.csv"
    tasks = [one.task for one in planned]
    with RecordStore(rows, tell=remark) as store:
        again = keys_again(args, tasks, store)
        with (
            with_resume_hint(store, rows),
            count_bar("starting") as progress,
            open_executor(args.executor, args.jobs) as cells,
        ):
            records = run(tasks, store=store, again=again, executor=cells, progress=progress, announce=remark)
        with count_bar("measuring") as progress:
            found = paper.examine(log, planned, store, progress=progress)
    told = paper.sentences(found)
    _write_runs(table, found)
    if args.plot is not None:
        args.plot.write_text(str(paper.reproduction_picture(found)), encoding="utf-8")
    failed = [record for record in records if record.error]
    if args.json:
        write_json(_document(args, found, told, failed) | {"records": rows, "runs": table})
        return 1 if failed else 0
    _show_policies(found)
    _show_bounds(found.bounds)
    _show_sentences(told)
    for record in failed:
        say(f"{record.solver} failed on {record.instance}: {record.error}")
    say(*_remarks(args), f"Records: {rows}; runs one by one: {table}")
    say(*([f"Plot: {args.plot}"] if args.plot else []))
    return 1 if failed else 0


def _document(
    args: argparse.Namespace, found: Reproduction, told: Sequence[Sentence], failed: Sequence[Record]
) -> dict[str, Any]:
    from reproductions.zojer2025 import PRINTED  # noqa: PLC0415 - when the command runs

    return {
        "paper": args.paper,
        "log": {"name": found.log.name, **found.log.meta},
        "seeds": args.seeds,
        "seconds": args.seconds,
        "workers": args.workers,
        "policies": [plain(row) | {"thesis": PRINTED.get(row.share, {})} for row in found.policies],
        "bounds": found.bounds,
        "sentences": told,
        "failures": [{"solver": r.solver, "problem": r.instance, "error": r.error} for r in failed],
    }


def _write_runs(path: Path, found: Reproduction) -> None:
    """Write the runs of the policies as a table, one a line."""
    from reproductions.zojer2025 import Run  # noqa: PLC0415 - when the command runs

    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow((*Run._fields, "regret"))
        table.writerows((*run, run.regret) for run in found.runs)


def _show_policies(found: Reproduction) -> None:
    heads = (
        *("malleable\njobs", "\npolicy", "turnaround\ns (quartiles)", "wait\ns", "run\ns", "utili-\nsation"),
        *("expansions,\nshrinks per job", "all jobs:\nturnaround s", "above the\nbound"),
    )
    title = "Cori KNL, jobs submitted after 12 h that end by the last submission; then all jobs"
    show_table(heads, _policy_rows(found.policies), title=title, texts=(0, 1))
    say("")


def _policy_rows(rows: Sequence[PolicyRow]) -> Iterator[tuple[str, ...]]:
    """Yield the rows share by share, that of the thesis first where it prints a figure."""
    from reproductions.zojer2025 import PRINTED  # noqa: PLC0415 - when the command runs

    last = None
    for row in rows:
        share = f"{100 * row.share:g} %" if row.share != last else ""
        printed = PRINTED.get(row.share) if share else None
        if printed:
            columns = (printed.get(name, "") for name in ("turnaround", "wait", "run", "utilisation"))
            yield share, "thesis", *columns, "", "", ""
            share = ""
        last, of = row.share, row.figures
        yield (
            *(share, row.policy, _spread(of["turnaround"])),
            *(f"{of['wait'].mean:.1f}", f"{of['run'].mean:.0f}", percent(of["utilisation"].mean)),
            f"{of['expansions'].mean:.1f}, {of['shrinks'].mean:.1f}",
            *(f"{of['all_turnaround'].mean:.1f}", percent(of["regret"].mean)),
        )


def _spread(spread: Spread | None) -> str:
    """Return a mean, with its quartiles where there are several seeds; - if there is none."""
    if spread is None:
        return "-"
    interval = "" if spread.low == spread.high else f" [{spread.low:.0f}, {spread.high:.0f}]"
    return f"{spread.mean:.1f}{interval}"


def _show_bounds(rows: Sequence[BoundRow]) -> None:
    heads = "malleable\njobs", "\nseeds", "certified\nbound s", "best known\nschedule s", "gap"
    cells = (
        (f"{100 * row.share:g} %", str(row.seeds), _spread(row.bound), _spread(row.best), percent(row.gap, 2))
        for row in rows
    )
    title = "The least mean turnaround of all jobs that any schedule can have"
    show_table(heads, cells, title=title, texts=())
    say("")


def _show_sentences(told: Sequence[Sentence]) -> None:
    heads = "section", "the thesis", "", "ours"
    cells = ((one.section, one.text, one.verdict, one.figures) for one in told)
    show_table(heads, cells, title="What the thesis says of its results", texts=(0, 1, 2, 3))
    count = {verdict: sum(one.verdict == verdict for one in told) for verdict in ("holds", "does not hold")}
    say(f"{counted(len(told), 'sentence')}: {count['holds']} hold, {count['does not hold']} do not", "")


def _remarks(args: argparse.Namespace) -> Iterator[str]:
    yield "Our figures are consistent with those of the thesis or not; its own source is not available."
    yield "Turnaround is wait plus run; the thesis calls the run time of a job its makespan."
    yield f"Means over {counted(args.seeds, 'seed')} but at 0 and 100 %; points of jobs are 10 s apart."
    yield f"Bounds: {args.seconds:g} s and {counted(args.workers, 'worker')} each, recomputed by the judge."
