"""A running job gets another number of nodes: what it holds, how fast it works, when it stalls."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from allocsolve.kernels import inner_kernel
from allocsolve.model.evolving import REQUESTED
from allocsolve.simulation._kernels_events import put_in_order, take_out_of_order
from allocsolve.simulation._kernels_heap import change_time, raise_up, take_out
from allocsolve.simulation._kernels_sizes import time_ratio

if TYPE_CHECKING:
    from allocsolve.model.jobs import PackedJobs
    from allocsolve.simulation.state import Resizing, State

__all__ = ["await_moment", "change_size", "hold", "set_end", "set_next_event", "work_left"]


@inner_kernel
def set_next_event(resizing: Resizing, job: int, time: float) -> None:
    """Set when something happens next within a running job, infinite for never. O(log running)."""
    ledger, places = resizing.ledger, resizing.point_places
    if places[job] >= 0:
        if time < np.inf:
            change_time(resizing.points, places, ledger.waiting, job, time)
        else:
            take_out(resizing.points, places, ledger.waiting, job)
            ledger.waiting -= 1
    elif time < np.inf:
        raise_up(resizing.points, places, ledger.waiting, time, job)
        ledger.waiting += 1


@inner_kernel
def set_end(state: State, job: int, end: float) -> None:
    """Set when a running job ends if nothing changes, infinite if that is not known. O(log running)."""
    state.job[job].end = end
    change_time(state.ends, state.end_places, state.engine.running, job, end)


@inner_kernel
def work_left(state: State, resizing: Resizing, job: int) -> float:
    """Return how much of its work, or of its phase or step, a running job has left now."""
    elastic = resizing.job[job]
    worked = max(0.0, state.engine.clock - elastic.since)
    return float(elastic.left - elastic.rate * worked)


@inner_kernel
def hold(state: State, resizing: Resizing, job: int, size: int, key: float) -> None:
    """Let a running job hold so many nodes from now on, and stand at this key.

    Of several changes at one instant the last one counts.
    """
    elastic = resizing.job[job]
    if state.engine.ordered:
        take_out_of_order(state, job)
        put_in_order(state, job, size, key)
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
    """Let a job go on with its target now, or at the end of the stall that the change costs it.

    Nodes that it is to get are among the reserved ones. Those that it gives up are free now, or promised, or
    it holds them until the end of the stall. Changes at one instant are one change; at the start of the job
    they cost nothing.
    """
    elastic = resizing.job[job]
    now, size, held = state.engine.clock, elastic.target, state.job[job].size
    resume, goes_on = now, max(now, elastic.since)
    fixed, per_node = elastic.stall_fixed, elastic.stall_per_node
    shared = elastic.stall_shared
    if elastic.changed != now:
        elastic.changed, elastic.base, elastic.before = now, goes_on, held
    if fixed + per_node + shared > 0.0:
        old, resume = elastic.before, elastic.base
        if old != size and state.job[job].start != now:
            resume += fixed + per_node * abs(size - old) + shared / (old + size)
    before, after = elastic.rate, 1 / time_ratio(jobs, job, size)
    left = work_left(state, resizing, job)
    elastic.since, elastic.left, elastic.rate = resume, left, after
    set_end(state, job, resume + max(0.0, left) / after)
    # As much of the expected work is left as before: who runs longer than expected stays so.
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
