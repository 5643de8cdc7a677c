"""The command that redoes the simulations of Lina et al. 2022: reproduce lina2022."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from allocsolve.pictures.chart import counted, percent
from allocsolve.report.plain import plain
from reproductions.claims import if_run
from reproductions.lina2022.claims import claims
from reproductions.lina2022.experiment import (
    ALGORITHMS,
    METRICS,
    RULES,
    SEEDS,
    SHARES,
    Figures,
    Label,
    Reproduction,
    Run,
    examine,
    planned_runs,
    variants,
)
from reproductions.lina2022.logs import FULL, LOGS, paper_logs
from reproductions.runs import BoundStore
from reproductions.study import Part, Recorded, Study
from reproductions.tables import once, say_verdicts, show, show_claims

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from reproductions.lina2022.experiment import BoundRow, Contrast


class _Lina2022(Study[Label, Reproduction]):
    """Run what is not recorded yet; show the algorithms beside the paper and beside certified bounds."""

    STORE = BoundStore
    RUN = Run

    def __init__(self, args: argparse.Namespace) -> None:
        super().__init__(args)
        self._seeds = args.seeds or SEEDS

    def parts(self) -> Iterator[Part[Label]]:
        args = self.args
        for log in paper_logs(args.traces, args.logs or (*LOGS, *FULL)):
            chosen = variants(log, args.shares or SHARES, self._seeds)
            yield Part(log.name, planned_runs(chosen, full=log.full, seconds=args.seconds))

    def measured(self, recorded: Recorded[Label]) -> Reproduction:
        return examine(recorded.runs, recorded.records)

    def document(self, measured: Reproduction) -> dict[str, Any]:
        return {
            "seeds": self._seeds,
            "seconds": self.args.seconds,
            "cells": measured.cells,
            "bounds": measured.bounds,
            "orders": [plain(contrast) for contrast in _contrasts(measured)],
            "claims": [claim.document() for claim in claims(measured)],
        }

    def show(self, measured: Reproduction) -> None:
        _show_means(measured)
        _show_bounds(measured.bounds)
        _show_contrasts(_contrasts(measured))
        sentences = claims(measured)
        show_claims(sentences)
        say_verdicts(sentences)

    def remarks(self) -> Iterator[str]:
        seconds = self.args.seconds
        yield "System is run as its text says (system-text) and as its listing is printed (system-printed)."
        yield "Slowdown counts run times below 10 s as 10 s; utilisation is that of the nodes that jobs hold."
        yield f"Means over {counted(self._seeds, 'seed')}; the paper has ten runs, of other draws."
        yield f"Bounds: {seconds:g} s each, of the first seed at few shares, recomputed by the judge."


lina2022 = _Lina2022.command


def _contrasts(measured: Reproduction) -> list[Contrast]:
    """Return table 3 as it is here; empty if runs are missing."""
    return if_run(Figures(measured).contrasts, ALGORITHMS) or []


def _show_means(measured: Reproduction) -> None:
    figures = Figures(measured)
    texts = {"turnaround": "{:.0f}", "utilisation": "{:.3f}", "slowdown": "{:.1f}"}
    rows: list[tuple[str, ...]] = []
    for log in dict.fromkeys(run.log for run in measured.runs):
        for metric in METRICS:
            for algorithm in ALGORITHMS:
                values = [figures.rigid(log, metric)]
                if log in FULL:
                    values += [figures.of(log, s, algorithm, "gain", metric) for s in figures.shares]
                else:
                    values += figures.path(log, algorithm, metric)
                rows.append((log, metric, algorithm, *(texts[metric].format(value) for value in values)))
    heads = ("workload", "metric", "algorithm", "rigid", *(f"{100 * s:g} %" for s in figures.shares))
    title = "By share of elastic jobs: means over orders of victims (Gain in the last two) and seeds"
    show(heads, once(rows), title=title, texts=(0, 1, 2))


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
    show(heads, cells, title=title, texts=(0,))


def _show_contrasts(rows: Sequence[Contrast]) -> None:
    cells = []
    for row in rows:
        printed = "-"
        if row.printed is not None:
            best, worst, difference, share = row.printed
            printed = f"{RULES[best]} / {RULES[worst]} {difference:g} % at {share} %"
        ours = f"{RULES[row.best]} / {RULES[row.worst]} {percent(row.difference)} at {100 * row.share:g} %"
        cells.append((row.log, row.algorithm, row.metric, printed, ours))
    heads = "workload", "algorithm", "metric", "paper", "ours"
    title = "Orders of victims that differ most: best / worst, and at which share (table 3)"
    show(heads, cells, title=title, texts=range(5))
