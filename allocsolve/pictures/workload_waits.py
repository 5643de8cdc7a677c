"""Charts of how long jobs wait: by classes of jobs, and as one mean for each schedule beside a bound."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from allocsolve.pictures._workload_series import level_axis, time_unit
from allocsolve.pictures._workload_timeline import Scale, timeline
from allocsolve.pictures.chart import Axis, Chart
from allocsolve.pictures.text import duration

if TYPE_CHECKING:
    from collections.abc import Mapping

    from allocsolve.model import IntArray, WorkloadProblem, WorkloadSchedule
    from allocsolve.pictures.svg import Drawing

__all__ = ["over_time", "size_classes", "wait_bars", "wait_chart"]

_WIDTH: Final = Chart.NARROW
_HEIGHT: Final = 200
#: Pixels: from a bar to the next, and how thick it is.
_PITCH: Final = 42.0
_THICK: Final = 12.0
#: Pixels: from the middle of a bar to either end of the mark of the bound.
_REACH: Final = 9.0
#: Means of waits are in hours at most.
_LONGEST_UNIT_S: Final = 86400.0

#: In the unit of the axis: a shorter wait is drawn as none beside one that is far longer.
_LEAST_WAIT: Final = 0.01


def size_classes(problem: WorkloadProblem) -> tuple[IntArray, Axis]:
    """Return the class of each job by its size, and the axis of the classes.

    Class k holds the jobs of at most 2^k nodes that are in no class before it.
    """
    classes: IntArray = np.ceil(np.log2(problem.packed.nodes)).astype(np.int64)
    largest = int(problem.packed.nodes.max())

    def write(power: float) -> str:
        return str(min(2 ** int(power), largest))

    top = max(int(classes.max()), 1)
    return classes, Axis("nodes of the job, up to", 0, top, write=write, whole=True, steps=8)


def wait_chart(
    title: str,
    problem: WorkloadProblem,
    schedules: Mapping[str, WorkloadSchedule],
    classes: IntArray,
    x: Axis,
) -> Drawing:
    """Draw the mean wait of the jobs of each class, weighted as they count.

    Parameters
    ----------
    title
        What a browser calls it.
    problem
        The problem.
    schedules
        By their names in the legend, at most as many as series have colours.
    classes
        Shape (jobs,): of each job the place of its class on the axis.
    x
        The axis.
    """
    packed = problem.packed
    weights = np.bincount(classes, weights=packed.weight)
    there = np.flatnonzero(weights)
    means: dict[str, list[float]] = {}
    for name, schedule in schedules.items():
        waits = (schedule.first_starts - packed.submit) * packed.weight
        means[name] = (np.bincount(classes, weights=waits)[there] / weights[there]).tolist()
    everything = [wait for waits in means.values() for wait in waits]
    unit = time_unit(min(max(everything, default=0.0), _LONGEST_UNIT_S))
    y = level_axis(f"mean wait [{unit.name}]", [wait / unit.seconds for wait in everything], _LEAST_WAIT)
    chart = Chart(title, x, y, legend=list(means), width=_WIDTH, height=_HEIGHT)
    for idx, (name, column) in enumerate(means.items()):
        points = [
            (chart.x(place), chart.y(wait / unit.seconds))
            for place, wait in zip(there.tolist(), column, strict=True)
        ]
        if points:
            chart.drawing.line(*points, kind=f"s{idx}", label=name)
            chart.drawing.dots(f"d{idx}", points)
    return chart.drawing


def wait_bars(title: str, what: str, means: Mapping[str, float], bound: float | None = None) -> Drawing:
    """Draw a bar for each mean, from 0, and a mark at what no mean is below.

    Parameters
    ----------
    title
        What a browser calls it.
    what
        The name of the axis, without its unit.
    means
        Seconds by the names of the bars, from the top.
    bound
        Seconds; no marks if there is none.
    """
    longest = max([*means.values(), bound or 0.0])
    unit = time_unit(min(longest, _LONGEST_UNIT_S))
    x = Axis.around(f"{what} [{unit.name}]", [longest / unit.seconds], steps=6)
    names = [f"{name}: {duration(mean)}" for name, mean in means.items()]
    chart = Chart(title, x, rows=names, pitch=_PITCH, width=_WIDTH, names_above=True)
    for idx, mean in enumerate(means.values()):
        width = chart.x(mean / unit.seconds) - chart.left
        box = chart.left, chart.row(idx) - _THICK / 2, width, _THICK
        chart.drawing.rectangles("box", [box], names[idx])
        if bound is not None:  # not through the names above the bars
            at = chart.x(bound / unit.seconds)
            ends = [(at, chart.row(idx) + side * _REACH) for side in (-1, 1)]
            chart.drawing.line(*ends, kind="mean", label=f"no schedule is left of {duration(bound)}")
    return chart.drawing


def over_time(problem: WorkloadProblem, schedules: Mapping[str, WorkloadSchedule]) -> Drawing:
    """Draw busy nodes and waiting jobs of some schedules over the same time.

    `schedules` are by their names in the legend, at least one and at most as many as series have colours.
    """
    return timeline(problem, schedules, Scale.of(problem, list(schedules.values())))
