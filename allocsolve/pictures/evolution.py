"""What evolution problems show: first of all the resource profile, who holds how many nodes when."""

from __future__ import annotations

from operator import sub
from typing import TYPE_CHECKING, Final

import numpy as np

from allocsolve.families import GanttRow, Timeline, View
from allocsolve.pictures.chart import Axis, Chart, counted, limit_text, percent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allocsolve.judge import EvolutionMetrics
    from allocsolve.model import EvolutionProblem, EvolutionSchedule, IntArray
    from allocsolve.pictures.chart import Drawing

#: Applications times changes of all of them: what is drawn beyond cannot be seen any more.
_LARGEST_DRAWN: Final = 1_000_000

#: Units along an axis: about a quarter of a pixel each.
_RESOLUTION: Final = 2000

#: Units of time with their seconds, and up to how many seconds they are used.
_TIME_UNITS: Final = (("s", 1, 600), ("min", 60, 7200), ("h", 3600, float("inf")))

#: Above all nodes, for the line that marks them.
_HEADROOM: Final = 1.06

#: Pixels: legible on the screen of a phone, too.
_WIDTH: Final = 480

#: Applications: of more there is no legend.
_LEGEND: Final = 32


def _describe(problem: EvolutionProblem) -> str:
    apps, nodes = counted(len(problem.applications), "application"), counted(problem.num_nodes, "node")
    return f"{apps}, {nodes}, expand limit {limit_text(problem.expand_limit)}"


def _undrawable(problem: EvolutionProblem) -> str:
    apps = len(problem.applications)
    changes = apps + sum(len(app.steps) for app in problem.applications)
    if changes * apps > _LARGEST_DRAWN:
        return f"{apps} applications with {changes} changes are too many to draw"
    return ""


def _plot_together(problem: EvolutionProblem, schedules: Sequence[EvolutionSchedule]) -> list[Drawing]:
    last = max(map(_end, schedules), default=0)
    return [_profile(problem, schedule, last) for schedule in schedules]


def _end(schedule: EvolutionSchedule) -> int:
    return int(schedule.completions.max(initial=0))


def _duration(seconds: int) -> str:
    """Return a time in seconds, and in hours where the axis has hours."""
    hours = f" ({seconds / 3600:.2f} h)" if seconds >= _TIME_UNITS[1][2] else ""
    return f"{seconds} s{hours}"


