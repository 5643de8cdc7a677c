"""Cheap lower bounds on the terms of workloads: each job by itself; makespan by areas and by wide jobs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from allocsolve.bounds.workload.costs import least_phases
from allocsolve.model import MALLEABLE, OVERHEAD, PROFILE, REACTIVE, SLOWDOWN_FLOOR_S, SPEEDUP_TABLE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from allocsolve.model import FloatArray, IntArray, WorkloadProblem, WorkloadTerm

#: Seconds by which times that are not multiples of a quarter may be off in a valid schedule.
_TOLERANCE_S = 1e-6
#: The share by which the work of a job that changes its size may be off in addition.
_LOOSE_WORK = 2e-9
#: Relative; far above the rounding of a sum of doubles.
_ROUNDING = 2.0**-40


class MakespanBound(NamedTuple):
    """A lower bound on the makespan."""

    #: Seconds.
    value: float
    #: JSON data, for `allocsolve.judge`.
    certificate: Mapping[str, object]


def in_quarters(problem: WorkloadProblem) -> bool:
    """Return whether all times in schedules may be multiples of a quarter: ends of elastic jobs are not."""
    return problem.is_exact and not problem.is_elastic


def shortest_run_times(problem: WorkloadProblem) -> FloatArray:
    """Return the least run time of each job, shape (jobs,), in seconds.

    With a law it is the time on the most nodes, or on the number at which overhead makes the job fastest;
    with phases the time with all the nodes that each can use, the start included; with a profile that without
    waiting.
    """
    packed = problem.packed
    if problem.is_rigid:
        return packed.runtime
    times = problem.run_times(packed.max_nodes)
    for idx in np.flatnonzero(packed.speedup == SPEEDUP_TABLE).tolist():
        times[idx] = packed.table_seconds[slice(*packed.table_offsets[idx : idx + 2])].min()
    slower = np.flatnonzero((packed.speedup == OVERHEAD) & (packed.parameter > 0))
    if len(slower):
        fastest = 1 / np.sqrt(packed.parameter[slower])
        on_one = packed.runtime[slower] / _overhead(problem, slower, packed.nodes[slower])
        for near in (np.floor(fastest), np.ceil(fastest)):
            sizes = np.clip(near, packed.min_nodes[slower], packed.max_nodes[slower])
            times[slower] = np.fmin(times[slower], on_one * _overhead(problem, slower, sizes))
    return np.where(problem.jobs.evolving.reading == PROFILE, packed.runtime, times)


def _overhead(problem: WorkloadProblem, jobs: IntArray, sizes: FloatArray | IntArray) -> FloatArray:
    """Return run times on these sizes, in units of that on one node without overhead."""
    times: FloatArray = 1 / sizes + problem.packed.parameter[jobs] * sizes
    return times


def least_areas(problem: WorkloadProblem) -> FloatArray:
    """Return the least node-seconds of each job, shape (jobs,).

    With a law it is the area on the fewest nodes; with phases their work and that of the start; with a
    profile the area without waiting.
    """
    packed, evolving = problem.packed, problem.jobs.evolving
    if problem.is_rigid:
        return packed.nodes * packed.runtime
    areas: FloatArray = packed.min_nodes * problem.run_times(packed.min_nodes)
    for idx in np.flatnonzero(packed.speedup == SPEEDUP_TABLE).tolist():
        rows = slice(*packed.table_offsets[idx : idx + 2])
        areas[idx] = (packed.table_nodes[rows] * packed.table_seconds[rows]).min()
    for idx in np.flatnonzero(evolving.reading == REACTIVE).tolist():
        areas[idx] = math.fsum(seconds * nodes for seconds, nodes in least_phases(problem, idx))
    for idx in np.flatnonzero(evolving.reading == PROFILE).tolist():
        rows = slice(*evolving.offsets[idx : idx + 2])
        areas[idx] = float(evolving.amounts[rows] @ evolving.nodes[rows])
    return areas


def workload_bound(problem: WorkloadProblem, term: WorkloadTerm) -> float:
    """Return a cheap lower bound on a term.

    Notes
    -----
    Turnaround and slowdown of a job are at least those of its shortest run, started at once; its wait is at
    least 0. A malleable job does no more work in a second than on its fastest number of nodes; nor does
    one with requests. For the makespan see `makespan_bound`. O(jobs log jobs).

    Examples
    --------
    >>> from allocsolve.model import Job, WorkloadProblem
    >>> problem = WorkloadProblem(4, [Job(0, 3, 100), Job(1, 4, 10), Job(2, 1, 1000)])
    >>> workload_bound(problem, "turnaround"), workload_bound(problem, "makespan")
    (370.0, 1002.0)
    """
    if term == "makespan":
        return makespan_bound(problem).value
    packed = problem.packed
    scale = math.fsum(packed.weight)
    if term == "wait" or scale == 0:
        return 0.0
    times = np.maximum(0.0, shortest_run_times(problem) * _least_work(problem) - _looseness(problem))
    if term == "slowdown":
        times = np.maximum(1.0, times / np.maximum(packed.runtime, SLOWDOWN_FLOOR_S))
    return math.fsum(packed.weight * times) / scale


def makespan_bound(problem: WorkloadProblem) -> MakespanBound:
    """Return the largest of three lower bounds on the makespan.

    Notes
    -----
    *Proof.* ``longest``: a job ends no earlier than its shortest run after its submission. ``area``: what is
    submitted at t or later runs after t, and takes its least area on N nodes. ``wide``: jobs that hold more
    than N / 2 nodes at every instant run one after the other (`WorkloadProblem.least_held`). A malleable job
    takes at least the least area of its numbers of nodes, and the least run time, as it does the work in
    shares on some of them; so does one with requests. One with phases holds a node
    for each second of its work on it.

    If all times are whole seconds (or quarters), some optimum starts jobs at such times only: when each job
    starts as early as the jobs before it allow, none ends later. So the bound is rounded up to such a time.
    Other times may be off by a tolerance in valid schedules, and jobs are taken to be shorter by it.

    *Complexity*: O(jobs log jobs).
    """
    packed = problem.packed
    if not len(problem.jobs):
        return MakespanBound(0.0, {"kind": "makespan", "rule": "longest", "after": 0.0})
    less = _looseness(problem)
    submit = np.maximum(0.0, packed.submit - less)
    work = _least_work(problem)
    times = shortest_run_times(problem) * work - less
    areas = least_areas(problem) * work - less * packed.max_nodes
    wide = np.where(2 * problem.least_held > problem.num_nodes, times, 0.0)
    order = np.argsort(submit, kind="stable")
    last = int(np.argmax(submit + times))
    bounds = {"longest": (_rounded(problem, float(submit[last] + times[last])), last)}
    for rule, load, num_nodes in (("area", areas, problem.num_nodes), ("wide", wide, 1)):
        after = np.cumsum(load[order][::-1])[::-1]
        at = int(np.argmax(submit[order] + after / num_nodes))
        bounds[rule] = _after(problem, float(submit[order][at]), float(after[at]), num_nodes), int(order[at])
    rule = max(bounds, key=lambda name: bounds[name][0])
    value, job_idx = bounds[rule]
    certificate = {"kind": "makespan", "rule": rule, "after": float(packed.submit[job_idx])}
    return MakespanBound(value, certificate)


def _looseness(problem: WorkloadProblem) -> FloatArray:
    """Return the seconds by which valid runs may be shorter, shape (jobs,): a tolerance for each step."""
    steps = 1 + 2 * np.diff(problem.jobs.evolving.offsets)
    return (0.0 if in_quarters(problem) else 2 * _TOLERANCE_S) * steps


def _least_work(problem: WorkloadProblem) -> FloatArray:
    """Return the least share of its work that each job does in a valid schedule, shape (jobs,)."""
    return np.where(problem.packed.kind >= MALLEABLE, 1 - _LOOSE_WORK, 1.0)


def _rounded(problem: WorkloadProblem, value: float) -> float:
    """Return a sum, or slightly less where it may have been rounded."""
    return value if in_quarters(problem) else value * (1 - _ROUNDING)


def _after(problem: WorkloadProblem, moment: float, work: float, num_nodes: int) -> float:
    """Return when work that starts at a moment is done at best; rounded up where that is proven."""
    value = moment + work / num_nodes
    # Sums of quarters are exact up to here.
    if not in_quarters(problem) or work > 2**51:
        return value * (1 - _ROUNDING)
    packed = problem.packed
    times = (packed.submit, packed.runtime, packed.table_seconds)
    per_second = 1 if all((column % 1 == 0).all() for column in times) else 4
    units = int(per_second * moment) * num_nodes + int(per_second * work)
    return -(-units // num_nodes) / per_second
