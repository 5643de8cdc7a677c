"""The work of jobs that change their sizes: done in full, on allowed sizes, with the stalls that it costs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from allocsolve.judge.workload_shown import needed_sizes, shown_seconds
from allocsolve.model import EVOLVING, MALLEABLE, PROFILE, REACTIVE, SPEEDUP_TABLE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from allocsolve.model import FloatArray, IntArray, WorkloadProblem, WorkloadSchedule

__all__ = ["Progress", "off_points", "reconfigurations", "work_done"]

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
    packed = problem.packed
    count = np.diff(schedule.offsets)[jobs]
    done, run_times = np.zeros(len(jobs)), packed.runtime[jobs]
    stalled_until = np.full(len(jobs), -np.inf)
    before = np.zeros(len(schedule.nodes))
    matters: dict[int, str] = {}
    pieces = _of_pieces(problem, schedule, jobs, count, tolerance)
    rows = np.arange(len(jobs))
    # The first pieces of all jobs, the second ones of those that have one, and so on.
    for nth in range(int(count.max(initial=0))):
        rows = rows[count[rows] > nth]
        at = schedule.offsets[jobs[rows]] + nth
        before[at] = done[rows]
        times, ahead = pieces.times[at], pieces.ahead[at]
        starts, ends = schedule.starts[at], schedule.ends[at]
        off_point = np.zeros(len(rows), dtype=bool)
        if nth:
            until = np.maximum(starts, stalled_until[rows]) + pieces.cost[at]
            stalled_until[rows] = np.where(pieces.stalls_at_once[at], until, stalled_until[rows])
            if pieces.at_points:
                mine = jobs[rows]
                slack = _slack(problem, mine, run_times[rows], tolerance)
                off_point = ~_is_at_point(packed.points[mine], done[rows], slack) & pieces.changes[at]
        running = ends - ahead - np.maximum(starts, stalled_until[rows])
        cut_short = (ahead > 0) & (running < -tolerance)
        faulty = pieces.faulty[at] | off_point | cut_short
        good = ~faulty
        for row in np.flatnonzero(faulty).tolist():
            idx, piece = int(jobs[rows[row]]), int(at[row])
            matters[int(rows[row])] = _matter(
                problem, schedule, idx, piece, pieces, is_off_point=bool(off_point[row])
            )
        done[rows[good]] += (np.maximum(running, 0) / times)[good]
        run_times[rows] = times
        rows = rows[good]
    every = _slack(problem, jobs, run_times, tolerance)
    for row in np.flatnonzero(np.abs(done - 1) > every).tolist():
        matters.setdefault(row, f"ends with {done[row]:.15g} of its work done")
    return Progress(matters, before, every)


def off_points(problem: WorkloadProblem, schedule: WorkloadSchedule, tolerance: float) -> IntArray:
    """Return the pieces with which malleable jobs change their sizes between their points. O(pieces)."""
    packed = problem.packed
    jobs = np.flatnonzero((packed.kind == MALLEABLE) & (packed.points > 0))
    progress = work_done(problem, schedule, jobs, tolerance)
    off = [
        piece
        for job, slack in zip(jobs.tolist(), progress.slack, strict=True)
        for piece in range(int(schedule.offsets[job]) + 1, int(schedule.offsets[job + 1]))
        if schedule.nodes[piece] != schedule.nodes[piece - 1]
        and not _is_at_point(packed.points[job], progress.before[piece], slack)
    ]
    return np.array(off, dtype=np.int64)


class _Pieces(NamedTuple):
    """What can be said of pieces one by one. Shape (pieces of the schedule,), but for the last."""

    times: FloatArray  #: seconds that all work of the job takes on the nodes of the piece; NaN if not allowed
    cost: FloatArray  #: seconds that the change at its begin costs; 0 of first pieces
    stalls_at_once: NDArray[np.bool_]  #: whether the job stalls from its begin on
    ahead: FloatArray  #: seconds that the job stalls at its end, holding its nodes until then
    changes: NDArray[np.bool_]  #: whether it has other nodes than the piece before
    is_broken: NDArray[np.bool_]  #: whether it does not begin when the piece before ends
    #: Whether it has a size that is not allowed, ends before it begins, or is broken.
    faulty: NDArray[np.bool_]
    at_points: bool  #: whether there is a job that changes its size at points only


def _of_pieces(
    problem: WorkloadProblem, schedule: WorkloadSchedule, jobs: IntArray, count: IntArray, tolerance: float
) -> _Pieces:
    """Return what can be said of the pieces of these jobs one by one."""
    evolving, nodes, total = problem.jobs.evolving, schedule.nodes, len(schedule.nodes)
    mine = np.repeat(jobs, count)
    nth = np.arange(len(mine)) - np.repeat(np.cumsum(count) - count, count)
    at = np.repeat(schedule.offsets[jobs], count) + nth
    times, cost, ahead = np.full(total, np.nan), np.zeros(total), np.zeros(total)
    times[at] = problem.run_times(nodes[at], mine)
    later = nth > 0
    follows, of = at[later], mine[later]
    cost[follows] = _stalls(problem, of, nodes[follows - 1], nodes[follows])
    holds_larger, grows = evolving.holds_larger[of] == 1, nodes[follows] > nodes[follows - 1]
    stalls_at_once, changes, is_broken = (np.zeros(total, dtype=bool) for _ in range(3))
    stalls_at_once[follows] = (~holds_larger | grows) & (cost[follows] > 0)
    ahead[follows - 1] = np.where(holds_larger & ~grows, cost[follows], 0.0)
    changes[follows] = nodes[follows] != nodes[follows - 1]
    is_broken[follows] = np.abs(schedule.starts[follows] - schedule.ends[follows - 1]) > tolerance
    faulty = np.isnan(times) | (schedule.ends < schedule.starts) | is_broken
    at_points = bool((problem.packed.points[jobs] > 0).any())
    return _Pieces(times, cost, stalls_at_once, ahead, changes, is_broken, faulty, at_points)


def _matter(
    problem: WorkloadProblem,
    schedule: WorkloadSchedule,
    job: int,
    piece: int,
    pieces: _Pieces,
    *,
    is_off_point: bool,
) -> str:
    """Return what is wrong with a piece of a job."""
    when, end = shown_seconds(schedule.starts[piece]), shown_seconds(schedule.ends[piece])
    if np.isnan(pieces.times[piece]):
        return f"holds {schedule.nodes[piece]} nodes, {needed_sizes(problem, job)}"
    if schedule.ends[piece] < schedule.starts[piece]:
        return f"has a piece from {when} s to {end} s"
    if pieces.is_broken[piece]:
        ended = shown_seconds(schedule.ends[piece - 1])
        return f"has a piece that ends at {ended} s and the next one from {when} s"
    if is_off_point:
        parts = problem.packed.points[job]
        return f"changes its size at {when} s, between its points ({parts} equal parts of its work)"
    stall = f"before its stall of {shown_seconds(pieces.ahead[piece])} s is over"
    return f"gives up nodes at {end} s, {stall}"


def _stalls(problem: WorkloadProblem, jobs: IntArray, old: IntArray, new: IntArray) -> FloatArray:
    """Return what changes of sizes cost, in seconds; 0 where the size stays."""
    evolving = problem.jobs.evolving
    cost = evolving.stall_fixed[jobs] + evolving.stall_per_node[jobs] * np.abs(new - old)
    cost += evolving.stall_shared[jobs] / np.maximum(new + old, 1)
    return np.where(new == old, 0.0, cost)


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
