"""Pictures of evolution problems: the resource profile, the nodes of each application stacked over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from allocsolve.pictures.chart import Axis, Chart
from allocsolve.pictures.svg import Drawing, app_hue
from allocsolve.pictures.text import counted, limit_text

if TYPE_CHECKING:
    from allocsolve.model import EvolutionProblem, EvolutionSchedule

__all__ = ["UNITS", "answer_data", "describe", "plot", "problem_data", "undrawable"]

UNITS: Final = {"makespan": "s", "completion": "s", "waste": "node-s"}

#: Applications times changes of all of them: what is drawn beyond cannot be seen any more.
_MOST_POINTS: Final = 1_000_000


def describe(problem: EvolutionProblem) -> str:
    """Return a problem in a few words."""
    apps, nodes = counted(len(problem.applications), "application"), counted(problem.num_nodes, "node")
    return f"{apps}, {nodes}, expand limit {limit_text(problem.expand_limit)}"


def undrawable(problem: EvolutionProblem) -> str:
    """Return why there are more applications than could be told apart; nothing if there are not."""
    apps = len(problem.applications)
    changes = apps + sum(len(app.steps) for app in problem.applications)
    if changes * apps > _MOST_POINTS:
        return f"{apps} applications with {changes} changes are too many to draw"
    return ""


def plot(problem: EvolutionProblem, schedule: EvolutionSchedule) -> Drawing:
    """Return the resource profile."""
    apps = range(len(problem.applications))
    held = {app: _intervals(schedule, app) for app in apps}
    times = sorted({time for steps in held.values() for start, end, _ in steps for time in (start, end)})
    end = max(times, default=0)
    chart = Chart(
        problem.name or "resource profile",
        Axis.around(f"time [s] ({describe(problem)}, makespan {end} s)", [end]),
        Axis.around("nodes", [problem.num_nodes]),
    )
    index = {time: idx for idx, time in enumerate(times)}
    below = [0] * max(len(times) - 1, 0)
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
            outline = [(chart.x(times[idx]), chart.y(nodes)) for idx, nodes in over + under]
            chart.drawing.area(outline, app_hue(app), problem.application_names[app])
        below = [low + more for low, more in zip(below, mine, strict=True)]
    level, whole = chart.y(problem.num_nodes), f"all {counted(problem.num_nodes, 'node')}"
    chart.drawing.line((chart.left, level), (chart.right, level), label=whole)
    return chart.drawing


def _intervals(schedule: EvolutionSchedule, app: int) -> list[tuple[int, int, int]]:
    """Return (start, end, nodes) of the steps of an application."""
    start = int(schedule.starts[app])
    found = []
    for duration, nodes in schedule.profile(app).steps:
        found.append((start, start + duration, nodes))
        start += duration
    return found


def problem_data(problem: EvolutionProblem) -> dict[str, object]:
    """Return what the page draws of a problem: its nodes, and by application the name and nodes of steps."""
    names = problem.application_names
    return {
        "nodes": problem.num_nodes,
        "names": [] if names == tuple(f"a{idx}" for idx in range(len(names))) else names,
        "steps": [app.nodes for app in problem.applications],
    }


def answer_data(schedule: EvolutionSchedule) -> list[list[int]]:
    """Return the starts, and the durations of all steps; their nodes are as requested, says the judge."""
    return [schedule.starts.tolist(), schedule.durations.tolist()]
