"""Gantt charts of reservations: nodes by their rank on the Hilbert curve, time, and what jobs hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from allocsolve.model import CANCELLED, OUTCOMES
from allocsolve.pictures._reservation_holds import boxes_within
from allocsolve.pictures._workload_series import time_unit
from allocsolve.pictures.chart import Axis, Chart
from allocsolve.pictures.svg import SERIES
from allocsolve.pictures.text import counted, duration

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allocsolve.model import ReservationProblem, ReservationSchedule
    from allocsolve.pictures.svg import Drawing

__all__ = ["about_job", "job_colour", "reservation_gantt"]

_WIDTH: Final = Chart.WIDTH
_HEIGHT: Final = 320

#: Pixels: the least that a job can be seen by, and from where on it can be told apart from its neighbours.
_LEAST: Final = 0.5
_EDGED: Final = 2.5

#: Jobs: each of more has no text under the mouse.
_LABELLED: Final = 600


def job_colour(schedule: ReservationSchedule, job: int) -> str:
    """Return the class of the shapes of a job: the same in all pictures, pale if it was cancelled."""
    return f"f{job % SERIES}" + (" faded" if schedule.outcomes[job] == CANCELLED else "")


def about_job(problem: ReservationProblem, schedule: ReservationSchedule, job: int) -> str:
    """Return what there is to know of a job that holds nodes."""
    one = problem.jobs[job]
    name = one.name or f"j{job}"
    start, end = float(schedule.hold_starts[schedule.offsets[job]]), float(schedule.ends[job])
    kind = "" if one.program is None else f" of kind {one.program}" if isinstance(one.program, int) else ""
    kind = f", program {one.program}" if isinstance(one.program, str) else kind
    return (
        f"{name}{kind}: {counted(one.nodes, 'node')} for {duration(one.runtime)}; "
        f"{OUTCOMES[schedule.outcomes[job]]}, from {start:.10g} s to {end:.10g} s; "
        f"arrived at {one.arrival} s, deadline {one.deadline} s"
    )


def reservation_gantt(
    problem: ReservationProblem,
    schedule: ReservationSchedule,
    window: tuple[float, float],
    title: str,
    heading: Sequence[str] = (),
) -> Drawing:
    """Return what jobs hold in a window (seconds) as boxes over time and the rank of nodes on the curve.

    What a job is shows under the mouse, unless there are too many.
    """
    boxes = boxes_within(problem, schedule, window)
    unit = time_unit(window[1] - window[0])
    lines = list(heading)
    if boxes.sampled_s and lines:
        lines.append(f"what is held at instants {duration(boxes.sampled_s)} apart")
    chart = Chart(
        title,
        unit.axis(*window),
        Axis("node, by its place on the Hilbert curve", 0.0, float(problem.topology.num_nodes), whole=True),
        width=_WIDTH,
        height=_HEIGHT,
        heading=lines,
    )
    drawn = np.unique(boxes.job)
    # One shape for each job, or each colour.
    shapes: dict[tuple[str, int], list[tuple[float, float, float, float]]] = {}
    for job, start, end, low, high in zip(*(column.tolist() for column in boxes[:5]), strict=True):
        left, top = chart.x(start / unit.seconds), chart.y(high)
        width = max(round(chart.x(end / unit.seconds) - left, 1), _LEAST)
        height = max(round(chart.y(low) - top, 1), _LEAST)
        key = job_colour(schedule, job), job if len(drawn) <= _LABELLED else -1
        shapes.setdefault(key, []).append((left, top, width, height))
    for (colour, job), rectangles in shapes.items():
        edged = min(min(box[2:]) for box in rectangles) >= _EDGED
        label = about_job(problem, schedule, job) if job >= 0 else ""
        chart.drawing.rectangles(f"{colour} edged" if edged else colour, rectangles, label)
    return chart.drawing
