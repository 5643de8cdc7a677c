"""What workloads show: jobs on nodes where there are few, else busy nodes and the queue over time."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from allocsolve.families import Exhibit, Export, GanttRow, Timeline, View
from allocsolve.instances.formats.logs.log import nodes_not_modelled
from allocsolve.instances.formats.simulators.foreign import (
    evalys_text,
    occupied_changes,
    perfetto_text,
)
from allocsolve.instances.formats.simulators.swf import swf_text
from allocsolve.model.job_kinds import JOB_KINDS
from allocsolve.pictures._workload_series import (
    GANTT_PIECES,
    PANELS,
    Mark,
    Scale,
    busiest_window,
    closed_parts,
    gantt,
    level_axis,
    node_prices,
    panels,
    span,
    timeline,
    use_changes,
)
from allocsolve.pictures.chart import SERIES, Axis, Chart, counted, duration, percent, size_classes
from allocsolve.pictures.time_axis import time_unit

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from allocsolve.judge.workload.history import Breach
    from allocsolve.judge.workload.rules import WorkloadMetrics
    from allocsolve.model import FloatArray, IntArray, WorkloadProblem, WorkloadSchedule
    from allocsolve.pictures.chart import Drawing

_WIDTH: Final = Chart.NARROW
_HEIGHT: Final = 200
#: Pixels: from a bar to the next, and how thick it is.
_PITCH: Final = 42.0
_THICK: Final = 12.0
#: Pixels: from the middle of a bar to either end of the mark of the bound.
_REACH: Final = 9.0
#: Means of waits are in hours at most.
_LONGEST_UNIT_S: Final = 86400.0

#: In the unit of the axis: a shorter wait is drawn as none beside one that is far longer.
_LEAST_WAIT: Final = 0.01


def wait_chart(
    title: str,
    problem: WorkloadProblem,
    schedules: Mapping[str, WorkloadSchedule],
    classes: IntArray,
    x: Axis,
) -> Drawing:
    """Draw the mean wait of the jobs of each class, weighted as they count.

    Schedules are given by their names in the legend, at most as many as series have colours; `classes` has of
    each job the place of its class on the axis.
    """
    packed = problem.jobs.packed
    weights = np.bincount(classes, weights=packed.weight)
    there = np.flatnonzero(weights)
    means: dict[str, list[float]] = {}
    for name, schedule in schedules.items():
        waits = (schedule.first_starts - packed.submit) * packed.weight
        means[name] = (np.bincount(classes, weights=waits)[there] / weights[there]).tolist()
    everything = [wait for waits in means.values() for wait in waits]
    unit = time_unit(min(max(everything, default=0.0), _LONGEST_UNIT_S))
    y = level_axis(f"mean wait [{unit.name}]", [wait / unit.seconds for wait in everything], _LEAST_WAIT)
    chart = Chart(title, x, y, legend=list(means), width=_WIDTH, height=_HEIGHT)
    for idx, (name, column) in enumerate(means.items()):
        points = [
            (chart.x(place), chart.y(wait / unit.seconds))
            for place, wait in zip(there.tolist(), column, strict=True)
        ]
        if points:
            chart.drawing.line(*points, kind=f"s{idx}", label=name)
            chart.drawing.dots(f"d{idx}", points)
    return chart.drawing


#: A bar so many times as long as the next one would leave no room to tell the others apart.
_MUCH_LONGER: Final = 8


def longest_bar(means: Collection[float]) -> float:
    """Return the longest of the bars that are drawn to their ends: at least one half of those above 0.

    >>> longest_bar([300, 0, 280, 9000]), longest_bar([20, 300, 280, 310])
    (300, 310)
    """
    rising = sorted(mean for mean in means if mean > 0)
    half = -(-len(rising) // 2)
    for shorter, longer in pairwise(rising[max(half - 1, 0) :]):
        if longer > _MUCH_LONGER * shorter:
            return shorter
    return rising[-1] if rising else 0.0


def wait_bars(title: str, what: str, means: Mapping[str, float], bound: float | None) -> Drawing:
    """Draw a bar for each mean, from 0, and a mark at what no mean is below.

    Bars that are much longer than all others end at the edge, with a break: see `longest_bar`. Above each
    stands how long it is. The means are seconds by the names of the bars, from the top; `what` names the
    axis, without its unit. There are no marks without a bound.
    """
    longest = max(longest_bar(means.values()), bound or 0.0)
    unit = time_unit(min(longest, _LONGEST_UNIT_S))
    x = Axis.around(f"{what} [{unit.name}]", [longest / unit.seconds], steps=6)
    names = [f"{name}: {duration(mean)}" for name, mean in means.items()]
    chart = Chart(title, x, rows=names, pitch=_PITCH, width=_WIDTH, names_above=True)
    for idx, mean in enumerate(means.values()):
        end = chart.right if mean > longest else chart.x(mean / unit.seconds)
        box = chart.left, chart.row(idx) - _THICK / 2, end - chart.left, _THICK
        chart.drawing.rectangles("box", [box], names[idx])
        for back in (26, 20) if mean > longest else ():
            foot = end - back, chart.row(idx) + _REACH
            chart.drawing.line(foot, (foot[0] + 8, chart.row(idx) - _REACH), kind="axis")
        if bound is not None:  # not through the names above the bars
            at = chart.x(bound / unit.seconds)
            ends = [(at, chart.row(idx) + side * _REACH) for side in (-1, 1)]
            chart.drawing.line(*ends, kind="mean", label=f"no schedule is left of {duration(bound)}")
    return chart.drawing


def over_time(problem: WorkloadProblem, schedules: Mapping[str, WorkloadSchedule]) -> Drawing:
    """Draw busy nodes and waiting jobs of some schedules over the same time.

    `schedules` are by their names in the legend, at least one and at most as many as series have colours.
    """
    return timeline(problem, schedules, Scale.of(problem, list(schedules.values())))


#: Schedules: lines of more are hard to tell apart, and Gantt charts of more make the page long.
_LINES: Final = 5
_GANTTS: Final = 3
#: Schedules that have a colour, which prices do not have: so many are drawn if a user gives them.
_COLOURS: Final = SERIES - 2

#: Jobs in the table of losses, of each solver.
_LOSSES: Final = 8

_HOUR_S: Final = 3600
_HOURS: Final = 24


def workload_exhibits(
    problem: WorkloadProblem,
    answers: Mapping[str, WorkloadSchedule],
    certificates: Sequence[Mapping[str, Any]],
    given: Collection[str] = (),
) -> list[Exhibit]:
    """Return what there is to see of a workload.

    Answers are feasible schedules by the names of their solvers, the best first: the others are compared with
    it. The first certificate that prices time is drawn under them. Schedules that a user has `given` are
    drawn even if many are better. O(jobs log jobs) for each answer; the drawings have a size that does not
    grow with the jobs.
    """
    if not answers or not len(problem.jobs):
        return []
    lines = _chosen(answers, given, answers, _LINES)
    best = next(iter(answers))
    more = ""
    if len(lines) < len(answers):
        more = f" {len(lines)} of {len(answers)} schedules: the best{' and the given ones' if given else ''}."
    return [
        _over_time(problem, lines, certificates, more),
        _by_size(problem, lines, more),
        _by_hour(problem, lines, more),
        _losses(problem, lines) if len(answers) > 1 else _longest_waits(problem, best, answers[best]),
        *_windows(problem, answers, given),
    ]


def _chosen(
    answers: Mapping[str, WorkloadSchedule], given: Collection[str], others: Iterable[str], count: int
) -> dict[str, WorkloadSchedule]:
    """Return the best schedule, the given ones, and the first of others up to a number, the best first."""
    best = next(iter(answers))
    names = dict.fromkeys((best, *(name for name in answers if name in given)))
    names |= dict.fromkeys([name for name in others if name not in names][: max(count - len(names), 0)])
    drawn = set(list(names)[:_COLOURS])
    return {name: schedule for name, schedule in answers.items() if name in drawn}


def _over_time(
    problem: WorkloadProblem,
    schedules: Mapping[str, WorkloadSchedule],
    certificates: Sequence[Mapping[str, Any]],
    more: str,
) -> Exhibit:
    scale = Scale.of(problem, list(schedules.values()))
    with_prices = (proof for proof in certificates if node_prices(problem, proof, scale.edges) is not None)
    priced = next(with_prices, None)
    note = f"Means over {duration(float(scale.edges[1] - scale.edges[0]))} each.{more}"
    if problem.closed:
        note += " Grey: closed; how much, and when, shows under the mouse."
    if len(problem.resources) > PANELS:
        note += f" Of {len(problem.resources)} resources the {PANELS} scarcest have a panel."
    if priced is not None:
        note += (
            " Below: the price of a node-second in the bound, by how much one more node would lower the bound"
            f" on the sum of {priced.get('term', 'the objective')} over all jobs for each second that it is "
            "there. The machine was scarce where the price is high, and large enough where it is 0."
        )
    drawing = timeline(problem, schedules, scale, certificate=priced)
    return Exhibit("Over time", note, drawing)


def _by_size(problem: WorkloadProblem, schedules: Mapping[str, WorkloadSchedule], more: str) -> Exhibit:
    classes, axis = size_classes(problem.jobs.packed.nodes)
    note = f"Mean wait of the jobs between a power of two and the one before it.{more}"
    return Exhibit("Waiting by size", note, wait_chart("Waiting by size", problem, schedules, classes, axis))


def _by_hour(problem: WorkloadProblem, schedules: Mapping[str, WorkloadSchedule], more: str) -> Exhibit:
    epoch = problem.meta.get("unix_time", 0)
    shift = float(epoch) if isinstance(epoch, int | float) else 0.0
    hours = ((problem.jobs.packed.submit + shift) // _HOUR_S % _HOURS).astype(np.int64)
    axis = Axis("hour of the submission", 0, _HOURS - 1, whole=True, steps=12)
    zone = "in UTC" if shift else "counted from time 0 of the log"
    note = f"Mean wait of the jobs submitted in each hour of the day, {zone}.{more}"
    drawing = wait_chart("Waiting by hour of the day", problem, schedules, hours, axis)
    return Exhibit("Waiting by hour of the day", note, drawing)


def _job_cells(problem: WorkloadProblem, job: int) -> tuple[tuple[str, float | str], ...]:
    packed = problem.jobs.packed
    name, submit, runtime = problem.jobs.names[job], float(packed.submit[job]), float(packed.runtime[job])
    nodes = int(packed.nodes[job])
    return (name, name), (str(nodes), float(nodes)), (duration(runtime), runtime), (f"{submit:.10g}", submit)


def _seconds(time: float) -> tuple[str, float]:
    return duration(time), time


def _losses(problem: WorkloadProblem, answers: Mapping[str, WorkloadSchedule]) -> Exhibit:
    """Return the jobs whose later end costs each schedule most, against the best schedule."""
    (best, reference), *others = answers.items()
    packed = problem.jobs.packed
    rows = []
    for name, schedule in others:
        losses: FloatArray = (schedule.last_ends - reference.last_ends) * packed.weight
        total = float(np.maximum(losses, 0).sum())
        for job in np.argsort(-losses, kind="stable")[:_LOSSES].tolist():
            if losses[job] > 0:
                waits = [float(plan.first_starts[job] - packed.submit[job]) for plan in (schedule, reference)]
                later = float(schedule.last_ends[job] - reference.last_ends[job])
                share = float(losses[job]) / total
                cells = _seconds(waits[0]), _seconds(waits[1]), _seconds(later), (f"{100 * share:.2f}", share)
                rows.append(((name, name), *_job_cells(problem, job), *cells))
    heads = (
        *("solver", "job", "nodes", "ran", "submitted [s]", "waited", f"waited in {best}", "later by"),
        "share of the loss [%]",
    )
    note = (
        f"Of each schedule the {_LOSSES} jobs whose delay against {best}, the best schedule here, weighs "
        "most. Share: of the sum of all such delays. That a job starts later may be the price of many that "
        "start earlier."
    )
    return Exhibit(f"Jobs that lose most against {best}", note, heads=heads, rows=tuple(rows))


def _longest_waits(problem: WorkloadProblem, name: str, schedule: WorkloadSchedule) -> Exhibit:
    waits = schedule.first_starts - problem.jobs.packed.submit
    longest = np.argsort(-waits, kind="stable")[:_LOSSES].tolist()
    rows = tuple(
        (*_job_cells(problem, job), _seconds(float(waits[job]))) for job in longest if waits[job] > 0
    )
    note = f"In the schedule of {name}; a second schedule would show which of them need not have waited."
    heads = ("job", "nodes", "ran", "submitted [s]", "waited")
    return Exhibit("Jobs that wait longest", note, heads=heads, rows=rows)


def _windows(
    problem: WorkloadProblem, answers: Mapping[str, WorkloadSchedule], given: Collection[str]
) -> list[Exhibit]:
    """Return Gantt charts of the best, the given and the worst schedules where the worst is busiest."""
    names = list(answers)
    window = busiest_window(problem, answers[names[-1]])
    how = (
        " Blue jobs were the first of the queue, orange ones went past it, green ones never waited; what a "
        "job is, and past whom it was backfilled, shows under the mouse. "
    )
    if problem.node_types:
        how += "Jobs that share a node have parts of its row, by the largest part that they take of anything."
    else:
        how += "A schedule says how many nodes a job has; which, is drawn as they fit best."
    where = "." if problem.node_types else ": as many nodes, wherever some are free."
    closed = f" What is closed is grey{where}" if problem.closed else ""
    exhibits: list[Exhibit] = []
    for name, schedule in _chosen(answers, given, reversed(names), _GANTTS).items():
        title = f"{name}: jobs on nodes"
        note = f"From {window[0]:.10g} s to {window[1]:.10g} s, where the queue of {names[-1]} is longest."
        drawing = gantt(problem, schedule, window, title)
        exhibits.append(Exhibit(title, note if exhibits else note + how + closed, drawing))
    return exhibits


def _describe(problem: WorkloadProblem) -> str:
    jobs, nodes = counted(len(problem.jobs), "job"), counted(problem.num_nodes, "node")
    submit = problem.jobs.packed.submit
    over = f", submitted over {duration(float(submit.max() - submit.min()))}" if len(submit) else ""
    kinds = ""
    if not problem.is_rigid:
        counts = np.bincount(problem.jobs.packed.kind, minlength=len(JOB_KINDS)).tolist()
        kinds = "".join(f", {count} {kind}" for kind, count in zip(JOB_KINDS, counts, strict=True) if count)
    more = f", {problem.beyond_plain}" if problem.beyond_plain else ""
    return f"{jobs}, {nodes}{over}{kinds}{more}"


def _beyond_plain(problem: WorkloadProblem) -> str:
    return problem.beyond_plain


def _plot_together(problem: WorkloadProblem, schedules: Sequence[WorkloadSchedule]) -> list[Drawing]:
    heading = [problem.name or "Workload", _describe(problem)]
    if problem.closed:
        heading[1] += "; grey is closed"
    if max((len(schedule.starts) for schedule in schedules), default=0) > GANTT_PIECES:
        scale = Scale.of(problem, schedules)
        return [timeline(problem, {"": schedule}, scale, heading=heading) for schedule in schedules]
    first, last = span(problem, schedules)
    window = first, last if last > first else first + 1
    heading.append("what a job is shows under the mouse")
    return [gantt(problem, schedule, window, heading[0], heading) for schedule in schedules]


def _timeline(problem: WorkloadProblem, schedule: WorkloadSchedule) -> Timeline:
    rows = (
        GanttRow(name, submit, tuple((*piece, False) for piece in schedule.pieces(job)))
        for job, (name, submit) in enumerate(
            zip(problem.jobs.names, problem.jobs.packed.submit.tolist(), strict=True)
        )
    )
    closed = tuple((part.start, part.end, part.closed) for part in closed_parts(problem))
    resources = ((*shown, *use_changes(problem, schedule, shown[0])) for shown in panels(problem))
    in_use = None if schedule.place_offsets is None else occupied_changes(schedule)
    return Timeline(tuple(rows), problem.num_nodes, closed, tuple(resources), in_use)


def _metric_fields(problem: WorkloadProblem, metrics: WorkloadMetrics) -> list[tuple[str, str]]:
    fields = [
        (name, f"mean {mean:.1f} s, median {median:.1f} s, 95 % up to {p95:.1f} s, max {highest:.1f} s")
        for name, mean, median, p95, highest in (
            (
                "turnaround",
                metrics.turnaround,
                metrics.median_turnaround,
                metrics.p95_turnaround,
                metrics.max_turnaround,
            ),
            ("wait", metrics.wait, metrics.median_wait, metrics.p95_wait, metrics.max_wait),
        )
    ]
    slowdown = (
        f"mean {metrics.slowdown:.2f}, median {metrics.median_slowdown:.2f}, "
        f"95 % up to {metrics.p95_slowdown:.2f}, max {metrics.max_slowdown:.2f}"
    )
    share = percent(metrics.backfilled_jobs / max(len(problem.jobs), 1))
    return [
        *fields,
        ("slowdown", slowdown),
        ("makespan", f"{metrics.makespan:.10g} s ({duration(metrics.makespan)})"),
        ("utilisation", percent(metrics.utilisation)),
        ("queue length", f"mean {metrics.mean_queue_length:.1f} jobs"),
        ("backfilled jobs", f"{metrics.backfilled_jobs}, {share} of all"),
        ("area-weighted response", f"{metrics.area_weighted_response:.1f} s"),
    ]


WORKLOAD_VIEW: Final[View[WorkloadProblem, WorkloadSchedule]] = View(
    describe=_describe,
    undrawable=lambda _: "",  # what is drawn of many jobs are means over time, however many they are
    caution=lambda problem: nodes_not_modelled(problem.meta),
    plot=lambda problem, schedule: _plot_together(problem, [schedule])[0],
    metric_fields=_metric_fields,
    plot_together=_plot_together,
    exhibits=workload_exhibits,
    timeline=_timeline,
    exports={
        "perfetto": Export(
            "a trace for Perfetto and Chrome's trace viewer",
            perfetto_text,
        ),
        "evalys": Export(
            "a jobs.csv as evalys and Batsim's tools read it", evalys_text, cannot_hold=_beyond_plain
        ),
        "swf": Export(
            "a log in the Standard Workload Format, with waits", swf_text, cannot_hold=_beyond_plain
        ),
    },
)


#: How many pieces begin before and after the instant in a picture of a part of a schedule.
_AROUND: Final = GANTT_PIECES // 8


def breach_picture(problem: WorkloadProblem, schedule: WorkloadSchedule, breach: Breach) -> Drawing:
    """Return who held which nodes around the instant of a breach, with the instant and the job marked.

    All of a schedule of up to 400 pieces; else about 100 starts around the instant.
    """
    job = problem.jobs.names.index(breach.job)
    heading = (f"{breach.claim} does not hold", breach.message, "what a job is shows under the mouse")
    window = _window(problem, schedule, breach.at)
    return gantt(problem, schedule, window, heading[0], heading, Mark(job, breach.at))


def never_run(problem: WorkloadProblem, schedule: WorkloadSchedule) -> tuple[dict[str, Any], str]:
    """Return how many jobs have no piece of a schedule, as JSON and as a line, which is empty for none."""
    never = int((np.diff(schedule.offsets) == 0).sum())
    line = f"{never} of {counted(len(problem.jobs), 'job')} never {'runs' if never == 1 else 'run'}"
    return {"never_run": never}, line if never else ""


def _window(problem: WorkloadProblem, schedule: WorkloadSchedule, at: float) -> tuple[float, float]:
    first, last = span(problem, [schedule])
    if len(schedule.starts) > GANTT_PIECES:
        starts = np.sort(schedule.starts)
        place = int(np.searchsorted(starts, at))
        first = float(starts[max(place - _AROUND, 0)])
        last = float(starts[min(place + _AROUND, len(starts) - 1)])
    first, last = min(first, at), max(last, at)
    return first, last if last > first else first + 1
