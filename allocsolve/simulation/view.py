"""What a policy sees: the view of an instant, the columns of jobs, and the sizes and run times of a job."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import numpy as np

from allocsolve.model import AMDAHL, NO_SPEEDUP, OVERHEAD, POWER, PROFILE, SPEEDUP_TABLE, frozen
from allocsolve.model.arrays import read_only_view
from allocsolve.model.evolving import packed_evolving
from allocsolve.model.job_kinds import POWERS_OF_TWO, allowed_sizes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from allocsolve.model import FloatArray, IntArray, PackedEvolving, PackedJobs, WorkloadProblem
    from allocsolve.simulation.node_table import PlacesView
    from allocsolve.simulation.rules import EngineRules

#: The columns that say how jobs evolve, and what changes of size cost.
_OF_CHANGES: Final = (
    *("reading", "stall_fixed", "stall_per_node", "stall_shared", "holds_larger"),
    *("join_start", "join_grow", "join_shrink"),
)
#: The columns that become known when a job is submitted.
_AT_SUBMISSION: Final = ("submit", "nodes", "min_nodes", "max_nodes", "estimate", "weight")


class KnownColumns:
    """What policies may know now of the jobs of a problem.

    `start`, shape (jobs,), is in seconds, NaN before a job starts; the engine fills it.
    """

    def __init__(self, problem: WorkloadProblem, rules: EngineRules, start: FloatArray) -> None:
        packed, count = problem.jobs.packed, len(problem.jobs)
        truth = {name: getattr(packed, name) for name in _AT_SUBMISSION}
        truth["user"] = user_numbers(problem)
        if rules.knowledge == "actual":
            truth["runtime"] = packed.runtime
        filled = {
            name: np.full(count, np.nan) if values.dtype.kind == "f" else np.zeros(count, dtype=np.int64)
            for name, values in truth.items()
        }
        filled["user"].fill(-1)
        filled.setdefault("runtime", np.full(count, np.nan))
        filled["end"] = np.full(count, np.nan)
        # Single numbers move between memory views several times faster than between arrays.
        self._pairs = [(filled[name].data, values.data) for name, values in truth.items()]
        self._runtime, self._end = filled["runtime"], filled["end"]
        views = {name: read_only_view(values) for name, values in filled.items()}
        #: The columns, which policies may see.
        self.seen = JobColumns(
            **views,
            start=read_only_view(start),
            speedup=packed.speedup,
            parameter=packed.parameter,
            table_offsets=packed.table_offsets,
            table_nodes=packed.table_nodes,
            table_seconds=_relative_tables(problem),
            kind=packed.kind,
            points=packed.points,
            size_step=packed.size_step,
            **{name: getattr(problem.jobs.evolving, name) for name in _OF_CHANGES},
        )

    def reveal(self, submitted: IntArray) -> None:
        """Show the columns of jobs that are submitted now."""
        for job in submitted.tolist():
            for filled, values in self._pairs:
                filled[job] = values[job]

    def complete(self, jobs: IntArray, now: float) -> None:
        """Show that jobs have ended now."""
        if len(jobs):
            self._end[jobs] = now


def shown_plan(jobs: JobColumns) -> PackedEvolving:
    """Return how jobs evolve as far as policies know it: without events, phases and steps."""
    no_plan = _no_plan(len(jobs.submit))
    return no_plan._replace(**{name: getattr(jobs, name) for name in _OF_CHANGES})


@functools.lru_cache(maxsize=4)
def _no_plan(count: int) -> PackedEvolving:
    """Return the plan of jobs that do not evolve, cached because policies ask for it at each call."""
    return packed_evolving((), (), count)


def user_numbers(problem: WorkloadProblem) -> IntArray:
    """Return a number for each job's user, in the order of their first jobs; -1 if the user is not known."""
    numbers: dict[str, int] = {}
    users = problem.jobs.users or (None,) * len(problem.jobs)
    codes = [-1 if user is None else numbers.setdefault(user, len(numbers)) for user in users]
    return np.array(codes, dtype=np.int64)


def _relative_tables(problem: WorkloadProblem) -> FloatArray:
    """Return the times of all tables relative to the time on the own number of nodes of each job."""
    packed = problem.jobs.packed
    relative = packed.table_seconds.copy()
    for job in np.flatnonzero(packed.speedup == SPEEDUP_TABLE).tolist():
        relative[packed.table_offsets[job] : packed.table_offsets[job + 1]] /= packed.runtime[job]
    return frozen(relative)


#: What is shown where no job has a profile, or the rules hide them.
NO_PROFILES: Final[Mapping[int, Steps]] = MappingProxyType({})

#: How many steps of a profile are shown, by the rule; None for all.
_STEPS: Final = {"none": 0, "next": 2, "all": None}


class KnownProfiles:
    """What the rules show of the profiles of jobs.

    `present_step` is `Changes.present_step` of the engine.
    """

    def __init__(
        self,
        problem: WorkloadProblem,
        rules: EngineRules,
        present_step: Callable[[int], tuple[int, float | None]],
    ) -> None:
        self._present_step, self._limit = present_step, _STEPS[rules.profile_knowledge]
        plan = problem.jobs.evolving
        self._has_profile, self._offsets = plan.reading == PROFILE, plan.offsets
        self._steps = list(zip(plan.amounts.tolist(), plan.nodes.tolist(), strict=True))
        self._hidden = self._limit == 0 or not self._has_profile.any()

    def of(self, queue: IntArray, running: IntArray) -> Mapping[int, Steps]:
        """Return the remaining steps of the jobs with profiles that wait or run."""
        if self._hidden:
            return NO_PROFILES
        jobs = [*queue[self._has_profile[queue]].tolist(), *running[self._has_profile[running]].tolist()]
        return MappingProxyType({job: self._left(job) for job in jobs})

    def _left(self, job: int) -> Steps:
        row, seconds = self._present_step(job)
        last = int(self._offsets[job + 1])
        steps = self._steps[row : last if self._limit is None else min(last, row + self._limit)]
        return ((steps[0][0] if seconds is None else seconds, steps[0][1]), *steps[1:])


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
    #: Nodes that no job holds and that are not set aside for one; where nodes are places, those on which
    #: nobody is.
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
    #: What is free on each node and where jobs run, if nodes are places; else None.
    places: PlacesView | None = None

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
