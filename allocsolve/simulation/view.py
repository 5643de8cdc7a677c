"""What a policy sees: the view of an instant, the columns of jobs, and the sizes and run times of a job."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import numpy as np

from allocsolve.model import AMDAHL, NO_SPEEDUP, OVERHEAD, POWER, PROFILE, SPEEDUP_TABLE, frozen
from allocsolve.model.job_kinds import POWERS_OF_TWO, allowed_sizes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from allocsolve.model import FloatArray, IntArray, PackedJobs


def can_run_on(jobs: PackedJobs | JobColumns, job: int, nodes: int) -> bool:
    """Return whether a job can run on `nodes` nodes. O(rows of its table)."""
    if jobs.speedup[job] == SPEEDUP_TABLE:
        return nodes in jobs.table_nodes[_rows(jobs, job)].tolist()
    if not jobs.min_nodes[job] <= nodes <= jobs.max_nodes[job]:
        return False
    step = jobs.size_step[job]
    return bool(nodes & (nodes - 1) == 0 if step == POWERS_OF_TWO else nodes % step == 0)


def relative_time(jobs: PackedJobs | JobColumns, job: int, nodes: int) -> float:
    """Return the run time on `nodes` nodes, which the job must allow, over that on its own nodes."""
    if jobs.speedup[job] == NO_SPEEDUP or nodes == jobs.nodes[job]:
        return 1.0
    return _time_factor(jobs, job, nodes) / _time_factor(jobs, job, int(jobs.nodes[job]))


def run_time(jobs: PackedJobs | JobColumns, job: int, nodes: int) -> float:
    """Return how long a job runs on `nodes` nodes, which it must allow, in seconds; exact if from a table."""
    law = jobs.speedup[job]
    if law == NO_SPEEDUP:
        return float(jobs.runtime[job])
    if law == SPEEDUP_TABLE:
        return _time_factor(jobs, job, nodes)
    return float(jobs.runtime[job]) * relative_time(jobs, job, nodes)


def _rows(jobs: PackedJobs | JobColumns, job: int) -> slice:
    return slice(int(jobs.table_offsets[job]), int(jobs.table_offsets[job + 1]))


def _time_factor(jobs: PackedJobs | JobColumns, job: int, nodes: int) -> float:
    """Return the time on `nodes` nodes, in a unit that is the same for all numbers of nodes of the job."""
    law, parameter = jobs.speedup[job], float(jobs.parameter[job])
    if law == AMDAHL:
        return 1 - parameter + parameter / nodes
    if law == POWER:
        return float(float(nodes) ** -parameter)
    if law == OVERHEAD:
        return 1 / nodes + parameter * nodes
    rows = _rows(jobs, job)
    return float(jobs.table_seconds[rows][jobs.table_nodes[rows].tolist().index(nodes)])


#: No jobs, as a column.
NO_JOBS: Final = frozen(np.empty(0, dtype=np.int64))
#: The fields of a view about changes of size but `targets`, where no job changes its size.
NO_CHANGES: Final[dict[str, Any]] = {
    "pool": 0,
    "reserved": 0,
    **dict.fromkeys(("resized", "promises", "promised_nodes", "requests", "requested_nodes"), NO_JOBS),
}

#: Pairs of seconds and nodes.
Steps: TypeAlias = tuple[tuple[float, int], ...]


class JobColumns(NamedTuple):
    """What is known of jobs, by job, as read-only arrays.

    For jobs that are not yet submitted, times are NaN, numbers of nodes 0 and users -1. The first fifteen
    columns are those of `allocsolve.model.PackedJobs`, which says more of them; the last eight come from
    `allocsolve.model.PackedEvolving`.
    """

    submit: FloatArray
    nodes: IntArray
    min_nodes: IntArray
    max_nodes: IntArray
    #: Seconds on `nodes` nodes; NaN as long as the rules hide it.
    runtime: FloatArray
    #: The user's.
    estimate: FloatArray
    weight: FloatArray
    speedup: IntArray
    parameter: FloatArray
    #: Tables of speedup, in which times are given relative to that on `nodes` nodes.
    table_offsets: IntArray
    table_nodes: IntArray
    table_seconds: FloatArray
    kind: IntArray
    points: IntArray
    size_step: IntArray
    #: When the job started and ended, in seconds; NaN before that.
    start: FloatArray
    end: FloatArray
    #: The number of the user; -1 if the user is not known.
    user: IntArray
    #: How jobs evolve, and what changes of size cost them.
    reading: IntArray
    stall_fixed: FloatArray
    stall_per_node: FloatArray
    stall_shared: FloatArray
    holds_larger: IntArray
    join_start: FloatArray
    join_grow: FloatArray
    join_shrink: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class QueueView:
    """The state of the cluster at an instant at which a policy is called: a snapshot.

    All arrays are read-only. Lists of jobs hold indices of the problem. A state of your own becomes a view by
    `allocsolve.simulation.QueueSnapshot.view`.
    """

    #: Seconds.
    now: float
    #: Why the policy is called: jobs that have completed and that were submitted since the last call.
    completed: IntArray
    submitted: IntArray
    #: Whether the policy had asked to be called at this instant.
    woken: bool
    num_nodes: int
    #: Nodes that no job holds and that are not set aside for one.
    free: int
    #: Jobs that wait, in the order of their submission; jobs submitted at one instant by index.
    queue: IntArray
    #: Running jobs by expected end, when each is expected to end, in seconds, and the nodes that it holds.
    #: A job that has run longer than expected is expected to end now.
    running: IntArray
    expected_ends: FloatArray
    held: IntArray
    #: What each running job will hold after its pending change; `held` if none is pending.
    targets: IntArray
    #: Jobs that have changed their sizes since the last call.
    resized: IntArray
    #: Nodes set aside for jobs that were promised nodes, and nodes set aside for running jobs that will grow.
    pool: int
    reserved: int
    #: Jobs that wait for promised nodes, first in, first out, and the nodes that each was promised. These
    #: jobs are no longer in the queue.
    promises: IntArray
    promised_nodes: IntArray
    #: Running jobs with open requests, in the order of the requests (by job if they were made at one
    #: instant), and the number of nodes on which each of these jobs asks to run.
    requests: IntArray
    requested_nodes: IntArray
    #: What is known of each job.
    jobs: JobColumns = field(repr=False)
    #: For each job with a profile that waits or runs: the steps that it has left, as far as the rules show
    #: them.
    profiles: Mapping[int, Steps] = field(repr=False)

    def sizes(self, job: int) -> tuple[int, ...]:
        """Return the numbers of nodes on which a job can start, rising; a malleable job can use all."""
        jobs = self.jobs
        if jobs.reading[job] == PROFILE:
            return (int(jobs.nodes[job]),)
        if jobs.speedup[job] == SPEEDUP_TABLE:
            return tuple(jobs.table_nodes[_rows(jobs, job)].tolist())
        low, high = int(jobs.min_nodes[job]), int(jobs.max_nodes[job])
        return tuple(allowed_sizes(low, high, int(jobs.size_step[job])))

    def profile(self, job: int) -> Steps:
        """Return what is known of the profile of a job that waits or runs, see `EngineRules`.

        The steps that are left come as pairs (seconds, nodes). The first one is the present step, with the
        seconds that are left of it, or the step for which the job waits.
        """
        return self.profiles.get(job, ())

    def estimate(self, job: int, nodes: int) -> float:
        """Return the user's estimate of the run time of a job on `nodes` nodes, in seconds."""
        return float(self.jobs.estimate[job]) * relative_time(self.jobs, job, nodes)
