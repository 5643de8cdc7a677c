"""Jobs that ask for nodes and give them back at moments of their work, and at the steps of their profiles.

What follows from an event of a job is one event with it. A policy is called if a job asks for nodes or its
size changes; it is not if a phase or a step ends without that, a node joins or begins to leave, or a request
is dropped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from allocsolve.kernels import inner_kernel
from allocsolve.model.evolving import PROFILE, REACTIVE, REQUESTED
from allocsolve.simulation._kernels_events import FREE, State
from allocsolve.simulation._kernels_phases import await_change, change_useful_nodes, go_through_phases
from allocsolve.simulation._kernels_requests import ask, withdraw
from allocsolve.simulation._kernels_resizing_state import (
    AMOUNT,
    CHANGED,
    JOIN_GROW,
    JOIN_START,
    JOINS,
    LAST_ROW,
    LEAVES,
    NODES,
    POOL,
    READING,
    REQUEST,
    RESERVED,
    ROW,
    USEFUL,
    Resizing,
)
from allocsolve.simulation._kernels_sizes import largest_size, time_ratio
from allocsolve.simulation._kernels_sizes_held import (
    await_moment,
    change_size,
    hold,
    set_end,
    set_next_event,
)

if TYPE_CHECKING:
    from allocsolve.model.jobs import PackedJobs

__all__ = ["answer", "begin_evolving", "happen", "largest_start"]


@inner_kernel
def largest_start(jobs: PackedJobs, resizing: Resizing, job: int, most: int) -> int:
    """Return the largest number of nodes, at most so many, on which a job can start; 0 if there is none."""
    if resizing.evolving.numbers[job, READING] == PROFILE:
        return int(jobs.nodes[job]) if jobs.nodes[job] <= most else 0
    return largest_size(jobs, job, most)


@inner_kernel
def begin_evolving(jobs: PackedJobs, state: State, resizing: Resizing, job: int) -> None:
    """Take note of an evolving job that has just started."""
    now, size, numbers = state.clock[0], state.size[job], resizing.evolving.numbers
    row = numbers[job, ROW]
    if row == numbers[job, LAST_ROW]:
        return  # what the job will do is not known: the state was made of a view
    if numbers[job, READING] == REQUESTED:
        resizing.since[job], resizing.left[job] = now, jobs.runtime[job]
        resizing.rate[job] = 1 / time_ratio(jobs, job, size)
        await_moment(jobs, state, resizing, job)
    elif numbers[job, READING] == PROFILE:
        nodes = int(resizing.evolving.rows[row, NODES])
        if nodes < size:  # the first step needs none, but nobody starts on none
            state.counts[FREE] += size - nodes
            resizing.target[job] = nodes
            hold(state, resizing, job, nodes, state.key[job])
        _begin_step(state, resizing, job)
    else:
        numbers[job, USEFUL] = size
        ready, rows = now + resizing.evolving.times[job, JOIN_START], resizing.evolving.rows
        resizing.since[job], resizing.left[job] = ready, rows[row, AMOUNT]
        resizing.rate[job] = min(float(size), rows[row, NODES])
        set_end(state, job, np.inf)
        set_next_event(resizing, job, ready)


@inner_kernel
def happen(jobs: PackedJobs, state: State, resizing: Resizing, job: int) -> bool:
    """Let happen what comes next within a running job; return whether it asks for nodes."""
    reading, times = resizing.evolving.numbers[job, READING], resizing.evolving.times
    if reading == REACTIVE:
        return go_through_phases(jobs, state, resizing, job)
    if reading == PROFILE:
        return _end_step(state, resizing, job)
    if times[job, LEAVES] == np.inf:
        if reading == REQUESTED:
            return _ask_for_change(jobs, state, resizing, job)
        set_next_event(resizing, job, np.inf)
        change_size(jobs, state, resizing, job)
        return False
    # Its stall is over, in which it held more nodes.
    times[job, LEAVES] = np.inf
    promised = resizing.promised[job]
    resizing.counts[POOL] += promised
    state.counts[FREE] += state.size[job] - resizing.target[job] - promised
    resizing.promised[job] = 0
    set_next_event(resizing, job, np.inf)
    hold(state, resizing, job, resizing.target[job], state.key[job])
    # That stall was for this size: if it changes again now, that is another change with its own stall.
    resizing.last_entry[job] = -1
    if reading == REQUESTED:
        await_moment(jobs, state, resizing, job)
    return False


@inner_kernel
def answer(jobs: PackedJobs, state: State, resizing: Resizing, job: int, granted: bool) -> None:
    """Answer the open request of a job; if it is granted, there are free nodes for it.

    O(open requests + log running).
    """
    numbers, times = resizing.evolving.numbers, resizing.evolving.times
    size = numbers[job, REQUEST]
    withdraw(resizing, job)
    if not granted:
        return
    more = size - state.size[job]
    state.counts[FREE] -= more
    # Of a job with phases a node may be leaving.
    resizing.target[job] += more
    if numbers[job, READING] == REQUESTED:
        resizing.counts[RESERVED] += more
        change_size(jobs, state, resizing, job)
        return
    times[job, CHANGED] = state.clock[0]
    hold(state, resizing, job, size, state.key[job])
    if numbers[job, ROW] == numbers[job, LAST_ROW]:
        return  # what the job will do is not known: the state was made of a view
    if numbers[job, READING] == PROFILE:
        _begin_step(state, resizing, job)
        return
    change_useful_nodes(state, resizing, job, 0)
    times[job, JOINS] = state.clock[0] + times[job, JOIN_GROW]
    await_change(state, resizing, job)


@inner_kernel
def _ask_for_change(jobs: PackedJobs, state: State, resizing: Resizing, job: int) -> bool:
    """Let a job shrink, or ask for more nodes: a moment of its work has come."""
    numbers, size = resizing.evolving.numbers, state.size[job]
    change = int(resizing.evolving.rows[numbers[job, ROW], NODES])
    numbers[job, ROW] += 1
    withdraw(resizing, job)
    wanted = min(max(size + change, jobs.min_nodes[job]), jobs.max_nodes[job])
    if wanted < size:
        resizing.target[job] = wanted
        change_size(jobs, state, resizing, job)
        return False
    if wanted > size:
        ask(resizing, job, wanted)
    await_moment(jobs, state, resizing, job)
    return bool(wanted > size)


@inner_kernel
def _begin_step(state: State, resizing: Resizing, job: int) -> None:
    """Begin the present step now."""
    now, evolving = state.clock[0], resizing.evolving
    row = evolving.numbers[job, ROW]
    seconds = evolving.rows[row, AMOUNT]
    resizing.since[job], resizing.left[job], resizing.rate[job] = now, seconds, 1.0
    is_last = row + 1 == evolving.numbers[job, LAST_ROW]
    set_end(state, job, now + seconds if is_last else np.inf)
    set_next_event(resizing, job, np.inf if is_last else now + seconds)


@inner_kernel
def _end_step(state: State, resizing: Resizing, job: int) -> bool:
    """Go on to the next step, or ask for the nodes that it lacks."""
    numbers, size = resizing.evolving.numbers, state.size[job]
    numbers[job, ROW] += 1
    nodes = int(resizing.evolving.rows[numbers[job, ROW], NODES])
    if nodes > size:
        resizing.since[job], resizing.left[job], resizing.rate[job] = state.clock[0], 0.0, 0.0
        set_next_event(resizing, job, np.inf)
        ask(resizing, job, nodes)
        return True
    state.counts[FREE] += size - nodes
    resizing.target[job] = nodes
    hold(state, resizing, job, nodes, state.key[job])
    if nodes < size:
        resizing.evolving.times[job, CHANGED] = state.clock[0]
    _begin_step(state, resizing, job)
    return False
