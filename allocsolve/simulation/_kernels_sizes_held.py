"""A running job gets another number of nodes: what it holds, how fast it works, when it stalls."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from allocsolve.kernels.jit import called_kernel, inner_kernel
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
    BASE,
    BEFORE,
    CHANGED,
    HOLDS_LARGER,
    LOGGED,
    POOL,
    RESERVED,
    STALL_FIXED,
    STALL_PER_NODE,
    STALL_SHARED,
    WAITING,
    Resizing,
)
from allocsolve.simulation._kernels_sizes import time_ratio

if TYPE_CHECKING:
    from allocsolve.model.arrays import IntArray
    from allocsolve.model.jobs import FloatArray, PackedJobs

__all__ = ["change_size", "give_up_nodes", "hold", "set_end", "set_next_event", "work_left"]


@called_kernel
def _set_time(
    times: FloatArray, jobs: IntArray, places: IntArray, counts: IntArray, job: int, time: float
) -> None:
    """Set when a job comes on the heap of what comes next, infinite for never."""
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
def set_next_event(resizing: Resizing, job: int, time: float) -> None:
    """Set when something happens next within a running job, infinite for never. O(log running)."""
    _set_time(resizing.point_times, resizing.point_jobs, resizing.point_places, resizing.counts, job, time)


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


@inner_kernel
def _stand(state: State, job: int, size: int, key: float) -> None:
    """Let a running job stand with so many nodes at this key."""
    if state.counts[ORDERED]:
        take_out_of_order(state, job)
        put_in_order(state, job, size, key)
    state.key[job] = key
    state.size[job] = size


@called_kernel
def hold(state: State, resizing: Resizing, job: int, size: int, key: float) -> None:
    """Let a running job hold so many nodes from now on, and stand at this key."""
    _stand(state, job, size, key)
    _log_change(state, resizing, job, size)


@inner_kernel
def give_up_nodes(state: State, resizing: Resizing, job: int, nodes: int) -> None:
    """Free so many nodes of a job but for those that are promised to queued jobs."""
    promised = resizing.promised[job]
    resizing.counts[POOL] += promised
    state.counts[FREE] += nodes - promised
    resizing.promised[job] = 0


@inner_kernel
def _resume(state: State, resizing: Resizing, job: int, size: int) -> float:
    """Return when a job goes on after a change to so many nodes: changes at one instant are one change.

    A change at the start of the job costs nothing.
    """
    now, times = state.clock[0], resizing.evolving.times
    fixed, per_node = times[job, STALL_FIXED], times[job, STALL_PER_NODE]
    shared = times[job, STALL_SHARED]
    if times[job, CHANGED] != now:
        times[job, CHANGED] = now
        times[job, BASE] = max(now, resizing.since[job])
        resizing.evolving.numbers[job, BEFORE] = state.size[job]
    if fixed + per_node + shared == 0.0:
        return float(now)
    before, base = resizing.evolving.numbers[job, BEFORE], times[job, BASE]
    if before == size or state.start[job] == now:
        return float(base)
    return float(base + (fixed + per_node * abs(size - before) + shared / (before + size)))


@called_kernel
def change_size(jobs: PackedJobs, state: State, resizing: Resizing, job: int, size: int) -> bool:
    """Give a job its new size now; return whether it holds more until the end of its stall.

    Nodes that it is to get are among the reserved ones.
    """
    now, resume = state.clock[0], _resume(state, resizing, job, size)
    before, after = resizing.rate[job], 1 / time_ratio(jobs, job, size)
    left, goes_on = work_left(state, resizing, job), max(now, resizing.since[job])
    held = state.size[job]
    waits = bool(resume > now and size < held and resizing.evolving.numbers[job, HOLDS_LARGER])
    if size > held:
        resizing.counts[RESERVED] -= size - held
    elif not waits:
        give_up_nodes(state, resizing, job, held - size)
    resizing.since[job], resizing.left[job], resizing.rate[job] = resume, left, after
    set_end(state, job, resume + max(0.0, left) / after)
    # As much of the expected work is left as before: who runs longer than expected stays so.
    expected = state.expected[job]
    if expected > goes_on:
        expected = resume + (expected - goes_on) * (before / after)
    state.expected[job] = expected
    _stand(state, job, held if waits else size, expected)
    if not waits:
        _log_change(state, resizing, job, size)
    return waits
