"""The work of jobs that change their sizes: done in full, on allowed sizes, with the stalls that it costs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from allocsolve.judge.workload_shown import needed_sizes, shown_seconds
from allocsolve.model import EVOLVING, MALLEABLE, PROFILE, REACTIVE, SPEEDUP_TABLE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from allocsolve.model import FloatArray, IntArray, WorkloadProblem, WorkloadSchedule

__all__ = ["Progress", "reconfigurations", "work_done"]

#: By what share of a job the work done may differ from all of it, or from that at a point, besides the time
#: tolerance: so much are sums over many pieces rounded.
_WORK_TOLERANCE: Final = 1e-9


class Progress(NamedTuple):
    """How far jobs come in their pieces."""

    #: What is wrong with a job, first thing only: by row of the jobs that were asked for.
    matters: dict[int, str]
    #: Shape (pieces of the schedule,): the share of the work that is done when a piece begins; 0 for others.
    before: FloatArray
    #: Shape (rows,): by how much shares may be off, as the tolerance of times and rounding allow.
    slack: FloatArray


def work_done(
    problem: WorkloadProblem, schedule: WorkloadSchedule, jobs: IntArray, tolerance: float
) -> Progress:
    """Follow these jobs, of some pieces each, whose work is divided by a law of speedup. O(pieces).

    Sizes must be allowed, pieces without gaps, sizes of malleable jobs must change at points; each change
    costs its stall, and at the end all work is done.
    """
    packed, evolving = problem.packed, problem.jobs.evolving
    count = np.diff(schedule.offsets)[jobs]
    done, run_times = np.zeros(len(jobs)), packed.runtime[jobs]
    stalled_until = np.full(len(jobs), -np.inf)
    before = np.zeros(len(schedule.nodes))
    matters: dict[int, str] = {}
    rows = np.arange(len(jobs))
    # The first pieces of all jobs, the second ones of those that have one, and so on.
    for nth in range(int(count.max(initial=0))):
        rows = rows[count[rows] > nth]
        mine = jobs[rows]
        at = schedule.offsets[mine] + nth
        before[at] = done[rows]
        times = problem.run_times(schedule.nodes[at], mine)
        starts, ends = schedule.starts[at], schedule.ends[at]
        wrong_size, reversed_ = np.isnan(times), ends < starts
        broken = off_point = cut_short = np.zeros(len(rows), dtype=bool)
        if nth:
            cost = _stalls(problem, mine, schedule.nodes[at - 1], schedule.nodes[at])
            at_once = (evolving.holds_larger[mine] == 0) | (schedule.nodes[at] > schedule.nodes[at - 1])
            until = np.maximum(starts, stalled_until[rows]) + cost
            stalled_until[rows] = np.where(at_once & (cost > 0), until, stalled_until[rows])
            broken = np.abs(starts - schedule.ends[at - 1]) > tolerance
            slack = _slack(problem, mine, run_times[rows], tolerance)
            off_point = ~_is_at_point(packed.points[mine], done[rows], slack)
            off_point &= schedule.nodes[at] != schedule.nodes[at - 1]
        ahead = _stall_ahead(problem, schedule, mine, at, count[rows] > nth + 1)
        running = ends - ahead - np.maximum(starts, stalled_until[rows])
        cut_short = (ahead > 0) & (running < -tolerance)
        faulty = wrong_size | reversed_ | broken | off_point | cut_short
        for row in np.flatnonzero(faulty).tolist():
            idx, piece, when = int(mine[row]), int(at[row]), shown_seconds(starts[row])
            if wrong_size[row]:
                matter = f"holds {schedule.nodes[piece]} nodes, {needed_sizes(problem, idx)}"
            elif reversed_[row]:
                matter = f"has a piece from {when} s to {shown_seconds(ends[row])} s"
            elif broken[row]:
                ended = shown_seconds(schedule.ends[piece - 1])
                matter = f"has a piece that ends at {ended} s and the next one from {when} s"
            elif off_point[row]:
                parts = packed.points[idx]
                matter = f"changes its size at {when} s, between its points ({parts} equal parts of its work)"
            else:
                stall = f"before its stall of {shown_seconds(ahead[row])} s is over"
                matter = f"gives up nodes at {shown_seconds(ends[row])} s, {stall}"
            matters[int(rows[row])] = matter
        good = ~faulty
        done[rows[good]] += (np.maximum(running, 0) / times)[good]
        run_times[rows] = times
        rows = rows[good]
    every = _slack(problem, jobs, run_times, tolerance)
    for row in np.flatnonzero(np.abs(done - 1) > every).tolist():
        matters.setdefault(row, f"ends with {done[row]:.15g} of its work done")
    return Progress(matters, before, every)


def _stalls(problem: WorkloadProblem, jobs: IntArray, old: IntArray, new: IntArray) -> FloatArray:
    """Return what changes of sizes cost, in seconds; 0 where the size stays."""
    evolving = problem.jobs.evolving
    cost = evolving.stall_fixed[jobs] + evolving.stall_per_node[jobs] * np.abs(new - old)
    cost += evolving.stall_shared[jobs] / np.maximum(new + old, 1)
    return np.where(new == old, 0.0, cost)


def _stall_ahead(
    problem: WorkloadProblem,
    schedule: WorkloadSchedule,
    jobs: IntArray,
    pieces: IntArray,
    goes_on: NDArray[np.bool_],
) -> FloatArray:
    """Return for how long jobs stall at the ends of these pieces, as they hold the larger number till then.

    `goes_on` tells which jobs have a further piece.
    """
    stalls = np.zeros(len(jobs))
    mine, at = jobs[goes_on], pieces[goes_on]
    old, new = schedule.nodes[at], schedule.nodes[at + 1]
    shrinks = (problem.jobs.evolving.holds_larger[mine] == 1) & (new < old)
    stalls[goes_on] = np.where(shrinks, _stalls(problem, mine, old, new), 0)
    return stalls


def _slack(problem: WorkloadProblem, jobs: IntArray, run_times: FloatArray, tolerance: float) -> FloatArray:
    """Return by how much the work done may be off, as a share: what the tolerance allows, and rounding."""
    shortest: FloatArray = np.fmin(run_times, problem.packed.runtime[jobs])
    return _WORK_TOLERANCE + tolerance / shortest


def _is_at_point(points: IntArray, done: FloatArray, slack: FloatArray) -> NDArray[np.bool_]:
    """Return where the work done is a whole number of parts, or sizes may change at any time."""
    parts = done * points
    at_point: NDArray[np.bool_] = (points == 0) | (np.abs(parts - np.rint(parts)) <= slack * points)
    return at_point


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
    change = np.diff(schedule.nodes, prepend=0)[inner]
    if len(change):
        # A schedule that is not feasible may break up rigid jobs, too.
        elastic = max(1, int((problem.packed.kind >= MALLEABLE).sum()))
        fields["resizes"] = int((change != 0).sum())
        fields["resized_nodes"] = int(np.abs(change).sum())
        fields["expansions_per_job"] = int((change > 0).sum()) / elastic
        fields["shrinks_per_job"] = int((change < 0).sum()) / elastic
    return fields


def _least_areas(problem: WorkloadProblem) -> FloatArray:
    """Return the least node-seconds of each job: on its fewest nodes, but for tables, phases and profiles."""
    packed, evolving = problem.packed, problem.jobs.evolving
    if problem.is_rigid:
        return packed.nodes * packed.runtime
    least: FloatArray = packed.min_nodes * problem.run_times(packed.min_nodes)
    for idx in np.flatnonzero(packed.speedup == SPEEDUP_TABLE).tolist():
        rows = slice(packed.table_offsets[idx], packed.table_offsets[idx + 1])
        least[idx] = (packed.table_nodes[rows] * packed.table_seconds[rows]).min()
    for idx in np.flatnonzero(packed.kind == EVOLVING).tolist():
        rows = slice(evolving.offsets[idx], evolving.offsets[idx + 1])
        if evolving.reading[idx] == REACTIVE:
            least[idx] = evolving.amounts[rows].sum()
        elif evolving.reading[idx] == PROFILE:
            least[idx] = (evolving.amounts[rows] * evolving.nodes[rows]).sum()
    return least
