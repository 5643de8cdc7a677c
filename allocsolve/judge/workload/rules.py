"""The judge of workloads: feasibility, objectives and metrics of schedules, from the definitions alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from allocsolve.errors import InvalidAnswer
from allocsolve.families import Term, imported, value_of
from allocsolve.judge.messages import overloads, shown_seconds
from allocsolve.judge.quantiles import quantile
from allocsolve.judge.sums import are_sums, held_after, summable
from allocsolve.judge.workload.elastic import elastic_violations, needed_sizes
from allocsolve.judge.workload.machine import early_violations, machine_violations, open_node_seconds
from allocsolve.judge.workload.places import scarcest_amounts
from allocsolve.judge.workload.tolerance import (
    TIME_TOLERANCE_S,
    are_quarters,
    given_up,
    rounded_down,
    rounded_schedule,
)
from allocsolve.model import (
    EVOLVING,
    MALLEABLE,
    MAX_INTEGER,
    PROFILE,
    REACTIVE,
    SLOWDOWN_FLOOR_S,
    SPEEDUP_TABLE,
)

if TYPE_CHECKING:
    from allocsolve.model import (
        FloatArray,
        IntArray,
        Value,
        WorkloadObjective,
        WorkloadProblem,
        WorkloadSchedule,
        WorkloadTerm,
    )


def reconfigurations(
    problem: WorkloadProblem, schedule: WorkloadSchedule, areas: FloatArray
) -> dict[str, Any]:
    """Return the metrics of sizes that change: see `allocsolve.judge.WorkloadMetrics`.

    `areas` are the node-seconds that each job holds.
    """
    held = float(areas.sum())
    useful = float(_least_areas(problem).sum()) / held if held else 0.0
    fields: dict[str, Any] = {"resizes": 0, "resized_nodes": 0, "useful_share": useful}
    fields |= {"expansions_per_job": 0.0, "shrinks_per_job": 0.0}
    inner = np.ones(len(schedule.nodes), dtype=bool)
    inner[schedule.offsets[:-1]] = False
    change = np.diff(summable(schedule.nodes), prepend=0)[inner]
    if len(change):
        # An infeasible schedule may divide rigid jobs into pieces, too.
        elastic = max(1, int((problem.jobs.packed.kind >= MALLEABLE).sum()))
        fields["resizes"] = int((change != 0).sum())
        fields["resized_nodes"] = int(summable(np.abs(change)).sum())
        fields["expansions_per_job"] = int((change > 0).sum()) / elastic
        fields["shrinks_per_job"] = int((change < 0).sum()) / elastic
    return fields


def least_areas_by_law(problem: WorkloadProblem) -> FloatArray:
    """Return the least node-seconds of each job by its law of speedup; phases and profiles do not count.

    On more nodes of a law a job takes more node-seconds, but for tables.
    """
    packed = problem.jobs.packed
    if problem.is_rigid:
        return packed.nodes * packed.runtime
    least: FloatArray = packed.min_nodes * problem.run_times(packed.min_nodes)
    for idx in np.flatnonzero(packed.speedup == SPEEDUP_TABLE).tolist():
        rows = slice(packed.table_offsets[idx], packed.table_offsets[idx + 1])
        least[idx] = (packed.table_nodes[rows] * packed.table_seconds[rows]).min()
    return least


def _least_areas(problem: WorkloadProblem) -> FloatArray:
    """Return the least node-seconds of each job."""
    evolving, least = problem.jobs.evolving, least_areas_by_law(problem)
    for idx in np.flatnonzero(problem.jobs.packed.kind == EVOLVING).tolist():
        rows = slice(evolving.offsets[idx], evolving.offsets[idx + 1])
        if evolving.reading[idx] == REACTIVE:
            least[idx] = evolving.amounts[rows].sum()
        elif evolving.reading[idx] == PROFILE:
            least[idx] = (evolving.amounts[rows] * evolving.nodes[rows]).sum()
    return least


def workload_violations(
    problem: WorkloadProblem, schedule: WorkloadSchedule, tolerance: float = 0
) -> tuple[str, ...]:
    """Return what is wrong with a schedule; empty if it answers the problem.

    W1: each job runs once, not before its submission, without a break, on numbers of nodes that it allows. A
    rigid or moldable job keeps its number of nodes and runs for its run time on that number. A malleable job
    changes its number only at its points, when that much of its work is done, and ends when all work is done:
    a second on n nodes does ``1 / run time on n nodes`` of the work, a second of a stall does none. An
    evolving job changes its number when it asks for that or gives nodes back, and at no other time. W2: at no
    time more than `num_nodes` nodes are held; nodes that jobs give back at an instant are free for jobs that
    take them at the same instant. Of a machine with counted resources and closed windows, this holds for each
    resource and what is open of it, and no job starts before it is eligible. Where nodes are places, it holds
    on each node instead (`allocsolve.judge.workload.places.place_violations`).

    Where `WorkloadProblem.is_exact` holds, times are compared exactly, those that are no quarters of a second
    after rounding down. Else each job may end `TIME_TOLERANCE_S` before its work is done, and what follows on
    its nodes may begin as much before its end: both once for a job, whatever its pieces and sizes are.

    All times of a schedule of another program, which rounds them, may be off by `tolerance` seconds. If the
    problem is exact, times so near to quarters are taken for these, and the rest is as exact as without; else
    how much of its work a malleable job has done may be off by what it does in that time in each of its
    pieces. Messages name the job, the time (seconds) and the value. O(pieces log pieces).
    """
    if len(schedule.offsets) != len(problem.jobs) + 1:
        return (f"{len(schedule.offsets) - 1} scheduled jobs for {len(problem.jobs)} submitted",)
    if not problem.is_exact:
        return _violations(problem, schedule, tolerance, TIME_TOLERANCE_S)
    schedule = rounded_schedule(problem, schedule, tolerance)
    if are_quarters(schedule.starts) and are_quarters(schedule.ends):
        return _violations(problem, schedule, 0.0, 0.0)
    faults = _violations(problem, schedule, 0.0, TIME_TOLERANCE_S)
    return faults or tuple(
        f"with times rounded down to quarters of a second, as those of the problem are: {fault}"
        for fault in _violations(problem, rounded_down(problem, schedule), 0.0, 0.0)
    )


def _violations(
    problem: WorkloadProblem, schedule: WorkloadSchedule, tolerance: float, at_end: float
) -> tuple[str, ...]:
    """Return what is wrong if times may be off by `tolerance`, and ends of jobs by `at_end` besides."""
    return (
        *_job_violations(problem, schedule, tolerance, at_end),
        *_capacity_violations(problem, schedule, tolerance, at_end),
    )


def _job_violations(
    problem: WorkloadProblem, schedule: WorkloadSchedule, tolerance: float, at_end: float
) -> list[str]:
    """Return what breaks W1."""
    pieces, names = np.diff(schedule.offsets), problem.jobs.names
    elastic = np.zeros(len(pieces), dtype=bool)
    if problem.is_elastic:
        elastic = problem.jobs.packed.kind >= MALLEABLE
    wrong_count = np.where(elastic, pieces < 1, pieces != 1)
    if wrong_count.any():
        return [
            f"job {names[idx]!r} never runs"
            if pieces[idx] == 0
            else f"job {names[idx]!r} runs in {pieces[idx]} pieces, but cannot change its size"
            for idx in np.flatnonzero(wrong_count).tolist()
        ]
    violations = _early_violations(problem, schedule, tolerance)
    violations += _run_violations(problem, schedule, np.flatnonzero(~elastic), tolerance + at_end)
    if elastic.any():
        violations += elastic_violations(problem, schedule, tolerance)
    return violations


def _early_violations(problem: WorkloadProblem, schedule: WorkloadSchedule, tolerance: float) -> list[str]:
    submit, starts = problem.jobs.packed.submit, schedule.first_starts
    return [
        *(
            f"job {problem.jobs.names[idx]!r} starts at {shown_seconds(starts[idx])} s, "
            f"before its submission at {shown_seconds(submit[idx])} s"
            for idx in np.flatnonzero(starts < submit - tolerance).tolist()
        ),
        *early_violations(problem, schedule, tolerance),
    ]


def _run_violations(
    problem: WorkloadProblem, schedule: WorkloadSchedule, jobs: IntArray, tolerance: float
) -> list[str]:
    """Return the violations of these jobs, of one piece each."""
    at = schedule.offsets[jobs]
    nodes, lasted = schedule.nodes[at], schedule.ends[at] - schedule.starts[at]
    times = problem.run_times(nodes, jobs)
    if problem.node_types:  # on how many nodes a job may lie is another question
        times = problem.jobs.packed.runtime[jobs]
    wrong_size = np.isnan(times)
    in_time = np.abs(lasted - times) <= tolerance
    if not tolerance:  # then what is rounded away counts
        in_time &= are_sums(schedule.ends[at], schedule.starts[at], times)
    wrong_time = ~wrong_size & ~in_time
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


def _capacity_violations(
    problem: WorkloadProblem, schedule: WorkloadSchedule, tolerance: float, at_end: float
) -> list[str]:
    """Return what breaks W2. Usage rises at starts only, so it is compared with all nodes there."""
    left = given_up(schedule, tolerance, at_end)
    if problem.resources or problem.closed or problem.node_types:
        return machine_violations(problem, schedule, left, tolerance)
    begun = np.argsort(schedule.starts, kind="stable")
    ended = np.argsort(left, kind="stable")
    starts, ends = schedule.starts[begun], left[ended]
    nodes = summable(schedule.nodes)
    taken = np.cumsum(nodes[begun])
    returned = np.concatenate([[0], np.cumsum(nodes[ended])])
    used = taken - returned[np.searchsorted(ends, starts, side="right")]
    # Of several starts at one instant, the last one counts all of them.
    last = np.ones(len(starts), dtype=bool)
    last[:-1] = starts[:-1] != starts[1:]
    if not (used[last] > problem.num_nodes).any():
        return []
    return _overloads(problem, schedule, left)


def _overloads(problem: WorkloadProblem, schedule: WorkloadSchedule, left: FloatArray) -> list[str]:
    """Return a line for each span of time in which more than all nodes are held, by a sweep."""
    times = np.concatenate([schedule.starts, left])
    moments, first, at = np.unique(times, return_index=True, return_inverse=True)
    held = held_after(len(moments), schedule.nodes, *np.split(at, 2))
    shown = np.concatenate([schedule.starts, schedule.ends])[first]
    return overloads(shown, held, problem.num_nodes)


@dataclass(frozen=True, slots=True)
class WorkloadMetrics:
    """What a schedule is worth; times in seconds.

    Means are weighted; medians, 95th percentiles and maxima are those of the jobs that count: of weights
    above 0. Turnaround is end minus submission, wait is start minus submission, slowdown is
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
    #: Node-seconds that jobs hold / those of all open nodes from the first submission to the last end. Where
    #: nodes are places: of that of which jobs need most against what there is, such as processors.
    utilisation: float
    #: The mean number of jobs that wait during that time.
    mean_queue_length: float
    #: Jobs that start before a job submitted earlier (at one instant: before a job listed earlier).
    backfilled_jobs: int
    #: Mean turnaround, weighted by the node-seconds of the jobs times their weights (AWRT).
    area_weighted_response: float
    #: Changes of the sizes of running jobs, and the nodes that jobs took or gave up by them.
    resizes: int
    resized_nodes: int
    #: Mean numbers of changes to more and to fewer nodes of malleable and evolving jobs; 0 without such jobs.
    expansions_per_job: float
    shrinks_per_job: float
    #: The least node-seconds that the jobs could hold / those that they hold.
    useful_share: float


