"""On how many nodes a job may run, and for how long."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from allocsolve.model.job_kinds import POWERS_OF_TWO
from allocsolve.model.speedup import AMDAHL, NO_SPEEDUP, OVERHEAD, POWER, SPEEDUP_TABLE

if TYPE_CHECKING:
    from allocsolve.model.arrays import IntArray
    from allocsolve.model.jobs import FloatArray

__all__ = ["can_run_on", "relative_time", "run_time"]


class SizedJobs(Protocol):
    """The columns that say on how many nodes jobs run."""

    @property
    def nodes(self) -> IntArray: ...
    @property
    def min_nodes(self) -> IntArray: ...
    @property
    def max_nodes(self) -> IntArray: ...
    @property
    def runtime(self) -> FloatArray: ...
    @property
    def speedup(self) -> IntArray: ...
    @property
    def parameter(self) -> FloatArray: ...
    @property
    def table_offsets(self) -> IntArray: ...
    @property
    def table_nodes(self) -> IntArray: ...
    @property
    def table_seconds(self) -> FloatArray: ...
    @property
    def size_step(self) -> IntArray: ...


def can_run_on(jobs: SizedJobs, job: int, nodes: int) -> bool:
    """Return whether a job can run on so many nodes. O(rows of its table)."""
    if jobs.speedup[job] == SPEEDUP_TABLE:
        return nodes in jobs.table_nodes[_rows(jobs, job)].tolist()
    if not jobs.min_nodes[job] <= nodes <= jobs.max_nodes[job]:
        return False
    step = jobs.size_step[job]
    return bool(nodes & (nodes - 1) == 0 if step == POWERS_OF_TWO else nodes % step == 0)


def relative_time(jobs: SizedJobs, job: int, nodes: int) -> float:
    """Return the run time on so many nodes, which the job allows, over that on the nodes of the job."""
    if jobs.speedup[job] == NO_SPEEDUP or nodes == jobs.nodes[job]:
        return 1.0
    return _time_factor(jobs, job, nodes) / _time_factor(jobs, job, int(jobs.nodes[job]))


def run_time(jobs: SizedJobs, job: int, nodes: int) -> float:
    """Return how long a job runs on so many nodes, which it allows, in seconds; from a table exactly."""
    law = jobs.speedup[job]
    if law == NO_SPEEDUP:
        return float(jobs.runtime[job])
    if law == SPEEDUP_TABLE:
        return _time_factor(jobs, job, nodes)
    return float(jobs.runtime[job]) * relative_time(jobs, job, nodes)


def _rows(jobs: SizedJobs, job: int) -> slice:
    return slice(int(jobs.table_offsets[job]), int(jobs.table_offsets[job + 1]))


def _time_factor(jobs: SizedJobs, job: int, nodes: int) -> float:
    """Return the time on so many nodes in a unit that is the same for all numbers of nodes."""
    law, parameter = jobs.speedup[job], float(jobs.parameter[job])
    if law == AMDAHL:
        return 1 - parameter + parameter / nodes
    if law == POWER:
        return float(float(nodes) ** -parameter)
    if law == OVERHEAD:
        return 1 / nodes + parameter * nodes
    rows = _rows(jobs, job)
    return float(jobs.table_seconds[rows][jobs.table_nodes[rows].tolist().index(nodes)])
