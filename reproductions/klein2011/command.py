"""The command that redoes the experiments of Klein & Perez 2011: reproduce klein2011."""

from __future__ import annotations

from typing import TYPE_CHECKING

from allocsolve.cli.output import count_bar, say, show_table, write_json
from allocsolve.errors import InvalidOption
from reproductions.klein2011.expansion_command import expansion

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from reproductions.klein2011 import Reproduction, Spread

__all__ = ["klein2011"]

#: Options that only --optimal has a use for.
_OPTIMAL_ONLY = ("seconds", "workers", "out", "plot", "force")


def klein2011(args: argparse.Namespace) -> int:
    """Show the tables of the paper beside ours or, with --optimal, what expansion is worth to the optimum."""
    if args.optimal:
        return expansion(args)
    for name in _OPTIMAL_ONLY:
        value = getattr(args, name)
        if value is not None:
            given = f"--{name}" if value is True else f"--{name} {value}"
            msg = f"{given} goes with --optimal only"
            raise InvalidOption(msg)
    if args.tests is None:
        msg = "--tests is missing: how many problems the tables are made of (the paper: 1000)"
        raise InvalidOption(msg)
    from reproductions.klein2011 import PAPER, reproduce  # noqa: PLC0415 - when the command runs

    with count_bar("scheduling") as progress:
        reproduction = reproduce(args.tests, args.seed, progress=progress)
    if args.json:
        rows = {
            algorithm: {
                column: {"paper": PAPER[algorithm][column], "ours": spread} for column, spread in row.items()
            }
            for algorithm, row in reproduction.rows.items()
        }
        head = {
            "paper": args.paper,
            "tests": reproduction.tests,
            "seed": reproduction.seed,
            "runtime_s": reproduction.seconds,
        }
        write_json({**head, "algorithms": rows})
        return 0
    for number in (1, 2):
        _show_table(number, reproduction)
    say("What the paper could not have, the optimum: allocsolve reproduce klein2011 --optimal")
    return 0


def _show_table(number: int, reproduction: Reproduction) -> None:
    from reproductions.klein2011 import COLUMNS, PAPER  # noqa: PLC0415 - when the command runs

    columns = [column for column in COLUMNS if column.table == number]
    units = {"%": "%", "ms": "ms", "relative": "of rigid"}

    def rows() -> Iterator[tuple[str, ...]]:
        for algorithm, row in reproduction.rows.items():
            printed = (_paper(PAPER[algorithm][column.name], units[column.unit]) for column in columns)
            yield algorithm, "paper", *printed
            yield "", "ours", *(_spread(row[column.name], units[column.unit]) for column in columns)

    heads = [f"{column.title.replace(' ', chr(10))}\n{units[column.unit]}" for column in columns]
    title = f"Klein & Perez 2011, table {number}, min/avg/max (paper: 1000 tests, ours: {reproduction.tests})"
    show_table(("", "", *heads), rows(), title=title, texts=(0, 1))
    say("")


def _paper(spread: Spread, unit: str) -> str:
    from reproductions.klein2011 import EPSILON  # noqa: PLC0415 - when the command runs

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