def workload_metrics(problem: WorkloadProblem, schedule: WorkloadSchedule) -> WorkloadMetrics:
    """Return the metrics of a feasible schedule. O(pieces log pieces).

    `InvalidAnswer` if a job has no piece: then there is no mean over all jobs.
    """
    packed = problem.jobs.packed
    idle = np.diff(schedule.offsets) == 0
    if idle.any():
        raise InvalidAnswer(f"job {problem.jobs.names[int(np.argmax(idle))]!r} never runs")
    if not len(problem.jobs):
        return WorkloadMetrics(**dict.fromkeys(WorkloadMetrics.__slots__, 0))
    starts, ends = schedule.first_starts, schedule.last_ends
    turnarounds, waits = ends - packed.submit, starts - packed.submit
    slowdowns = np.maximum(1, turnarounds / np.maximum(packed.runtime, SLOWDOWN_FLOOR_S))
    areas = _job_areas(schedule)
    span = max(float(ends.max() - packed.submit.min()), TIME_TOLERANCE_S)
    counts = packed.weight > 0
    used, there = float(areas.sum()), problem.num_nodes * span
    if problem.node_types:
        held, number = _scarcest(problem, schedule)
        used, there = float((held * (schedule.ends - schedule.starts)).sum()), number * span
    if problem.closed:
        first = float(packed.submit.min())
        there = open_node_seconds(problem, first, first + span) or there
    columns = {"turnaround": turnarounds, "slowdown": slowdowns, "wait": waits}
    fields: dict[str, Any] = {}
    for name, column in columns.items():
        fields[name] = _mean(column, packed.weight)
        for what, share in (("median", 0.5), ("p95", 0.95), ("max", 1.0)):
            fields[f"{what}_{name}"] = quantile(column[counts], share) if counts.any() else 0.0
    return WorkloadMetrics(
        **fields,
        makespan=float(ends.max()),
        utilisation=used / there,
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
    total: FloatArray = np.add.reduceat(areas, schedule.offsets[:-1])
    return total


def _scarcest(problem: WorkloadProblem, schedule: WorkloadSchedule) -> tuple[IntArray, int]:
    """Return how many nodes each piece holds and how many there are; on places, of what is scarcest."""
    if not problem.node_types:
        return schedule.nodes, problem.num_nodes
    amounts, there = scarcest_amounts(problem)
    return np.repeat(amounts, np.diff(schedule.offsets)), int(there.sum())


def _mean(values: FloatArray, weights: FloatArray) -> float:
    total = _sum(weights)
    return _sum(values * weights) / total if total else 0.0


def _sum(values: FloatArray) -> float:
    """Return the sum, rounded once; sums of multiples of a quarter are exact up to 2^51."""
    if float(np.abs(values).sum()) < MAX_INTEGER / 4 and are_quarters(values):
        return float(values.sum())
    return math.fsum(values.tolist())


def _backfilled(submits: FloatArray, starts: FloatArray) -> int:
    if (np.diff(submits) < 0).any():
        starts = starts[np.argsort(submits, kind="stable")]
    return int((starts < np.maximum.accumulate(starts)).sum())


def _term(name: WorkloadTerm, title: str, unit: str) -> Term[WorkloadProblem]:
    workload_bound = imported("allocsolve.bounds.workload:workload_bound")
    return Term(
        *(name, title, unit, lambda metrics: float(getattr(metrics, name))),
        bound=lambda problem: workload_bound(problem.on_plain_machine(), name),
    )


#: What can be minimised of a schedule.
WORKLOAD_TERMS: Final = (
    _term("turnaround", "mean time from submission to end", "s"),
    _term("slowdown", "mean bounded slowdown", ""),
    _term("wait", "mean time from submission to start", "s"),
    _term("makespan", "end of the last job", "s"),
)


def workload_value(
    problem: WorkloadProblem, schedule: WorkloadSchedule, objective: WorkloadObjective = ("turnaround",)
) -> Value:
    """Return the objective value of a feasible schedule; a tuple for an objective of several terms."""
    return value_of(WORKLOAD_TERMS, workload_metrics(problem, schedule), objective)


@dataclass(frozen=True, slots=True)
class WindowMetrics:
    """Unweighted means over the jobs of a window; times in seconds."""

    jobs: int
    turnaround: float
    wait: float
    slowdown: float
    #: Node-seconds that all jobs hold in the window / those of all nodes that are open.
    utilisation: float


def window_metrics(
    problem: WorkloadProblem, schedule: WorkloadSchedule, first_submit: float, last_end: float
) -> WindowMetrics:
    """Return the means of the jobs that are submitted at `first_submit` or later and end by `last_end`.

    Which jobs these are depends on the schedule. Papers that leave out the cool-down count like this (Zojer
    et al. 2025). For an objective, give weights of 0 instead: they leave out the same jobs in every schedule.
    """
    packed, ends = problem.jobs.packed, schedule.last_ends
    inside = (packed.submit >= first_submit) & (ends <= last_end)
    ones = inside.astype(np.float64)
    turnarounds = ends - packed.submit
    slowdowns = np.maximum(1, turnarounds / np.maximum(packed.runtime, SLOWDOWN_FLOOR_S))
    held = np.minimum(schedule.ends, last_end) - np.maximum(schedule.starts, first_submit)
    nodes, number = _scarcest(problem, schedule)
    there = number * max(last_end - first_submit, TIME_TOLERANCE_S)
    if problem.closed:
        there = open_node_seconds(problem, first_submit, last_end) or there
    area = float((np.maximum(held, 0) * nodes).sum())
    return WindowMetrics(
        jobs=int(inside.sum()),
        turnaround=_mean(turnarounds, ones),
        wait=_mean(schedule.first_starts - packed.submit, ones),
        slowdown=_mean(slowdowns, ones),
        utilisation=area / there,
    )
