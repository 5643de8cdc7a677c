"""What reservations show: who holds which nodes over time, the mesh at several instants, who is accepted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from allocsolve.families import Exhibit, GanttRow, Timeline, View
from allocsolve.judge.reservation.rules import SIZE_CLASSES, curve_bits
from allocsolve.model import CANCELLED, OUTCOMES, PROGRAM_KINDS, REJECTED, SUCCESSFUL, node_order
from allocsolve.pictures.chart import (
    SERIES,
    Axis,
    Chart,
    Drawing,
    counted,
    duration,
    percent,
    size_classes,
    too_many_nodes,
)
from allocsolve.pictures.partition import machine_text, mask_runs, slices
from allocsolve.pictures.time_axis import binned, time_unit

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from allocsolve.families import Line
    from allocsolve.judge.reservation.rules import ReservationMetrics
    from allocsolve.model import FloatArray, IntArray, ReservationProblem, ReservationSchedule, Topology

#: If there are more rectangles, this number of instants and ranks is sampled.
_MOST_BOXES: Final = 2000
_HOLD_INSTANTS: Final = 300
_ROWS: Final = 128


class Boxes(NamedTuple):
    """Rectangles over time and rank, as columns of shape (boxes,)."""

    job: IntArray
    start: FloatArray  #: seconds
    end: FloatArray
    low: FloatArray  #: first rank
    high: FloatArray  #: behind the last rank
    sampled_s: float  #: seconds from a sample to the next; 0 if the rectangles are exact


def curve_ranks(topology: Topology) -> IntArray:
    """Return the rank of each node on the Hilbert curve, shape (nodes,)."""
    ranks = np.empty(topology.num_nodes, dtype=np.int64)
    ranks[node_order(topology, "hilbert", bits=curve_bits(topology))] = np.arange(topology.num_nodes)
    return ranks


def time_span(problem: ReservationProblem, schedules: Sequence[ReservationSchedule]) -> tuple[float, float]:
    """Return the time from the first arrival to the last end of a hold, in seconds; never empty."""
    first = float(problem.packed.arrival.min(initial=2**53)) if len(problem.jobs) else 0.0
    last = max((float(schedule.hold_ends.max(initial=first)) for schedule in schedules), default=first)
    return first, last if last > first else first + 1.0


def boxes_within(
    problem: ReservationProblem, schedule: ReservationSchedule, window: tuple[float, float]
) -> Boxes:
    """Return what jobs hold in a window of time (seconds), each run of consecutive ranks as one rectangle.

    Where that makes too many rectangles, they are those of evenly spaced instants and ranks. O(holds log
    holds + nodes log holds).
    """
    ranks = curve_ranks(problem.topology)[schedule.nodes]
    inside = (schedule.hold_starts < window[1]) & (schedule.hold_ends > window[0])
    job = schedule.job_of_hold[inside]
    starts, ends = (np.clip(times[inside], *window) for times in (schedule.hold_starts, schedule.hold_ends))
    exact = _runs(job, starts, ends, ranks[inside])
    if len(exact.job) <= _MOST_BOXES:
        return exact
    return _sampled(problem, schedule, window)


def _runs(job: IntArray, starts: FloatArray, ends: FloatArray, ranks: IntArray, step_s: float = 0.0) -> Boxes:
    """Unite cells of one job and time whose ranks are consecutive."""
    order = np.lexsort((ranks, ends, starts, job))
    job, starts, ends, ranks = job[order], starts[order], ends[order], ranks[order]
    same = (job[1:] == job[:-1]) & (starts[1:] == starts[:-1]) & (ends[1:] == ends[:-1])
    is_first = np.ones(len(job), dtype=np.bool_)
    is_first[1:] = ~(same & (ranks[1:] == ranks[:-1] + 1))
    first = np.flatnonzero(is_first)
    last = np.append(first[1:], len(job))[: len(first)] - 1
    low, high = ranks[first].astype(np.float64), ranks[last] + 1.0
    return Boxes(job[first], starts[first], ends[first], low, high, step_s)


def _sampled(
    problem: ReservationProblem, schedule: ReservationSchedule, window: tuple[float, float]
) -> Boxes:
    num_nodes = problem.topology.num_nodes
    rows = min(num_nodes, _ROWS)
    edges = np.linspace(*window, _HOLD_INSTANTS + 1)
    by_rank = np.argsort(curve_ranks(problem.topology))
    chosen = by_rank[((np.arange(rows) + 0.5) * num_nodes / rows).astype(np.int64)]
    cells = holders(schedule, (edges[1:] + edges[:-1]) / 2, chosen)
    changes = np.ones((rows, _HOLD_INSTANTS), dtype=np.bool_)
    changes[:, 1:] = cells[:, 1:] != cells[:, :-1]
    row, first = np.nonzero(changes)
    flat = row * _HOLD_INSTANTS + first
    last = np.append(flat[1:], rows * _HOLD_INSTANTS) - row * _HOLD_INSTANTS
    job = cells[row, first]
    held = job >= 0
    step = float(edges[1] - edges[0])
    boxes = _runs(job[held], edges[first[held]], edges[last[held]], row[held], step)
    scale = num_nodes / rows
    return boxes._replace(low=boxes.low * scale, high=boxes.high * scale)


def holders(schedule: ReservationSchedule, times: FloatArray, nodes: IntArray) -> IntArray:
    """Return which job holds each of some nodes at each of some instants; -1 where none does.

    Times are in seconds; what is returned has the shape (nodes, times). O(holds log holds + nodes * times log
    holds).
    """
    order = np.lexsort((schedule.hold_starts, schedule.nodes))
    starts, ends = schedule.hold_starts[order], schedule.hold_ends[order]
    job, node_of = schedule.job_of_hold[order], schedule.nodes[order]
    bounds = np.searchsorted(node_of, nodes), np.searchsorted(node_of, nodes, side="right")
    held = np.full((len(nodes), len(times)), -1, dtype=np.int64)
    for idx, (first, behind) in enumerate(zip(*(bound.tolist() for bound in bounds), strict=True)):
        if first == behind:
            continue
        at = first + np.searchsorted(starts[first:behind], times, side="right") - 1
        row = np.maximum(at, first)
        there = (at >= first) & (times < ends[row])
        held[idx, there] = job[row[there]]
    return held


def held_nodes(schedule: ReservationSchedule, window: tuple[float, float], bins: int) -> FloatArray:
    """Return how many nodes are held, as means over equal parts of a window (seconds); shape (bins,)."""
    ones, first = np.ones(len(schedule.nodes)), window[0]
    # Counted from the start of the window, as parts of a second are lost on late times.
    times = np.concatenate([schedule.hold_starts, schedule.hold_ends]) - first
    edges = np.linspace(0, window[1] - first, bins + 1)
    return binned(times, np.concatenate([ones, -ones]), edges)


def busy_instants(schedule: ReservationSchedule, count: int) -> list[float]:
    """Return instants between which about as many node-seconds are held, in seconds; none without holds."""
    if not len(schedule.nodes):
        return []
    times = np.concatenate([schedule.hold_starts, schedule.hold_ends])
    changes = np.repeat([1.0, -1.0], len(schedule.nodes))
    order = np.argsort(times, kind="stable")
    moments, level = times[order], np.cumsum(changes[order])
    area = np.concatenate([[0.0], np.cumsum(level[:-1] * np.diff(moments))])
    shares = (np.arange(count) + 0.5) / count
    instants: list[float] = np.unique(np.interp(shares * area[-1], area, moments)).tolist()
    return instants


_CHART_WIDTH: Final = Chart.WIDTH
_CHART_HEIGHT: Final = 320

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
    deadline_job = problem.jobs[job]
    name = deadline_job.name or f"j{job}"
    start, end = float(schedule.hold_starts[schedule.offsets[job]]), float(schedule.ends[job])
    program = deadline_job.program
    kind = "" if program is None else f" of kind {program}"
    return (
        f"{name}{kind}: {counted(deadline_job.nodes, 'node')} for {duration(deadline_job.runtime)}; "
        f"{OUTCOMES[schedule.outcomes[job]]}, from {start:.10g} s to {end:.10g} s; "
        f"arrived at {deadline_job.arrival} s, deadline {deadline_job.deadline} s"
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
        width=_CHART_WIDTH,
        height=_CHART_HEIGHT,
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


#: Nodes: of more machines at several instants nobody sees single ones.
LARGEST_MESH: Final = 4096

#: Instants of a strip.
_INSTANTS: Final = 6

#: Pixels around the meshes, between them, and of the name over each.
_MARGIN: Final = 16
_GAP: Final = 14
_NAME: Final = 18
_STEPS: Final = (10, 8, 6, 5, 4, 3)

#: In nodes: what is left free between two jobs, on each side.
_INSET: Final = 0.08

#: Lines: a terminal shows no more at once.
_TALLEST_TEXT: Final = 48
_LETTERS: Final = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def mesh_strip(problem: ReservationProblem, schedule: ReservationSchedule) -> Drawing | None:
    """Return the machine at instants between which about as many node-seconds are held, job by job.

    None if nothing is ever held, or the machine has more nodes than `LARGEST_MESH`.
    """
    instants = busy_instants(schedule, _INSTANTS)
    topology = problem.topology
    if not instants or topology.num_nodes > LARGEST_MESH:
        return None
    held = holders(schedule, np.array(instants), np.arange(topology.num_nodes))
    tiles = [
        (_tile_name(at, column, name), layer)
        for at, column in zip(instants, held.T, strict=True)
        for name, layer in slices(topology, column)
    ]
    rows, columns = tiles[0][1].shape
    named = max(7 * len(name) for name, _ in tiles)
    fits = [step for step in _STEPS if step * columns <= (Chart.WIDTH - 2 * _MARGIN - 2 * _GAP) / 3]
    step = fits[0] if fits else _STEPS[-1]
    tile_width, tile_height = max(step * columns, named) + _GAP, step * rows + _NAME + _GAP
    across = max(1, (Chart.WIDTH - 2 * _MARGIN + _GAP) // tile_width)
    down = -(-len(tiles) // across)
    width = max(2 * _MARGIN + across * tile_width - _GAP, 360)
    drawing = Drawing(width, _MARGIN + down * tile_height, "nodes over time")
    for place, (name, layer) in enumerate(tiles):
        x, y = _MARGIN + place % across * tile_width, _MARGIN + place // across * tile_height
        drawing.text(x, y + 12, name, kind="soft")
        with drawing.plane(x, y + _NAME, step, step):
            _draw_layer(drawing, problem, schedule, layer)
    return drawing


def _tile_name(at: float, column: IntArray, name: str) -> str:
    if name:
        return f"{duration(at)}, {name}"
    return f"{duration(at)}: {int((column >= 0).sum())} of {len(column)} held"


def _draw_layer(
    drawing: Drawing, problem: ReservationProblem, schedule: ReservationSchedule, layer: IntArray
) -> None:
    rows, columns = layer.shape
    with drawing.plane(0, 0.5, 1, 1):
        drawing.squares("free", [(0, row, columns) for row in range(rows)])
    for job in np.unique(layer[layer >= 0]).tolist():
        boxes = list(_union(layer == job))
        drawing.rectangles(job_colour(schedule, job), boxes, about_job(problem, schedule, job))


def _union(
    mask: np.ndarray[tuple[int, ...], np.dtype[np.bool_]],
) -> Iterator[tuple[float, float, float, float]]:
    """Yield boxes that cover the cells of a job and what lies between neighbours of them."""
    side = round(1 - 2 * _INSET, 2)
    for row, start, length in mask_runs(mask):
        yield round(start + _INSET, 2), round(row + _INSET, 2), round(length - 2 * _INSET, 2), side
    for row, column in np.argwhere(mask[:-1] & mask[1:]).tolist():
        yield round(column + _INSET, 2), round(row + 0.5, 2), side, 1.0


def mesh_lines(problem: ReservationProblem, schedule: ReservationSchedule, width: int) -> list[Line]:
    """Return the machine at its busiest instant with a letter for each job, if that fits a terminal."""
    instants = np.unique(schedule.hold_starts)
    if not len(instants) or problem.topology.num_nodes > LARGEST_MESH:
        return []
    order = np.argsort(np.concatenate([schedule.hold_ends, schedule.hold_starts]), kind="stable")
    changes = np.repeat([-1, 1], len(schedule.nodes))[order]
    times = np.concatenate([schedule.hold_ends, schedule.hold_starts])[order]
    busiest = float(times[int(np.argmax(np.cumsum(changes)))])
    column = holders(schedule, np.array([busiest]), np.arange(problem.topology.num_nodes))[:, 0]
    layers = slices(problem.topology, column)
    rows, columns = layers[0][1].shape
    if 2 * columns - 1 > width or len(layers) * (rows + 1) > _TALLEST_TEXT:
        return []
    jobs = np.unique(column[column >= 0]).tolist()
    letters = {job: _LETTERS[idx % len(_LETTERS)] for idx, job in enumerate(jobs)}
    held = int((column >= 0).sum())
    lines: list[Line] = [(), ((f"{held} of {len(column)} nodes held at {busiest:.10g} s:", ""),)]
    for name, layer in layers:
        lines.append(((name, ""),) if name else ())
        lines += [((" ".join(letters.get(job, ".") for job in row), ""),) for row in layer.tolist()]
    return lines


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


def _timeline(problem: ReservationProblem, schedule: ReservationSchedule) -> Timeline:
    rows = []
    for job, (name, arrival) in enumerate(zip(problem.names, problem.packed.arrival.tolist(), strict=True)):
        at = slice(schedule.offsets[job], schedule.offsets[job + 1])
        begun, ended = schedule.hold_starts[at], schedule.hold_ends[at]
        times, place = np.unique(np.concatenate([begun, ended]), return_inverse=True)
        held = np.cumsum(np.bincount(place, np.repeat([1.0, -1.0], len(begun)), len(times)))
        pieces = zip(times[:-1].tolist(), times[1:].tolist(), held.astype(np.int64).tolist(), strict=False)
        rows.append(GanttRow(name, arrival, tuple((*piece, False) for piece in pieces)))
    return Timeline(tuple(rows), problem.topology.num_nodes)


RESERVATION_VIEW: Final[View[ReservationProblem, ReservationSchedule]] = View(
    describe=_describe,
    undrawable=lambda problem: too_many_nodes(problem.topology.num_nodes, _LARGEST_DRAWN),
    plot=lambda problem, schedule: _plot_together(problem, [schedule])[0],
    metric_fields=_metric_fields,
    terminal_picture=mesh_lines,
    plot_together=_plot_together,
    exhibits=reservation_exhibits,
    timeline=_timeline,
)
