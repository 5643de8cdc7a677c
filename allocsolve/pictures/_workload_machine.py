"""Machines that are not plain, over time: what is closed as shaded areas, and the use of each resource."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from allocsolve.model.machine import NODES
from allocsolve.model.packed_machine import packed_machine
from allocsolve.pictures.chart import duration

if TYPE_CHECKING:
    from allocsolve.model import FloatArray, WorkloadProblem, WorkloadSchedule
    from allocsolve.pictures.chart import Chart

#: Of shapes: a pale grey that lets the grid through.
SHADE: Final = "busy-area faded"
#: Resources that have a panel: of more the scarcest.
PANELS: Final = 8


class ClosedPart(NamedTuple):
    """A time in which the same number of a resource is closed."""

    start: float  #: seconds, as is the end
    end: float
    closed: int
    whole: int  #: what there is without windows
    name: str

    def __str__(self) -> str:
        span = f"from {self.start:.10g} s to {self.end:.10g} s ({duration(self.end - self.start)})"
        return f"closed {span}: {self.closed:,} of {self.whole:,} {self.name}"


def closed_parts(problem: WorkloadProblem, name: str = NODES) -> list[ClosedPart]:
    """Return when how much of a resource is closed, in order of time; O(windows^2)."""
    if not problem.closed:
        return []
    machine = packed_machine(problem)
    whole = {NODES: problem.num_nodes, **dict(problem.resources)}[name]
    closed = (whole - machine.capacity[:, machine.names.index(name)]).tolist()
    times = [*machine.times.tolist(), np.inf]
    parts: list[ClosedPart] = []
    for start, end, count in zip(times[:-1], times[1:], closed, strict=True):
        if parts and parts[-1].end == start and parts[-1].closed == count:
            parts[-1] = parts[-1]._replace(end=end)
        elif count:
            parts.append(ClosedPart(start, end, count, whole, name))
    return parts


def shade(
    chart: Chart,
    problem: WorkloadProblem,
    window: tuple[float, float],
    second: float,
    *,
    name: str = NODES,
    top: float = 100.0,
) -> None:
    """Shade in a chart what of a resource is closed: from what is left up to all there is.

    The window is the first and the last second that are drawn, `second` its length on the axis of time; on
    the other axis `top` is all there is of the resource.
    """
    for part in closed_parts(problem, name):
        start, end = max(part.start, window[0]), min(part.end, window[1])
        if start >= end:
            continue
        left, right = chart.x(start * second), chart.x(end * second)
        high, low = chart.y(top), chart.y(top * (1 - part.closed / part.whole))
        box = left, high, round(max(right - left, 1.0), 1), round(low - high, 1)
        chart.drawing.rectangles(SHADE, [box], str(part))


def panels(problem: WorkloadProblem) -> list[tuple[str, int]]:
    """Return the resources beside nodes that have a panel, with how much there is of each: the scarcest.

    Scarce is a resource of which jobs together need most, as node-seconds are needed, against what there is.
    """
    machine = packed_machine(problem)
    owner = np.repeat(np.arange(len(problem.jobs)), np.diff(machine.offsets))
    area = np.bincount(
        machine.resource, machine.amount * problem.jobs.packed.runtime[owner], minlength=len(machine.names)
    )
    loads = {name: area[idx + 1] / number for idx, (name, number) in enumerate(problem.resources)}
    shown = sorted(loads, key=loads.__getitem__, reverse=True)[:PANELS]
    return [(name, number) for name, number in problem.resources if name in shown]


def use_changes(
    problem: WorkloadProblem, schedule: WorkloadSchedule, name: str
) -> tuple[FloatArray, FloatArray]:
    """Return when how much more of a resource is in use: times in seconds, and changes."""
    machine = packed_machine(problem)
    mine = machine.resource == machine.names.index(name)
    owner = np.repeat(np.arange(len(problem.jobs)), np.diff(machine.offsets))
    needs = np.zeros(len(problem.jobs))
    needs[owner[mine]] = machine.amount[mine]
    held = np.repeat(needs, np.diff(schedule.offsets))
    some = held > 0
    times = np.concatenate([schedule.starts[some], schedule.ends[some]])
    return times, np.concatenate([held[some], -held[some]])
