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

First come the sizes of jobs: the rules that depend on a job only (allowed numbers of nodes, run times), then
the bookkeeping of one running job (end, work left, stall, request), then the phases of reactive jobs.

Of a job with phases nodes join and leave one at a time, as many as its phase can use. The job makes no
progress in its first `join_start` seconds, and asks for nothing. A node is held from the grant on and joins
for `join_grow` seconds; one that leaves is held for `join_shrink` seconds more; neither is useful. A job asks
for a node when it has no open request, no node joins, and it holds fewer than its phase can use and
`max_nodes` allow. It counts `release_delay` seconds while it has more useful nodes than the phase can use,
then gives one back, which drops an open request; the count starts again if there are still too many. A count
that is over while a node leaves waits until that node is free.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from allocsolve.kernels import bisect_right, inner_kernel
from allocsolve.kernels.heap import BY_ITEM, change, raise_up, take_out
from allocsolve.model import EVOLVING, MALLEABLE, POWERS_OF_TWO, PROFILE, REACTIVE, REQUESTED
from allocsolve.model.speedup import NO_SPEEDUP, SPEEDUP_TABLE, time_factor
from allocsolve.simulation._kernels_events import begin, complete, put_in_order, take_out_of_order
from allocsolve.simulation.decisions import PROMISED

if TYPE_CHECKING:
    from allocsolve.model import FloatArray, IntArray, PackedJobs
    from allocsolve.simulation.state import Resizing, State

_by_law = inner_kernel(time_factor)


@inner_kernel
def _in_size_set(size_step: int, limit: int) -> int:
    """Return the largest number of nodes of a size set that is at most `limit`, which is at least 1."""
    if size_step != POWERS_OF_TWO:
        return limit - limit % size_step
    size = 1
    while 2 * size <= limit:
        size *= 2
    return size


@inner_kernel
def largest_size(jobs: PackedJobs, job: int, limit: int) -> int:
    """Return the largest number of nodes, at most `limit`, on which a job can run; 0 if there is none.

    A job with a profile starts on its own number of nodes, see `largest_start`.
    """
    least, most = jobs.min_nodes[job], jobs.max_nodes[job]
    if least > limit:
        return 0
    if least == most:  # a rigid job: a look at its law and a division would take as long as its start
        return int(least)
    if jobs.speedup[job] != SPEEDUP_TABLE:
        return _in_size_set(jobs.size_step[job], min(most, limit))
    row = jobs.table_offsets[job + 1] - 1
    while jobs.table_nodes[row] > limit:
        row -= 1
    return int(jobs.table_nodes[row])


@inner_kernel
def _time_factor(jobs: PackedJobs, job: int, nodes: int) -> float:
    """Return the time on `nodes` nodes, in a unit that is the same for all numbers of nodes of the job."""
    if jobs.speedup[job] != SPEEDUP_TABLE:
        return float(_by_law(jobs.speedup[job], jobs.parameter[job], float(nodes)))
    row = jobs.table_offsets[job]
    while jobs.table_nodes[row] != nodes:
        row += 1
    return float(jobs.table_seconds[row])


@inner_kernel
def time_ratio(jobs: PackedJobs, job: int, nodes: int) -> float:
    """Return the run time on `nodes` nodes over that on `jobs.nodes[job]` nodes. O(rows of its table)."""
    if nodes == jobs.nodes[job] or jobs.speedup[job] == NO_SPEEDUP:
        return 1.0
    return _time_factor(jobs, job, nodes) / _time_factor(jobs, job, jobs.nodes[job])


@inner_kernel
def run_time(jobs: PackedJobs, job: int, nodes: int) -> float:
    """Return how long a job runs on `nodes` nodes, in seconds; a value of a table is returned exactly."""
    if nodes == jobs.nodes[job]:
        return float(jobs.runtime[job])
    if jobs.speedup[job] == SPEEDUP_TABLE:
        return _time_factor(jobs, job, nodes)
    return float(jobs.runtime[job] * time_ratio(jobs, job, nodes))


