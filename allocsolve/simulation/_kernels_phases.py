"""Jobs with phases: nodes join and leave one at a time, as many as a phase can use.

A job makes no progress in its first `JOIN_START` seconds, and asks for nothing. A node is held from the grant
on and joins for `JOIN_GROW` seconds; one that leaves is held for `JOIN_SHRINK` seconds more; neither is
useful. A job asks for a node when it has no open request, no node joins, and it holds fewer than its phase
can use and `max_nodes` allow. It counts `RELEASE_DELAY` seconds while it has more useful nodes than the phase
can use, then gives one back, which drops an open request; the count starts again if there are still too many.
A count that is over while a node leaves waits until that is free.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from allocsolve.kernels import inner_kernel
from allocsolve.kernels.jit import called_kernel
from allocsolve.simulation._kernels_events import FREE, State
from allocsolve.simulation._kernels_requests import ask, withdraw
from allocsolve.simulation._kernels_resizing_state import (
    AMOUNT,
    CHANGED,
    GIVES,
    JOIN_GROW,
    JOIN_SHRINK,
    JOIN_START,
    JOINS,
    LAST_ROW,
    LEAVES,
    NODES,
    RELEASE_DELAY,
    REQUEST,
    ROW,
    USEFUL,
    Resizing,
)
from allocsolve.simulation._kernels_sizes_held import hold, set_end, set_next_event, work_left

if TYPE_CHECKING:
    from allocsolve.model.jobs import PackedJobs

__all__ = ["begin_phases", "go_through_phases", "join_node"]


@called_kernel
def begin_phases(state: State, resizing: Resizing, job: int) -> None:
    """Take note of a job that has just started: it works as soon as it is ready."""
    evolving, size = resizing.evolving, state.size[job]
    row = evolving.numbers[job, ROW]
    evolving.numbers[job, USEFUL] = size
    ready = state.clock[0] + evolving.times[job, JOIN_START]
    resizing.since[job], resizing.left[job] = ready, evolving.rows[row, AMOUNT]
    resizing.rate[job] = min(float(size), evolving.rows[row, NODES])
    set_end(state, job, np.inf)
    set_next_event(resizing, job, ready)


@inner_kernel
def _useful_nodes_change(state: State, resizing: Resizing, job: int, change: int) -> None:
    """Count the progress up to now, and go on with other useful nodes."""
    evolving = resizing.evolving
    left = work_left(state, resizing, job)
    resizing.since[job], resizing.left[job] = state.clock[0], left
    evolving.numbers[job, USEFUL] += change
    most = evolving.rows[evolving.numbers[job, ROW], NODES]
    resizing.rate[job] = min(float(evolving.numbers[job, USEFUL]), most)


@called_kernel
def join_node(state: State, resizing: Resizing, job: int) -> None:
    """Let a node join from now on."""
    _useful_nodes_change(state, resizing, job, 0)
    times = resizing.evolving.times
    times[job, JOINS] = state.clock[0] + times[job, JOIN_GROW]
    _await_next(state, resizing, job)


@inner_kernel
def _phase_end(resizing: Resizing, job: int) -> float:
    return float(resizing.since[job] + max(0.0, resizing.left[job]) / resizing.rate[job])


@called_kernel
def _await_next(state: State, resizing: Resizing, job: int) -> None:
    """Set when the job ends, or what happens next within it."""
    numbers, times = resizing.evolving.numbers, resizing.evolving.times
    end = _phase_end(resizing, job)
    time = min(times[job, JOINS], times[job, LEAVES])
    if times[job, LEAVES] == np.inf:
        time = min(time, times[job, GIVES])
    if numbers[job, ROW] + 1 == numbers[job, LAST_ROW]:
        set_end(state, job, end)
    else:
        time = min(time, end)
    set_next_event(resizing, job, max(state.clock[0], time))


@called_kernel
def _count(state: State, resizing: Resizing, job: int) -> None:
    """Start to count if there are too many useful nodes, stop if there are not."""
    evolving = resizing.evolving
    most = evolving.rows[evolving.numbers[job, ROW], NODES]
    if evolving.numbers[job, USEFUL] <= most:
        evolving.times[job, GIVES] = np.inf
    elif evolving.times[job, GIVES] == np.inf:
        evolving.times[job, GIVES] = state.clock[0] + evolving.times[job, RELEASE_DELAY]


@called_kernel
def _give_back(state: State, resizing: Resizing, job: int) -> None:
    """Let nodes become free that have left, and others begin to leave."""
    now, times = state.clock[0], resizing.evolving.times
    while True:
        if times[job, LEAVES] <= now:
            times[job, LEAVES] = np.inf
            state.counts[FREE] += 1
            hold(state, resizing, job, state.size[job] - 1, state.key[job])
            if resizing.evolving.numbers[job, REQUEST]:
                resizing.evolving.numbers[job, REQUEST] = state.size[job] + 1
        elif times[job, LEAVES] == np.inf and times[job, GIVES] <= now:
            _useful_nodes_change(state, resizing, job, -1)
            times[job, LEAVES], times[job, GIVES] = now + times[job, JOIN_SHRINK], np.inf
            times[job, CHANGED] = now
            resizing.target[job] -= 1
            withdraw(resizing, job)
        else:
            break
        _count(state, resizing, job)


@called_kernel
def go_through_phases(jobs: PackedJobs, state: State, resizing: Resizing, job: int) -> bool:
    """Let happen what happens now to a job with phases; return whether it asks for a node."""
    now, numbers, times = state.clock[0], resizing.evolving.numbers, resizing.evolving.times
    rows = resizing.evolving.rows
    if numbers[job, ROW] + 1 < numbers[job, LAST_ROW] and _phase_end(resizing, job) <= now:
        numbers[job, ROW] += 1
        row = numbers[job, ROW]
        resizing.since[job], resizing.left[job] = now, rows[row, AMOUNT]
        resizing.rate[job] = min(float(numbers[job, USEFUL]), rows[row, NODES])
    if times[job, JOINS] <= now:
        _useful_nodes_change(state, resizing, job, 1)
        times[job, JOINS] = np.inf
    _count(state, resizing, job)
    _give_back(state, resizing, job)
    most = min(rows[numbers[job, ROW], NODES], float(jobs.max_nodes[job]))
    asks = times[job, JOINS] == np.inf and not numbers[job, REQUEST] and state.size[job] < most
    if asks:
        ask(resizing, job, state.size[job] + 1)
    _await_next(state, resizing, job)
    return bool(asks)
