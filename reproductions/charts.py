"""Pictures of a reproduction: charts one below the other, lines by share, crosses for what is printed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from allocsolve.pictures.chart import Chart, Drawing

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


#: Half the width and height of a cross, in pixels.
_HALF: Final = 4.0


class Plane(NamedTuple):
    """The chart of one figure."""

    figure: str
    title: str
    unit: str
    factor: float = 1  #: from the figure to its unit
    log: bool = False  #: whether its axis is logarithmic
    bounded: bool = False  #: whether bounds of it are drawn, too


def stacked(charts: Sequence[Chart], title: str, gap: float = 16.0) -> Drawing:
    """Draw charts one below the other; the gaps between them are in pixels."""
    heights = [chart.drawing.size[1] for chart in charts]
    picture = Drawing(Chart.WIDTH, sum(heights) + gap * len(heights), title)
    top = 0.0
    for chart, height in zip(charts, heights, strict=True):
        picture.place(chart.drawing, 0, top)
        top += height + gap
    return picture


def draw_line(chart: Chart, idx: int, name: str, values: Mapping[float, float]) -> None:
    """Draw a series by share: a dot for each value, and a line between them."""
    points = [(chart.x(100 * share), chart.y(value)) for share, value in sorted(values.items())]
    chart.drawing.dots(f"d{idx}", points)
    if len(points) > 1:
        chart.drawing.line(*points, kind=f"s{idx}", label=name)


def draw_cross(chart: Chart, share: float, value: float, label: str) -> None:
    """Mark a figure that a paper prints."""
    x, y = chart.x(100 * share), chart.y(value)
    for sign in (1, -1):
        ends = (x - _HALF, y - sign * _HALF), (x + _HALF, y + sign * _HALF)
        chart.drawing.line(*ends, kind="axis", label=label)
