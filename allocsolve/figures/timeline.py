"""Figures of an answer over time: Gantt charts, and the use of the nodes."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from allocsolve.errors import InvalidOption
from allocsolve.families import family_of
from allocsolve.figures import style
from allocsolve.model import Result
from allocsolve.pictures.chart import duration
from allocsolve.pictures.time_axis import binned, time_unit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from allocsolve.families import GanttRow, Timeline
    from allocsolve.model import FloatArray, Problem

#: Rows of a Gantt chart: the names of more cannot be read.
_ROWS: Final = 48

#: Changes of size that have a mark: more would cover what they mark.
_MARKS: Final = 150

#: Of the height of a row: the bar of most nodes, the least bar that is seen, and one with room for a number.
_FULL: Final = 0.86
_THIN: Final = 0.1
_TALL: Final = 0.4

#: Of the width of a Gantt chart: a digit.
_DIGIT: Final = 0.009

#: Of bars whose colour is that of another row; lines only, as dots make large files.
_HATCHES: Final = ("", "\\\\\\\\", "||||", "xxxx", "----", "++++", "////")

#: Means over more parts of the time cannot be told apart.
_PARTS: Final = 300


def _timeline(problem: Problem, answer: object) -> Timeline:
    family = family_of(problem)
    held = answer.answer if isinstance(answer, Result) else answer
    if held is None:
        raise InvalidOption("there is no answer to draw")
    if family.view.timeline is None:
        raise InvalidOption(f"figures over time are not of the family {family.kind}")
    return family.view.timeline(problem, held)


def _title(problem: Problem, count: int) -> str:
    return f"{style.name(problem.name or family_of(problem).kind, 40)}, n = {count}"


def gantt(
    problem: Problem,
    answer: object,
    *,
    window: tuple[float, float] | None = None,
    ax: Axes | Figure | None = None,
) -> Axes:
    """Draw who holds nodes when: the kind ``gantt`` of `plot`.

    Jobs that hold nothing from the first to the last second of `window` are left out.
    """
    first, last = window or (-np.inf, np.inf)
    if not first < last:
        raise InvalidOption(f"no window of time from {first:.10g} to {last:.10g}")
    rows = [
        row
        for row in _timeline(problem, answer).rows
        if any(nodes and max(start, first) < min(end, last) for start, end, nodes, _ in row.pieces)
    ]
    if not 0 < len(rows) <= _ROWS:
        msg = f"a Gantt chart has room for 1 to {_ROWS} jobs, not {len(rows)}: choose a window of time"
        raise InvalidOption(msg)
    rows.sort(key=lambda row: row.pieces[0][0])
    low, high = window or (min(row.ready for row in rows), max(row.pieces[-1][1] for row in rows))
    unit, most = time_unit(high - low), max(piece[2] for row in rows for piece in row.pieces)
    with style.drawn(ax, style.PAGE, 1 + 0.2 * len(rows)) as axes:
        axes.set_xlim(low / unit.seconds, high / unit.seconds)
        axes.set_ylim(len(rows) + 0.1, -0.25)
        waits = [
            (idx + 0.9, row.ready / unit.seconds, row.pieces[0][0] / unit.seconds)
            for idx, row in enumerate(rows)
            if row.pieces[0][0] > row.ready
        ]
        if waits:
            axes.hlines(*zip(*waits, strict=True), label="waits", **style.LOOKS["waits"])
        _bars(axes, rows, unit.seconds, most)
        axes.set_yticks([idx + 0.5 for idx in range(len(rows))], [style.name(row.name, 24) for row in rows])
        axes.tick_params(axis="y", length=0)
        axes.set_xlabel(f"time [{unit.name}]")
        axes.set_title(f"{_title(problem, len(rows))}; bars and numbers: nodes, at most {most}")
        style.legend(axes, style.PAGE)
    return axes


def _bars(axes: Axes, rows: Sequence[GanttRow], second: float, most: int) -> None:
    """Draw who holds how many nodes when, and mark where jobs grow and shrink, unless that is too often."""
    marks: dict[str, list[tuple[float, float]]] = {"grows": [], "shrinks": []}
    extra = []
    low, high = axes.get_xlim()
    for idx, row in enumerate(rows):
        sizes = [max(_FULL * piece[2] / most, _THIN) if piece[2] else 0.0 for piece in row.pieces]
        boxes = [
            (start / second, size, (end - start) / second, idx + 0.95 - size)
            for (start, end, _, _), size in zip(row.pieces, sizes, strict=True)
        ]
        extra += [box for box, piece in zip(boxes, row.pieces, strict=True) if piece[3]]
        colour, hatch = style.COLOURS[idx % style.SERIES], _HATCHES[idx // style.SERIES % len(_HATCHES)]
        look: dict[str, Any] = {"color": style.pale(colour), "edgecolor": colour, "hatch": hatch}
        axes.bar(*zip(*boxes, strict=True), align="edge", linewidth=0.5, **look)
        look = {"ha": "center", "va": "center", "clip_on": True, "fontsize": 5.5}
        ground = {"facecolor": style.pale(colour), "edgecolor": "none", "pad": 0.4}
        for (left, size, width, top), (_, _, nodes, is_extra) in zip(boxes, row.pieces, strict=True):
            if width > (_DIGIT * len(str(nodes)) + 0.01) * (high - low) and not is_extra:
                above, below = (None, top - 0.22), (ground, top + size / 2)
                box, middle = below if size > _TALL else above
                axes.text(left + width / 2, middle, str(nodes), bbox=box, **look)
        for ((*_, one), before), ((at, *_, other), after) in pairwise(zip(boxes, row.pieces, strict=True)):
            if before[2] != after[2]:
                marks["grows" if after[2] > before[2] else "shrinks"].append((at, min(one, other)))
    if extra:
        key = "held longer than asked"
        axes.bar(*zip(*extra, strict=True), align="edge", label=key, **style.LOOKS[key])
    few = sum(map(len, marks.values())) <= _MARKS
    for key, points in marks.items():
        if points and few:
            axes.plot(*zip(*points, strict=True), label=key, **style.LOOKS[key])


def node_use(problem: Problem, answers: object, *, ax: Axes | Figure | None = None) -> Axes:
    """Draw how many nodes are in use over time: the kind ``use`` of `plot`. Grey: what is closed.

    Of a single answer on a machine with counted resources, these, too, as shares.
    """
    named = answers if isinstance(answers, Mapping) else {"in use": answers}
    if not 0 < len(named) <= style.SERIES:
        raise InvalidOption(f"1 to {style.SERIES} answers can be told apart, not {len(named)}")
    timelines = {key: _timeline(problem, answer) for key, answer in named.items()}
    changes_of = {key: _changes(each) for key, each in timelines.items()}
    one = next(iter(timelines.values()))
    moments = np.unique(np.concatenate([times for times, _ in changes_of.values()]))
    if len(moments) < 2:
        raise InvalidOption("nothing holds a node")
    edges = moments if len(moments) <= _PARTS else np.linspace(moments[0], moments[-1], _PARTS + 1)
    coarse = "" if len(moments) <= _PARTS else f", means over {duration(edges[1] - edges[0])}"
    unit = time_unit(edges[-1] - edges[0])
    shown = one.resources[: style.SERIES - 1] if len(named) == 1 else ()
    top = 100 if shown else one.num_nodes
    series = [
        ("nodes" if shown else key, times, top / one.num_nodes * more)
        for key, (times, more) in changes_of.items()
    ]
    series += [(f"{name} of {number:,}", times, 100 * used / number) for name, number, times, used in shown]
    with style.drawn(ax, style.COLUMN, 2.5) as axes:
        for idx, (key, times, changes) in enumerate(series):
            look = {"linewidth": 1.0, "label": style.name(key), **style.line(idx)}
            axes.stairs(binned(times, changes, edges), edges / unit.seconds, baseline=None, **look)
        axes.axhline(top, color=style.BLACK, linewidth=0.6, label=f"all {one.num_nodes:,} nodes")
        closed = [part for part in one.closed if part[0] < edges[-1] and part[1] > edges[0]]
        if closed:
            starts, ends, nodes = np.array(closed, dtype=float).T * [[1], [1], [top / one.num_nodes]]
            widths, bottoms = (np.minimum(ends, edges[-1]) - starts) / unit.seconds, top - nodes
            look = {"align": "edge", "label": "closed", **style.LOOKS["closed"]}
            axes.bar(starts / unit.seconds, nodes, widths, bottoms, **look)
        axes.set_xlim(edges[0] / unit.seconds, edges[-1] / unit.seconds)
        axes.set_ylim(0, 1.06 * top)
        axes.set_xlabel(f"time [{unit.name}]{coarse}")
        axes.set_ylabel("in use [%]" if shown else "nodes in use")
        axes.set_title(_title(problem, len(one.rows)))
        style.legend(axes)
    return axes


def _changes(timeline: Timeline) -> tuple[FloatArray, FloatArray]:
    """Return when how many nodes more are in use: times in seconds, and changes."""
    if timeline.in_use is not None:
        return timeline.in_use
    rows = [piece[:3] for row in timeline.rows for piece in row.pieces]
    column = np.array(rows, dtype=float).reshape(-1, 3)
    return column[:, :2].T.ravel(), np.concatenate([column[:, 2], -column[:, 2]])
