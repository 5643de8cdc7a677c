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


class Free(NamedTuple):
    """The free nodes over time: ``nodes[k]`` are expected to be free on ``[times[k], times[k + 1])``.

    Segments have indices first <= k < last; the segment ``last - 1`` never ends. Neighbours differ in their
    nodes, except for the first two.
    """

    #: Seconds, increasing.
    times: FloatArray
    nodes: IntArray
    #: Shape (2,): first and last.
    range: IntArray


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
def _segment(free: Free, time: float) -> int:
    """Return the segment that contains a time, which is not before the first segment. O(log segments)."""
    low, high = free.range[0], free.range[1]
    while low + 1 < high:
        middle = (low + high) >> 1
        if free.times[middle] <= time:
            low = middle
        else:
            high = middle
    return int(low)


@inner_kernel
def _bound(free: Free, time: float) -> int:
    """Return the segment that begins at a time; split one if there is none. O(segments after it)."""
    at = _segment(free, time)
    if free.times[at] == time:
        return at
    for k in range(free.range[1], at + 1, -1):
        free.times[k] = free.times[k - 1]
        free.nodes[k] = free.nodes[k - 1]
    at += 1
    free.times[at] = time
    free.nodes[at] = free.nodes[at - 1]
    free.range[1] += 1
    return at


@inner_kernel
def _merge(free: Free, at: int) -> None:
    """Join a segment to the one before it if both have the same number of free nodes."""
    if at <= free.range[0] or free.nodes[at] != free.nodes[at - 1]:
        return
    for k in range(at, free.range[1] - 1):
        free.times[k] = free.times[k + 1]
        free.nodes[k] = free.nodes[k + 1]
    free.range[1] -= 1


@inner_kernel
def _change(free: Free, begin: float, end: float, released: int) -> None:
    """Add `released` free nodes from begin to end; a negative number takes them. O(segments after begin)."""
    if begin >= end:
        return
    first = _bound(free, begin)
    last = _bound(free, end)
    for k in range(first, last):
        free.nodes[k] += released
    _merge(free, last)
    _merge(free, first)


@inner_kernel
def _earliest(free: Free, nodes: int, length: float, known: float) -> float:
    """Return the earliest time from which `nodes` nodes are free for `length` seconds, at most `known`.

    `known` is the present reservation of the job, from which on its nodes are its own; infinite without one.
    O(segments up to the result).
    """
    k, last = free.range[0], free.range[1]
    while True:
        while k < last and free.nodes[k] < nodes:
            k += 1
        if k == last or free.times[k] >= known:
            return known
        start = free.times[k]
        end = min(start + length, known)
        k += 1
        while k < last and free.times[k] < end and free.nodes[k] >= nodes:
            k += 1
        if k == last or free.times[k] >= end:
            return float(start)


@inner_kernel
def _advance(free: Free, now: float) -> None:
    """Drop the segments before now; move the others to the front before the arrays are full."""
    first, last = free.range[0], free.range[1]
    while first + 1 < last and free.times[first + 1] <= now:
        first += 1
    free.times[first] = now
    if 2 * first >= len(free.times):
        for k in range(first, last):
            free.times[k - first] = free.times[k]
            free.nodes[k - first] = free.nodes[k]
        last -= first
        first = 0
    free.range[0] = first
    free.range[1] = last


@inner_kernel
def _reserve(free: Free, jobs: QueuedJobs, waiting: Waiting, job: int) -> None:
    """Give a job without a reservation the earliest possible one."""
    start = _earliest(free, jobs.nodes[job], jobs.estimate[job], np.inf)
    waiting.reserved[job] = start
    _change(free, start, start + jobs.estimate[job], -jobs.nodes[job])


@inner_kernel
def _replan(free: Free, jobs: QueuedJobs, waiting: Waiting, now: float) -> None:
    """Drop all reservations and make them anew in queue order."""
    queue, reserved = waiting.jobs, waiting.reserved
    for i in range(waiting.in_use[0]):
        job = queue[i]
        _change(free, max(now, reserved[job]), reserved[job] + jobs.estimate[job], jobs.nodes[job])
    for i in range(waiting.in_use[0]):
        _reserve(free, jobs, waiting, queue[i])


@inner_kernel
def _compress(free: Free, jobs: QueuedJobs, waiting: Waiting) -> None:
    """Move each job, in queue order, to its earliest place while all others keep their reservations."""
    for i in range(waiting.in_use[0]):
        job = waiting.jobs[i]
        nodes, length, before = jobs.nodes[job], jobs.estimate[job], waiting.reserved[job]
        start = _earliest(free, nodes, length, before)
        if start < before:
            _change(free, before, before + length, nodes)
            _change(free, start, start + length, -nodes)
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
def conservative_starts(jobs: QueuedJobs, num_nodes: int, compression: int, plan: Plan) -> None:
    """Run a workload to its end; write into `plan` when and why jobs start and what they were promised."""
    count = len(jobs.submit)
    room = 4 * count + 16  # half of it for two segments of each job, half for segments that are past
    free = Free(np.zeros(room), np.empty(room, dtype=np.int64), np.zeros(2, dtype=np.int64))
    free.nodes[0] = num_nodes
    free.range[1] = 1
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
        _advance(free, now)
        early = False
        while running.in_use[0] and running.ends[running.in_use[0] - 1] <= now:
            running.in_use[0] -= 1
            job = running.jobs[running.in_use[0]]
            idle += jobs.nodes[job]
            expected = plan.starts[job] + jobs.estimate[job]
            early |= expected > now
            _change(free, now, expected, jobs.nodes[job])
        if _is_late(waiting, now) or (early and compression == REPLAN):
            _replan(free, jobs, waiting, now)
        elif early and compression == COMPRESS:
            _compress(free, jobs, waiting)
        while submitted < count and jobs.submit[submitted] <= now:
            _reserve(free, jobs, waiting, submitted)
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

    Running jobs hold `held` nodes until `ends`. Queued jobs are numbered in queue order and need `nodes`
    nodes for `lengths` seconds; the reservation of a new job is NaN. `early` says whether a job has ended
    before its expected end since the last call.
    """
    count = len(nodes)
    room = 4 * (count + len(held)) + 16
    free = Free(np.zeros(room), np.empty(room, dtype=np.int64), np.zeros(2, dtype=np.int64))
    free.times[0], free.nodes[0], free.range[1] = now, num_free + held.sum(), 1
    for k in range(len(held)):
        _change(free, now, ends[k], -held[k])
    jobs = QueuedJobs(lengths, nodes, lengths, lengths)
    waiting = Waiting(np.empty(count, dtype=np.int64), np.zeros(1, dtype=np.int64), reserved)
    for job in range(count):
        if not np.isnan(reserved[job]):
            _change(free, max(now, reserved[job]), reserved[job] + lengths[job], -nodes[job])
            waiting.jobs[waiting.in_use[0]] = job
            waiting.in_use[0] += 1
    if _is_late(waiting, now) or (early and compression == REPLAN):
        _replan(free, jobs, waiting, now)
    elif early and compression == COMPRESS:
        _compress(free, jobs, waiting)
    for job in range(count):
        if np.isnan(reserved[job]):
            _reserve(free, jobs, waiting, job)
    idle = num_free
    for job in range(count):
        starts[job] = reserved[job] <= now and nodes[job] <= idle
        if starts[job]:
            idle -= nodes[job]
