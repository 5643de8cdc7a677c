"""How evolution problems and their schedules are shown."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from allocsolve.cli.output import counted, limit_text, percent
from allocsolve.cli.svg import Drawing
from allocsolve.errors import InvalidOption

if TYPE_CHECKING:
    from allocsolve.judge import EvolutionMetrics
    from allocsolve.model import EvolutionProblem, EvolutionSchedule

__all__ = ["UNITS", "check_drawable", "describe", "metric_fields", "plot", "show_picture"]

UNITS: Final = {"makespan": "s", "completion": "s", "waste": "node-s"}

#: Applications times changes of all of them: what is drawn beyond cannot be seen any more.
_MOST_POINTS: Final = 1_000_000


def describe(problem: EvolutionProblem) -> str:
    """Return a problem in a few words."""
    apps, nodes = counted(len(problem.applications), "application"), counted(problem.num_nodes, "node")
    return f"{apps}, {nodes}, expand limit {limit_text(problem.expand_limit)}"


def metric_fields(problem: EvolutionProblem, worth: EvolutionMetrics) -> list[tuple[str, str]]:
    """Return the metrics of a schedule as names and values."""
    del problem
    return [
        ("makespan", f"{worth.makespan} s"),
        ("mean completion", f"{worth.mean_completion:.1f} s"),
        ("mean turnaround", f"{worth.mean_turnaround:.1f} s"),
        ("mean waiting", f"{worth.mean_waiting:.1f} s"),
        ("useful area", f"{worth.useful_area} node-s"),
        ("waste", f"{worth.total_waste} node-s, {percent(worth.waste)} of the useful area"),
        (
            "waste by application",
            f"mean {percent(worth.mean_application_waste)}, max {percent(worth.max_application_waste)}",
        ),
        (
            "utilisation",
            f"{percent(worth.utilisation)}, effective {percent(worth.effective_utilisation)}",
        ),
        ("expanded applications", percent(worth.expanded)),
        ("expansion", f"mean {percent(worth.mean_expansion)}, max {percent(worth.max_expansion)}"),
    ]


def show_picture(problem: EvolutionProblem, schedule: EvolutionSchedule) -> None:
    """Print nothing: a schedule has too many seconds for a terminal."""
    del problem, schedule


def check_drawable(problem: EvolutionProblem) -> None:
    """Refuse more applications than could be told apart."""
    apps = len(problem.applications)
    changes = apps + sum(len(app.steps) for app in problem.applications)
    if changes * apps > _MOST_POINTS:
        msg = f"--plot: {apps} applications with {changes} changes are too many to draw"
        raise InvalidOption(msg)


def plot(problem: EvolutionProblem, schedule: EvolutionSchedule) -> Drawing:
    """Return the resource profile: the nodes that each application holds, stacked, over time."""
    apps = range(len(problem.applications))
    held = {app: _intervals(schedule, app) for app in apps}
    times = sorted({time for steps in held.values() for start, end, _ in steps for time in (start, end)})
    width, height, left, top = 800, 400, 12, 28
    drawing = Drawing(width + 2 * left, height + top + 28, problem.name or "resource profile")
    end = max(times, default=0)
    drawing.text(left, 18, f"{describe(problem)}, makespan {end} s")
    at = {time: left + width * time / max(end, 1) for time in times}
    index = {time: idx for idx, time in enumerate(times)}
    below = [0] * max(len(times) - 1, 0)
    scale = height / problem.num_nodes
    for app in apps:
        mine = [0] * len(below)
        for start, stop, nodes in held[app]:
            for idx in range(index[start], index[stop]):
                mine[idx] = nodes
        spans = [idx for idx, nodes in enumerate(mine) if nodes]
        if spans:
            run = range(spans[0], spans[-1] + 1)
            over = [(idx + side, below[idx] + mine[idx]) for idx in run for side in (0, 1)]
            under = [(idx + side, below[idx]) for idx in reversed(run) for side in (1, 0)]
            outline = [(at[times[idx]], top + height - scale * nodes) for idx, nodes in over + under]
            drawing.area(outline, math.floor(app * 137.508) % 360, problem.application_names[app])
        below = [low + more for low, more in zip(below, mine, strict=True)]
    drawing.line((left, top), (left + width, top))
    drawing.text(left, top + height + 18, f"0 to {end} s; the dashed line is all {problem.num_nodes} nodes")
    return drawing


def _intervals(schedule: EvolutionSchedule, app: int) -> list[tuple[int, int, int]]:
    """Return (start, end, nodes) of the steps of an application."""
    start = int(schedule.starts[app])
    found = []
    for duration, nodes in schedule.profile(app).steps:
        found.append((start, start + duration, nodes))
        start += duration
    return found
