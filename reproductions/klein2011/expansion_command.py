"""What expansion is worth to the optimum: reproduce klein2011 --optimal."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from allocsolve.cli.files import check_outputs, make_folder
from allocsolve.cli.output import count_bar, plain, remark, say, show_table, write_json
from allocsolve.cli.study import with_resume_hint
from allocsolve.pictures.chart import limit_text, percent, probability

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator, Sequence

    from allocsolve.bench import Record
    from allocsolve.bench.scores.statistics import Ratios
    from reproductions.klein2011 import ExpansionGain, ExpansionInstance, ExpansionStudy, HeuristicRow

__all__ = ["expansion"]

#: Facts of a machine that are shown, in this order.
_FACTS = ("processor", "cpus", "python", "numpy", "numba", "ortools")


def expansion(args: argparse.Namespace) -> int:
    """Run what is not recorded yet, and show what expansion is worth and how far heuristics are off."""
    from allocsolve.bench import RecordStore, open_executor, run  # noqa: PLC0415 - when the command runs
    from reproductions.klein2011 import (  # noqa: PLC0415 - when the command runs
        examine_expansion,
        expansion_draws,
        expansion_picture,
        expansion_tasks,
    )

    args.tests = args.tests or 10
    args.seconds = args.seconds or 60.0
    args.workers = args.workers or min(2, os.cpu_count() or 1)
    folder = args.out or Path("out")
    check_outputs(args.plot, force=bool(args.force))
    make_folder(folder)
    rows = folder / "records.sqlite"
    draws = expansion_draws(args.tests)
    tasks = expansion_tasks(draws, seconds=args.seconds, workers=args.workers, seed=args.seed)
    with (
        RecordStore(rows, tell=remark) as store,
        with_resume_hint(store, rows),
        count_bar("starting") as progress,
        open_executor("local", jobs=1) as cells,
    ):
        records = run(tasks, store=store, executor=cells, progress=progress, announce=remark)
    study = examine_expansion(draws, records)
    failed = [record for record in records if record.error]
    if args.plot is not None:
        args.plot.write_text(str(expansion_picture(study)), encoding="utf-8")
    if args.json:
        write_json(_document(args, study, records) | {"records": rows})
    else:
        _show_gains(study)
        _show_heuristics(study)
        for record in failed:
            say(f"{record.solver} failed on {record.instance}: {record.error}")
        say(*_remarks(args, records), f"Records: {rows}", *([f"Plot: {args.plot}"] if args.plot else []))
    return 1 if failed else 0


def _document(args: argparse.Namespace, study: ExpansionStudy, records: Sequence[Record]) -> dict[str, Any]:
    """Return the study as JSON has it: brackets as [lower, upper], limits as on the command line."""
    failures = [{"solver": r.solver, "problem": r.instance, "error": r.error} for r in records if r.error]
    return {
        "paper": args.paper,
        "tests": args.tests,
        "seconds": args.seconds,
        "workers": args.workers,
        "seed": args.seed,
        "machines": _machines(records),
        "worth": [plain(row) | {"limit": limit_text(row.limit)} for row in study.gains],
        "heuristics": [plain(row) | {"limit": limit_text(row.limit)} for row in study.heuristics],
        "instances": [_instance(one) for one in study.instances],
        "failures": failures,
    }


def _instance(one: ExpansionInstance) -> dict[str, Any]:
    return {
        "apps": one.apps,
        "name": one.name,
        "optimum": {limit_text(limit): [at.lower, at.upper] for limit, at in one.optimum.items()},
        "worth": {limit_text(limit): [at.lower, at.upper] for limit, at in one.gains.items()},
        "heuristics": [
            {"solver": by.solver, "limit": limit_text(by.limit), "makespan": makespan}
            for by, makespan in one.heuristic_makespans.items()
        ],
    }


def _machines(records: Sequence[Record]) -> list[dict[str, str | int | None]]:
    """Return the facts of the machines that the records are of, each once."""
    return list({str(record.machine): {**record.machine} for record in records}.values())


def _show_gains(study: ExpansionStudy) -> None:
    heads = (
        *("\n\napps", "\n\nlimit", "\noptima\nproven", "mean gap\nof those\nopen"),
        *("optimum / that\nof limit 1:\nmean [95 %]", "\n\non", "mean of all\nis certainly\nwithin"),
        *("list scheduling,\n(2X+c, infX+c)\n/ noX [95 %]", "\n\np"),
    )
    title = "What expansion is worth: least makespan within a limit / least makespan without expansion"
    show_table(heads, _once(_gain(row) for row in study.gains), title=title, texts=())
    say("")


def _gain(row: ExpansionGain) -> tuple[str, ...]:
    head = row.apps, limit_text(row.limit), f"{row.proven} of {row.instances}", percent(row.gap)
    if row.optimum is None or row.listed is None:
        return (*head, *("",) * 5)
    chance = "-" if row.p is None else probability(row.p)
    return (*head, *_ratios(row.optimum), _mean(row.listed), chance)


def _show_heuristics(study: ExpansionStudy) -> None:
    heads = (
        *("\n\napps", "\n\nsolver", "\n\nlimit"),
        *("/ optimum\nof limit 1:\nmean [95 %]", "\n\non", "mean of all\nis certainly\nwithin"),
        *("/ optimum\nof its limit:\nmean [95 %]", "\n\non", "mean of all\nis certainly\nwithin"),
    )
    rows = _once(_heuristic(row) for row in study.heuristics)
    show_table(heads, rows, title="Makespan of heuristics / least makespan", texts=(1,))
    say("")


def _heuristic(row: HeuristicRow) -> tuple[str, ...]:
    return row.apps, row.solver, limit_text(row.limit), *_ratios(row.rigid), *_ratios(row.own)


def _once(rows: Iterable[tuple[str, ...]]) -> Iterator[tuple[str, ...]]:
    """Yield rows without what the first cell repeats."""
    last = None
    for first, *others in rows:
        yield ("" if first == last else first, *others)
        last = first


def _ratios(ratios: Ratios) -> tuple[str, str, str]:
    """Return the mean of what is known exactly, of how many it is, and where that of all is."""
    within = " - "
    if not any(map(math.isnan, ratios.within)):
        low, high = ratios.within
        within = f"{low:.3f}" if ratios.exact == ratios.count else f"{low:.3f} .. {high:.3f}"
    return _mean(ratios), f"{ratios.exact}/{ratios.count}", within


def _mean(ratios: Ratios) -> str:
    if ratios.mean is None:
        return "too few" if ratios.count else "-"
    interval = "" if ratios.interval is None else " [{:.3f}, {:.3f}]".format(*ratios.interval)
    return f"{ratios.mean:.3f}{interval}"


def _remarks(args: argparse.Namespace, records: Sequence[Record]) -> Iterator[str]:
    """Yield how it was found, so that it can be found again."""
    from allocsolve.bench.scores.statistics import FEWEST  # noqa: PLC0415 - when the command runs
    from reproductions.klein2011 import HEURISTIC_SECONDS  # noqa: PLC0415 - when the command runs

    yield "Means are over the instances with proven optima (on), the easier ones. Intervals: bootstrap."
    yield "p: Wilcoxon's signed-rank test that expansion is worth the same to both, on these instances."
    yield f"Too few: less than {FEWEST} of them. A heuristic that expands may beat the optimum of limit 1."
    spent = f"{args.seconds:g} s and {args.workers} workers per optimum"
    spent = f"{spent}, at most {min(args.seconds, HEURISTIC_SECONDS):g} s per heuristic"
    yield f"Budget: {spent}, seed {args.seed}; values and bounds of the instance library count, too."
    for machine in _machines(records):
        facts = (f"{name} {machine[name]}" for name in _FACTS if name in machine)
        yield f"Machine: {', '.join(facts)}; allocsolve {', '.join(sorted({one.version for one in records}))}"
