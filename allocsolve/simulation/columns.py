"""What policies see of the jobs: columns, filled as jobs are submitted and end, and the steps of profiles."""

from __future__ import annotations

import functools
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

import numpy as np

from allocsolve.model.arrays import frozen, read_only_view
from allocsolve.model.evolving import PROFILE, packed_evolving
from allocsolve.model.speedup import SPEEDUP_TABLE
from allocsolve.simulation.view import JobColumns, Steps

if TYPE_CHECKING:
    from collections.abc import Mapping

    from allocsolve.model import FloatArray, IntArray, PackedEvolving, WorkloadProblem
    from allocsolve.simulation.orders import Changes
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
        packed, count = problem.packed, len(problem.jobs)
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
    packed = problem.packed
    relative = packed.table_seconds.copy()
    for job in np.flatnonzero(packed.speedup == SPEEDUP_TABLE).tolist():
        relative[packed.table_offsets[job] : packed.table_offsets[job + 1]] /= packed.runtime[job]
    return frozen(relative)


#: What is shown where no job has a profile, or the rules hide them.
NO_PROFILES: Final[Mapping[int, Steps]] = MappingProxyType({})

#: How many steps of a profile are shown, by the rule; None for all.
_STEPS: Final = {"none": 0, "next": 2, "all": None}


class KnownProfiles:
    """What the rules show of the profiles of jobs."""

    def __init__(self, problem: WorkloadProblem, rules: EngineRules, changes: Changes) -> None:
        self._changes, self._limit = changes, _STEPS[rules.profile_knowledge]
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
        row, seconds = self._changes.present_step(job)
        last = int(self._offsets[job + 1])
        steps = self._steps[row : last if self._limit is None else min(last, row + self._limit)]
        return ((steps[0][0] if seconds is None else seconds, steps[0][1]), *steps[1:])
