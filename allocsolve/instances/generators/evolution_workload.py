"""Evolution-profile scheduling as a workload of jobs with profiles, and back: problems and schedules.

So the offline optimum of one family is the baseline of online policies in the other. An application becomes
an evolving job with a `Profile`, its release the submission; turnaround is then completion minus release.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from allocsolve.errors import InvalidAnswer, InvalidProblem
from allocsolve.model import (
    EvolutionProblem,
    EvolutionProfile,
    EvolutionSchedule,
    Job,
    Profile,
    WorkloadProblem,
    WorkloadSchedule,
    frozen,
)

if TYPE_CHECKING:
    from allocsolve.model import FloatArray, IntArray


def workload_of_evolution(problem: EvolutionProblem) -> WorkloadProblem:
    """Return an evolution problem as a workload of jobs with profiles.

    Examples
    --------
    >>> problem = EvolutionProblem(8, (EvolutionProfile([(60, 2), (30, 8)]),))
    >>> workload = workload_of_evolution(problem)
    >>> workload.jobs[0].runtime, evolution_of_workload(workload) == problem
    (90, True)
    """
    jobs = []
    applications = zip(problem.application_names, problem.applications, problem.releases, strict=True)
    for name, application, release in applications:
        jobs.append(
            Job(
                submit=release,
                nodes=max(1, application.nodes[0]),
                runtime=application.duration,
                name=name,
                min_nodes=max(1, min(application.nodes)),
                max_nodes=max(1, application.peak),
                evolution=Profile(application, problem.expand_limit),
            )
        )
    return WorkloadProblem(problem.num_nodes, jobs, problem.name, problem.meta)


def evolution_of_workload(problem: WorkloadProblem) -> EvolutionProblem:
    """Return a workload of jobs with profiles as an evolution problem.

    Weights, limits and users of jobs are left out, since that family has none.

    Raises `InvalidProblem` if a job has no profile, is not submitted at a whole second, or has an expand
    limit other than that of the first job; the message names it; `UnsupportedProblem` if the machine has
    closed windows or counted resources.
    """
    problem.check_plain()
    profiles: list[Profile] = []
    for job in problem.jobs:
        profile = job.evolution
        if not isinstance(profile, Profile):
            raise InvalidProblem(f"job {job.name!r} is {job.kind} without a profile")
        if not float(job.submit).is_integer():
            raise InvalidProblem(f"job {job.name!r}: submit {job.submit} is no whole second")
        profiles.append(profile)
        if profile.expand_limit != profiles[0].expand_limit:
            msg = f"job {job.name!r}: expand_limit {profile.expand_limit}, after {profiles[0].expand_limit}"
            raise InvalidProblem(msg)
    limit = {"expand_limit": profiles[0].expand_limit} if profiles else {}
    return EvolutionProblem(
        problem.num_nodes,
        tuple(EvolutionProfile(profile.steps) for profile in profiles),
        tuple(int(submit) for submit in problem.packed.submit),
        name=problem.name,
        application_names=problem.jobs.names,
        meta=problem.meta,
        **limit,
    )


def workload_schedule_of_evolution(schedule: EvolutionSchedule) -> WorkloadSchedule:
    """Return a schedule of applications as one of jobs: a piece for each step."""
    lengths = np.diff(schedule.offsets)
    after = np.cumsum(schedule.durations)
    before = np.repeat(np.concatenate([[0], after])[schedule.offsets[:-1]], lengths)
    ends = np.repeat(schedule.starts, lengths) + after - before
    return WorkloadSchedule(
        schedule.offsets,
        (ends - schedule.durations).astype(np.float64),
        ends.astype(np.float64),
        schedule.nodes,
    )


def evolution_schedule_of_workload(schedule: WorkloadSchedule) -> EvolutionSchedule:
    """Return a schedule of jobs with profiles as one of applications.

    Raises `InvalidAnswer` if a time is no whole number of seconds; the message names the job and the time.
    """
    for times in (schedule.starts, schedule.ends):
        broken = np.flatnonzero(times != np.floor(times))
        if len(broken):
            job = int(np.searchsorted(schedule.offsets, broken[0], side="right")) - 1
            raise InvalidAnswer(f"job {job}: {float(times[broken[0]])!r} s is no whole second")
    starts = _whole(schedule.first_starts)
    return EvolutionSchedule(
        starts, schedule.offsets, _whole(schedule.ends - schedule.starts), schedule.nodes
    )


def _whole(seconds: FloatArray) -> IntArray:
    return frozen(seconds.astype(np.int64))
