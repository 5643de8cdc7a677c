"""The command that redoes the simulations of Zojer 2025: reproduce zojer2025."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from allocsolve.cli.output import say
from allocsolve.pictures.chart import SERIES, Axis, Chart, counted, percent
from allocsolve.report.plain import plain
from reproductions.charts import Plane, draw_cross, draw_line, stacked
from reproductions.runs import BOUND
from reproductions.study import Part, Recorded, Study
from reproductions.tables import show, show_claims
from reproductions.zojer2025.claims import sentences
from reproductions.zojer2025.experiment import (
    COMPARED,
    POLICIES,
    PRINTED,
    SEEDS,
    SHARES,
    Reproduction,
    Run,
    Variant,
    examine,
    planned_runs,
    variants,
)
from reproductions.zojer2025.trace import cori_knl

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from allocsolve.pictures.chart import Drawing
    from reproductions.zojer2025.experiment import BoundRow, PolicyRow, Spread


class _Zojer2025(Study[Variant, Reproduction]):
    """Run what is not recorded yet; show the policies beside the thesis and beside the certified bound."""

    RUN = Run

    def __init__(self, args: argparse.Namespace) -> None:
        super().__init__(args)
        self._seeds = args.seeds or SEEDS

    def parts(self) -> Iterator[Part[Variant]]:
        args = self.args
        self._log = cori_knl(args.traces)
        chosen = variants(self._log, args.shares or SHARES, self._seeds)
        policies = args.policies or (*POLICIES, *COMPARED)
        planned = planned_runs(chosen, policies, seconds=args.seconds, workers=args.workers)
        yield Part("starting", planned)

    def measured(self, recorded: Recorded[Variant]) -> Reproduction:
        runs, records, store, progress = recorded
        return examine(self._log, runs, store, records=records, progress=progress)

    def document(self, measured: Reproduction) -> dict[str, Any]:
        return {
            "log": {"name": measured.log.name, **measured.log.meta},
            "seeds": self._seeds,
            "seconds": self.args.seconds,
            "workers": self.args.workers,
            "policies": [plain(row) | {"thesis": PRINTED.get(row.share, {})} for row in measured.policies],
            "bounds": measured.bounds,
            "sentences": [sentence.document() for sentence in sentences(measured)],
        }

    def rows(self, measured: Reproduction) -> Iterator[Sequence[object]]:
        yield *Run._fields, "gap"
        yield from ((*run, run.gap) for run in measured.runs)

    def show(self, measured: Reproduction) -> None:
        _show_policies(measured.policies)
        _show_bounds(measured.bounds)
        claims = sentences(measured)
        show_claims(claims, "the thesis")
        verdicts = [claim.verdict for claim in claims]
        hold, fail = verdicts.count("holds"), verdicts.count("does not hold")
        say(f"{counted(len(claims), 'sentence')}: {hold} hold, {fail} do not", "")

    def remarks(self) -> Iterator[str]:
        seconds, workers = self.args.seconds, counted(self.args.workers, "worker")
        yield "Our figures are consistent with those of the thesis or not; its own source is not available."
        yield "Turnaround is wait plus run; the thesis calls the run time of a job its makespan."
        yield f"Means over {counted(self._seeds, 'seed')} but at 0 and 100 %; points of jobs are 10 s apart."
        yield f"Bounds: {seconds:g} s and {workers} each, recomputed by the judge."

    def picture(self, measured: Reproduction) -> Drawing:
        return reproduction_picture(measured)


zojer2025 = _Zojer2025.command


def _show_policies(rows: Sequence[PolicyRow]) -> None:
    heads = (
        *("malleable\njobs", "\npolicy", "turnaround\ns (quartiles)", "wait\ns", "run\ns", "utili-\nsation"),
        *("expansions,\nshrinks per job", "all jobs:\nturnaround s", "above the\nbound"),
    )
    title = "Cori KNL, jobs submitted after 12 h that end by the last submission; then all jobs"
    show(heads, _policy_rows(rows), title=title, texts=(0, 1))


def _policy_rows(rows: Sequence[PolicyRow]) -> Iterator[tuple[str, ...]]:
    """Yield the rows share by share, that of the thesis first where it prints a figure."""
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
            *(f"{of['all_turnaround'].mean:.1f}", percent(of["gap"].mean)),
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
    show(heads, cells, title=title, texts=())


_PLANES: Final = (
    Plane("turnaround", "Mean turnaround, in the window of the thesis", "s"),
    Plane("wait", "Mean wait, in that window", "s", log=True),
    Plane("utilisation", "Utilisation, in that window", "%", 100),
    Plane("all_turnaround", "Mean turnaround of all jobs, and its certified bound", "s", bounded=True),
    Plane("gap", "Gap: mean turnaround of all jobs above the certified bound", "%", 100),
)


def reproduction_picture(reproduction: Reproduction) -> Drawing:
    """Draw each figure by share, a line for each policy: means over seeds, with quartiles where they differ.

    Crosses are figures that the thesis prints.
    """
    policies = list(dict.fromkeys(row.policy for row in reproduction.policies))[: SERIES - 1]
    charts = (_chart(reproduction, plane, policies) for plane in _PLANES)
    return stacked(
        [chart for chart in charts if chart is not None], "Malleable jobs on Cori KNL, after Zojer 2025"
    )


def _chart(reproduction: Reproduction, plane: Plane, policies: Sequence[str]) -> Chart | None:
    """Draw a figure, the first one with the legend; None if no run has it."""
    lines: dict[str, dict[float, Spread]] = {name: {} for name in policies}
    for row in reproduction.policies:
        spread = row.figures[plane.figure]
        if row.policy in lines and math.isfinite(spread.mean):
            lines[row.policy][row.share] = spread
    if plane.bounded:
        lines[BOUND] = {row.share: row.bound for row in reproduction.bounds}
    ends = [end * plane.factor for line in lines.values() for spread in line.values() for end in spread]
    if not ends:
        return None
    axis = _axis(plane, ends)
    names, heading = [], [plane.title]
    if plane is _PLANES[0]:
        names = [*policies, f"certified bound ({BOUND})"]
        heading.append("Quartiles over seeds; crosses: what the thesis prints")
    share_axis = Axis("malleable jobs [%]", 0, 100)
    chart = Chart(plane.title, share_axis, axis, legend=names, heading=heading, height=230.0)
    for idx, (name, line) in enumerate(lines.items()):
        for share, spread in sorted(line.items()):
            x, label = chart.x(100 * share), f"{name}, {100 * share:g} %: quartiles"
            low, high = (chart.y(max(end * plane.factor, 0.0)) for end in spread[1:])
            if low != high:
                chart.drawing.line((x, low), (x, high), kind=f"c{idx}", label=label)
        draw_line(chart, idx, name, {s: max(spread.mean * plane.factor, 0.0) for s, spread in line.items()})
    for share, printed in PRINTED.items():
        text = printed.get(plane.figure, "")
        digits = text.removeprefix("~").removesuffix(" %")
        if digits.isdigit():  # what the thesis only bounds has no place
            draw_cross(chart, share, float(digits), f"thesis, {100 * share:g} %: {text}")
    return chart


def _axis(plane: Plane, ends: Sequence[float]) -> Axis:
    title = f"{plane.figure.replace('all_', '')} [{plane.unit}]"
    if plane.log:
        return Axis.around(title, [max(end, 0.1) for end in ends], log=True)
    if plane.figure == "utilisation":
        return Axis(title, 5 * math.floor(min(ends) / 5), 100)
    return Axis.around(title, ends)