@inner_kernel
def set_next_event(resizing: Resizing, job: int, time: float) -> None:
    """Set the time of the next event within a running job, infinite for never. O(log running)."""
    ledger, places = resizing.ledger, resizing.point_places
    if places[job] >= 0:
        if time < np.inf:
            change(resizing.points, places, BY_ITEM, ledger.waiting, places[job], time, job)
        else:
            take_out(resizing.points, places, BY_ITEM, ledger.waiting, places[job])
            ledger.waiting -= 1
    elif time < np.inf:
        raise_up(resizing.points, places, BY_ITEM, ledger.waiting, time, job)
        ledger.waiting += 1


@inner_kernel
def set_end(state: State, job: int, end: float) -> None:
    """Set when a running job ends if nothing changes, infinite if that is not known. O(log running)."""
    state.job[job].end = end
    change(state.ends, state.end_places, BY_ITEM, state.engine.running, state.end_places[job], end, job)


@inner_kernel
def work_left(state: State, resizing: Resizing, job: int) -> float:
    """Return the work that a running job has left now, of the whole job or of its present phase or step."""
    elastic = resizing.job[job]
    worked = max(0.0, state.engine.clock - elastic.since)
    return float(elastic.left - elastic.rate * worked)


@inner_kernel
def hold(state: State, resizing: Resizing, job: int, size: int, key: float) -> None:
    """Let a running job hold `size` nodes from now on, with `key` as its place in the order of running jobs.

    If a job changes several times at one instant, the log has the last size only.
    """
    elastic = resizing.job[job]
    take_out_of_order(state, state.held, job)
    put_in_order(state, state.held, job, size, key)
    state.job[job].key = key
    state.job[job].size = size
    now, entry = state.engine.clock, elastic.last_entry
    if state.job[job].start == now:
        elastic.first_size = size
        return
    if entry < 0 or resizing.log[entry].time != now:
        entry = resizing.ledger.logged
        resizing.ledger.logged += 1
        elastic.last_entry = entry
        resizing.log[entry].job, resizing.log[entry].time = job, now
    resizing.log[entry].size = size


@inner_kernel
def change_size(jobs: PackedJobs, state: State, resizing: Resizing, job: int) -> None:
    """Let a job work on its target number of nodes, now or at the end of the stall that the change costs.

    Nodes that it gets are taken from the reserved ones. Nodes that it gives up become free or go to the pool
    now, or the job holds them until the end of the stall. Several changes at one instant count as one; at the
    start of the job they cost nothing.
    """
    elastic = resizing.job[job]
    now, size, held = state.engine.clock, elastic.target, state.job[job].size
    resume, goes_on = now, max(now, elastic.since)
    fixed, per_node = elastic.stall_fixed, elastic.stall_per_node
    shared = elastic.stall_shared
    if elastic.changed != now:
        elastic.changed, elastic.base, elastic.before = now, goes_on, held
    if fixed + per_node + shared > 0.0:
        nodes, resume = elastic.before, elastic.base
        if nodes != size and state.job[job].start != now:
            resume += fixed + per_node * abs(size - nodes) + shared / (nodes + size)
    before, after = elastic.rate, 1 / time_ratio(jobs, job, size)
    left = work_left(state, resizing, job)
    elastic.since, elastic.left, elastic.rate = resume, left, after
    set_end(state, job, resume + max(0.0, left) / after)
    # The expected work left does not change: a job that runs longer than expected goes on to do so.
    expected = state.job[job].expected
    if expected > goes_on:
        expected = resume + (expected - goes_on) * (before / after)
    state.job[job].expected = expected
    if resume > now and size < held and elastic.holds_larger:
        hold(state, resizing, job, held, expected)
        elastic.leaves = resume
        set_next_event(resizing, job, resume)
        return
    if size > held:
        resizing.ledger.reserved -= size - held
    else:
        promised = elastic.promised
        resizing.ledger.pool += promised
        state.engine.free += held - size - promised
        elastic.promised = 0
    hold(state, resizing, job, size, expected)
    if elastic.reading == REQUESTED:
        await_moment(jobs, state, resizing, job)


