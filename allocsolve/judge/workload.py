"""The judge of workloads: feasibility, objectives and metrics of schedules, from the definitions alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from allocsolve.errors import InvalidAnswer
from allocsolve.judge.workload_evolving import elastic_violations
from allocsolve.judge.workload_shown import needed_sizes, shown_seconds
from allocsolve.judge.workload_work import reconfigurations
from allocsolve.model import MALLEABLE, MAX_INTEGER, SLOWDOWN_FLOOR_S

if TYPE_CHECKING:
    from allocsolve.model import (
        FloatArray,
        IntArray,
        Value,
        WorkloadObjective,
        WorkloadProblem,
        WorkloadSchedule,
    )

__all__ = [
    "TIME_TOLERANCE_S",
    "WindowMetrics",
    "WorkloadMetrics",
    "schedule_tolerance",
    "value_of_workload_metrics",
    "window_metrics",
    "workload_metrics",
    "workload_value",
    "workload_violations",
]

#: By how much times may differ that are not multiples of a quarter of a second; those are compared exactly.
TIME_TOLERANCE_S: Final = 1e-6


def workload_violations(problem: WorkloadProblem, schedule: WorkloadSchedule) -> tuple[str, ...]:
    """Return what is wrong with a schedule; empty if it answers the problem.

    W1: each job runs once, not before its submission, without a break, on numbers of nodes that it allows. A
    rigid or moldable job keeps its number and runs for its run time on so many. A malleable one changes its
    number only when its work is done up to one of its points, and ends when all is done: a second on n nodes
    does ``1 / run time on n nodes`` of the work, and none while the job stalls. An evolving job changes its
    number as it asks for, or as it gives nodes back, and at no other time. W2: at no time
    more than `num_nodes` nodes are held; nodes that are left at an instant are there for those who take them
    then.

    Messages name the job, the time (seconds) and the value. Multiples of a quarter of a second are compared
    exactly, other times with `TIME_TOLERANCE_S`. O(pieces log pieces).
    """
    if len(schedule.offsets) != len(problem.jobs) + 1:
        return (f"{len(schedule.offsets) - 1} scheduled jobs for {len(problem.jobs)} submitted",)
    tolerance = schedule_tolerance(problem, schedule)
    return (
        *_job_violations(problem, schedule, tolerance),
        *_capacity_violations(problem, schedule, tolerance),
    )


def schedule_tolerance(problem: WorkloadProblem, schedule: WorkloadSchedule) -> float:
    """Return by how much times of a schedule may differ that are meant to be one, in seconds."""
    exact = problem.is_exact and _in_quarters(schedule.starts) and _in_quarters(schedule.ends)
    return 0.0 if exact else TIME_TOLERANCE_S


def _in_quarters(times: FloatArray) -> bool:
    return bool((4 * times % 1 == 0).all())


def _job_violations(problem: WorkloadProblem, schedule: WorkloadSchedule, tolerance: float) -> list[str]:
    """W1, for all jobs at once; then the messages of those that break it."""
    pieces, names = np.diff(schedule.offsets), problem.jobs.names
    elastic = np.zeros(len(pieces), dtype=bool)
    if problem.is_elastic:
        elastic = problem.packed.kind >= MALLEABLE
    wrong_count = np.where(elastic, pieces < 1, pieces != 1)
    if wrong_count.any():
        return [
            f"job {names[idx]!r} never runs"
            if pieces[idx] == 0
            else f"job {names[idx]!r} runs in {pieces[idx]} pieces, but cannot change its size"
            for idx in np.flatnonzero(wrong_count).tolist()
        ]
    violations = _early_violations(problem, schedule, tolerance)
    violations += _run_violations(problem, schedule, np.flatnonzero(~elastic), tolerance)
    if elastic.any():
        violations += elastic_violations(problem, schedule, tolerance)
    return violations


def _early_violations(problem: WorkloadProblem, schedule: WorkloadSchedule, tolerance: float) -> list[str]:
    submit, starts = problem.packed.submit, schedule.first_starts
    return [
        f"job {problem.jobs.names[idx]!r} starts at {shown_seconds(starts[idx])} s, "
        f"before its submission at {shown_seconds(submit[idx])} s"
        for idx in np.flatnonzero(starts < submit - tolerance).tolist()
    ]


def _run_violations(
    problem: WorkloadProblem, schedule: WorkloadSchedule, jobs: IntArray, tolerance: float
) -> list[str]:
    """Return what is wrong with these jobs, of one piece each."""
    at = schedule.offsets[jobs]
    nodes, lasted = schedule.nodes[at], schedule.ends[at] - schedule.starts[at]
    times = problem.run_times(nodes, jobs)
    wrong_size = np.isnan(times)
    wrong_time = ~wrong_size & ~(np.abs(lasted - times) <= tolerance)
    violations = []
    for row in np.flatnonzero(wrong_size | wrong_time).tolist():
        idx = int(jobs[row])
        job = f"job {problem.jobs.names[idx]!r}"
        if wrong_size[row]:
            violations.append(f"{job} holds {nodes[row]} nodes, {needed_sizes(problem, idx)}")
        else:
            on = f" on {nodes[row]} nodes" if problem.jobs.speedups else ""
            violations.append(
                f"{job} runs for {shown_seconds(lasted[row])} s, but takes {shown_seconds(times[row])} s{on}"
            )
    return violations


def _capacity_violations(problem: WorkloadProblem, schedule: WorkloadSchedule, tolerance: float) -> list[str]:
    """W2: usage only rises at starts, so it is looked at there."""
    begun = np.argsort(schedule.starts, kind="stable")
    ended = np.argsort(schedule.ends, kind="stable")
    starts, ends = schedule.starts[begun], schedule.ends[ended] - tolerance
    taken = np.cumsum(schedule.nodes[begun])
    returned = np.concatenate([[0], np.cumsum(schedule.nodes[ended])])
    used = taken - returned[np.searchsorted(ends, starts, side="right")]
    # Of several starts at one instant the last has all of them behind it.
    last = np.ones(len(starts), dtype=bool)
    last[:-1] = starts[:-1] != starts[1:]
    if not (used[last] > problem.num_nodes).any():
        return []
    return _overloads(problem, schedule, tolerance)


def _overloads(problem: WorkloadProblem, schedule: WorkloadSchedule, tolerance: float) -> list[str]:
    """Return a line for each span of time with more than all nodes, by a sweep over starts and ends."""
    times = np.concatenate([schedule.starts, schedule.ends - tolerance])
    change = np.concatenate([schedule.nodes, -schedule.nodes]).astype(np.float64)
    moments, at = np.unique(times, return_inverse=True)
    usage = np.cumsum(np.bincount(at, weights=change, minlength=len(moments))).astype(np.int64)
    over = usage > problem.num_nodes
    violations = []
    for first in np.flatnonzero(over & ~np.concatenate([[False], over[:-1]])).tolist():
        until = first + int(np.argmin(over[first:]))  # the last moment is never over: nothing is held then
        peak = first + int(np.argmax(usage[first:until]))
        span = f"from {shown_seconds(moments[first])} s to {shown_seconds(moments[until])} s"
        violations.append(
            f"{span} up to {usage[peak]} nodes are held "
            f"(first at {shown_seconds(moments[peak])} s) on a cluster of {problem.num_nodes}"
        )
    return violations


@dataclass(frozen=True, slots=True)
class WorkloadMetrics:
    """What a schedule is worth; times in seconds.

    Means are weighted; medians, 95th percentiles and maxima are those of the jobs that count (of a weight
    above 0). Turnaround is end minus submission, wait is start minus submission, slowdown is
    ``max(1, turnaround / max(run time, 10 s))`` with the run time on `Job.nodes` nodes. All are 0 if no job
    counts.
    """

    turnaround: float
    slowdown: float
    wait: float
    #: The latest end of a job, counted or not, from time 0.
    makespan: float
    median_turnaround: float
    median_slowdown: float
    median_wait: float
    #: The least value that 95 % of the jobs do not exceed.
    p95_turnaround: float
    p95_slowdown: float
    p95_wait: float
    max_turnaround: float
    max_slowdown: float
    max_wait: float
    #: Node-seconds held of all jobs, as a share of all nodes from the first submission to the last end.
    utilisation: float
    #: Jobs that wait, as a mean over that time.
    mean_queue_length: float
    #: Jobs that start before one that was submitted earlier (at one instant: that stands before them).
    backfilled_jobs: int
    #: Mean turnaround, weighted with the node-seconds of the jobs and their weights (AWRT).
    area_weighted_response: float
    #: Changes of the sizes of running jobs, and the nodes that jobs took or gave up in them.
    resizes: int
    resized_nodes: int
    #: Changes to more and to fewer nodes, as means over the malleable and evolving jobs; 0 if there are none.
    expansions_per_job: float
    shrinks_per_job: float
    #: The least node-seconds that the jobs could hold, as a share of those that they hold.
    useful_share: float


def workload_metrics(problem: WorkloadProblem, schedule: WorkloadSchedule) -> WorkloadMetrics:
    """Return the metrics of a feasible schedule. O(pieces log pieces).

    Raises
    ------
    InvalidAnswer
        If a job has no piece: there is no mean over all jobs then.
    """
    packed = problem.packed
    idle = np.diff(schedule.offsets) == 0
    if idle.any():
        msg = f"job {problem.jobs.names[int(np.argmax(idle))]!r} never runs"
        raise InvalidAnswer(msg)
    if not len(problem.jobs):
        return WorkloadMetrics(**dict.fromkeys(WorkloadMetrics.__slots__, 0))
    starts, ends = schedule.first_starts, schedule.last_ends
    turnarounds, waits = ends - packed.submit, starts - packed.submit
    slowdowns = np.maximum(1, turnarounds / np.maximum(packed.runtime, SLOWDOWN_FLOOR_S))
    areas = _job_areas(schedule)
    span = max(float(ends.max() - packed.submit.min()), TIME_TOLERANCE_S)
    counts = packed.weight > 0
    columns = {"turnaround": turnarounds, "slowdown": slowdowns, "wait": waits}
    fields: dict[str, Any] = {}
    for name, column in columns.items():
        fields[name] = _mean(column, packed.weight)
        spread = _spread(column[counts])
        fields |= dict(zip((f"median_{name}", f"p95_{name}", f"max_{name}"), spread, strict=True))
    return WorkloadMetrics(
        **fields,
        makespan=float(ends.max()),
        utilisation=float(areas.sum()) / (problem.num_nodes * span),
        mean_queue_length=float(waits.sum()) / span,
        backfilled_jobs=_backfilled(packed.submit, starts),
        area_weighted_response=_mean(turnarounds, packed.weight * areas),
        **reconfigurations(problem, schedule, areas),
    )


def _job_areas(schedule: WorkloadSchedule) -> FloatArray:
    """Return the node-seconds that each job holds."""
    areas = (schedule.ends - schedule.starts) * schedule.nodes
    if len(areas) == len(schedule.offsets) - 1:
        return areas
    before = np.concatenate([[0.0], np.cumsum(areas)])
    total: FloatArray = before[schedule.offsets[1:]] - before[schedule.offsets[:-1]]
    return total


def _mean(values: FloatArray, weights: FloatArray) -> float:
    total = _sum(weights)
    return _sum(values * weights) / total if total else 0.0


def _sum(values: FloatArray) -> float:
    """Return the sum, rounded once; of multiples of a quarter it is exact up to 2^51."""
    if float(np.abs(values).sum()) < MAX_INTEGER / 4 and _in_quarters(values):
        return float(values.sum())
    return math.fsum(values.tolist())


def _spread(values: FloatArray) -> tuple[float, float, float]:
    """Return median, 95th percentile and maximum."""
    count = len(values)
    if not count:
        return 0.0, 0.0, 0.0
    middle, high = count // 2, -(-95 * count // 100) - 1
    ordered = np.partition(values, (max(middle - 1, 0), middle, high, count - 1))
    median = ordered[middle] if count % 2 else (ordered[middle - 1] + ordered[middle]) / 2
    return float(median), float(ordered[high]), float(ordered[-1])


def _backfilled(submits: FloatArray, starts: FloatArray) -> int:
    if (np.diff(submits) < 0).any():
        starts = starts[np.argsort(submits, kind="stable")]
    return int((starts < np.maximum.accumulate(starts)).sum())


def value_of_workload_metrics(metrics: WorkloadMetrics, objective: WorkloadObjective) -> Value:
    """Return the value of a schedule with these metrics: a tuple for an objective of several terms."""
    values = tuple(float(getattr(metrics, term)) for term in objective)
    return values if len(objective) > 1 else values[0]


def workload_value(
    problem: WorkloadProblem, schedule: WorkloadSchedule, objective: WorkloadObjective = ("turnaround",)
) -> Value:
    """Return the objective value of a feasible schedule; a tuple for an objective of several terms."""
    return value_of_workload_metrics(workload_metrics(problem, schedule), objective)


@dataclass(frozen=True, slots=True)
class WindowMetrics:
    """Means over the jobs of a window, whatever their weights; times in seconds."""

    jobs: int
    turnaround: float
    wait: float
    slowdown: float
    #: Node-seconds held of all jobs in the window, as a share of all nodes.
    utilisation: float


def window_metrics(
    problem: WorkloadProblem, schedule: WorkloadSchedule, first_submit: float, last_end: float
) -> WindowMetrics:
    """Return the means of the jobs that are submitted from one time on and end by another.

    Which jobs these are depends on the schedule: so papers count that leave out the cool-down (Zojer et al.
    2025). It is no objective: weights of 0 leave out jobs of every schedule alike.
    """
    packed, ends = problem.packed, schedule.last_ends
    inside = (packed.submit >= first_submit) & (ends <= last_end)
    ones = inside.astype(np.float64)
    turnarounds = ends - packed.submit
    slowdowns = np.maximum(1, turnarounds / np.maximum(packed.runtime, SLOWDOWN_FLOOR_S))
    held = np.minimum(schedule.ends, last_end) - np.maximum(schedule.starts, first_submit)
    area = float((np.maximum(held, 0) * schedule.nodes).sum())
    return WindowMetrics(
        jobs=int(inside.sum()),
        turnaround=_mean(turnarounds, ones),
        wait=_mean(schedule.first_starts - packed.submit, ones),
        slowdown=_mean(slowdowns, ones),
        utilisation=area / (problem.num_nodes * max(last_end - first_submit, TIME_TOLERANCE_S)),
    )
