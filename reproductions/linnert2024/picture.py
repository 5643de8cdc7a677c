"""The picture of the reproduction: figures 14 to 18 of the paper, as bars with intervals."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from allocsolve.pictures.chart import Axis, Chart
from reproductions.charts import stacked
from reproductions.claims import if_run
from reproductions.linnert2024.reproduction import Figures
from reproductions.linnert2024.runs import (
    COUNT,
    PRINTED_COUNTS,
    PROGRAMS,
    READINGS,
    STATIC,
    STRATEGIES,
    SYNCHRONOUS,
    TERMS,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allocsolve.pictures.chart import Drawing
    from reproductions.linnert2024.reproduction import Reproduction, Spread

#: Pixels of the plane of each chart.
_HEIGHT: Final = 130.0

#: The part of the place of a kind that its bars fill.
_FILLED: Final = 0.8

#: In the order of `STRATEGIES`, and what only accepts.
_NAMES: Final = ("Hilbert", "MM (figure 8)", "leak", "leak, not contiguous")
_OTHERS: Final = ("count", "clairvoyant")


def reproduction_picture(reproduction: Reproduction) -> Drawing:
    """Draw accepted jobs, the cancelled share of them and successful jobs, load by load; means over seeds."""
    on = Figures(reproduction)
    charts = [_accepted(on)] if on.loads else []
    for figure, reading, title in (
        ("cancelled_share", READINGS[0].name, "Cancelled, asynchronous (figure 15)"),
        ("cancelled_share", SYNCHRONOUS, "Cancelled, synchronous (figure 16)"),
        ("successful", READINGS[0].name, "Successful, asynchronous (figure 17)"),
        ("successful", SYNCHRONOUS, "Successful, synchronous (figure 18)"),
    ):
        charts += [chart for load in on.loads if (chart := _executed(on, figure, reading, title, load))]
    return stacked(charts, "Reservations after Linnert et al. 2024", gap=2.0)


def _bars(chart: Chart, places: Sequence[Sequence[Spread | None]], factor: float = 1) -> None:
    """Draw for each place of the x axis a bar for each series, with its interval."""
    for place, spreads in enumerate(places):
        width = _FILLED / len(spreads)
        for idx, value in enumerate(spreads):
            if value is None:
                continue
            left = chart.x(place + (1 - _FILLED) / 2 + idx * width)
            right = chart.x(place + (1 - _FILLED) / 2 + (idx + 1) * width)
            top, bottom = chart.y(factor * value.mean), chart.y(0)
            chart.drawing.rectangles(
                f"f{idx}", [(left, top, round(right - left - 1, 1), round(bottom - top, 1))]
            )
            if math.isfinite(value.half) and value.half:
                middle = round((left + right - 1) / 2, 1)
                ends = [chart.y(max(factor * (value.mean + sign * value.half), 0)) for sign in (-1, 1)]
                chart.drawing.line((middle, ends[0]), (middle, ends[1]), kind="axis")


def _places(names: Sequence[str]) -> Axis:
    """Return an axis on which each name has a unit; the names are its ticks, in the middle."""

    def write(value: float) -> str:
        return names[int(value - 0.5)] if value % 1 == 0.5 else ""

    return _NamedAxis("", 0, len(names), write=write)


class _NamedAxis(Axis):
    """An axis with a tick in the middle of each unit."""

    def ticks(self) -> list[float]:
        return [idx + 0.5 for idx in range(int(self.high))]


def _accepted(on: Figures) -> Chart:
    """Draw figure 14 at all loads, with what is possible offline."""
    rows: list[list[Spread | None]] = []
    for load in on.loads:
        row = [if_run(on.booked, load, name, "accepted") for name in STATIC]
        row += [
            if_run(on.executed, load, name, PROGRAMS[-1], "accepted")
            for name in STRATEGIES
            if name not in STATIC
        ]
        rows.append([*row, if_run(on.booked, load, COUNT, "accepted"), if_run(_offline, on, load)])
    highest = max((value.mean for row in rows for value in row if value), default=1.0)
    heading = ["Accepted jobs (figure 14)", "Lines across: what the paper prints of the count"]
    chart = Chart(
        heading[0],
        _places(on.loads),
        Axis.around("jobs", [highest], steps=5),
        legend=(*_NAMES, *_OTHERS),
        marks="solid",
        height=_HEIGHT,
        heading=heading,
    )
    _bars(chart, rows)
    width = _FILLED / (len(_NAMES) + len(_OTHERS))
    for place, load in enumerate(on.loads):
        if PRINTED_COUNTS[load] <= highest:
            left = place + (1 - _FILLED) / 2 + len(_NAMES) * width
            y, label = chart.y(PRINTED_COUNTS[load]), f"paper, {load}: {PRINTED_COUNTS[load]}"
            chart.drawing.line((chart.x(left), y), (chart.x(left + width), y), kind="mean", label=label)
    return chart


def _offline(on: Figures, load: str) -> Spread:
    """Return the jobs of the clairvoyant schedules."""
    _, best, _ = on.offline(load, TERMS[0])
    jobs = on.executed(load, STRATEGIES[2], PROGRAMS[-1], "accepted").mean
    return type(best)(jobs * best.mean, jobs * best.half)


def _executed(on: Figures, figure: str, reading: str, title: str, load: str) -> Chart | None:
    """Draw a figure at one load by kind of programs, on the scale of all loads; None if there are no runs."""
    rows_of = {
        shown: [
            [if_run(on.executed, shown, name, kind, figure, reading) for name in STRATEGIES]
            for kind in PROGRAMS
        ]
        for shown in on.loads
    }
    rows = rows_of[load]
    if not any(value for row in rows for value in row):
        return None
    ends = [
        value.mean + (value.half if math.isfinite(value.half) else 0)
        for some in rows_of.values()
        for row in some
        for value in row
        if value
    ]
    factor = 100.0 if figure == "cancelled_share" else 1.0
    axis = Axis.around("cancelled [%]" if factor > 1 else "jobs", [factor * max(ends)], steps=5)
    kinds = [f"kind {kind}" if isinstance(kind, int) else kind for kind in PROGRAMS]
    chart = Chart(
        title,
        _places(kinds),
        axis,
        legend=_NAMES if load == on.loads[0] else (),
        marks="solid",
        height=_HEIGHT,
        heading=[f"{title}: {load} load"],
    )
    _bars(chart, rows, factor)
    return chart
