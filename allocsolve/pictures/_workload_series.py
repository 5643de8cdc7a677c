"""Workloads over time: busy nodes and waiting jobs as means over bins, in units of time that people read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from allocsolve.instances.formats.simulators.foreign import (
    node_intervals,
    occupied_changes,
    pieces_within,
    start_reasons,
)
from allocsolve.model.machine import NODES
from allocsolve.model.packed_machine import packed_machine
from allocsolve.pictures._workload_places import (
    closed_on_places,
    node_runs,
    place_intervals,
    place_totals,
    place_use_changes,
)
from allocsolve.pictures.chart import SERIES, Axis, Chart, Drawing, counted, duration
from allocsolve.pictures.time_axis import binned, time_unit

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from allocsolve.instances.formats.simulators.foreign import StartReason
    from allocsolve.model import FloatArray, WorkloadProblem, WorkloadSchedule

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
    if problem.node_types:
        moments, gone, whole = closed_on_places(problem, name)
    else:
        machine = packed_machine(problem)
        whole = {NODES: problem.num_nodes, **dict(problem.resources)}[name]
        moments, gone = machine.times, whole - machine.capacity[:, machine.names.index(name)]
    times = [*moments.tolist(), np.inf]
    parts: list[ClosedPart] = []
    for start, end, count in zip(times[:-1], times[1:], gone.tolist(), strict=True):
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
    if problem.node_types:
        return place_totals(problem)[:PANELS]
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
    if problem.node_types:
        return place_use_changes(problem, schedule, name)
    machine = packed_machine(problem)
    mine = machine.resource == machine.names.index(name)
    owner = np.repeat(np.arange(len(problem.jobs)), np.diff(machine.offsets))
    needs = np.zeros(len(problem.jobs))
    needs[owner[mine]] = machine.amount[mine]
    held = np.repeat(needs, np.diff(schedule.offsets))
    some = held > 0
    times = np.concatenate([schedule.starts[some], schedule.ends[some]])
    return times, np.concatenate([held[some], -held[some]])


#: An axis is logarithmic if one value is this multiple of another, or more.
_SKEWED: Final = 20

#: Ticks of the low planes that stand one under another.
_STEPS: Final = 5


def level_axis(title: str, highest: Sequence[float], least: float) -> Axis:
    """Return the axis of several series from 0, logarithmic if a linear one would flatten some.

    `highest` is what is to be told apart: the largest value of each series, or all values. Values below
    `least` are drawn as none on a logarithmic axis.
    """
    top = max(highest, default=0.0)
    if top > _SKEWED * max(min(highest, default=top), least):
        axis = Axis.around(title, [top], log=True, steps=_STEPS)
        return Axis(title, least, axis.high, log=True, zero=f"<{least:g}", steps=_STEPS)
    return Axis.around(title, [top], steps=_STEPS)


def span(problem: WorkloadProblem, schedules: Sequence[WorkloadSchedule]) -> tuple[float, float]:
    """Return the time from the first submission to the last end of some schedules, in seconds."""
    first = float(problem.jobs.packed.submit.min(initial=np.inf)) if len(problem.jobs) else 0.0
    return first, max((float(schedule.ends.max(initial=first)) for schedule in schedules), default=first)


def busy_nodes(schedule: WorkloadSchedule, edges: FloatArray) -> FloatArray:
    """Return how many nodes are held, as means over the bins between edges (seconds)."""
    if schedule.place_nodes is not None:
        return binned(*occupied_changes(schedule), edges)
    times = np.concatenate([schedule.starts, schedule.ends])
    return binned(times, np.concatenate([schedule.nodes, -schedule.nodes]).astype(np.float64), edges)


def waiting_jobs(problem: WorkloadProblem, schedule: WorkloadSchedule, edges: FloatArray) -> FloatArray:
    """Return how many jobs wait, as means over the bins between edges (seconds)."""
    submit, starts = problem.jobs.packed.submit, schedule.first_starts
    waits = starts > submit
    ones = np.ones(int(waits.sum()))
    return binned(np.concatenate([submit[waits], starts[waits]]), np.concatenate([ones, -ones]), edges)


def node_prices(
    problem: WorkloadProblem, certificate: Mapping[str, Any], edges: FloatArray
) -> FloatArray | None:
    """Return the price of a node-second of a certificate, as means over the bins between edges (seconds).

    The certificate prices time: ``time-prices``, or ``job-prices``, of which the price of a node-second is
    what the jobs that pay most for a node would pay together, were they to fill all nodes, by node; or
    ``machine-prices``, of which those of nodes are taken, but where all nodes are closed: there the price is
    free, and says nothing. Prices are in units of the sum of the objective over all jobs, shape (bins,); None
    if nothing prices time.
    """
    known = certificate.get("kind") in ("time-prices", "job-prices", "machine-prices")
    if not known or problem.node_types:  # there the scarcest of what is counted has the price of nodes
        return None
    slots = np.asarray(certificate["edges"], dtype=np.float64)
    listed, general = certificate["prices"], certificate["kind"] == "machine-prices"
    prices = np.asarray(listed.get(NODES, []) if general else listed, dtype=np.float64)
    prices /= float(certificate["unit"])
    if general and len(prices):
        machine = packed_machine(problem)
        step = np.searchsorted(machine.times, slots[:-1], side="right") - 1
        prices[machine.capacity[step, 0] == 0] = 0.0
    elif certificate["kind"] == "job-prices":
        prices = _filled(problem, certificate, prices, len(slots) - 1)
    if len(slots) != len(prices) + 1 or not len(prices):
        return None
    return binned(slots, np.diff(prices, prepend=0.0, append=0.0), edges)


def _filled(
    problem: WorkloadProblem, certificate: Mapping[str, Any], prices: FloatArray, num_slots: int
) -> FloatArray:
    """Return for each slot what the dearest jobs, by node, pay for a node if they fill the cluster."""
    offsets = np.asarray(certificate["offsets"], dtype=np.int64)
    first = np.asarray(certificate["first_slots"], dtype=np.int64)
    jobs = np.repeat(np.arange(len(first)), np.diff(offsets))
    slots, nodes = np.arange(len(prices)) - offsets[jobs] + first[jobs], problem.jobs.packed.nodes[jobs]
    order = np.lexsort((-prices / nodes, slots))
    slots, nodes, prices = slots[order], nodes[order], prices[order]
    before = np.cumsum(nodes) - nodes
    before -= before[np.searchsorted(slots, slots)]
    seated = np.clip(problem.num_nodes - before, 0, nodes)
    return np.bincount(slots, prices * seated / nodes, minlength=num_slots) / problem.num_nodes


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

    The nodes of a job are numbered greedily unless they are places, where jobs may share a row; what a job is
    shows under the mouse. A mark is a line at its instant, and a frame around the boxes of its job.
    """
    pieces, jobs = pieces_within(schedule, window)
    unit = time_unit(window[1] - window[0])
    edges = np.linspace(*window, _BINS + 1)
    strips = _use_strips(problem, [schedule], [""], edges, last=True)
    chart = Chart(
        title,
        unit.axis(*window, title=not strips),
        Axis("nodes", 0.0, float(problem.num_nodes), whole=True),
        legend=_KINDS,
        marks="solid",
        width=_WIDTH,
        height=_HEIGHT,
        heading=heading,
    )
    reasons = start_reasons(problem, schedule)
    held: Sequence[tuple[tuple[float, float], ...]]
    if problem.node_types:
        whole = problem.num_nodes
        ids = [(one, one.node_ids or range(whole)) for one in problem.closed]
        shut = [
            (ClosedPart(one.start, one.end, len(mine), whole, NODES), node_runs(mine)) for one, mine in ids
        ]
        shut = [pair for pair in shut if pair[0].start < window[1] and pair[0].end > window[0]]
        held = place_intervals(problem, schedule, pieces)
    else:
        parts = [one for one in closed_parts(problem) if one.start < window[1] and one.end > window[0]]
        held = node_intervals(problem, schedule, pieces, [(one.start, one.end, one.closed) for one in parts])
        shut = [(part, [*intervals]) for part, intervals in zip(parts, held, strict=False)]
        held = held[len(parts) :]
    for part, runs in shut:
        left, right = (chart.x(min(max(at, window[0]), window[1]) / unit.seconds) for at in part[:2])
        areas = [(chart.y(last + 1), chart.y(first)) for first, last in runs]
        boxes = [(left, top, round(max(right - left, _LEAST), 1), round(low - top, 1)) for top, low in areas]
        chart.drawing.rectangles(SHADE, boxes, str(part))
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
    return _stacked(title, [chart.drawing, *strips])


