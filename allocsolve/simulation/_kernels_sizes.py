"""On how many nodes a job may run, and for how long, for kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from allocsolve.kernels import inner_kernel
from allocsolve.model.job_kinds import POWERS_OF_TWO
from allocsolve.model.speedup import AMDAHL, NO_SPEEDUP, OVERHEAD, POWER, SPEEDUP_TABLE

if TYPE_CHECKING:
    from allocsolve.model.jobs import PackedJobs

__all__ = ["largest_size", "run_time", "time_ratio"]


@inner_kernel
def _in_size_set(size_step: int, most: int) -> int:
    """Return the largest number of nodes of a size set, at most so many, which are >= 1."""
    if size_step != POWERS_OF_TWO:
        return most - most % size_step
    size = 1
    while 2 * size <= most:
        size *= 2
    return size


@inner_kernel
def largest_size(jobs: PackedJobs, job: int, most: int) -> int:
    """Return the largest number of nodes, at most so many, on which a job can run; 0 if there is none.

    A job with a profile starts on its own nodes, see `largest_start`.
    """
    if jobs.min_nodes[job] > most:
        return 0
    if jobs.speedup[job] != SPEEDUP_TABLE:
        return _in_size_set(jobs.size_step[job], min(jobs.max_nodes[job], most))
    row = jobs.table_offsets[job + 1] - 1
    while jobs.table_nodes[row] > most:
        row -= 1
    return int(jobs.table_nodes[row])


@inner_kernel
def _time_factor(jobs: PackedJobs, job: int, nodes: int) -> float:
    """Return the time on so many nodes in a unit that is the same for all numbers of nodes."""
    law, parameter = jobs.speedup[job], jobs.parameter[job]
    if law == AMDAHL:
        return float(1 - parameter + parameter / nodes)
    if law == POWER:
        return float(float(nodes) ** -parameter)
    if law == OVERHEAD:
        return float(1 / nodes + parameter * nodes)
    row = jobs.table_offsets[job]
    while jobs.table_nodes[row] != nodes:
        row += 1
    return float(jobs.table_seconds[row])


@inner_kernel
def time_ratio(jobs: PackedJobs, job: int, nodes: int) -> float:
    """Return the run time on so many nodes over that on the nodes of the job. O(rows of its table)."""
    if nodes == jobs.nodes[job] or jobs.speedup[job] == NO_SPEEDUP:
        return 1.0
    return _time_factor(jobs, job, nodes) / _time_factor(jobs, job, jobs.nodes[job])


@inner_kernel
def run_time(jobs: PackedJobs, job: int, nodes: int) -> float:
    """Return how long a job runs on so many nodes, in seconds; from a table exactly."""
    if jobs.speedup[job] == SPEEDUP_TABLE:
        return _time_factor(jobs, job, nodes)
    return float(jobs.runtime[job] * time_ratio(jobs, job, nodes))
