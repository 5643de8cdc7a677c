"""Conservative backfilling on a profile of the nodes that are expected to be free.

The module holds the profile, the operations on reservations, the loop over a whole workload and a single call
for a driver in Python.

Jobs are numbered in queue order. The profile covers the time from now on: running jobs hold their nodes until
their expected end, queued jobs hold theirs for their estimate, from their reservation on. A search for an
earlier place stops at the present reservation of the job, because from there on its nodes are its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from allocsolve.kernels import inner_kernel, kernel
from allocsolve.kernels.free_nodes import FreeNodes, change, earliest, forget_past

if TYPE_CHECKING:
    from allocsolve.model import BoolArray, FloatArray, IntArray

#: What happens to reservations when a job ends before its expected end.
NO_COMPRESSION = 0
COMPRESS = 1
REPLAN = 2


class QueuedJobs(NamedTuple):
    """The jobs in queue order, each array of shape (jobs,)."""

    #: Seconds, never falling.
    submit: FloatArray
    nodes: IntArray
    #: Seconds.
    runtime: FloatArray
    #: The run time that the policy expects, in seconds.
    estimate: FloatArray


class Plan(NamedTuple):
    """The result of a run, each array of shape (jobs,)."""

    #: Seconds.
    starts: FloatArray
    #: The start of the reservation that each job got at its submission, in seconds.
    promised: FloatArray
    #: The first job in the queue that could not start when this job did; -1 if this job was the first.
    blocked: IntArray


class Waiting(NamedTuple):
    """The queue and its reservations."""

    #: The jobs in queue order, and (shape (1,)) their number.
    jobs: IntArray
    in_use: IntArray
    #: Shape (jobs,): when the reservation of each job in the queue begins, in seconds.
    reserved: FloatArray


class Running(NamedTuple):
    """The running jobs in the order of falling ends; shape (1,): `in_use`, their number."""

    jobs: IntArray
    #: The actual ends, in seconds.
    ends: FloatArray
    in_use: IntArray


@inner_kernel
def _reserve(free: FreeNodes, jobs: QueuedJobs, waiting: Waiting, job: int, now: float) -> None:
    """Give a job without reservation the earliest one."""
    start = earliest(free, now, jobs.nodes[job], jobs.estimate[job], np.inf)
    waiting.reserved[job] = start
    change(free, start, start + jobs.estimate[job], -jobs.nodes[job])


@inner_kernel
def _replan(free: FreeNodes, jobs: QueuedJobs, waiting: Waiting, now: float) -> None:
    """Drop all reservations and make them anew in queue order."""
    queue, reserved = waiting.jobs, waiting.reserved
    for i in range(waiting.in_use[0]):
        job = queue[i]
        change(free, max(now, reserved[job]), reserved[job] + jobs.estimate[job], jobs.nodes[job])
    for i in range(waiting.in_use[0]):
        _reserve(free, jobs, waiting, queue[i], now)


@inner_kernel
def _compress(free: FreeNodes, jobs: QueuedJobs, waiting: Waiting, now: float) -> None:
    """Put each job at its earliest place in queue order, while all others keep theirs."""
    for i in range(waiting.in_use[0]):
        job = waiting.jobs[i]
        nodes, length, before = jobs.nodes[job], jobs.estimate[job], waiting.reserved[job]
        start = earliest(free, now, nodes, length, before)
        if start < before:
            change(free, before, before + length, nodes)
            change(free, start, start + length, -nodes)
            waiting.reserved[job] = start


@inner_kernel
def _is_late(waiting: Waiting, now: float) -> bool:
    """Return whether a reservation has passed because another job runs longer than estimated."""
    late = False
    for i in range(waiting.in_use[0]):
        late |= waiting.reserved[waiting.jobs[i]] < now
    return late


@inner_kernel
def _run(running: Running, job: int, end: float) -> None:
    """Add a job to the running ones. O(running jobs that end before it)."""
    k = running.in_use[0]
    while k and running.ends[k - 1] < end:
        running.ends[k] = running.ends[k - 1]
        running.jobs[k] = running.jobs[k - 1]
        k -= 1
    running.ends[k] = end
    running.jobs[k] = job
    running.in_use[0] += 1


@kernel
def conservative_starts(
    free: FreeNodes, jobs: QueuedJobs, num_nodes: int, compression: int, plan: Plan
) -> None:
    """Write when and why each job starts, and what it was promised when it was submitted.

    `free` is that of an idle cluster, with room for all jobs; it is written.
    """
    count = len(jobs.submit)
    running = Running(np.empty(count, dtype=np.int64), np.empty(count), np.zeros(1, dtype=np.int64))
    waiting = Waiting(np.empty(count, dtype=np.int64), np.zeros(1, dtype=np.int64), np.empty(count))
    queue, reserved = waiting.jobs, waiting.reserved
    submitted, idle = 0, num_nodes
    due = np.inf  # the earliest reservation that has not begun
    while submitted < count or waiting.in_use[0]:
        now = due
        if submitted < count:
            now = min(now, jobs.submit[submitted])
        if running.in_use[0]:
            now = min(now, running.ends[running.in_use[0] - 1])
        forget_past(free, now)
        early = False
        while running.in_use[0] and running.ends[running.in_use[0] - 1] <= now:
            running.in_use[0] -= 1
            job = running.jobs[running.in_use[0]]
            idle += jobs.nodes[job]
            expected = plan.starts[job] + jobs.estimate[job]
            early |= expected > now
            change(free, now, expected, jobs.nodes[job])
        if _is_late(waiting, now) or (early and compression == REPLAN):
            _replan(free, jobs, waiting, now)
        elif early and compression == COMPRESS:
            _compress(free, jobs, waiting, now)
        while submitted < count and jobs.submit[submitted] <= now:
            _reserve(free, jobs, waiting, submitted, now)
            plan.promised[submitted] = reserved[submitted]
            queue[waiting.in_use[0]] = submitted
            waiting.in_use[0] += 1
            submitted += 1
        due = np.inf
        left = 0
        for i in range(waiting.in_use[0]):
            job = queue[i]
            if reserved[job] <= now and jobs.nodes[job] <= idle:
                plan.starts[job] = now
                plan.blocked[job] = queue[0] if left else -1
                idle -= jobs.nodes[job]
                _run(running, job, now + jobs.runtime[job])
            else:
                if now < reserved[job] < due:
                    due = reserved[job]
                queue[left] = job
                left += 1
        waiting.in_use[0] = left


@kernel
def conservative_call(
    free: FreeNodes,
    now: float,
    num_free: int,
    ends: FloatArray,
    held: IntArray,
    nodes: IntArray,
    lengths: FloatArray,
    reserved: FloatArray,
    early: bool,
    compression: int,
    starts: BoolArray,
) -> None:
    """Make the decisions of one call: write which queued jobs start now, and the reservations of all.

    `free` is that of an idle cluster, with room for all of these jobs; it is written. Running jobs hold
    `held` nodes until `ends`. Jobs of the queue are numbered in queue order: they need `nodes` for
    `lengths` seconds; those that are new have the reservation NaN. `early` says that a job has ended before
    its expected end since the last call.
    """
    count = len(nodes)
    for k in range(len(held)):
        change(free, now, ends[k], -held[k])
    jobs = QueuedJobs(lengths, nodes, lengths, lengths)
    waiting = Waiting(np.empty(count, dtype=np.int64), np.zeros(1, dtype=np.int64), reserved)
    for job in range(count):
        if not np.isnan(reserved[job]):
            change(free, max(now, reserved[job]), reserved[job] + lengths[job], -nodes[job])
            waiting.jobs[waiting.in_use[0]] = job
            waiting.in_use[0] += 1
    if _is_late(waiting, now) or (early and compression == REPLAN):
        _replan(free, jobs, waiting, now)
    elif early and compression == COMPRESS:
        _compress(free, jobs, waiting, now)
    for job in range(count):
        if np.isnan(reserved[job]):
            _reserve(free, jobs, waiting, job, now)
    idle = num_free
    for job in range(count):
        starts[job] = reserved[job] <= now and nodes[job] <= idle
        if starts[job]:
            idle -= nodes[job]
