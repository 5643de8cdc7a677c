"""What a page shows of a log and several schedules of it: time, prices, waiting, losses, a window."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from allocsolve.families import Exhibit
from allocsolve.pictures._workload_gantt import busiest_window, gantt
from allocsolve.pictures._workload_series import node_prices
from allocsolve.pictures._workload_timeline import Scale, timeline
from allocsolve.pictures.chart import Axis
from allocsolve.pictures.svg import SERIES
from allocsolve.pictures.text import duration
from allocsolve.pictures.workload_waits import size_classes, wait_chart

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from allocsolve.model import FloatArray, WorkloadProblem, WorkloadSchedule

__all__ = ["workload_exhibits"]

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

    Parameters
    ----------
    problem
        The problem.
    answers
        Feasible schedules by the names of their solvers, the best first: the others are compared with it.
    certificates
        Of bounds; the first that prices time is drawn under the schedules.
    given
        Names of schedules that a user has made: they are drawn even if many are better.

    Notes
    -----
    *Complexity*: O(jobs log jobs) for each answer; the drawings have a size that does not grow with the jobs.
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
    priced = next((one for one in certificates if node_prices(problem, one, scale.edges) is not None), None)
    note = f"Means over {duration(float(scale.edges[1] - scale.edges[0]))} each.{more}"
    if priced is not None:
        note += (
            " Below: the price of a node-second in the bound, by how much one more node would lower the bound"
            f" on the sum of {priced.get('term', 'the objective')} over all jobs for each second that it is "
            "there. The machine was scarce where the price is high, and large enough where it is 0."
        )
    drawing = timeline(
        problem,
        schedules,
        scale,
        certificate=priced,
    )
    return Exhibit("Over time", note, drawing)


def _by_size(problem: WorkloadProblem, schedules: Mapping[str, WorkloadSchedule], more: str) -> Exhibit:
    classes, axis = size_classes(problem)
    note = f"Mean wait of the jobs between a power of two and the one before it.{more}"
    return Exhibit("Waiting by size", note, wait_chart("Waiting by size", problem, schedules, classes, axis))


def _by_hour(problem: WorkloadProblem, schedules: Mapping[str, WorkloadSchedule], more: str) -> Exhibit:
    epoch = problem.meta.get("unix_time", 0)
    shift = float(epoch) if isinstance(epoch, int | float) else 0.0
    hours = ((problem.packed.submit + shift) // _HOUR_S % _HOURS).astype(np.int64)
    axis = Axis("hour of the submission", 0, _HOURS - 1, whole=True, steps=12)
    zone = "in UTC" if shift else "counted from time 0 of the log"
    note = f"Mean wait of the jobs submitted in each hour of the day, {zone}.{more}"
    drawing = wait_chart("Waiting by hour of the day", problem, schedules, hours, axis)
    return Exhibit("Waiting by hour of the day", note, drawing)


def _job_cells(problem: WorkloadProblem, job: int) -> tuple[tuple[str, float | str], ...]:
    packed = problem.packed
    name, submit, runtime = problem.jobs.names[job], float(packed.submit[job]), float(packed.runtime[job])
    nodes = int(packed.nodes[job])
    return (name, name), (str(nodes), float(nodes)), (duration(runtime), runtime), (f"{submit:.10g}", submit)


def _seconds(time: float) -> tuple[str, float]:
    return duration(time), time


def _losses(problem: WorkloadProblem, answers: Mapping[str, WorkloadSchedule]) -> Exhibit:
    """Return the jobs whose later end costs each schedule most, against the best schedule."""
    (best, reference), *others = answers.items()
    packed = problem.packed
    rows = []
    for name, schedule in others:
        losses: FloatArray = (schedule.last_ends - reference.last_ends) * packed.weight
        total = float(np.maximum(losses, 0).sum())
        for job in np.argsort(-losses, kind="stable")[:_LOSSES].tolist():
            if losses[job] > 0:
                waits = [float(one.first_starts[job] - packed.submit[job]) for one in (schedule, reference)]
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
    waits = schedule.first_starts - problem.packed.submit
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
        "job is, and past whom it was backfilled, shows under the mouse. A schedule says how many nodes a "
        "job has; which, is drawn as they fit best."
    )
    exhibits: list[Exhibit] = []
    for name, schedule in _chosen(answers, given, reversed(names), _GANTTS).items():
        title = f"{name}: jobs on nodes"
        note = f"From {window[0]:.10g} s to {window[1]:.10g} s, where the queue of {names[-1]} is longest."
        drawing = gantt(problem, schedule, window, title)
        exhibits.append(Exhibit(title, note if exhibits else note + how, drawing))
    return exhibits
