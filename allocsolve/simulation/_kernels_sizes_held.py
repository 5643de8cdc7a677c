"""A running job gets another number of nodes: what it holds, how fast it works, when it stalls."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from allocsolve.kernels import inner_kernel
from allocsolve.model.evolving import REQUESTED
from allocsolve.simulation._kernels_events import (
    FREE,
    ORDERED,
    RUNNING,
    State,
    put_in_order,
    take_out_of_order,
)
from allocsolve.simulation._kernels_heap import change_time, raise_up, take_out
from allocsolve.simulation._kernels_resizing_state import (
    AMOUNT,
    BASE,
    BEFORE,
    CHANGED,
    HOLDS_LARGER,
    LAST_ROW,
    LEAVES,
    LOGGED,
    POOL,
    READING,
    RESERVED,
    ROW,
    STALL_FIXED,
    STALL_PER_NODE,
    STALL_SHARED,
    WAITING,
    Resizing,
)
from allocsolve.simulation._kernels_sizes import time_ratio

if TYPE_CHECKING:
    from allocsolve.model.jobs import PackedJobs

__all__ = ["await_moment", "change_size", "hold", "set_end", "set_next_event", "work_left"]


@inner_kernel
def set_next_event(resizing: Resizing, job: int, time: float) -> None:
    """Set when something happens next within a running job, infinite for never. O(log running)."""
    times, jobs, places = resizing.point_times, resizing.point_jobs, resizing.point_places
    counts = resizing.counts
    if places[job] >= 0:
        if time < np.inf:
            change_time(times, jobs, places, counts[WAITING], job, time)
        else:
            take_out(times, jobs, places, counts[WAITING], job)
            counts[WAITING] -= 1
    elif time < np.inf:
        raise_up(times, jobs, places, counts[WAITING], time, job)
        counts[WAITING] += 1


@inner_kernel
def set_end(state: State, job: int, end: float) -> None:
    """Set when a running job ends if nothing changes, infinite if that is not known. O(log running)."""
    state.end[job] = end
    change_time(state.end_times, state.end_jobs, state.end_places, state.counts[RUNNING], job, end)


@inner_kernel
def work_left(state: State, resizing: Resizing, job: int) -> float:
    """Return how much of its work, or of its phase or step, a running job has left now."""
    worked = max(0.0, state.clock[0] - resizing.since[job])
    return float(resizing.left[job] - resizing.rate[job] * worked)


@inner_kernel
def hold(state: State, resizing: Resizing, job: int, size: int, key: float) -> None:
    """Let a running job hold so many nodes from now on, and stand at this key.

    Of several changes at one instant the last one counts.
    """
    if state.counts[ORDERED]:
        take_out_of_order(state, job)
        put_in_order(state, job, size, key)
    state.key[job] = key
    state.size[job] = size
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


@inner_kernel
def change_size(jobs: PackedJobs, state: State, resizing: Resizing, job: int) -> None:
    """Let a job go on with its target now, or at the end of the stall that the change costs it.

    Nodes that it is to get are among the reserved ones. Those that it gives up are free now, or promised, or
    it holds them until the end of the stall. Changes at one instant are one change; at the start of the job
    they cost nothing.
    """
    now, size, held = state.clock[0], resizing.target[job], state.size[job]
    numbers, times = resizing.evolving.numbers, resizing.evolving.times
    resume, goes_on = now, max(now, resizing.since[job])
    fixed, per_node = times[job, STALL_FIXED], times[job, STALL_PER_NODE]
    shared = times[job, STALL_SHARED]
    if times[job, CHANGED] != now:
        times[job, CHANGED], times[job, BASE], numbers[job, BEFORE] = now, goes_on, held
    if fixed + per_node + shared > 0.0:
        old, resume = numbers[job, BEFORE], times[job, BASE]
        if old != size and state.start[job] != now:
            resume += fixed + per_node * abs(size - old) + shared / (old + size)
    before, after = resizing.rate[job], 1 / time_ratio(jobs, job, size)
    left = work_left(state, resizing, job)
    resizing.since[job], resizing.left[job], resizing.rate[job] = resume, left, after
    set_end(state, job, resume + max(0.0, left) / after)
    # As much of the expected work is left as before: who runs longer than expected stays so.
    expected = state.expected[job]
    if expected > goes_on:
        expected = resume + (expected - goes_on) * (before / after)
    state.expected[job] = expected
    if resume > now and size < held and numbers[job, HOLDS_LARGER]:
        hold(state, resizing, job, held, expected)
        times[job, LEAVES] = resume
        set_next_event(resizing, job, resume)
        return
    if size > held:
        resizing.counts[RESERVED] -= size - held
    else:
        promised = resizing.promised[job]
        resizing.counts[POOL] += promised
        state.counts[FREE] += held - size - promised
        resizing.promised[job] = 0
    hold(state, resizing, job, size, expected)
    if numbers[job, READING] == REQUESTED:
        await_moment(jobs, state, resizing, job)


@inner_kernel
def await_moment(jobs: PackedJobs, state: State, resizing: Resizing, job: int) -> None:
    """Set when a job next asks for another number of nodes."""
    evolving, time = resizing.evolving, np.inf
    row = evolving.numbers[job, ROW]
    if row < evolving.numbers[job, LAST_ROW]:
        work = resizing.left[job] - evolving.rows[row, AMOUNT] * jobs.runtime[job]
        time = max(state.clock[0], resizing.since[job] + work / resizing.rate[job])
    set_next_event(resizing, job, time)
