"""A stand-in for hpcopt's engine, made from its documented contract: a snapshot an instant, whole seconds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from allocsolve.model import WorkloadProblem

#: A time at which nothing ever happens.
NEVER = 10**18


@dataclass(frozen=True)
class AdapterQueuedJob:
    """A job that waits."""

    job_id: int
    submit_ts: int
    requested_cpus: int
    runtime_estimate_sec: int
    runtime_p90_sec: int | None = None
    runtime_guard_sec: int | None = None
    estimate_source: str | None = None
    priority_score: float | None = None


@dataclass(frozen=True)
class AdapterRunningJob:
    """A job that runs; its end is the true one."""

    job_id: int
    end_ts: int
    allocated_cpus: int


@dataclass(frozen=True)
class SchedulerStateSnapshot:
    """What a policy sees."""

    clock_ts: int
    capacity_cpus: int
    free_cpus: int
    queued_jobs: tuple[AdapterQueuedJob, ...]
    running_jobs: tuple[AdapterRunningJob, ...]


def run(
    problem: WorkloadProblem, chooser: Callable[[SchedulerStateSnapshot], Any], *, twice: bool = True
) -> list[float]:
    """Return when each job starts; a job is called by its index.

    Decisions that hpcopt would drop without a word raise; so do, if each snapshot is to be shown twice, those
    that differ the second time.
    """
    packed = problem.packed
    to_come = sorted(range(len(packed.submit)), key=lambda job: (packed.submit[job], job))
    queue: list[AdapterQueuedJob] = []
    running: list[AdapterRunningJob] = []
    starts = [-1.0] * len(to_come)
    free = problem.num_nodes
    while to_come or running:
        submits = [int(packed.submit[job]) for job in to_come[:1]]
        clock = min(submits + [job.end_ts for job in running])
        free += sum(job.allocated_cpus for job in running if job.end_ts == clock)
        running = [job for job in running if job.end_ts > clock]
        while to_come and packed.submit[to_come[0]] == clock:
            job, estimate = to_come[0], int(packed.estimate[to_come[0]])
            sizes = int(packed.nodes[job])
            queue.append(
                AdapterQueuedJob(job, clock, sizes, estimate, estimate, estimate, "requested_fallback")
            )
            to_come.pop(0)
        ends = tuple(sorted(running, key=lambda one: (one.end_ts, one.job_id)))
        snapshot = SchedulerStateSnapshot(clock, problem.num_nodes, free, tuple(queue), ends)
        decision = chooser(snapshot)
        assert not twice or chooser(snapshot) == decision, "a policy is a pure function of the snapshot"
        for dispatch in decision.decisions:
            [waiting] = [one for one in queue if one.job_id == dispatch.job_id]
            assert dispatch.requested_cpus == waiting.requested_cpus <= free, "hpcopt would drop this"
            assert dispatch.runtime_estimate_sec == waiting.runtime_estimate_sec
            assert dispatch.estimated_completion_ts == clock + waiting.runtime_estimate_sec
            queue.remove(waiting)
            free -= waiting.requested_cpus
            end = clock + int(packed.runtime[waiting.job_id])
            running.append(AdapterRunningJob(waiting.job_id, end, waiting.requested_cpus))
            starts[waiting.job_id] = float(clock)
    return starts
