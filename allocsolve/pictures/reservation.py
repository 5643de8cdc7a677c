"""What reservations show: who holds which nodes over time, the mesh at several instants, who is accepted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from allocsolve.families import View
from allocsolve.judge.reservation import SIZE_CLASSES
from allocsolve.model import CANCELLED, PROGRAM_KINDS, REJECTED, SUCCESSFUL
from allocsolve.pictures._mesh import machine_text
from allocsolve.pictures._reservation_gantt import reservation_gantt
from allocsolve.pictures._reservation_holds import time_span
from allocsolve.pictures._reservation_meshes import mesh_lines
from allocsolve.pictures.reservation_exhibits import reservation_exhibits
from allocsolve.pictures.text import counted, duration, percent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allocsolve.judge.reservation import ReservationMetrics
    from allocsolve.model import ReservationProblem, ReservationSchedule
    from allocsolve.pictures.svg import Drawing

__all__ = ["RESERVATION_VIEW"]

#: Nodes: the curve of more is of no use to the eye.
_LARGEST_DRAWN: Final = 2**16

_SHAPES: Final = {"any": "", "connected": ", connected", "run": ", consecutive on the Hilbert curve"}


def _describe(problem: ReservationProblem) -> str:
    jobs, arrival = counted(len(problem.jobs), "job"), problem.packed.arrival
    over = f", arriving over {duration(float(arrival[-1] - arrival[0]))}" if len(arrival) else ""
    return f"{jobs} with deadlines on a {machine_text(problem.topology)}{_SHAPES[problem.shape]}{over}"


def _undrawable(problem: ReservationProblem) -> str:
    if problem.topology.num_nodes > _LARGEST_DRAWN:
        return f"{problem.topology.num_nodes} nodes are more than the {_LARGEST_DRAWN} that can be drawn"
    return ""


def _outcomes(problem: ReservationProblem, schedule: ReservationSchedule) -> str:
    """Return what became of the jobs, in a line."""
    count = len(problem.jobs)
    rejected, cancelled, successful = (
        int((schedule.outcomes == one).sum()) for one in (REJECTED, CANCELLED, SUCCESSFUL)
    )
    told = f"{count - rejected} of {count} accepted, {rejected} rejected"
    if cancelled or successful:
        told += f"; {successful} successful, {cancelled} cancelled (pale)"
    return told


def _plot(problem: ReservationProblem, schedule: ReservationSchedule) -> Drawing:
    return _plot_together(problem, [schedule])[0]


def _plot_together(problem: ReservationProblem, schedules: Sequence[ReservationSchedule]) -> list[Drawing]:
    window, name = time_span(problem, schedules), problem.name or "Reservation"
    return [
        reservation_gantt(problem, one, window, name, [name, _describe(problem), _outcomes(problem, one)])
        for one in schedules
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
    told = f"{metrics.successful_jobs} successful, {metrics.cancelled_jobs} cancelled, {share}"
    fields.append(("executed", told if executed else "-"))
    kinds = np.array([job.program if isinstance(job.program, int) else -1 for job in problem.jobs])
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
    units={"rejected": "", "rejected-area": "", "unsuccessful": ""},
    describe=_describe,
    undrawable=_undrawable,
    plot=_plot,
    metric_fields=_metric_fields,
    terminal_picture=mesh_lines,
    plot_together=_plot_together,
    exhibits=reservation_exhibits,
)