@inner_kernel
def await_moment(jobs: PackedJobs, state: State, resizing: Resizing, job: int) -> None:
    """Set when a job next asks for another number of nodes."""
    elastic = resizing.job[job]
    time = np.inf
    row = elastic.row
    if row < elastic.last_row:
        work = elastic.left - resizing.rows[row].amount * jobs.runtime[job]
        time = max(state.engine.clock, elastic.since + work / elastic.rate)
    set_next_event(resizing, job, time)


@inner_kernel
def ask(resizing: Resizing, job: int, size: int) -> None:
    """Open a request of a job, which has none open, to run on `size` nodes."""
    resizing.job[job].request = size
    resizing.requests[resizing.ledger.requests] = job
    resizing.ledger.requests += 1


@inner_kernel
def withdraw(resizing: Resizing, job: int) -> None:
    """Remove the request of a job, if it has one, from the list of open requests. O(open requests)."""
    elastic = resizing.job[job]
    if not elastic.request:
        return
    elastic.request = 0
    last, at = resizing.ledger.requests - 1, 0
    while resizing.requests[at] != job:
        at += 1
    for place in range(at, last):
        resizing.requests[place] = resizing.requests[place + 1]
    resizing.ledger.requests = last


@inner_kernel
def change_useful_nodes(state: State, resizing: Resizing, job: int, change: int) -> None:
    """Count the progress of a job up to now, and change its number of useful nodes by `change`."""
    elastic = resizing.job[job]
    left = work_left(state, resizing, job)
    elastic.since, elastic.left = state.engine.clock, left
    elastic.useful += change
    elastic.rate = min(float(elastic.useful), resizing.rows[elastic.row].nodes)


@inner_kernel
def await_change(state: State, resizing: Resizing, job: int) -> None:
    """Set when a job with phases ends, or when the next event within it happens."""
    elastic = resizing.job[job]
    end = elastic.since + max(0.0, elastic.left) / elastic.rate
    time = min(elastic.joins, elastic.leaves)
    if elastic.leaves == np.inf:
        time = min(time, elastic.gives)
    if elastic.row + 1 == elastic.last_row:
        set_end(state, job, end)
    else:
        time = min(time, end)
    set_next_event(resizing, job, max(state.engine.clock, time))


@inner_kernel
def go_through_phases(jobs: PackedJobs, state: State, resizing: Resizing, job: int) -> bool:
    """Carry out the events of a job with phases that are due now; return whether it asks for a node."""
    elastic = resizing.job[job]
    now = state.engine.clock
    row = elastic.row
    end = elastic.since + max(0.0, elastic.left) / elastic.rate
    if row + 1 < elastic.last_row and end <= now:
        row += 1
        elastic.row = row
        elastic.since, elastic.left = now, resizing.rows[row].amount
        elastic.rate = min(float(elastic.useful), resizing.rows[row].nodes)
    if elastic.joins <= now:
        change_useful_nodes(state, resizing, job, 1)
        elastic.joins = np.inf
    while True:
        # The delay before a node is given back runs while the phase can use fewer nodes than there are.
        if elastic.useful <= resizing.rows[row].nodes:
            elastic.gives = np.inf
        elif elastic.gives == np.inf:
            elastic.gives = now + elastic.release_delay
        if elastic.leaves <= now:
            elastic.leaves = np.inf
            state.engine.free += 1
            hold(state, resizing, job, state.job[job].size - 1, state.job[job].key)
            if elastic.request:
                elastic.request = state.job[job].size + 1
        elif elastic.leaves == np.inf and elastic.gives <= now:
            change_useful_nodes(state, resizing, job, -1)
            elastic.leaves, elastic.gives = now + elastic.join_shrink, np.inf
            elastic.changed = now
            elastic.target -= 1
            withdraw(resizing, job)
        else:
            break
    limit = min(resizing.rows[row].nodes, float(jobs.max_nodes[job]))
    asks = elastic.joins == np.inf and not elastic.request and state.job[job].size < limit
    if asks:
        ask(resizing, job, state.job[job].size + 1)
    await_change(state, resizing, job)
    return bool(asks)


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
