"""The picture of a study of expansion: what it is worth, and how far heuristics are from the optimum."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from allocsolve.pictures.chart import Axis, Chart, Drawing, limit_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from allocsolve.bench.scores.statistics import Bracket, Ratios
    from reproductions.klein2011 import ExpansionStudy, HeuristicRow

#: Pixels from a row to the next, and the part of them that has marks.
_PITCH: Final = 44.0
_MARKED: Final = 0.8
#: Pixels above and below each chart for its heading and its legend.
_ABOVE: Final = 52.0
_BELOW: Final = 14.0

#: Series of the upper chart.
_INSTANCE: Final = 0
_LISTED: Final = 1
_MEAN: Final = 6


def expansion_picture(study: ExpansionStudy) -> Drawing:
    """Draw what expansion is worth by size and limit, and below it the heuristics beside the optimum.

    An instance is a dot if both optima are proven, else a line over all ratios that are possible. Where
    too few are proven for a mean there is none.
    """
    upper, lower = _gains_chart(study), _heuristics_chart(study)
    (_, height), (_, rest) = upper.drawing.size, lower.drawing.size
    second = _ABOVE + height + _BELOW
    picture = Drawing(Chart.WIDTH, second + _ABOVE + rest, "What expansion is worth, and heuristics")
    picture.text(16, 18, "What expansion is worth: least makespans, and those of list scheduling")
    named = [(f"d{_INSTANCE}", "instance, proven"), (f"c{_INSTANCE}", "open")]
    means = [(f"c{_MEAN}", "mean of the proven, 95 %"), (f"c{_LISTED}", "list scheduling, 95 %")]
    _legend(picture, 38, [*named, *means])
    picture.place(upper.drawing, 0, _ABOVE)
    picture.text(16, second + 18, "Heuristics beside the optimum within their expand limit")
    sizes = dict.fromkeys(row.apps for row in study.heuristics)
    named = [(f"c{idx}", f"{apps} apps") for idx, apps in enumerate(sizes)]
    _legend(picture, second + 38, [*named, (f"o{len(sizes) - 1}", "mean of all within")])
    picture.place(lower.drawing, 0, second + _ABOVE)
    return picture


def _legend(picture: Drawing, y: float, marks: Iterable[tuple[str, str]]) -> None:
    """Write classes of marks with their names, from left to right."""
    at = 16.0
    for kind, name in marks:
        if kind.startswith("d"):
            picture.dots(kind, [(at + 9, y - 4)])
        else:
            picture.line((at, y - 4), (at + 18, y - 4), kind=kind)
        picture.text(at + 23, y, name, kind="soft")
        at += 38 + 6.2 * len(name)


def _gains_chart(study: ExpansionStudy) -> Chart:
    """Draw instance below instance in each row, then the mean of the proven and that of list scheduling."""
    rows = [row for row in study.gains if row.optimum is not None]
    means = [ratios for row in rows for ratios in (row.optimum, row.listed) if ratios is not None]
    gains = [bracket for instance in study.instances for bracket in instance.gains.values()]
    shown = [end for bracket in gains for end in _ends(bracket)]
    shown += [end for ratios in means for end in ratios.interval or (ratios.mean or 1.0,)]
    axis = _axis("makespan with expansion / makespan without", [*shown, 1.0])
    names = [f"{row.apps} apps, limit {limit_text(row.limit)}" for row in rows]
    chart = Chart("What expansion is worth", axis, rows=names, pitch=_PITCH)
    for place, row in enumerate(rows):
        brackets = [some.gains[row.limit] for some in study.instances if some.apps == row.apps]
        lines = _lines(chart, place, len(brackets) + 6)  # each mean has the room of three instances
        for y, bracket in zip(lines, sorted(brackets, key=_ends), strict=False):
            if bracket.exact:
                chart.drawing.dots(f"d{_INSTANCE}", [(chart.x(bracket.lower), y)])
            else:
                chart.drawing.line(*((chart.x(end), y) for end in _ends(bracket)), kind=f"c{_INSTANCE}")
        for idx, y, ratios in (_MEAN, lines[-5], row.optimum), (_LISTED, lines[-2], row.listed):
            if ratios is not None:
                _mean(chart, idx, y, ratios)
    return chart


def _heuristics_chart(study: ExpansionStudy) -> Chart:
    """Draw size below size in each row."""
    sizes = list(dict.fromkeys(row.apps for row in study.heuristics))
    rows: dict[str, list[HeuristicRow]] = {}
    for row in study.heuristics:
        rows.setdefault(f"{row.solver}, limit {limit_text(row.limit)}", []).append(row)
    ends = [end for row in study.heuristics for end in (*row.own.within, *(row.own.interval or ()))]
    axis = _axis("mean of makespan / least makespan within the limit", [1.0, *filter(math.isfinite, ends)])
    chart = Chart("Heuristics beside the optimum", axis, rows=list(rows), pitch=_PITCH)
    for place, own_rows in enumerate(rows.values()):
        lines = _lines(chart, place, len(sizes))
        for row in own_rows:
            idx = sizes.index(row.apps)
            if row.own.exact < row.own.count and all(map(math.isfinite, row.own.within)):
                within = [(chart.x(end), lines[idx]) for end in row.own.within]
                chart.drawing.line(*within, kind=f"o{idx}", label=f"mean of all {row.own.count}")
            _mean(chart, idx, lines[idx], row.own)
    return chart


def _ends(bracket: Bracket) -> tuple[float, float]:
    return bracket.lower, bracket.upper


def _lines(chart: Chart, place: int, count: int) -> list[float]:
    """Part a row from the one above; return the pixels of so many lines in it, from the top."""
    if place:
        edge = chart.row(place) - _PITCH / 2
        chart.drawing.line((chart.left, edge), (chart.right, edge), kind="grid")
    return [chart.row(place) + _PITCH * _MARKED * ((idx + 0.5) / count - 0.5) for idx in range(count)]


def _mean(chart: Chart, idx: int, y: float, ratios: Ratios) -> None:
    """Draw a mean as a bar across its interval; nothing if there is none."""
    if ratios.mean is None:
        return
    label = f"{ratios.mean:.3f}, mean of {ratios.exact} of {ratios.count}"
    at, half = chart.x(ratios.mean), 3.5
    chart.drawing.line((at, y - half), (at, y + half), kind=f"c{idx}", label=label)
    if ratios.interval is not None:
        chart.drawing.line(*((chart.x(end), y) for end in ratios.interval), kind=f"c{idx}", label=label)


def _axis(title: str, values: Sequence[float]) -> Axis:
    """Return an axis from a tick to a tick that shows all values and no more."""
    whole = Axis(title, min(values), max(*values, min(values) + 0.05))
    first, second, *_ = whole.ticks()
    step = second - first
    low, high = step * math.floor(whole.low / step + 1e-9), step * math.ceil(whole.high / step - 1e-9)
    return Axis(title, low, high)
