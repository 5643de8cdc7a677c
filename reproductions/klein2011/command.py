"""The command that redoes the experiments of Klein & Perez 2011: reproduce klein2011."""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING, Any, Final

from allocsolve.bench.scores.statistics import FEWEST
from allocsolve.cli.output import count_bar, say, write_json
from allocsolve.errors import InvalidOption
from allocsolve.pictures.chart import limit_text, percent, probability
from allocsolve.report.plain import plain
from reproductions.klein2011.expansion import (
    HEURISTIC_SECONDS,
    ExpansionStudy,
    examine_expansion,
    expansion_draws,
    expansion_tasks,
)
from reproductions.klein2011.picture import expansion_picture
from reproductions.klein2011.reproduction import COLUMNS, EPSILON, PAPER, reproduce
from reproductions.runs import PlannedRun
from reproductions.study import Part, Recorded, Study
from reproductions.tables import once, show

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping

    from allocsolve.bench import Record
    from allocsolve.bench.scores.statistics import Bracket, Ratios
    from allocsolve.pictures.chart import Drawing
    from reproductions.klein2011.expansion import ExpansionGain, ExpansionInstance, HeuristicRow
    from reproductions.klein2011.reproduction import Reproduction, Spread

#: Options that only --optimal has a use for.
_OPTIMAL_ONLY: Final = ("seconds", "workers", "out", "plot", "force")
#: Units of the columns of the tables, as they are shown.
_UNITS: Final = {"%": "%", "ms": "ms", "relative": "of rigid"}
#: Facts of a machine that are shown, in this order.
_FACTS: Final = ("processor", "cpus", "python", "numpy", "numba", "ortools")


def klein2011(args: argparse.Namespace) -> int:
    """Show the tables of the paper beside ours or, with --optimal, what expansion is worth to the optimum."""
    if args.optimal:
        return _Expansion.command(args)
    for name in _OPTIMAL_ONLY:
        value = getattr(args, name)
        if value is not None:
            given = f"--{name}" if value is True else f"--{name} {value}"
            msg = f"{given} goes with --optimal only"
            raise InvalidOption(msg)
    if args.tests is None:
        msg = "--count is missing: how many problems the tables are made of (the paper: 1000)"
        raise InvalidOption(msg)
    with count_bar("scheduling") as progress:
        reproduction = reproduce(args.tests, args.seed, progress=progress)
    if args.json:
        algorithms = {
            algorithm: {
                column: {"paper": PAPER[algorithm][column], "ours": spread} for column, spread in row.items()
            }
            for algorithm, row in reproduction.rows.items()
        }
        runtime = {"runtime_s": reproduction.seconds, "algorithms": algorithms}
        write_json({"paper": args.paper, "tests": args.tests, "seed": args.seed, **runtime})
        return 0
    for number in (1, 2):
        _show_table(number, reproduction)
    say("What the paper could not have, the optimum: allocsolve reproduce klein2011 --optimal")
    return 0


def _show_table(number: int, reproduction: Reproduction) -> None:
    columns = [(column.name, _UNITS[column.unit]) for column in COLUMNS if column.table == number]
    rows: list[tuple[str, ...]] = []
    for algorithm, row in reproduction.rows.items():
        printed = (_printed(PAPER[algorithm][name], unit) for name, unit in columns)
        rows.append((algorithm, "paper", *printed))
        rows.append(("", "ours", *(_spread(row[name], unit) for name, unit in columns)))
    titles = [column.title.replace(" ", "\n") for column in COLUMNS if column.table == number]
    heads = [f"{title}\n{unit}" for title, (_, unit) in zip(titles, columns, strict=True)]
    title = f"Klein & Perez 2011, table {number}, min/avg/max (paper: 1000 tests, ours: {reproduction.tests})"
    show(("", "", *heads), rows, title=title, texts=(0, 1))


def _printed(spread: Spread, unit: str) -> str:
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