def _about(problem: WorkloadProblem, schedule: WorkloadSchedule, job: int, reason: StartReason) -> str:
    """Return what there is to know of a job and its start."""
    table, packed = problem.jobs, problem.jobs.packed
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


def busiest_window(problem: WorkloadProblem, schedule: WorkloadSchedule) -> tuple[float, float]:
    """Return a window in which a drawing has room for all jobs, around the instant with the longest queue.

    It is its first and last instant in seconds; all there is, if there are no more jobs.
    """
    jobs = GANTT_PIECES // 2
    if len(problem.jobs) <= jobs:
        return span(problem, [schedule])
    submit, starts = np.sort(problem.jobs.packed.submit), np.sort(schedule.first_starts)
    waiting = np.arange(1, len(submit) + 1) - np.searchsorted(starts, submit, side="right")
    worst = int(np.searchsorted(starts, submit[np.argmax(waiting)]))
    first = min(max(worst - jobs // 2, 0), len(starts) - jobs)
    low, high = float(starts[first]), float(starts[first + jobs - 1])
    return low, high if high > low else low + 1.0


_STRIP: Final = 110
#: What fits beside a strip.
_LETTERS: Final = 16
_OVERLAP: Final = 24

#: A mean for each two pixels or so.
_BINS: Final = 150

#: The series whose colour is that of prices.
_PRICE: Final = SERIES - 2

#: Jobs: a shorter queue is drawn as none beside one that is far longer.
_LEAST_QUEUE: Final = 0.1


@dataclass(frozen=True)
class Scale:
    """The axes that several drawings have in common."""

    #: Shape (bins + 1,), seconds.
    edges: FloatArray
    #: Of waiting jobs.
    queue: Axis

    @classmethod
    def of(cls, problem: WorkloadProblem, schedules: Sequence[WorkloadSchedule]) -> Scale:
        """Return the axes on which all of these schedules fit."""
        first, last = span(problem, schedules)
        edges = np.linspace(first, last if last > first else first + 1, _BINS + 1)
        queues = [float(waiting_jobs(problem, schedule, edges).max()) for schedule in schedules]
        return cls(edges, level_axis("waiting jobs", queues, _LEAST_QUEUE))


def timeline(
    problem: WorkloadProblem,
    schedules: Mapping[str, WorkloadSchedule],
    scale: Scale,
    *,
    heading: Sequence[str] = (),
    certificate: Mapping[str, Any] | None = None,
) -> Drawing:
    """Return strips, one under another, over the same time.

    Schedules are given by their names in the legend, at most as many as series have colours; a single one has
    no legend. The bound of the certificate prices node-seconds; there is no strip without one that does.
    """
    names = list(schedules)
    busy = [100 * busy_nodes(schedule, scale.edges) / problem.num_nodes for schedule in schedules.values()]
    queues = [waiting_jobs(problem, schedule, scale.edges) for schedule in schedules.values()]
    prices = None if certificate is None else node_prices(problem, certificate, scale.edges)
    title = heading[0] if heading else "busy nodes and waiting jobs"
    legend = names if len(names) > 1 else []
    percent = Axis("busy nodes [%]", 0, 100, steps=5)
    edges = scale.edges
    strips = [
        _strip(title, edges, percent, busy, names, legend=legend, heading=heading, machine=problem),
        *_use_strips(problem, list(schedules.values()), names, edges),
        _strip(title, edges, scale.queue, queues, names, last=prices is None),
    ]
    if prices is not None:
        price = Axis.around("price", [float(prices.max())], steps=5)
        strips.append(_strip(title, edges, price, [prices], ["price"], last=True, first_idx=_PRICE))
    return _stacked(title, strips)


def _stacked(title: str, drawings: Sequence[Drawing]) -> Drawing:
    """Return drawings one under another; all but the last have no title under their axis of time."""
    if len(drawings) == 1:
        return drawings[0]
    heights = [drawing.size[1] - _OVERLAP for drawing in drawings]
    whole = Drawing(_WIDTH, sum(heights) + _OVERLAP, title)
    for idx, drawing in enumerate(drawings):
        whole.place(drawing, 0, sum(heights[:idx]))
    return whole


def _use_strips(
    problem: WorkloadProblem,
    schedules: Sequence[WorkloadSchedule],
    names: Sequence[str],
    edges: FloatArray,
    *,
    last: bool = False,
) -> list[Drawing]:
    """Return a strip for each resource: what schedules use of it, and what of it is closed."""
    if not (problem.resources or problem.node_types):
        return []
    shown = panels(problem)
    strips = []
    for idx, (name, number) in enumerate(shown):
        use = [binned(*use_changes(problem, schedule, name), edges) for schedule in schedules]
        labels = [f"{name} of {one}" if one else name for one in names]
        title = f"{name} of {number:,}"
        short = title if len(title) <= _LETTERS else f"{name[: _LETTERS - 1]}…"
        y = Axis(short, 0.0, float(number), steps=5, whole=True)
        is_last = last and idx == len(shown) - 1
        strips.append(_strip(name, edges, y, use, labels, last=is_last, machine=problem, resource=name))
    return strips


def _strip(
    title: str,
    edges: FloatArray,
    y: Axis,
    series: Sequence[FloatArray],
    names: Sequence[str],
    *,
    legend: Sequence[str] = (),
    heading: Sequence[str] = (),
    last: bool = False,
    first_idx: int = 0,
    machine: WorkloadProblem | None = None,
    resource: str = NODES,
) -> Drawing:
    low, high = float(edges[0]), float(edges[-1])
    unit = time_unit(high - low)
    chart = Chart(
        title,
        unit.axis(low, high, title=last),
        y,
        legend=legend,
        marks="solid",
        width=_WIDTH,
        height=_STRIP,
        heading=heading,
    )
    if machine is not None:
        shade(chart, machine, (low, high), 1 / unit.seconds, name=resource, top=y.high)
    times = (edges[1:-1] / unit.seconds).tolist()
    for idx, means in enumerate(series):
        first, *others = means.tolist()
        chart.steps(first_idx + idx, list(zip(times, others, strict=True)), first, label=names[idx], sort="c")
    return chart.drawing
