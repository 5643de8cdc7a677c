"""The picture of the reproduction: the figures of the paper, ours, and the bounds, by share."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from allocsolve.pictures.chart import Axis, Chart, Drawing
from reproductions.posner2024.reproduction import PRINTED
from reproductions.posner2024.runs import COMPARED, EASY, EVOLV, READINGS, SCHEDULERS

if TYPE_CHECKING:
    from reproductions.posner2024.reproduction import Reproduction

__all__ = ["reproduction_picture"]

#: Pixels between charts.
_GAP: Final = 16.0
_HEIGHT: Final = 210.0
_SHARE_AXIS: Final = Axis("jobs that are not rigid [%]", 0, 100)
_NAMES: Final = (
    f"{EASY}, moldable jobs",
    f"{EVOLV}, evolving jobs",
    f"{COMPARED}, evolving jobs",
    "certified bound, moldable jobs",
    "certified bound, evolving jobs",
)


class _Plane(NamedTuple):
    """A chart of one figure."""

    figure: str
    title: str
    unit: str
    factor: float = 1
    bounded: bool = False


_PLANES: Final = (
    _Plane("makespan", "Makespan of a batch (figure 5)", "s", bounded=True),
    _Plane("turnaround", "Mean turnaround (figure 7)", "s", bounded=True),
    _Plane("wait", "Mean wait (figure 7)", "s"),
    _Plane("utilisation", "Utilisation (figure 6)", "%", 100),
    _Plane("expansions", "Nodes that come to a job while it runs (figure 4)", "per job"),
    _Plane("shrinks", "Nodes that it gives back (figure 4)", "per job"),
)


def reproduction_picture(reproduction: Reproduction) -> Drawing:
    """Draw each figure by share: means over the batches in the first reading, and bounds.

    Crosses are figures that the text of the paper prints.
    """
    charts = [
        chart
        for place, plane in enumerate(_PLANES)
        if (chart := _chart(reproduction, plane, legend=not place)) is not None
    ]
    heights = [chart.drawing.size[1] for chart in charts]
    title = "Evolving jobs in the batches of Posner 2024"
    picture = Drawing(Chart.WIDTH, sum(heights) + _GAP * len(heights), title)
    top = 0.0
    for chart, height in zip(charts, heights, strict=True):
        picture.place(chart.drawing, 0, top)
        top += height + _GAP
    return picture


def _chart(reproduction: Reproduction, plane: _Plane, *, legend: bool) -> Chart | None:
    """Draw a figure; None if there are no runs."""
    lines: list[dict[float, float]] = [{} for _ in _NAMES]
    schedulers = (*SCHEDULERS, COMPARED)
    for row in reproduction.rows:
        if row.reading == READINGS[0].name:
            lines[schedulers.index(row.scheduler)][row.share] = plane.factor * row.figures[plane.figure]
    if plane.bounded:
        for bound in reproduction.bounds:
            value: float = getattr(bound, plane.figure)
            lines[3 + SCHEDULERS.index(bound.scheduler)][bound.share] = value
    crosses = [
        (share, number)
        for (_, share), printed in PRINTED.items()
        for number in map(float, re.findall(r"[\d.]+", printed.get(plane.figure, "")))
    ]
    if not lines[1]:
        return None
    values = [value for line in lines for value in line.values()] + [number for _, number in crosses]
    axis = Axis.around(f"{plane.figure} [{plane.unit}]", values)
    if plane.figure == "utilisation":
        axis = Axis(axis.title, 70, 100)
    heading = [plane.title, *(["Crosses: what the text of the paper prints"] if legend else [])]
    names = _NAMES if legend else ()
    chart = Chart(plane.title, _SHARE_AXIS, axis, legend=names, heading=heading, height=_HEIGHT)
    for idx, line in enumerate(lines):
        points = [(chart.x(100 * share), chart.y(value)) for share, value in sorted(line.items())]
        chart.drawing.dots(f"d{idx}", points)
        if len(points) > 1:
            chart.drawing.line(*points, kind=f"s{idx}", label=_NAMES[idx])
    for share, number in crosses:
        _cross(chart, share, number)
    return chart


def _cross(chart: Chart, share: float, number: float) -> None:
    """Mark a figure that the paper prints."""
    x, y, half = chart.x(100 * share), chart.y(number), 4.0
    label = f"paper, {100 * share:g} %: {number:g}"
    chart.drawing.line((x - half, y - half), (x + half, y + half), kind="axis", label=label)
    chart.drawing.line((x - half, y + half), (x + half, y - half), kind="axis", label=label)
