"""Conservative backfilling on a profile of the nodes that are expected to be free.

The module holds the queue, the operations on reservations, the loop over a whole workload and a single call
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
from allocsolve.kernels.heap import BY_ITEM, Entry, lower, raise_up
from allocsolve.kernels.records import Records, records

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

    #: Shape (jobs + 1,): the job before and the job behind each one of the queue. The queue is a ring that
    #: the last entry closes.
    before: IntArray
    behind: IntArray
    #: Shape (jobs,), seconds: when the reservation of each job in the queue begins.
    reserved: FloatArray
    #: A heap of the reservations, where each job is on it, and (shape (1,)) their number.
    next: Records[Entry]
    places: IntArray
    in_use: IntArray


class Running(NamedTuple):
    """The running jobs: a heap by their actual ends, and (shape (1,)) their number."""

    ends: Records[Entry]
    in_use: IntArray


def new_waiting(count: int) -> Waiting:
    """Return an empty queue with room for so many jobs."""
    before, behind, places = np.empty((3, count + 1), dtype=np.int64)
    before[count] = behind[count] = count
    return Waiting(
        before, behind, np.empty(count), records(Entry, count), places, np.zeros(1, dtype=np.int64)
    )


def new_running(count: int) -> Running:
    """Return no running jobs, with room for so many."""
    return Running(records(Entry, count), np.zeros(1, dtype=np.int64))


@inner_kernel
def _book(waiting: Waiting, job: int, start: float) -> None:
    """Note the reservation of a job that has none. O(log queue)."""
    waiting.reserved[job] = start
    raise_up(waiting.next, waiting.places, BY_ITEM, waiting.in_use[0], start, job)
    waiting.in_use[0] += 1


@inner_kernel
def _next_due(waiting: Waiting) -> int:
    """Take the reservation that begins next off the heap, and return its job. O(log queue)."""
    entries, count = waiting.next, waiting.in_use[0] - 1
    job = entries[0].item
    waiting.in_use[0] = count
    lower(entries, waiting.places, BY_ITEM, count, 0, entries[count].time, entries[count].item)
    return job


@inner_kernel
def _enter(waiting: Waiting, job: int) -> None:
    """Put a job at the end of the queue."""
    end = len(waiting.before) - 1
    last = waiting.before[end]
    waiting.behind[last] = waiting.before[end] = job
    waiting.before[job], waiting.behind[job] = last, end


@inner_kernel
def _leave(waiting: Waiting, job: int) -> None:
    """Take a job out of the queue."""
    before, behind = waiting.before[job], waiting.behind[job]
    waiting.behind[before], waiting.before[behind] = behind, before


@inner_kernel
def _reserve(free: FreeNodes, jobs: QueuedJobs, waiting: Waiting, job: int, now: float) -> None:
    """Give a job without a reservation the earliest possible one."""
    start = earliest(free, now, jobs.nodes[job], jobs.estimate[job], np.inf)
    _book(waiting, job, start)
    change(free, start, start + jobs.estimate[job], -jobs.nodes[job])


@inner_kernel
def _replan(free: FreeNodes, jobs: QueuedJobs, waiting: Waiting, now: float) -> None:
    """Drop all reservations and make them anew in queue order."""
    end = len(waiting.before) - 1
    job = waiting.behind[end]
    while job != end:
        reserved = waiting.reserved[job]
        change(free, max(now, reserved), reserved + jobs.estimate[job], jobs.nodes[job])
        job = waiting.behind[job]
    waiting.in_use[0] = 0
    job = waiting.behind[end]
    while job != end:
        _reserve(free, jobs, waiting, job, now)
        job = waiting.behind[job]


@inner_kernel
def _compress(free: FreeNodes, jobs: QueuedJobs, waiting: Waiting, now: float) -> None:
    """Move each job, in queue order, to its earliest place while all others keep their reservations."""
    end = len(waiting.before) - 1
    job = waiting.behind[end]
    while job != end:
        nodes, length, before = jobs.nodes[job], jobs.estimate[job], waiting.reserved[job]
        start = earliest(free, now, nodes, length, before)
        if start < before:
            # It keeps what the two places have in common.
            change(free, max(before, start + length), before + length, nodes)
            change(free, start, min(before, start + length), -nodes)
            waiting.reserved[job] = start
            raise_up(waiting.next, waiting.places, BY_ITEM, waiting.places[job], start, job)
        job = waiting.behind[job]


@inner_kernel
def _run(running: Running, places: IntArray, job: int, end: float) -> None:
    """Add a job to the running ones. O(log running)."""
    raise_up(running.ends, places, BY_ITEM, running.in_use[0], end, job)
    running.in_use[0] += 1


@inner_kernel
def _end_first(running: Running, places: IntArray) -> int:
    """Take the job that ends first off the running ones. O(log running)."""
    ends = running.ends
    job = ends[0].item
    count = running.in_use[0] - 1
    running.in_use[0] = count
    lower(ends, places, BY_ITEM, count, 0, ends[count].time, ends[count].item)
    return job


@inner_kernel
def _is_late(waiting: Waiting, now: float) -> bool:
    """Return whether a reservation has passed because another job runs longer than estimated."""
    return waiting.in_use[0] > 0 and waiting.next[0].time < now


@kernel
def conservative_starts(
    free: FreeNodes,
    waiting: Waiting,
    running: Running,
    jobs: QueuedJobs,
    num_nodes: int,
    compression: int,
    plan: Plan,
) -> None:
    """Run a workload to its end; write into `plan` when and why jobs start and what they were promised.

    At first the cluster is idle and the queue empty; all have room for all jobs and are written.
    """
    count = len(jobs.submit)
    unnoted = waiting.before[:0]  # nobody asks where a job is on the heap
    late = np.empty(count, dtype=np.int64)
    submitted, idle = 0, num_nodes
    due = np.inf  # the earliest reservation that has not begun
    while submitted < count or waiting.behind[count] != count:
        now = due
        if submitted < count:
            now = min(now, jobs.submit[submitted])
        if running.in_use[0]:
            now = min(now, running.ends[0].time)
        forget_past(free, now)
        early = False
        while running.in_use[0] and running.ends[0].time <= now:
            job = _end_first(running, unnoted)
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
            plan.promised[submitted] = waiting.reserved[submitted]
            _enter(waiting, submitted)
            submitted += 1
        prevented = 0  # jobs whose nodes others hold for longer than estimated; few
        while waiting.in_use[0] and waiting.next[0].time <= now:
            job = _next_due(waiting)
            if jobs.nodes[job] > idle:
                late[prevented] = job
                prevented += 1
                continue
            plan.starts[job] = now
            plan.blocked[job] = waiting.behind[count] if waiting.behind[count] != job else -1
            idle -= jobs.nodes[job]
            _leave(waiting, job)
            _run(running, unnoted, job, now + jobs.runtime[job])
        due = waiting.next[0].time if waiting.in_use[0] else np.inf
        for at in range(prevented):
            _book(waiting, late[at], now)


@kernel
def conservative_call(
    free: FreeNodes,
    waiting: Waiting,
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

    At first the cluster is idle and the queue empty; both have room for all jobs and are written. Running
    jobs hold `held` nodes until `ends`. Queued jobs are numbered in queue order and need `nodes` nodes for
    `lengths` seconds; the reservation of a new job is NaN. `early` says whether a job has ended before its
    expected end since the last call.
    """
    count = len(nodes)
    forget_past(free, now)
    for k in range(len(held)):
        change(free, now, ends[k], -held[k])
    jobs = QueuedJobs(lengths, nodes, lengths, lengths)
    for job in range(count):
        if not np.isnan(reserved[job]):
            change(free, max(now, reserved[job]), reserved[job] + lengths[job], -nodes[job])
            _enter(waiting, job)
            _book(waiting, job, reserved[job])
    if _is_late(waiting, now) or (early and compression == REPLAN):
        _replan(free, jobs, waiting, now)
    elif early and compression == COMPRESS:
        _compress(free, jobs, waiting, now)
    idle = num_free
    for job in range(count):
        if np.isnan(reserved[job]):
            _reserve(free, jobs, waiting, job, now)
        reserved[job] = waiting.reserved[job]
        starts[job] = reserved[job] <= now and nodes[job] <= idle
        if starts[job]:
            idle -= nodes[job]
