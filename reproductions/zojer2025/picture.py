"""The picture of the reproduction: turnaround, waiting, utilisation and regret by share of malleable jobs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, NamedTuple

from allocsolve.pictures.chart import SERIES, Axis, Chart, Drawing
from reproductions.zojer2025.reproduction import PRINTED
from reproductions.zojer2025.runs import BOUND

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from reproductions.zojer2025.reproduction import Reproduction, Spread

__all__ = ["reproduction_picture"]

#: Pixels between charts.
_GAP: Final = 16.0
_HEIGHT: Final = 230.0
#: Of every chart.
_SHARE_AXIS: Final = Axis("malleable jobs [%]", 0, 100)


class _Plane(NamedTuple):
    """A chart of one figure."""

    figure: str
    title: str
    unit: str
    factor: float = 1
    log: bool = False


_PLANES: Final = (
    _Plane("turnaround", "Mean turnaround, in the window of the thesis", "s"),
    _Plane("wait", "Mean wait, in that window", "s", log=True),
    _Plane("utilisation", "Utilisation, in that window", "%", 100),
    _Plane("all_turnaround", "Mean turnaround of all jobs, and its certified bound", "s"),
    _Plane("regret", "Regret: mean turnaround of all jobs above the certified bound", "%", 100),
)


def reproduction_picture(reproduction: Reproduction) -> Drawing:
    """Draw each figure by share, a line for each policy: means over seeds, with quartiles where they differ.

    Crosses are figures that the thesis prints.
    """
    policies = list(dict.fromkeys(row.policy for row in reproduction.policies))[: SERIES - 1]
    charts = [
        chart
        for place, plane in enumerate(_PLANES)
        if (chart := _chart(reproduction, plane, policies, legend=not place)) is not None
    ]
    heights = [chart.drawing.size[1] for chart in charts]
    title = "Malleable jobs on Cori KNL, after Zojer 2025"
    picture = Drawing(Chart.WIDTH, sum(heights) + _GAP * len(heights), title)
    top = 0.0
    for chart, height in zip(charts, heights, strict=True):
        picture.place(chart.drawing, 0, top)
        top += height + _GAP
    return picture


def _chart(
    reproduction: Reproduction, plane: _Plane, policies: Sequence[str], *, legend: bool
) -> Chart | None:
    """Draw a figure; None if no run has it."""
    lines: dict[str, dict[float, Spread]] = {name: {} for name in policies}
    for row in reproduction.policies:
        spread = row.figures[plane.figure]
        if row.policy in lines and math.isfinite(spread.mean):
            lines[row.policy][row.share] = spread
    if plane.figure == "all_turnaround":
        lines[BOUND] = {row.share: row.bound for row in reproduction.bounds}
    ends = [end * plane.factor for line in lines.values() for spread in line.values() for end in spread]
    if not ends:
        return None
    if plane.log:
        axis = Axis.around(f"{plane.figure} [{plane.unit}]", [max(end, 0.1) for end in ends], log=True)
    elif plane.figure == "utilisation":
        axis = Axis(f"utilisation [{plane.unit}]", 5 * math.floor(min(ends) / 5), 100)
    else:
        name = plane.figure.replace("all_", "")
        axis = Axis.around(f"{name} [{plane.unit}]", ends)
    names = [*policies, f"certified bound ({BOUND})"] if legend else []
    heading = [plane.title, *(["Quartiles over seeds; crosses: what the thesis prints"] if legend else [])]
    chart = Chart(plane.title, _SHARE_AXIS, axis, legend=names, heading=heading, height=_HEIGHT)
    for idx, (name, line) in enumerate(lines.items()):
        _line(chart, idx, name, line, plane)
    for share, printed in PRINTED.items():
        _cross(chart, share, printed, plane.figure)
    return chart


def _line(chart: Chart, idx: int, name: str, line: Mapping[float, Spread], plane: _Plane) -> None:
    """Draw means by share as a line, and quartiles as bars."""
    points = []
    for share, spread in sorted(line.items()):
        mean, low, high = (chart.y(max(value * plane.factor, 0.0)) for value in spread)
        x = chart.x(100 * share)
        points.append((x, mean))
        if low != high:
            label = f"{name}, {100 * share:g} %: quartiles"
            chart.drawing.line((x, low), (x, high), kind=f"c{idx}", label=label)
    chart.drawing.dots(f"d{idx}", points)
    if len(points) > 1:
        chart.drawing.line(*points, kind=f"s{idx}", label=name)


def _cross(chart: Chart, share: float, printed: Mapping[str, str], figure: str) -> None:
    """Mark a figure that the thesis prints; not what it only bounds."""
    text = printed.get(figure, "")
    digits = text.removeprefix("~").removesuffix(" %")
    if not digits.isdigit():
        return
    x, y, half = chart.x(100 * share), chart.y(float(digits)), 4.0
    label = f"thesis, {100 * share:g} %: {text}"
    chart.drawing.line((x - half, y - half), (x + half, y + half), kind="axis", label=label)
    chart.drawing.line((x - half, y + half), (x + half, y - half), kind="axis", label=label)