def _profile(problem: EvolutionProblem, schedule: EvolutionSchedule, last: int) -> Drawing:
    """Return the resource profile on an axis of time that goes up to `last`."""
    unit, seconds, _ = next(row for row in _TIME_UNITS if last < row[2])
    names = problem.application_names
    named = len(names) <= _LEGEND
    unnamed = "" if named else f"; their {len(names)} names show under the mouse"
    chart = Chart(
        problem.name or "resource profile",
        Axis.around(f"time [{unit}]", [last / seconds]),
        Axis("nodes", 0.0, _HEADROOM * problem.num_nodes, whole=True),
        heading=[
            problem.name or "Resource profile",
            _describe(problem),
            f"makespan {_duration(_end(schedule))}{unnamed}",
        ],
        legend=names if named else (),
        marks="filled",
        width=_WIDTH,
    )
    tick, grain = max(1, -(-last // _RESOLUTION)), max(1, -(-problem.num_nodes // _RESOLUTION))
    with chart.plane(tick / seconds, grain):
        _stack(chart.drawing, problem.application_names, schedule, tick, grain)
    level, label = chart.y(problem.num_nodes), f"all {counted(problem.num_nodes, 'node')}"
    chart.drawing.line((chart.left, level), (chart.right, level), label=label)
    return chart.drawing


def _step_times(schedule: EvolutionSchedule) -> tuple[IntArray, IntArray, IntArray]:
    """Return of each step its application, and when it starts and ends (seconds)."""
    apps = np.repeat(np.arange(len(schedule.starts)), np.diff(schedule.offsets))
    ends = np.cumsum(schedule.durations)
    before = (ends - schedule.durations)[schedule.offsets[:-1]]  # of the steps of other applications
    ends += (schedule.starts - before)[apps]
    return apps, ends - schedule.durations, ends


def _stack(
    drawing: Drawing, names: Sequence[str], schedule: EvolutionSchedule, tick: int, grain: int
) -> None:
    """Draw the applications from the top of the stack, each down to 0: those below it cover the rest."""
    apps, starts, ends = _step_times(schedule)
    # All in units of the drawing: changes within one tick are drawn as one.
    times, at = np.unique((np.concatenate((starts, ends)) + tick // 2) // tick, return_inverse=True)
    changes = np.zeros((len(names), len(times)), dtype=np.int64)
    np.add.at(changes, (apps, at[: len(apps)]), schedule.nodes)
    np.add.at(changes, (apps, at[len(apps) :]), -schedule.nodes)
    held = np.cumsum(changes, axis=1)
    tops = (np.cumsum(held, axis=0) + grain // 2) // grain
    begun = np.logical_or.accumulate(held > 0, axis=1)
    going_on = np.logical_or.accumulate(held[:, ::-1] > 0, axis=1)[:, ::-1]
    rises = np.diff(np.where(begun & going_on, tops, 0), axis=1, prepend=0)
    rows, columns = np.nonzero(rises)
    first = np.searchsorted(rows, np.arange(len(names) + 1)).tolist()
    corners, heights = times[columns].tolist(), rises[rows, columns].tolist()
    for app in range(len(names) - 1, -1, -1):
        start, last = first[app], first[app + 1] - 1  # the last rise is that back to 0
        if start < last:  # else it holds nothing that could be seen at this resolution
            xs = corners[start : last + 1]
            widths = map(sub, xs[1:], xs)
            drawing.skyline(xs[0], zip(widths, heights[start:last], strict=True), app, names[app])


def _timeline(problem: EvolutionProblem, schedule: EvolutionSchedule) -> Timeline:
    apps, starts, ends = _step_times(schedule)
    asked = np.minimum(starts + problem.packed.durations, ends)
    pieces: list[list[tuple[float, float, int, bool]]] = [[] for _ in schedule.starts]
    columns = (column.tolist() for column in (apps, starts, asked, ends, schedule.nodes))
    for app, start, until, end, nodes in zip(*columns, strict=True):
        pieces[app] += [(start, until, nodes, False), (until, end, nodes, True)][: 1 + (until < end)]
    names, releases = problem.application_names, problem.packed.releases.tolist()
    return Timeline(tuple(map(GanttRow, names, releases, map(tuple, pieces))), problem.num_nodes)


def _metric_fields(problem: EvolutionProblem, metrics: EvolutionMetrics) -> list[tuple[str, str]]:
    del problem
    mean_waste, max_waste = percent(metrics.mean_application_waste), percent(metrics.max_application_waste)
    mean_expansion, max_expansion = percent(metrics.mean_expansion), percent(metrics.max_expansion)
    effective = percent(metrics.effective_utilisation)
    return [
        ("makespan", f"{metrics.makespan} s"),
        ("mean completion", f"{metrics.mean_completion:.1f} s"),
        ("mean turnaround", f"{metrics.mean_turnaround:.1f} s"),
        ("mean waiting", f"{metrics.mean_waiting:.1f} s"),
        ("useful area", f"{metrics.useful_area} node-s"),
        ("waste", f"{metrics.total_waste} node-s, {percent(metrics.waste)} of the useful area"),
        ("waste by application", f"mean {mean_waste}, max {max_waste}"),
        ("utilisation", f"{percent(metrics.utilisation)}, effective {effective}"),
        ("expanded applications", percent(metrics.expanded)),
        ("expansion", f"mean {mean_expansion}, max {max_expansion}"),
    ]


EVOLUTION_VIEW: Final[View[EvolutionProblem, EvolutionSchedule]] = View(
    describe=_describe,
    undrawable=_undrawable,
    plot=lambda problem, schedule: _plot_together(problem, [schedule])[0],
    metric_fields=_metric_fields,
    plot_together=_plot_together,
    timeline=_timeline,
)
