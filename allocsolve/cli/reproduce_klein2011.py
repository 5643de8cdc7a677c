"""The command that redoes the experiments of Klein & Perez 2011: reproduce klein2011."""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING

from allocsolve.cli.output import limit_text, say, show_table, time_text, write_json
from allocsolve.cli.progress import count_bar

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from allocsolve.bench import Reproduction, SampleTable, Spread

__all__ = ["klein2011"]

#: Problems of each suite for which optima are sought, however many tests the tables have.
SAMPLE_SIZE = 5


def klein2011(args: argparse.Namespace) -> int:
    """Show the tables of the paper beside ours, then optima and bounds, which the paper could not have."""
    from allocsolve.bench import PAPER, reproduce, sample  # noqa: PLC0415 - when the command runs

    with count_bar("scheduling") as progress:
        ours = reproduce(args.tests, args.seed, progress=progress)
    if not args.json:
        for number in (1, 2):
            _show_table(number, ours)
    with count_bar("proving optima") as progress:
        tables = sample(
            tests=min(args.tests, SAMPLE_SIZE),
            seconds=args.seconds,
            workers=min(2, os.cpu_count() or 1),
            progress=progress,
        )
    if args.json:
        rows = {
            algorithm: {
                column: {"paper": PAPER[algorithm][column], "ours": spread} for column, spread in row.items()
            }
            for algorithm, row in ours.rows.items()
        }
        head = {"paper": args.paper, "tests": ours.tests, "seed": ours.seed, "runtime_s": ours.seconds}
        write_json({**head, "algorithms": rows, "sample": tables})
        return 0
    say("What the paper could not have: makespans relative to the proven optimum and to the best bound,")
    say("min/avg/max. Every algorithm keeps its own expand limit; one that expands may be below an optimum")
    say("that does not.")
    for suite in dict.fromkeys(table.suite for table in tables):
        _show_sample([table for table in tables if table.suite == suite])
    return 0


def _show_table(number: int, ours: Reproduction) -> None:
    from allocsolve.bench import COLUMNS, PAPER  # noqa: PLC0415 - as above

    columns = [column for column in COLUMNS if column.table == number]
    units = {"%": "%", "ms": "ms", "relative": "of rigid"}

    def rows() -> Iterator[tuple[str, ...]]:
        for algorithm, row in ours.rows.items():
            printed = (_paper(PAPER[algorithm][column.name], units[column.unit]) for column in columns)
            yield algorithm, "paper", *printed
            yield "", "ours", *(_spread(row[column.name], units[column.unit]) for column in columns)

    heads = [f"{column.title.replace(' ', chr(10))}\n{units[column.unit]}" for column in columns]
    title = f"Klein & Perez 2011, table {number}, min/avg/max (paper: 1000 tests, ours: {ours.tests})"
    show_table(("", "", *heads), rows(), title=title, texts=(0, 1))
    say("")


def _paper(spread: Spread, unit: str) -> str:
    from allocsolve.bench import EPSILON  # noqa: PLC0415 - as above

    if unit == "of rigid" and spread.min < spread.max:
        return "/".join(_no_zero(f"{value:.2f}") for value in spread)
    return "/".join("eps" if value == EPSILON else f"{value:g}" for value in spread)


def _spread(spread: Spread, unit: str) -> str:
    """Return our figures, the average with a digit more, as the paper truncates it."""
    if spread.min == spread.max:
        return "/".join([f"{spread.min:g}"] * 3)
    digits = {"%": (0, 1), "of rigid": (2, 3), "ms": (2, 3)}[unit]
    values = (f"{value:.{digits[place == 1]}f}" for place, value in enumerate(spread))
    return "/".join(value if unit == "%" else _no_zero(value) for value in values)


def _no_zero(number: str) -> str:
    return number.removeprefix("0") if number.startswith("0.") else number


def _show_sample(tables: Sequence[SampleTable]) -> None:
    """Show the tables of one suite side by side."""
    heads = [
        f"limit {limit_text(table.expand_limit)}\n{reference}"
        for table in tables
        for reference in ("optimum", "bound")
    ]
    rows = (
        (
            algorithm,
            *(_ratio(column[algorithm]) for table in tables for column in (table.optimum, table.bound)),
        )
        for algorithm in tables[0].bound
    )
    say("")
    show_table(("", *heads), rows, title=f"{tables[0].suite}, {tables[0].tests} problems")
    say("")
    for table in tables:
        mean, longest = time_text(table.runtime_s.avg), time_text(table.runtime_s.max)
        proven = f"{table.proven} of {table.tests} optima proven"
        say(f"Limit {limit_text(table.expand_limit)}: {proven}, mean time {mean}, longest {longest}.")


def _ratio(spread: Spread) -> str:
    return "-" if math.isnan(spread.avg) else "/".join(f"{value:.2f}" for value in spread)
