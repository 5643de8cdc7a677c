"""Running jobs change their sizes, and queued jobs are promised nodes: what the event loop does besides.

A job changes its size at a point of its work, which is strictly after the decision; without points it changes
at once. Nodes that it is to get wait in `reserved` until then. Nodes that it gives up go to the pool if they
are promised to a queued job, else they are free; a job that holds the larger number while it stalls gives
them up at the end of the stall. If no point is left, the change stays pending until the job ends. A job that
was promised nodes starts when the pool holds them; the first promise comes first.

Events at one instant come in one order: completions, what happens within running jobs (see
`allocsolve.simulation._kernels_resizes`), submissions; each by job.

At every call of a policy nodes held, free, in the pool and reserved add up to all nodes, and the pool and
what pending changes will bring into it to the open promises.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from allocsolve.kernels import inner_kernel, kernel
from allocsolve.kernels.search import bisect_right
from allocsolve.model.evolving import PROFILE, REACTIVE, REQUESTED
from allocsolve.model.job_kinds import EVOLVING, MALLEABLE
from allocsolve.model.jobs import PackedJobs
from allocsolve.simulation._kernels_events import (
    begin,
    close_gaps,
    complete,
    leave_queue,
    next_event,
    submit_now,
)
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
from allocsolve.simulation.state import Resizing, State

if TYPE_CHECKING:
    from allocsolve.model.arrays import IntArray
    from allocsolve.model.jobs import FloatArray

__all__ = [
    "ANSWER",
    "ORDER_COLUMNS",
    "PROMISE",
    "RESIZE",
    "START",
    "advance_resizing",
    "answer",
    "begin_evolving",
    "carry_out",
    "happen",
    "has_room",
    "largest_start",
    "promise",
    "resize",
    "start_promised",
    "take_in",
    "take_running",
    "to_next_resizing_event",
]


@inner_kernel
def largest_start(jobs: PackedJobs, resizing: Resizing, job: int, most: int) -> int:
    """Return the largest number of nodes, at most so many, on which a job can start; 0 if there is none."""
    if resizing.job[job].reading == PROFILE:
        return int(jobs.nodes[job]) if jobs.nodes[job] <= most else 0
    return largest_size(jobs, job, most)


@inner_kernel
def begin_evolving(jobs: PackedJobs, state: State, resizing: Resizing, job: int) -> None:
    """Take note of an evolving job that has just started."""
    elastic = resizing.job[job]
    now, size = state.engine.clock, state.job[job].size
    row = elastic.row
    if row == elastic.last_row:
        return  # what the job will do is not known: the state was made of a view
    if elastic.reading == REQUESTED:
        elastic.since, elastic.left = now, jobs.runtime[job]
        elastic.rate = 1 / time_ratio(jobs, job, size)
        await_moment(jobs, state, resizing, job)
    elif elastic.reading == PROFILE:
        nodes = int(resizing.rows[row].nodes)
        if nodes < size:  # the first step needs none, but nobody starts on none
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
    """Let happen what comes next within a running job; return whether it asks for nodes."""
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
    # Its stall is over, in which it held more nodes.
    elastic.leaves = np.inf
    promised = elastic.promised
    resizing.ledger.pool += promised
    state.engine.free += state.job[job].size - elastic.target - promised
    elastic.promised = 0
    set_next_event(resizing, job, np.inf)
    hold(state, resizing, job, elastic.target, state.job[job].key)
    # That stall was for this size: if it changes again now, that is another change with its own stall.
    elastic.last_entry = -1
    if reading == REQUESTED:
        await_moment(jobs, state, resizing, job)
    return False


@inner_kernel
def answer(jobs: PackedJobs, state: State, resizing: Resizing, job: int, granted: bool) -> None:
    """Answer the open request of a job; if it is granted, there are free nodes for it.

    O(open requests + log running).
    """
    elastic = resizing.job[job]
    size = elastic.request
    withdraw(resizing, job)
    if not granted:
        return
    more = size - state.job[job].size
    state.engine.free -= more
    # Of a job with phases a node may be leaving.
    elastic.target += more
    if elastic.reading == REQUESTED:
        resizing.ledger.reserved += more
        change_size(jobs, state, resizing, job)
        return
    elastic.changed = state.engine.clock
    hold(state, resizing, job, size, state.job[job].key)
    if elastic.row == elastic.last_row:
        return  # what the job will do is not known: the state was made of a view
    if elastic.reading == PROFILE:
        _begin_step(state, resizing, job)
        return
    change_useful_nodes(state, resizing, job, 0)
    elastic.joins = state.engine.clock + elastic.join_grow
    await_change(state, resizing, job)


@inner_kernel
def _ask_for_change(jobs: PackedJobs, state: State, resizing: Resizing, job: int) -> bool:
    """Let a job shrink, or ask for more nodes: a moment of its work has come."""
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
    """Begin the present step now."""
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
    """Go on to the next step, or ask for the nodes that it lacks."""
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


#: So much of an interval between points is rounded: a point that is no further away has been passed.
_PASSED: Final = 1e-7


@inner_kernel
def take_in(jobs: PackedJobs, state: State, resizing: Resizing) -> None:
    """Take note of the jobs that started since the last time."""
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
    """Take jobs onto the nodes that run already: sizes, starts and targets are there, all nodes are free."""
    for at in range(len(running)):
        job = running[at]
        target, start = resizing.job[job].target, state.job[job].start
        estimate = expected_ends[at] - state.engine.clock
        begin(state, job, state.job[job].size, estimate, estimate, expected_ends[at], 0, -1)
        take_in(jobs, state, resizing)
        state.job[job].start, resizing.job[job].target = start, target


@inner_kernel
def _forget(resizing: Resizing, job: int) -> None:
    """Take a malleable job off the list of those that run. O(those)."""
    running = resizing.running
    last = resizing.ledger.malleable_running - 1
    for at in range(bisect_right(running, last + 1, job) - 1, last):
        running[at] = running[at + 1]
    resizing.ledger.malleable_running = last


@inner_kernel
def _complete(jobs: PackedJobs, state: State, resizing: Resizing) -> int:
    """Take the job that ends first off the nodes: what it would have given up goes where it was to go."""
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
    """Decide that a running malleable job changes to so many nodes at its next point, without points now.

    Of the nodes that it gives up so many are `promised` to a queued job, see `promise`. In the call in which
    a change was decided it may go further in the same direction. O(log running).
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
    """Promise nodes to a job that has left the queue: so many from the free ones, others by `resize`."""
    state.engine.free -= from_free
    resizing.ledger.pool += from_free
    resizing.job[job].promise = nodes
    resizing.promises[resizing.ledger.last_promise] = job
    resizing.ledger.last_promise += 1


