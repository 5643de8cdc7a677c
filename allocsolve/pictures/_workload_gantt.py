"""Gantt charts of a window of a schedule: who holds which nodes when, and why each job started."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from allocsolve.instances.formats.workload_window import node_intervals, pieces_within, start_reasons
from allocsolve.pictures._workload_series import span, time_unit
from allocsolve.pictures.chart import Axis, Chart
from allocsolve.pictures.text import counted, duration

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allocsolve.instances.formats.workload_window import StartReason
    from allocsolve.model import WorkloadProblem, WorkloadSchedule
    from allocsolve.pictures.svg import Drawing

__all__ = ["GANTT_PIECES", "Mark", "busiest_window", "gantt"]

#: More cannot be told apart.
GANTT_PIECES: Final = 400

#: Pixels: of the drawing, of the plane of nodes, the least that a job can be seen by, and from where on it
#: can be told apart from its neighbours.
_WIDTH: Final = Chart.NARROW
_HEIGHT: Final = 300
_LEAST: Final = 0.5
_EDGED: Final = 2.0

#: Why a job started, each in the colour of its place.
_KINDS: Final = ("in turn", "backfilled", "at once")


class Mark(NamedTuple):
    """What a picture is to show: a job, and an instant in seconds."""

    job: int
    at: float


def gantt(
    problem: WorkloadProblem,
    schedule: WorkloadSchedule,
    window: tuple[float, float],
    title: str,
    heading: Sequence[str] = (),
    mark: Mark | None = None,
) -> Drawing:
    """Return the jobs that run in a window (seconds) as boxes over time and nodes.

    The nodes of a job are numbered greedily; what a job is shows under the mouse. A mark is a line at its
    instant, and a frame around the boxes of its job.
    """
    pieces, jobs = pieces_within(schedule, window)
    unit = time_unit(window[1] - window[0])
    chart = Chart(
        title,
        unit.axis(*window),
        Axis("nodes", 0.0, float(problem.num_nodes), whole=True),
        legend=_KINDS,
        marks="solid",
        width=_WIDTH,
        height=_HEIGHT,
        heading=heading,
    )
    reasons = start_reasons(problem, schedule)
    held = node_intervals(problem, schedule, pieces)
    starts = np.clip(schedule.starts[pieces], *window).tolist()
    ends = np.clip(schedule.ends[pieces], *window).tolist()
    framed: list[tuple[float, float, float, float]] = []
    for job, start, end, intervals in zip(jobs.tolist(), starts, ends, held, strict=True):
        left = chart.x(start / unit.seconds)
        width = max(chart.x(end / unit.seconds) - left, _LEAST)
        boxes = []
        for first, last in intervals:
            top = chart.y(last + 1)
            boxes.append((left, top, round(width, 1), round(max(chart.y(first) - top, _LEAST), 1)))
        kind = f"f{_KINDS.index(reasons[job].kind)}"
        if min(min(box[2:]) for box in boxes) >= _EDGED:
            kind += " edged"
        chart.drawing.rectangles(kind, boxes, _about(problem, schedule, job, reasons[job]))
        framed += boxes if mark and job == mark.job else []
    if mark:
        at = chart.x(mark.at / unit.seconds)
        chart.drawing.line((at, chart.y(0)), (at, chart.y(problem.num_nodes)), label=f"{mark.at:.10g} s")
        for left, top, width, height in framed:
            right, bottom = left + width, top + height
            corners = ((left, top), (right, top), (right, bottom), (left, bottom), (left, top))
            chart.drawing.line(*corners, kind="median", label=problem.jobs.names[mark.job])
    return chart.drawing


def _about(problem: WorkloadProblem, schedule: WorkloadSchedule, job: int, reason: StartReason) -> str:
    """Return what there is to know of a job and its start."""
    table, packed = problem.jobs, problem.packed
    user = f" of {table.users[job]}" if table.users and table.users[job] else ""
    pieces = schedule.pieces(job)
    nodes = " then ".join(counted(count, "node") for _, _, count in pieces)
    start, end = pieces[0][0], pieces[-1][1]
    waited = (
        f"waited {duration(start - packed.submit[job])}" if start > packed.submit[job] else "never waited"
    )
    why = {
        "in turn": "started as the first of the queue",
        "at once": "started on its submission",
        "backfilled": f"backfilled past {table.names[reason.head]}",
    }[reason.kind]
    return (
        f"{table.names[job]}{user}: {nodes} from {start:.10g} s to {end:.10g} s "
        f"({duration(end - start)}); {waited}; {why}"
    )


def busiest_window(
    problem: WorkloadProblem, schedule: WorkloadSchedule, jobs: int = GANTT_PIECES // 2
) -> tuple[float, float]:
    """Return a window in which about so many jobs start, around the instant at which most of them wait.

    Returns
    -------
    tuple
        First and last instant in seconds; all there is, if there are no more jobs.
    """
    if len(problem.jobs) <= jobs:
        return span(problem, [schedule])
    submit, starts = np.sort(problem.packed.submit), np.sort(schedule.first_starts)
    waiting = np.arange(1, len(submit) + 1) - np.searchsorted(starts, submit, side="right")
    worst = int(np.searchsorted(starts, submit[np.argmax(waiting)]))
    first = min(max(worst - jobs // 2, 0), len(starts) - jobs)
    low, high = float(starts[first]), float(starts[first + jobs - 1])
    return low, high if high > low else low + 1.0
