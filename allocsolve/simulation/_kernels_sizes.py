"""The sizes of jobs, for kernels: allowed numbers of nodes, run times, and changes of size while a job runs.

First come the rules that depend on a job only, then the bookkeeping of one running job (end, work left,
stall, request), then the phases of reactive jobs. The event loop with these changes is in `_kernels_resizes`.

Of a job with phases nodes join and leave one at a time, as many as its phase can use. The job makes no
progress in its first `join_start` seconds, and asks for nothing. A node is held from the grant on and joins
for `join_grow` seconds; one that leaves is held for `join_shrink` seconds more; neither is useful. A job asks
for a node when it has no open request, no node joins, and it holds fewer than its phase can use and
`max_nodes` allow. It counts `release_delay` seconds while it has more useful nodes than the phase can use,
then gives one back, which drops an open request; the count starts again if there are still too many. A count
that is over while a node leaves waits until that node is free.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from allocsolve.kernels import inner_kernel
from allocsolve.kernels.heap import BY_ITEM, change, raise_up, take_out
from allocsolve.model import POWERS_OF_TWO, REQUESTED
from allocsolve.model.speedup import NO_SPEEDUP, SPEEDUP_TABLE, time_factor
from allocsolve.simulation._kernels_events import put_in_order, take_out_of_order

if TYPE_CHECKING:
    from allocsolve.model.packed_jobs import PackedJobs
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
    if jobs.min_nodes[job] > limit:
        return 0
    if jobs.speedup[job] != SPEEDUP_TABLE:
        return _in_size_set(jobs.size_step[job], min(jobs.max_nodes[job], limit))
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
