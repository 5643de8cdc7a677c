"""What happens within running jobs (moments, steps, stalls), and decisions on sizes (resizes, promises).

A job changes its size at a point of its work, strictly after the decision; a job without points changes at
once. Nodes that it is going to get wait in `reserved` until then. Nodes that it gives up go to the pool if
they are promised to a queued job, and are free otherwise; a job that holds the larger number of nodes while
it stalls gives them up at the end of the stall. If no point is left, the change stays pending until the job
ends. A job that was promised nodes starts when the pool holds them; promises are served in the order in which
they were made.

What follows from an event within an evolving job is one event with it. A policy is called if a job asks for
nodes or its size changes; it is not if a phase or a step ends without that, a node joins or begins to leave,
or a request is dropped.

At every call of a policy, the nodes that are held, free, in the pool and reserved add up to all nodes. The
pool and the nodes that pending changes will bring into it add up to the open promises.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from allocsolve.kernels import bisect_right, inner_kernel
from allocsolve.model import EVOLVING, MALLEABLE, PROFILE, REACTIVE, REQUESTED
from allocsolve.simulation._kernels_events import begin, complete
from allocsolve.simulation._kernels_sizes import (
    ask,
    await_change,
    await_moment,
    change_size,
    change_useful_nodes,
    go_through_phases,
    hold,
    largest_size,
    run_time,
    set_end,
    set_next_event,
    time_ratio,
    withdraw,
    work_left,
)
from allocsolve.simulation.decisions import PROMISED

if TYPE_CHECKING:
    from allocsolve.model import FloatArray, IntArray, PackedJobs
    from allocsolve.simulation.state import Resizing, State


@inner_kernel
def largest_start(jobs: PackedJobs, resizing: Resizing, job: int, limit: int) -> int:
    """Return the largest number of nodes, at most `limit`, on which a job can start; 0 if there is none."""
    if resizing.job[job].reading == PROFILE:
        return int(jobs.nodes[job]) if jobs.nodes[job] <= limit else 0
    return largest_size(jobs, job, limit)


@inner_kernel
def begin_evolving(jobs: PackedJobs, state: State, resizing: Resizing, job: int) -> None:
    """Set the first event of an evolving job that has just started."""
    elastic = resizing.job[job]
    now, size = state.engine.clock, state.job[job].size
    row = elastic.row
    if row == elastic.last_row:
        return  # what the job will do is not known: the state was made from a view
    if elastic.reading == REQUESTED:
        elastic.since, elastic.left = now, jobs.runtime[job]
        elastic.rate = 1 / time_ratio(jobs, job, size)
        await_moment(jobs, state, resizing, job)
    elif elastic.reading == PROFILE:
        nodes = int(resizing.rows[row].nodes)
        if nodes < size:  # the first step needs no nodes, but no job starts on none
            state.engine.free += size - nodes
            elastic.target = nodes
            hold(state, resizing, job, nodes, state.job[job].key)
        _begin_step(state, resizing, job)
    else:
        elastic.useful = size
        ready = now + elastic.join_start
        elastic.since, elastic.left = ready, resizing.rows[row].amount
        elastic.rate = min(float(size), resizing.rows[row].nodes)
        set_end(state, job, np.inf)
        set_next_event(resizing, job, ready)


@inner_kernel
def happen(jobs: PackedJobs, state: State, resizing: Resizing, job: int) -> bool:
    """Carry out the next event within a running job; return whether the job asks for nodes."""
    elastic = resizing.job[job]
    reading = elastic.reading
    if reading == REACTIVE:
        return go_through_phases(jobs, state, resizing, job)
    if reading == PROFILE:
        return _end_step(state, resizing, job)
    if elastic.leaves == np.inf:
        if reading == REQUESTED:
            return _ask_for_change(jobs, state, resizing, job)
        set_next_event(resizing, job, np.inf)
        change_size(jobs, state, resizing, job)
        return False
    # A stall during which the job held more nodes is over.
    elastic.leaves = np.inf
    promised = elastic.promised
    resizing.ledger.pool += promised
    state.engine.free += state.job[job].size - elastic.target - promised
    elastic.promised = 0
    set_next_event(resizing, job, np.inf)
    hold(state, resizing, job, elastic.target, state.job[job].key)
    # The stall belonged to this size: if the job changes again now, that change has a stall of its own.
    elastic.last_entry = -1
    if reading == REQUESTED:
        await_moment(jobs, state, resizing, job)
    return False


@inner_kernel
def answer(jobs: PackedJobs, state: State, resizing: Resizing, job: int, granted: bool) -> None:
    """Answer the open request of a job; a request is granted only if enough nodes are free.

    O(open requests + log running).
    """
    elastic = resizing.job[job]
    size = elastic.request
    withdraw(resizing, job)
    if not granted:
        return
    more = size - state.job[job].size
    state.engine.free -= more
    # The target is counted, not set: a node of a job with phases may be leaving at the same time.
    elastic.target += more
    if elastic.reading == REQUESTED:
        resizing.ledger.reserved += more
        change_size(jobs, state, resizing, job)
        return
    elastic.changed = state.engine.clock
    hold(state, resizing, job, size, state.job[job].key)
    if elastic.row == elastic.last_row:
        return  # what the job will do is not known: the state was made from a view
    if elastic.reading == PROFILE:
        _begin_step(state, resizing, job)
        return
    change_useful_nodes(state, resizing, job, 0)
    elastic.joins = state.engine.clock + elastic.join_grow
    await_change(state, resizing, job)


@inner_kernel
def _ask_for_change(jobs: PackedJobs, state: State, resizing: Resizing, job: int) -> bool:
    """At a planned moment of its work, let a job shrink or ask for more nodes; return whether it asks."""
    elastic = resizing.job[job]
    size = state.job[job].size
    change = int(resizing.rows[elastic.row].nodes)
    elastic.row += 1
    withdraw(resizing, job)
    wanted = min(max(size + change, jobs.min_nodes[job]), jobs.max_nodes[job])
    if wanted < size:
        elastic.target = wanted
        change_size(jobs, state, resizing, job)
        return False
    if wanted > size:
        ask(resizing, job, wanted)
    await_moment(jobs, state, resizing, job)
    return bool(wanted > size)


@inner_kernel
def _begin_step(state: State, resizing: Resizing, job: int) -> None:
    """Begin the present step of a profile now."""
    elastic = resizing.job[job]
    now = state.engine.clock
    row = elastic.row
    seconds = resizing.rows[row].amount
    elastic.since, elastic.left, elastic.rate = now, seconds, 1.0
    is_last = row + 1 == elastic.last_row
    set_end(state, job, now + seconds if is_last else np.inf)
    set_next_event(resizing, job, np.inf if is_last else now + seconds)


@inner_kernel
def _end_step(state: State, resizing: Resizing, job: int) -> bool:
    """Go on to the next step of a profile or ask for the nodes that it lacks; return whether the job asks."""
    elastic = resizing.job[job]
    size = state.job[job].size
    elastic.row += 1
    nodes = int(resizing.rows[elastic.row].nodes)
    if nodes > size:
        elastic.since, elastic.left, elastic.rate = state.engine.clock, 0.0, 0.0
        set_next_event(resizing, job, np.inf)
        ask(resizing, job, nodes)
        return True
    state.engine.free += size - nodes
    elastic.target = nodes
    hold(state, resizing, job, nodes, state.job[job].key)
    if nodes < size:
        elastic.changed = state.engine.clock
    _begin_step(state, resizing, job)
    return False


#: Tolerance of rounding, as a share of the interval between two points: a point that is no further ahead than
#: this counts as passed.
_PASSED: Final = 1e-7


@inner_kernel
def take_in(jobs: PackedJobs, state: State, resizing: Resizing) -> None:
    """Set the elastic state of the jobs that started since the last call."""
    if resizing.ledger.taken_in < state.engine.started:
        _take_in(jobs, state, resizing)


@inner_kernel
def _take_in(jobs: PackedJobs, state: State, resizing: Resizing) -> None:
    ledger = resizing.ledger
    for at in range(ledger.taken_in, state.engine.started):
        job = state.started[at]
        size = state.job[job].size
        resizing.job[job].target = resizing.job[job].first_size = size
        if jobs.kind[job] == MALLEABLE:
            resizing.job[job].since, resizing.job[job].left = state.job[job].start, jobs.runtime[job]
            resizing.job[job].rate = 1 / time_ratio(jobs, job, size)
            place = ledger.malleable_running
            while place and resizing.running[place - 1] > job:
                resizing.running[place] = resizing.running[place - 1]
                place -= 1
            resizing.running[place] = job
            ledger.malleable_running += 1
        elif jobs.kind[job] == EVOLVING:
            begin_evolving(jobs, state, resizing, job)
    ledger.taken_in = state.engine.started


@inner_kernel
def take_running(
    jobs: PackedJobs, state: State, resizing: Resizing, running: IntArray, expected_ends: FloatArray
) -> None:
    """Place jobs that already run onto free nodes; their sizes, starts and targets must have been set."""
    for at in range(len(running)):
        job = running[at]
        target, start = resizing.job[job].target, state.job[job].start
        estimate = expected_ends[at] - state.engine.clock
        begin(state, job, state.job[job].size, estimate, estimate, expected_ends[at], 0, -1)
        take_in(jobs, state, resizing)
        state.job[job].start, resizing.job[job].target = start, target


@inner_kernel
def _forget(resizing: Resizing, job: int) -> None:
    """Remove a malleable job from the list of running ones. O(running malleable jobs)."""
    running = resizing.running
    last = resizing.ledger.malleable_running - 1
    for at in range(bisect_right(running, last + 1, job) - 1, last):
        running[at] = running[at + 1]
    resizing.ledger.malleable_running = last


@inner_kernel
def complete_elastic(jobs: PackedJobs, state: State, resizing: Resizing) -> int:
    """Complete the job that ends first and settle its pending change. Return the job.

    Nodes that were reserved for its growth become free; nodes that it had promised go to the pool.
    """
    job = complete(state)
    if jobs.kind[job] < MALLEABLE:
        return job
    ledger = resizing.ledger
    gain = max(0, resizing.job[job].target - state.job[job].size)
    promised = resizing.job[job].promised
    ledger.reserved -= gain
    ledger.pool += promised
    state.engine.free += gain - promised
    resizing.job[job].promised = 0
    resizing.job[job].target = state.job[job].size
    set_next_event(resizing, job, np.inf)
    if jobs.kind[job] == MALLEABLE:
        _forget(resizing, job)
    else:
        withdraw(resizing, job)
    return job


@inner_kernel
def resize(jobs: PackedJobs, state: State, resizing: Resizing, job: int, nodes: int, promised: int) -> None:
    """Decide that a running malleable job changes to `nodes` nodes at its next point; without points, now.

    `promised` of the nodes that it gives up are for a queued job, see `promise`. Within the call in which a
    change was decided, a further change in the same direction is allowed. O(log running).
    """
    elastic = resizing.job[job]
    now, pending = state.engine.clock, elastic.target != state.job[job].size
    change = nodes - elastic.target
    elastic.target = nodes
    elastic.promised += promised
    if change > 0:
        state.engine.free -= change
        resizing.ledger.reserved += change
    points = jobs.points[job]
    if pending and points > 0:
        return
    elastic.decided = resizing.ledger.calls
    if points == 0:
        change_size(jobs, state, resizing, job)
        return
    done = jobs.runtime[job] - work_left(state, resizing, job)
    part = jobs.runtime[job] / points
    point = np.floor(done / part + _PASSED) + 1
    if point < points:
        time = max(now, elastic.since) + (point * part - done) / elastic.rate
        set_next_event(resizing, job, max(now, time))


@inner_kernel
def promise(state: State, resizing: Resizing, job: int, nodes: int, from_free: int) -> None:
    """Promise nodes to a job that has left the queue: `from_free` are free, others come by `resize`."""
    state.engine.free -= from_free
    resizing.ledger.pool += from_free
    resizing.job[job].promise = nodes
    resizing.promises[resizing.ledger.last_promise] = job
    resizing.ledger.last_promise += 1


@inner_kernel
def start_promised(jobs: PackedJobs, state: State, resizing: Resizing) -> None:
    """Start jobs in the order of their promises, until one needs more nodes than the pool holds."""
    ledger, now = resizing.ledger, state.engine.clock
    while ledger.first_promise < ledger.last_promise:
        job = resizing.promises[ledger.first_promise]
        nodes = resizing.job[job].promise
        if nodes > ledger.pool:
            break
        ledger.pool -= nodes
        state.engine.free += nodes
        ledger.first_promise += 1
        estimate = resizing.job[job].estimate * time_ratio(jobs, job, nodes)
        begin(state, job, nodes, run_time(jobs, job, nodes), estimate, now + estimate, PROMISED, -1)
    take_in(jobs, state, resizing)
