"""Running jobs change their sizes, and queued jobs are promised nodes: what the event loop does besides.

A job changes its size at a point of its work, which is strictly after the decision; without points it changes
at once. Nodes that it is to get wait in `RESERVED` until then. Nodes that it gives up go to the pool if they
are promised to a queued job, else they are free. If no point is left, the change stays pending until the job
ends. A job that was promised nodes starts when the pool holds them; the first promise comes first.

At every call of a policy nodes held, free, in the pool and reserved add up to all nodes, and the pool and
what pending changes will bring into it to the open promises.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from allocsolve.kernels.jit import called_kernel
from allocsolve.kernels.search import bisect_right
from allocsolve.model.job_kinds import MALLEABLE
from allocsolve.simulation._kernels_events import (
    COMPLETED,
    FREE,
    ORDERED,
    RUNNING,
    STARTED,
    State,
    begin,
    complete,
    next_event,
    put_in_order,
    submit_now,
    take_out_of_order,
)
from allocsolve.simulation._kernels_heap import change_time, raise_up, take_out
from allocsolve.simulation._kernels_sizes import run_time, time_ratio
from allocsolve.simulation.decisions import PROMISED

if TYPE_CHECKING:
    from allocsolve.model.arrays import IntArray
    from allocsolve.model.jobs import FloatArray, PackedJobs

__all__ = [
    "CALLS",
    "FIRST_PROMISE",
    "LAST_PROMISE",
    "LOGGED",
    "MALLEABLE_RUNNING",
    "POOL",
    "RESERVED",
    "RESIZED",
    "Resizing",
    "advance_resizing",
    "has_room",
    "initial_resizing",
    "promise",
    "resize",
    "roomier",
    "start_promised",
    "take_in",
    "take_running",
]

#: Places in `Resizing.counts`: free nodes that are promised to queued jobs; nodes that wait for jobs to grow;
#: open promises are ``promises[first:last]``; changes that wait for a point; malleable jobs that run; logged
#: changes; changes that took effect in the last advance; advances so far; jobs started that are taken in.
POOL: Final = 0
RESERVED: Final = 1
FIRST_PROMISE: Final = 2
LAST_PROMISE: Final = 3
WAITING: Final = 4
MALLEABLE_RUNNING: Final = 5
LOGGED: Final = 6
RESIZED: Final = 7
CALLS: Final = 8
TAKEN_IN: Final = 9

#: So much of an interval between points is rounded: a point that is no further away has been passed.
_PASSED: Final = 1e-7


class Resizing(NamedTuple):
    """What changes while a workload with malleable jobs runs, besides `State`. Shape (jobs,) or as said."""

    #: Shape (10,), see `POOL` and the constants after it.
    counts: IntArray
    #: What jobs are expected to run on their own nodes, in seconds; read-only.
    estimate: FloatArray
    #: By job that runs: its size after the pending change, or its present one.
    target: IntArray
    #: Since when it has had its present size (seconds), how much of its work was left then, and how much it
    #: does in a second; work is measured in seconds on its own nodes.
    since: FloatArray
    left: FloatArray
    rate: FloatArray
    #: Nodes of the pending change that are promised to queued jobs.
    promised: IntArray
    #: In which call the pending change was decided.
    decided: IntArray
    #: Heap of pending changes by (time, job), and where each job is on it; -1 for nowhere.
    point_times: FloatArray
    point_jobs: IntArray
    point_places: IntArray
    #: Jobs with open promises, first in, first out; and by job the nodes that it was promised.
    promises: IntArray
    promise: IntArray
    #: Malleable jobs that run, rising.
    running: IntArray
    #: Jobs whose changes took effect in the last advance.
    resized: IntArray
    #: By job: the size at its start, and its last entry in the log, or -1.
    first_size: IntArray
    last_entry: IntArray
    #: The log of changes in order of time: job, seconds, size from then on. Of any length, see `has_room`.
    log_jobs: IntArray
    log_times: FloatArray
    log_sizes: IntArray


def initial_resizing(estimate: FloatArray, room: int) -> Resizing:
    """Return the state before the first event.

    Parameters
    ----------
    estimate
        What jobs are expected to run on their own nodes, in seconds.
    room
        Changes that there is room for in the log at first.
    """
    count = len(estimate)

    def numbers(value: int = 0) -> IntArray:
        return np.full(count, value, dtype=np.int64)

    return Resizing(
        counts=np.zeros(10, dtype=np.int64),
        estimate=estimate,
        target=numbers(),
        since=np.zeros(count),
        left=np.zeros(count),
        rate=np.zeros(count),
        promised=numbers(),
        decided=numbers(-1),
        point_times=np.zeros(count),
        point_jobs=numbers(),
        point_places=numbers(-1),
        promises=numbers(),
        promise=numbers(),
        running=numbers(),
        resized=numbers(),
        first_size=numbers(),
        last_entry=numbers(-1),
        log_jobs=np.zeros(room, dtype=np.int64),
        log_times=np.zeros(room),
        log_sizes=np.zeros(room, dtype=np.int64),
    )


def roomier(resizing: Resizing, running: int) -> Resizing:
    """Return the same state with room in the log for as many changes again, and one of each running job."""
    more = len(resizing.log_jobs) + running
    return resizing._replace(
        log_jobs=np.concatenate([resizing.log_jobs, np.zeros(more, dtype=np.int64)]),
        log_times=np.concatenate([resizing.log_times, np.zeros(more)]),
        log_sizes=np.concatenate([resizing.log_sizes, np.zeros(more, dtype=np.int64)]),
    )


@called_kernel
def has_room(state: State, resizing: Resizing) -> bool:
    """Return whether the log has room for a change of each running job: no more come at one instant."""
    return bool(resizing.counts[LOGGED] + state.counts[RUNNING] <= len(resizing.log_jobs))


@called_kernel
def take_in(jobs: PackedJobs, state: State, resizing: Resizing) -> None:
    """Take note of the jobs that started since the last time."""
    counts = resizing.counts
    for at in range(counts[TAKEN_IN], state.counts[STARTED]):
        job = state.started[at]
        size = state.size[job]
        resizing.target[job] = resizing.first_size[job] = size
        if jobs.kind[job] == MALLEABLE:
            resizing.since[job], resizing.left[job] = state.start[job], jobs.runtime[job]
            resizing.rate[job] = 1 / time_ratio(jobs, job, size)
            place = counts[MALLEABLE_RUNNING]
            while place and resizing.running[place - 1] > job:
                resizing.running[place] = resizing.running[place - 1]
                place -= 1
            resizing.running[place] = job
            counts[MALLEABLE_RUNNING] += 1
    counts[TAKEN_IN] = state.counts[STARTED]


@called_kernel
def take_running(
    jobs: PackedJobs, state: State, resizing: Resizing, running: IntArray, expected_ends: FloatArray
) -> None:
    """Take jobs onto the nodes that run already: sizes, starts and targets are there, all nodes are free."""
    for at in range(len(running)):
        job = running[at]
        target, start = resizing.target[job], state.start[job]
        estimate = expected_ends[at] - state.clock[0]
        begin(state, job, state.size[job], estimate, estimate, expected_ends[at], 0, -1)
        take_in(jobs, state, resizing)
        state.start[job], resizing.target[job] = start, target


@called_kernel
def _forget(resizing: Resizing, job: int) -> None:
    """Take a malleable job off the list of those that run. O(those)."""
    running = resizing.running
    last = resizing.counts[MALLEABLE_RUNNING] - 1
    for at in range(bisect_right(running, last + 1, job) - 1, last):
        running[at] = running[at + 1]
    resizing.counts[MALLEABLE_RUNNING] = last


@called_kernel
def _complete(jobs: PackedJobs, state: State, resizing: Resizing) -> int:
    """Take the job that ends first off the nodes: what it would have given up goes where it was to go."""
    job = complete(state)
    if jobs.kind[job] != MALLEABLE:
        return job
    counts = resizing.counts
    gain = max(0, resizing.target[job] - state.size[job])
    promised = resizing.promised[job]
    counts[RESERVED] -= gain
    counts[POOL] += promised
    state.counts[FREE] += gain - promised
    resizing.promised[job] = 0
    resizing.target[job] = state.size[job]
    if resizing.point_places[job] >= 0:
        take_out(resizing.point_times, resizing.point_jobs, resizing.point_places, counts[WAITING], job)
        counts[WAITING] -= 1
    _forget(resizing, job)
    return job


@called_kernel
def _log_change(state: State, resizing: Resizing, job: int, size: int) -> None:
    """Log the new size of a job; of several changes at one instant the last one counts."""
    now, entry = state.clock[0], resizing.last_entry[job]
    if state.start[job] == now:
        resizing.first_size[job] = size
        return
    if entry < 0 or resizing.log_times[entry] != now:
        entry = resizing.counts[LOGGED]
        resizing.counts[LOGGED] += 1
        resizing.last_entry[job] = entry
        resizing.log_jobs[entry], resizing.log_times[entry] = job, now
    resizing.log_sizes[entry] = size


@called_kernel
def _take_effect(jobs: PackedJobs, state: State, resizing: Resizing, job: int) -> None:
    """Give a job its new size now."""
    now, size = state.clock[0], resizing.target[job]
    change = size - state.size[job]
    if change > 0:
        resizing.counts[RESERVED] -= change
    else:
        promised = resizing.promised[job]
        resizing.counts[POOL] += promised
        state.counts[FREE] += -change - promised
        resizing.promised[job] = 0
    before, after = resizing.rate[job], 1 / time_ratio(jobs, job, size)
    left = resizing.left[job] - before * (now - resizing.since[job])
    end, expected = now + max(0.0, left) / after, state.expected[job]
    resizing.since[job], resizing.left[job], resizing.rate[job] = now, left, after
    state.end[job] = end
    change_time(state.end_times, state.end_jobs, state.end_places, state.counts[RUNNING], job, end)
    # As much of the expected work is left as before: who runs longer than expected stays so.
    if expected > now:
        expected = now + (expected - now) * (before / after)
    state.expected[job] = expected
    if state.counts[ORDERED]:
        take_out_of_order(state, job)
        put_in_order(state, job, size, expected)
    state.key[job] = expected
    state.size[job] = size
    _log_change(state, resizing, job, size)


@called_kernel
def resize(jobs: PackedJobs, state: State, resizing: Resizing, job: int, nodes: int, promised: int) -> None:
    """Decide that a running malleable job changes to so many nodes at its next point, without points now.

    Of the nodes that it gives up so many are `promised` to a queued job, see `promise`. In the call in which
    a change was decided it may go further in the same direction. O(log running).
    """
    now, pending = state.clock[0], resizing.target[job] != state.size[job]
    change = nodes - resizing.target[job]
    resizing.target[job] = nodes
    resizing.promised[job] += promised
    if change > 0:
        state.counts[FREE] -= change
        resizing.counts[RESERVED] += change
    if pending:
        return
    points = jobs.points[job]
    resizing.decided[job] = resizing.counts[CALLS]
    if points == 0:
        _take_effect(jobs, state, resizing, job)
        return
    done = jobs.runtime[job] - (resizing.left[job] - resizing.rate[job] * (now - resizing.since[job]))
    part = jobs.runtime[job] / points
    point = np.floor(done / part + _PASSED) + 1
    if point < points:
        time = now + (point * part - done) / resizing.rate[job]
        raise_up(
            resizing.point_times,
            resizing.point_jobs,
            resizing.point_places,
            resizing.counts[WAITING],
            max(now, time),
            job,
        )
        resizing.counts[WAITING] += 1


@called_kernel
def promise(state: State, resizing: Resizing, job: int, nodes: int, from_free: int) -> None:
    """Promise nodes to a job that has left the queue: so many from the free ones, others by `resize`."""
    state.counts[FREE] -= from_free
    resizing.counts[POOL] += from_free
    resizing.promise[job] = nodes
    resizing.promises[resizing.counts[LAST_PROMISE]] = job
    resizing.counts[LAST_PROMISE] += 1


@called_kernel
def start_promised(jobs: PackedJobs, state: State, resizing: Resizing) -> None:
    """Start jobs that were promised nodes while the pool holds them: the first that has to wait ends it."""
    counts, now = resizing.counts, state.clock[0]
    while counts[FIRST_PROMISE] < counts[LAST_PROMISE]:
        job = resizing.promises[counts[FIRST_PROMISE]]
        nodes = resizing.promise[job]
        if nodes > counts[POOL]:
            break
        counts[POOL] -= nodes
        state.counts[FREE] += nodes
        counts[FIRST_PROMISE] += 1
        estimate = resizing.estimate[job] * time_ratio(jobs, job, nodes)
        begin(state, job, nodes, run_time(jobs, job, nodes), estimate, now + estimate, PROMISED, -1)
    take_in(jobs, state, resizing)


@called_kernel
def advance_resizing(jobs: PackedJobs, state: State, resizing: Resizing, wake: float, coalesce: bool) -> bool:
    """Go on as `advance` does, where pending changes take effect after completions, before submissions.

    Then jobs start that were promised nodes. The log must have room, see `has_room`.
    """
    counts, count = resizing.counts, len(state.arrivals)
    now = next_event(state, wake)
    if counts[WAITING] and resizing.point_times[0] < now:
        now = resizing.point_times[0]
    if now == np.inf:
        return False
    state.clock[0] = now
    counts[CALLS] += 1
    completed = resized = 0
    while state.counts[RUNNING] and state.end_times[0] == now and (coalesce or not completed):
        state.events[completed] = _complete(jobs, state, resizing)
        completed += 1
    while counts[WAITING] and resizing.point_times[0] == now and (coalesce or not completed + resized):
        job = resizing.point_jobs[0]
        take_out(resizing.point_times, resizing.point_jobs, resizing.point_places, counts[WAITING], job)
        counts[WAITING] -= 1
        _take_effect(jobs, state, resizing, job)
        resizing.resized[resized] = job
        resized += 1
    state.counts[COMPLETED], counts[RESIZED] = completed, resized
    submit_now(state, count if coalesce else 1 - completed - resized)
    start_promised(jobs, state, resizing)
    return True
