"""Running jobs change their sizes, and queued jobs are promised nodes: what the event loop does besides.

A job changes its size at a point of its work, which is strictly after the decision; without points it changes
at once. Nodes that it is to get wait in `RESERVED` until then. Nodes that it gives up go to the pool if they
are promised to a queued job, else they are free; a job that holds the larger number while it stalls gives
them up at the end of the stall. If no point is left, the change stays pending until the job ends. A job that
was promised nodes starts when the pool holds them; the first promise comes first.

Events at one instant come in one order: completions, what happens within running jobs (see
`allocsolve.simulation._kernels_evolving`), submissions; each by job.

At every call of a policy nodes held, free, in the pool and reserved add up to all nodes, and the pool and
what pending changes will bring into it to the open promises.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from allocsolve.kernels import inner_kernel
from allocsolve.kernels.search import bisect_right
from allocsolve.model.job_kinds import EVOLVING, MALLEABLE
from allocsolve.simulation._kernels_events import (
    COMPLETED,
    FREE,
    RUNNING,
    STARTED,
    SUBMITTED,
    State,
    begin,
    complete,
    next_event,
    submit_now,
)
from allocsolve.simulation._kernels_evolving import begin_evolving, happen
from allocsolve.simulation._kernels_requests import withdraw
from allocsolve.simulation._kernels_resizing_state import (
    CALLS,
    FIRST_PROMISE,
    LAST_PROMISE,
    MALLEABLE_RUNNING,
    POOL,
    RESERVED,
    RESIZED,
    TAKEN_IN,
    WAITING,
    Resizing,
)
from allocsolve.simulation._kernels_sizes import run_time, time_ratio
from allocsolve.simulation._kernels_sizes_held import change_size, set_next_event, work_left
from allocsolve.simulation.decisions import PROMISED

if TYPE_CHECKING:
    from allocsolve.model.arrays import IntArray
    from allocsolve.model.jobs import FloatArray, PackedJobs

__all__ = ["advance_resizing", "promise", "resize", "start_promised", "take_in", "take_running"]

#: So much of an interval between points is rounded: a point that is no further away has been passed.
_PASSED: Final = 1e-7


@inner_kernel
def take_in(jobs: PackedJobs, state: State, resizing: Resizing) -> None:
    """Take note of the jobs that started since the last time."""
    if resizing.counts[TAKEN_IN] < state.counts[STARTED]:
        _take_in(jobs, state, resizing)


@inner_kernel
def _take_in(jobs: PackedJobs, state: State, resizing: Resizing) -> None:
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
        elif jobs.kind[job] == EVOLVING:
            begin_evolving(jobs, state, resizing, job)
    counts[TAKEN_IN] = state.counts[STARTED]


@inner_kernel
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


@inner_kernel
def _forget(resizing: Resizing, job: int) -> None:
    """Take a malleable job off the list of those that run. O(those)."""
    running = resizing.running
    last = resizing.counts[MALLEABLE_RUNNING] - 1
    for at in range(bisect_right(running, last + 1, job) - 1, last):
        running[at] = running[at + 1]
    resizing.counts[MALLEABLE_RUNNING] = last


@inner_kernel
def _complete(jobs: PackedJobs, state: State, resizing: Resizing) -> int:
    """Take the job that ends first off the nodes: what it would have given up goes where it was to go."""
    job = complete(state)
    if jobs.kind[job] < MALLEABLE:
        return job
    counts = resizing.counts
    gain = max(0, resizing.target[job] - state.size[job])
    promised = resizing.promised[job]
    counts[RESERVED] -= gain
    counts[POOL] += promised
    state.counts[FREE] += gain - promised
    resizing.promised[job] = 0
    resizing.target[job] = state.size[job]
    set_next_event(resizing, job, np.inf)
    if jobs.kind[job] == MALLEABLE:
        _forget(resizing, job)
    else:
        withdraw(resizing, job)
    return job


@inner_kernel
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
    points = jobs.points[job]
    if pending and points > 0:
        return
    resizing.decided[job] = resizing.counts[CALLS]
    if points == 0:
        change_size(jobs, state, resizing, job)
        return
    done = jobs.runtime[job] - work_left(state, resizing, job)
    part = jobs.runtime[job] / points
    point = np.floor(done / part + _PASSED) + 1
    if point < points:
        time = max(now, resizing.since[job]) + (point * part - done) / resizing.rate[job]
        set_next_event(resizing, job, max(now, time))


@inner_kernel
def promise(state: State, resizing: Resizing, job: int, nodes: int, from_free: int) -> None:
    """Promise nodes to a job that has left the queue: so many from the free ones, others by `resize`."""
    state.counts[FREE] -= from_free
    resizing.counts[POOL] += from_free
    resizing.promise[job] = nodes
    resizing.promises[resizing.counts[LAST_PROMISE]] = job
    resizing.counts[LAST_PROMISE] += 1


@inner_kernel
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


@inner_kernel
def advance_resizing(jobs: PackedJobs, state: State, resizing: Resizing, wake: float, coalesce: bool) -> bool:
    """Go on as `advance` does; what happens within running jobs comes after completions.

    Then jobs start that were promised nodes. Instants are passed over at which no job ends, is submitted,
    asks for nodes or changes its size. The log must have room, see `has_room`.
    """
    counts, count = resizing.counts, len(state.arrivals)
    completed = resized = 0
    noticed = False
    while not noticed:
        now = next_event(state, wake)
        if counts[WAITING] and resizing.point_times[0] < now:
            now = resizing.point_times[0]
        if now == np.inf:
            return False
        state.clock[0] = now
        happened = 0
        while state.counts[RUNNING] and state.end_times[0] == now and (coalesce or not completed):
            state.events[completed] = _complete(jobs, state, resizing)
            completed += 1
        noticed = completed > 0 or now == wake
        while counts[WAITING] and resizing.point_times[0] == now and (coalesce or not completed + happened):
            job = resizing.point_jobs[0]
            before = state.size[job]
            asks = happen(jobs, state, resizing, job)
            happened += 1
            changes = state.size[job] != before
            noticed = noticed or asks or changes
            # Of one job several things may happen now, one after the other.
            if changes and (resized == 0 or resizing.resized[resized - 1] != job):
                resizing.resized[resized] = job
                resized += 1
        state.counts[COMPLETED], counts[RESIZED] = completed, resized
        submit_now(state, count if coalesce else 1 - completed - happened)
        noticed = noticed or state.counts[SUBMITTED] > 0
    counts[CALLS] += 1
    if counts[FIRST_PROMISE] < counts[LAST_PROMISE]:
        start_promised(jobs, state, resizing)
    return True