class _Expansion(Study[None, ExpansionStudy]):
    """Show what expansion is worth to the optimum, and how far heuristics are off: --optimal."""

    def __init__(self, args: argparse.Namespace) -> None:
        super().__init__(args)
        args.tests, args.seconds = args.tests or 10, args.seconds or 60.0
        args.workers = args.workers or min(2, os.cpu_count() or 1)
        args.executor, args.parallel, args.rerun = "local", 1, []
        self._records: list[Record] = []

    def parts(self) -> Iterator[Part[None]]:
        args = self.args
        self._draws = expansion_draws(args.tests)
        tasks = expansion_tasks(self._draws, seconds=args.seconds, workers=args.workers, seed=args.seed)
        yield Part("starting", [PlannedRun(task, None) for task in tasks])

    def measured(self, recorded: Recorded[None]) -> ExpansionStudy:
        self._records = list(recorded.records.values())
        return examine_expansion(self._draws, self._records)

    def document(self, measured: ExpansionStudy) -> dict[str, Any]:
        """Return the study as JSON has it: brackets as [lower, upper], limits as on the command line."""
        return {
            **{name: getattr(self.args, name) for name in ("tests", "seconds", "workers", "seed")},
            "machines": self._machines(),
            "worth": [plain(row) | {"limit": limit_text(row.limit)} for row in measured.gains],
            "heuristics": [plain(row) | {"limit": limit_text(row.limit)} for row in measured.heuristics],
            "instances": [_instance(instance) for instance in measured.instances],
        }

    def show(self, measured: ExpansionStudy) -> None:
        _show_gains(measured)
        _show_heuristics(measured)

    def remarks(self) -> Iterator[str]:
        """Yield how it was found, so that it can be found again."""
        args = self.args
        yield "Means are over the instances with proven optima (on), the easier ones. Intervals: bootstrap."
        yield "p: Wilcoxon's signed-rank test that expansion is worth the same to both, on these instances."
        few = f"Too few: less than {FEWEST} of them."
        yield f"{few} A heuristic that expands may beat the optimum of limit 1."
        spent = f"{args.seconds:g} s and {args.workers} workers per optimum"
        spent = f"{spent}, at most {min(args.seconds, HEURISTIC_SECONDS):g} s per heuristic"
        yield f"Budget: {spent}, seed {args.seed}; values and bounds of the instance library count, too."
        versions = ", ".join(sorted({record.version for record in self._records}))
        for machine in self._machines():
            facts = (f"{name} {machine[name]}" for name in _FACTS if name in machine)
            yield f"Machine: {', '.join(facts)}; allocsolve {versions}"

    def picture(self, measured: ExpansionStudy) -> Drawing:
        return expansion_picture(measured)

    def _machines(self) -> list[dict[str, str | int | None]]:
        """Return the facts of the machines that the records are of, each once."""
        return list({str(record.machine): {**record.machine} for record in self._records}.values())


def _instance(instance: ExpansionInstance) -> dict[str, Any]:
    return {
        "apps": instance.apps,
        "name": instance.name,
        "optimum": _ends(instance.optimum),
        "worth": _ends(instance.gains),
        "heuristics": [
            {"solver": heuristic.solver, "limit": limit_text(heuristic.limit), "makespan": makespan}
            for heuristic, makespan in instance.heuristic_makespans.items()
        ],
    }


def _ends(brackets: Mapping[float, Bracket]) -> dict[str, list[float]]:
    return {limit_text(limit): [bracket.lower, bracket.upper] for limit, bracket in brackets.items()}


def _show_gains(study: ExpansionStudy) -> None:
    heads = (
        *("\n\napps", "\n\nlimit", "\noptima\nproven", "mean gap\nof those\nopen"),
        *("optimum / that\nof limit 1:\nmean [95 %]", "\n\non", "mean of all\nis certainly\nwithin"),
        *("list scheduling,\n(2X+c, infX+c)\n/ noX [95 %]", "\n\np"),
    )
    title = "What expansion is worth: least makespan within a limit / least makespan without expansion"
    show(heads, once(_gain(row) for row in study.gains), title=title, texts=())


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
    rows = once(_heuristic(row) for row in study.heuristics)
    show(heads, rows, title="Makespan of heuristics / least makespan", texts=(1,))


def _heuristic(row: HeuristicRow) -> tuple[str, ...]:
    return row.apps, row.solver, limit_text(row.limit), *_ratios(row.rigid), *_ratios(row.own)


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
