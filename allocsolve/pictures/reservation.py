"""What reservations show: who holds which nodes over time, the mesh at several instants, who is accepted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from allocsolve.families import Exhibit, View
from allocsolve.judge.reservation.rules import SIZE_CLASSES
from allocsolve.model import CANCELLED, PROGRAM_KINDS, REJECTED, SUCCESSFUL
from allocsolve.pictures._partition_machine import machine_text
from allocsolve.pictures._reservation_gantt import (
    boxes_within,
    held_nodes,
    mesh_lines,
    mesh_strip,
    reservation_gantt,
    time_span,
)
from allocsolve.pictures.chart import Axis, Chart, counted, duration, percent, size_classes, too_many_nodes
from allocsolve.pictures.time_axis import time_unit

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from allocsolve.judge.reservation.rules import ReservationMetrics
    from allocsolve.model import ReservationProblem, ReservationSchedule
    from allocsolve.pictures.chart import Drawing

#: Schedules: lines of more are hard to tell apart, and meshes of more make the page long.
_LINES: Final = 6
_STRIPS: Final = 2

#: Jobs that start in a Gantt chart of a part of the time.
_WINDOW_JOBS: Final = 80

_WIDTH: Final = Chart.WIDTH
_HEIGHT: Final = 200
_BINS: Final = 150


def reservation_exhibits(
    problem: ReservationProblem,
    answers: Mapping[str, ReservationSchedule],
    certificates: Sequence[Mapping[str, Any]],
    given: Collection[str] = (),
) -> list[Exhibit]:
    """Return what there is to see of a reservation problem.

    Answers are feasible schedules by the names of their solvers, the best first; certificates are not drawn.
    Schedules that a user has `given` are drawn even if many are better. O(holds log holds) for each answer;
    the drawings have a size that does not grow with the jobs.
    """
    del certificates
    if not answers or not len(problem.jobs):
        return []
    lines = _chosen(answers, given, _LINES)
    more = f" {len(lines)} of {len(answers)} schedules." if len(lines) < len(answers) else ""
    exhibits = [_by_size(problem, lines, more), _over_time(problem, lines, more)]
    for name, schedule in _chosen(answers, given, _STRIPS).items():
        exhibits += _machine_over_time(problem, name, schedule)
    return exhibits


def _chosen(
    answers: Mapping[str, ReservationSchedule], given: Collection[str], count: int
) -> dict[str, ReservationSchedule]:
    """Return the best schedule, the given ones, the worst one, then others; the best first."""
    names = list(answers)
    wanted = dict.fromkeys([names[0], *(name for name in names if name in given), names[-1], *names])
    taken = set(list(wanted)[:count])
    return {name: schedule for name, schedule in answers.items() if name in taken}


def _by_size(problem: ReservationProblem, schedules: Mapping[str, ReservationSchedule], more: str) -> Exhibit:
    classes, axis = size_classes(problem.packed.nodes)
    there = np.unique(classes)
    title = "Accepted by size"
    chart = Chart(
        title, axis, Axis("jobs [%]", 0, 100, steps=5), legend=list(schedules), width=_WIDTH, height=_HEIGHT
    )
    has_executed = any((schedule.outcomes == SUCCESSFUL).any() for schedule in schedules.values())
    for idx, (name, schedule) in enumerate(schedules.items()):
        parts = [("c" if has_executed else "s", "accepted", schedule.outcomes != REJECTED)]
        if (schedule.outcomes == SUCCESSFUL).any():
            parts.append(("o", "successful", schedule.outcomes == SUCCESSFUL))
        for sort, word, part in parts:
            points = [
                (chart.x(size_class), chart.y(100 * float(part[classes == size_class].mean())))
                for size_class in there.tolist()
            ]
            chart.drawing.line(*points, kind=f"{sort}{idx}", label=f"{name}: {word}")
            chart.drawing.dots(f"d{idx}", points)
    note = (
        "Share of the jobs of a size that are accepted; a size is between a power of two and the one before "
        "it. A schedule that accepts more jobs may do so by refusing the large ones."
    )
    if has_executed:
        note += " Dotted: the share that ends in time when executed."
    return Exhibit(title, note + more, chart.drawing)


def _over_time(
    problem: ReservationProblem, schedules: Mapping[str, ReservationSchedule], more: str
) -> Exhibit:
    window = time_span(problem, list(schedules.values()))
    unit, edges = time_unit(window[1] - window[0]), np.linspace(*window, _BINS + 1)
    title = "Nodes held over time"
    chart = Chart(
        title,
        unit.axis(*window),
        Axis("nodes held [%]", 0, 100, steps=5),
        legend=list(schedules),
        width=_WIDTH,
        height=_HEIGHT,
    )
    for idx, (name, schedule) in enumerate(schedules.items()):
        shares = (100 * held_nodes(schedule, window, _BINS) / problem.topology.num_nodes).tolist()
        points = list(zip((edges / unit.seconds).tolist(), shares, strict=False))
        chart.steps(idx, points[1:], shares[0], label=name, sort="c")
    return Exhibit(title, f"Means over {_BINS} equal parts of the time.{more}", chart.drawing)


def _machine_over_time(
    problem: ReservationProblem, name: str, schedule: ReservationSchedule
) -> list[Exhibit]:
    """Return the mesh at several instants, and jobs on nodes in a part of the time."""
    exhibits: list[Exhibit] = []
    strip = mesh_strip(problem, schedule)
    if strip is not None:
        note = (
            "Between one instant and the next about as many node-seconds are held. A job has one colour in "
            "all pictures, a pale one if it was cancelled; what it is shows under the mouse."
        )
        exhibits.append(Exhibit(f"{name}: the machine over time", note, strip))
    if boxes_within(problem, schedule, time_span(problem, [schedule])).sampled_s:
        exhibits.append(_close(problem, name, schedule))
    return exhibits


def _close(problem: ReservationProblem, name: str, schedule: ReservationSchedule) -> Exhibit:
    """Return the jobs on nodes around the middle one of those that start."""
    firsts = np.sort(schedule.first_starts[~np.isnan(schedule.first_starts)])
    first = max(len(firsts) // 2 - _WINDOW_JOBS // 2, 0)
    last = min(first + _WINDOW_JOBS, len(firsts)) - 1
    window = float(firsts[first]), float(max(firsts[last], firsts[first] + 1))
    title = f"{name}: jobs on nodes"
    drawing: Drawing = reservation_gantt(problem, schedule, window, title)
    note = f"From {window[0]:.10g} s to {window[1]:.10g} s, where {last - first + 1} jobs start."
    return Exhibit(title, note, drawing)


#: Nodes: the curve of more is of no use to the eye.
_LARGEST_DRAWN: Final = 2**16

_SHAPES: Final = {"any": "", "connected": ", connected", "run": ", consecutive on the Hilbert curve"}


def _describe(problem: ReservationProblem) -> str:
    jobs, arrival = counted(len(problem.jobs), "job"), problem.packed.arrival
    over = f", arriving over {duration(float(arrival[-1] - arrival[0]))}" if len(arrival) else ""
    return f"{jobs} with deadlines on a {machine_text(problem.topology)}{_SHAPES[problem.shape]}{over}"


def _outcomes(problem: ReservationProblem, schedule: ReservationSchedule) -> str:
    """Return what became of the jobs, in a line."""
    count = len(problem.jobs)
    rejected, cancelled, successful = (
        int((schedule.outcomes == outcome).sum()) for outcome in (REJECTED, CANCELLED, SUCCESSFUL)
    )
    sentence = f"{count - rejected} of {count} accepted, {rejected} rejected"
    if cancelled or successful:
        sentence += f"; {successful} successful, {cancelled} cancelled (pale)"
    return sentence


def _plot_together(problem: ReservationProblem, schedules: Sequence[ReservationSchedule]) -> list[Drawing]:
    window, name = time_span(problem, schedules), problem.name or "Reservation"
    return [
        reservation_gantt(
            problem, schedule, window, name, [name, _describe(problem), _outcomes(problem, schedule)]
        )
        for schedule in schedules
    ]


def _metric_fields(problem: ReservationProblem, metrics: ReservationMetrics) -> list[tuple[str, str]]:
    jobs, sizes = len(problem.jobs), problem.packed.nodes
    accepted = (
        f"{metrics.accepted_jobs} of {counted(jobs, 'job')}, {percent(metrics.accepted_area)} of the area"
    )
    fields = [("accepted", accepted)]
    lows = [low for low in SIZE_CLASSES if low <= sizes.max(initial=0)]
    by_size = [
        f"{percent(share)} of {_size_class(place)}"
        for place, (low, share) in enumerate(zip(SIZE_CLASSES, metrics.accepted_by_size, strict=True))
        if low in lows
    ]
    fields.append(("accepted by size", ", ".join(by_size) or "-"))
    executed = metrics.successful_jobs + metrics.cancelled_jobs
    share = f"{percent(metrics.cancelled_share)} of the accepted ones"
    sentence = f"{metrics.successful_jobs} successful, {metrics.cancelled_jobs} cancelled, {share}"
    fields.append(("executed", sentence if executed else "-"))
    kinds = np.array([-1 if job.program is None else job.program for job in problem.jobs])
    by_kind = [
        f"kind {kind} {percent(metrics.cancelled_by_kind[kind])}"
        for kind in range(PROGRAM_KINDS)
        if (kinds == kind).any() and executed
    ]
    fields.append(("cancelled by kind", ", ".join(by_kind) or "-"))
    computing = f", computing {percent(metrics.computing_utilisation)}" if executed else ""
    return [
        *fields,
        ("utilisation", f"held {percent(metrics.booked_utilisation)}{computing}"),
        ("distance between nodes of a job", f"mean {metrics.mean_hops:.3f} hops"),
        ("wait", f"mean {duration(metrics.mean_wait)}"),
    ]


def _size_class(place: int) -> str:
    """Return the sizes of a class."""
    low, *behind = SIZE_CLASSES[place : place + 2]
    last = behind[0] - 1 if behind else 0
    if last == low:
        return counted(low, "node")
    return f"{low}-{last} nodes" if last else f"{low} nodes and more"


RESERVATION_VIEW: Final[View[ReservationProblem, ReservationSchedule]] = View(
    describe=_describe,
    undrawable=lambda problem: too_many_nodes(problem.topology.num_nodes, _LARGEST_DRAWN),
    plot=lambda problem, schedule: _plot_together(problem, [schedule])[0],
    metric_fields=_metric_fields,
    terminal_picture=mesh_lines,
    plot_together=_plot_together,
    exhibits=reservation_exhibits,
)