@inner_kernel
def start_promised(jobs: PackedJobs, state: State, resizing: Resizing) -> None:
    """Start jobs that were promised nodes while the pool holds them: the first that has to wait ends it."""
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


@inner_kernel
def advance_resizing(jobs: PackedJobs, state: State, resizing: Resizing, wake: float, coalesce: bool) -> bool:
    """Go on as `advance` does; what happens within running jobs comes after completions.

    Then jobs start that were promised nodes. Instants are passed over at which no job ends, is submitted,
    asks for nodes or changes its size. The log must have room, see `has_room`.
    """
    ledger, count = resizing.ledger, len(state.arrivals)
    completed = resized = 0
    noticed = False
    while not noticed:
        now = next_event(state, wake)
        if ledger.waiting and resizing.points[0].time < now:
            now = resizing.points[0].time
        if now == np.inf:
            return False
        state.engine.clock = now
        happened = 0
        while state.engine.running and state.ends[0].time == now and (coalesce or not completed):
            state.events[completed] = _complete(jobs, state, resizing)
            completed += 1
        noticed = completed > 0 or now == wake
        while ledger.waiting and resizing.points[0].time == now and (coalesce or not completed + happened):
            job = resizing.points[0].item
            before = state.job[job].size
            asks = happen(jobs, state, resizing, job)
            happened += 1
            changes = state.job[job].size != before
            noticed = noticed or asks or changes
            # Of one job several things may happen now, one after the other.
            if changes and (resized == 0 or resizing.resized[resized - 1] != job):
                resizing.resized[resized] = job
                resized += 1
        state.engine.completed, ledger.resized = completed, resized
        submit_now(state, count if coalesce else 1 - completed - happened)
        noticed = noticed or state.engine.submitted > 0
    ledger.calls += 1
    if ledger.first_promise < ledger.last_promise:
        start_promised(jobs, state, resizing)
    return True


@inner_kernel
def has_room(state: State, resizing: Resizing) -> bool:
    """Return whether the log has room for the changes of an advance.

    Two of each running job at its instant, if its stall is over and it changes again; and before that,
    unnoticed, one of each that begins to stall and steps of profiles that need no other nodes.
    """
    needed = resizing.ledger.logged + 3 * state.engine.running + len(resizing.rows)
    return bool(needed <= len(resizing.log))


#: Codes of orders. An order is a row of integers: code, job, nodes; of a resize the nodes that are promised
#: to others, of a promise the nodes that come from the free ones; reason and blocked job of a start. An
#: answer has 1 instead of nodes if it grants what a job asked for, else 0.
START: Final = 0
RESIZE: Final = 1
PROMISE: Final = 2
ANSWER: Final = 3
ORDER_COLUMNS: Final = 6


@kernel
def to_next_resizing_event(
    columns: tuple[Any, ...], arrays: tuple[Any, ...], changes: tuple[Any, ...], wake: float, coalesce: bool
) -> bool:
    """Advance and close the gaps in the list of running jobs.

    False if no job waits, runs or is to come, whoever wants to be called. Jobs, state and resizing come as
    plain tuples, which numba takes apart faster than named ones.
    """
    jobs, state, resizing = PackedJobs(*columns), State(*arrays), Resizing(*changes)
    engine = state.engine
    waits = engine.tail > engine.head
    if not (waits or engine.running or engine.arrived < len(state.arrivals)):
        return False
    called = advance_resizing(jobs, state, resizing, wake, coalesce)
    close_gaps(state)
    return called


@kernel
def carry_out(
    columns: tuple[Any, ...], arrays: tuple[Any, ...], changes: tuple[Any, ...], orders: IntArray
) -> None:
    """Do what was decided in one call, in this order; jobs start as soon as their promises can be kept.

    O(queued and running jobs) for each order.
    """
    jobs, state, resizing = PackedJobs(*columns), State(*arrays), Resizing(*changes)
    for row in range(len(orders)):
        code, job, nodes, part = orders[row, 0], orders[row, 1], orders[row, 2], orders[row, 3]
        if code == RESIZE:
            resize(jobs, state, resizing, job, nodes, part)
            continue
        if code == ANSWER:
            answer(jobs, state, resizing, job, nodes == 1)
            continue
        at = state.engine.head
        while state.queue[at] != job:
            at += 1
        leave_queue(state, at)
        if code == PROMISE:
            promise(state, resizing, job, nodes, part)
            start_promised(jobs, state, resizing)
        else:
            estimate = resizing.job[job].estimate * time_ratio(jobs, job, nodes)
            key = state.engine.clock + estimate
            seconds = run_time(jobs, job, nodes)
            begin(state, job, nodes, seconds, estimate, key, orders[row, 4], orders[row, 5])
            take_in(jobs, state, resizing)
