"""The work of malleable jobs: done in full, on allowed sizes that change only at points; and how often."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from allocsolve.model import MALLEABLE, SPEEDUP_TABLE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from allocsolve.model import FloatArray, IntArray, WorkloadProblem, WorkloadSchedule

__all__ = ["needed_sizes", "reconfigurations", "shown_seconds", "work_violations"]

#: By what share of a job the work done may differ from all of it, or from that at a point, besides the time
#: tolerance: so much are sums over many pieces rounded.
_WORK_TOLERANCE: Final = 1e-9


def shown_seconds(seconds: float) -> str:
    """Return a time as people write it: a whole number without a point."""
    return str(int(seconds)) if float(seconds).is_integer() else repr(float(seconds))


def needed_sizes(problem: WorkloadProblem, idx: int) -> str:
    """Return which numbers of nodes a job allows, for a message."""
    packed = problem.packed
    low, high = packed.min_nodes[idx], packed.max_nodes[idx]
    return f"but needs {low}" if low == high else f"but needs one of its numbers in {low}..{high}"


def work_violations(
    problem: WorkloadProblem, schedule: WorkloadSchedule, jobs: IntArray, tolerance: float
) -> list[str]:
    """Return the first thing that is wrong with each of these malleable jobs, of some pieces. O(pieces)."""
    count = np.diff(schedule.offsets)[jobs]
    done, run_times = np.zeros(len(jobs)), problem.packed.runtime[jobs]
    matters: dict[int, str] = {}
    rows = np.arange(len(jobs))
    # The first pieces of all jobs, the second ones of those that have one, and so on.
    for nth in range(int(count.max(initial=0))):
        rows = rows[count[rows] > nth]
        mine = jobs[rows]
        at = schedule.offsets[mine] + nth
        times = problem.run_times(schedule.nodes[at], mine)
        lasted = schedule.ends[at] - schedule.starts[at]
        wrong_size, reversed_ = np.isnan(times), lasted < 0
        broken = off_point = np.zeros(len(rows), dtype=bool)
        if nth:
            broken = np.abs(schedule.starts[at] - schedule.ends[at - 1]) > tolerance
            slack = _slack(problem, mine, run_times[rows], tolerance)
            off_point = ~_is_at_point(problem.packed.points[mine], done[rows], slack)
            off_point &= schedule.nodes[at] != schedule.nodes[at - 1]
        faulty = wrong_size | reversed_ | broken | off_point
        for row in np.flatnonzero(faulty).tolist():
            idx, when = int(mine[row]), shown_seconds(schedule.starts[at[row]])
            if wrong_size[row]:
                matter = f"holds {schedule.nodes[at[row]]} nodes, {needed_sizes(problem, idx)}"
            elif reversed_[row]:
                matter = f"has a piece from {when} s to {shown_seconds(schedule.ends[at[row]])} s"
            elif broken[row]:
                ended = shown_seconds(schedule.ends[at[row] - 1])
                matter = f"has a piece that ends at {ended} s and the next one from {when} s"
            else:
                parts = problem.packed.points[idx]
                matter = f"changes its size at {when} s, between its points ({parts} equal parts of its work)"
            matters[int(rows[row])] = matter
        done[rows[~faulty]] += (lasted / times)[~faulty]
        run_times[rows] = times
        rows = rows[~faulty]
    off = np.abs(done - 1) > _slack(problem, jobs, run_times, tolerance)
    for row in np.flatnonzero(off).tolist():
        matters.setdefault(row, f"ends with {done[row]:.15g} of its work done")
    return [f"job {problem.jobs.names[jobs[row]]!r} {matters[row]}" for row in sorted(matters)]


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
        malleable = max(1, int((problem.packed.kind == MALLEABLE).sum()))
        fields["resizes"] = int((change != 0).sum())
        fields["resized_nodes"] = int(np.abs(change).sum())
        fields["expansions_per_job"] = int((change > 0).sum()) / malleable
        fields["shrinks_per_job"] = int((change < 0).sum()) / malleable
    return fields


def _least_areas(problem: WorkloadProblem) -> FloatArray:
    """Return the least node-seconds of each job: on its fewest nodes, but for tables."""
    packed = problem.packed
    if problem.is_rigid:
        return packed.nodes * packed.runtime
    least: FloatArray = packed.min_nodes * problem.run_times(packed.min_nodes)
    for idx in np.flatnonzero(packed.speedup == SPEEDUP_TABLE).tolist():
        rows = slice(packed.table_offsets[idx], packed.table_offsets[idx + 1])
        least[idx] = (packed.table_nodes[rows] * packed.table_seconds[rows]).min()
    return least
