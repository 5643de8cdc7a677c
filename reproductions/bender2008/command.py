"""The command that redoes the experiments of Bender et al. 2008: reproduce bender2008."""

from __future__ import annotations

from typing import TYPE_CHECKING

from allocsolve.cli.output import count_bar, plain, say, show_table, write_json
from allocsolve.pictures.chart import time_text

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from allocsolve.bench import Gaps
    from reproductions.bender2008.study import OccupancyTable, TightCase

__all__ = ["bender2008"]


def bender2008(args: argparse.Namespace) -> int:
    """Show the worst case of the median method, then heuristics beside optima, which the paper had not."""
    from reproductions.bender2008.study import occupancy_tables, tight_family  # noqa: PLC0415 - when the command runs

    with count_bar("worst case") as progress:
        cases = tight_family(seconds=args.seconds, progress=progress)
    if not args.json:
        _show_cases(cases)
    with count_bar("proving optima") as progress:
        tables = occupancy_tables(args.tests, args.seed, seconds=args.seconds, progress=progress)
    if args.json:
        write_json(
            {
                "paper": args.paper,
                "tests": args.tests,
                "seed": args.seed,
                "tight_family": [{**plain(case), "ratio": case.ratio} for case in cases],
                "occupancies": tables,
            }
        )
        return 0
    _show_tables(tables)
    return 0


def _show_cases(cases: Sequence[TightCase]) -> None:
    rows = (
        (
            str(case.distance),
            str(case.median),
            str(case.optimum) if case.proven else f"{case.bound:g}..{case.optimum}",
            f"{case.ratio:.3f}",
            time_text(case.seconds),
        )
        for case in cases
    )
    title = "The worst case of manhattan-median: its pairwise distance approaches 7/4 of the optimum"
    show_table(("distance", "median", "optimum", "ratio", "time to prove"), rows, title=title, texts=())
    say("")


def _show_tables(tables: Sequence[OccupancyTable]) -> None:
    """Show all machines side by side: mean and largest ratio to proven optima, and how often there is one."""
    heads = ("\nsolver", *(f"{table.machine}\n{table.occupancy}" for table in tables))
    rows = [
        (score.solver, *(_ratio(table.scores[place].optimum_gap, table.proven) for table in tables))
        for place, score in enumerate(tables[0].scores)
    ]
    rows.append(("the same, connected", *(_ratio(table.connected, table.proven) for table in tables)))
    title = "Pairwise distance / proven optimum: mean/max, and how many problems were answered if not all"
    show_table(heads, rows, title=title)
    say("")
    for table in tables:
        exact = table.scores[-1]
        mean, longest = time_text(exact.mean_runtime_s), time_text(exact.max_runtime_s)
        proven = f"{table.proven} of {table.tests} optima proven"
        say(f"{table.machine} {table.occupancy}: {proven}, mean time {mean}, longest {longest}.")


def _ratio(gaps: Gaps | None, proven: int) -> str:
    if gaps is None:
        return "-"
    answered = "" if gaps.count == proven else f" ({gaps.count})"
    return f"{1 + gaps.mean:.3f}/{1 + gaps.max:.3f}{answered}"
