"""Jobs that ask for nodes and give them back at moments of their work, and at the steps of their profiles.

What follows from an event of a job is one event with it. A policy is called if a job asks for nodes or its
size changes; it is not if a phase or a step ends without that, a node joins or begins to leave, or a request
is dropped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from allocsolve.kernels import inner_kernel
from allocsolve.kernels.jit import called_kernel
from allocsolve.model.evolving import PROFILE, REACTIVE, REQUESTED
from allocsolve.simulation._kernels_events import FREE, State
from allocsolve.simulation._kernels_phases import begin_phases, go_through_phases, join_node
from allocsolve.simulation._kernels_requests import ask, withdraw
from allocsolve.simulation._kernels_resizing_state import (
    AMOUNT,
    CHANGED,
    LAST_ROW,
    LEAVES,
    NODES,
    READING,
    REQUEST,
    RESERVED,
    ROW,
    Resizing,
)
from allocsolve.simulation._kernels_sizes import largest_size, time_ratio
from allocsolve.simulation._kernels_sizes_held import (
    change_size,
    give_up_nodes,
    hold,
    set_end,
    set_next_event,
)

if TYPE_CHECKING:
    from allocsolve.model.jobs import PackedJobs

__all__ = ["answer", "begin_evolving", "evolve", "give_up", "largest_start", "size_changed"]


@called_kernel
def begin_evolving(jobs: PackedJobs, state: State, resizing: Resizing, job: int) -> None:
    """Take note of an evolving job that has just started."""
    numbers = resizing.evolving.numbers
    if numbers[job, ROW] == numbers[job, LAST_ROW]:
        return  # what the job will do is not known: the state was made of a view
    if numbers[job, READING] == REQUESTED:
        resizing.since[job], resizing.left[job] = state.clock[0], jobs.runtime[job]
        resizing.rate[job] = 1 / time_ratio(jobs, job, state.size[job])
        _await_moment(jobs, state, resizing, job)
    elif numbers[job, READING] == PROFILE:
        _begin_step(state, resizing, job)
    else:
        begin_phases(state, resizing, job)


@called_kernel
def evolve(jobs: PackedJobs, state: State, resizing: Resizing, job: int) -> bool:
    """Let happen what happens now within an evolving job; return whether it asks for nodes."""
    reading = resizing.evolving.numbers[job, READING]
    if reading == REACTIVE:
        return go_through_phases(jobs, state, resizing, job)
    if reading == PROFILE:
        return _end_step(state, resizing, job)
    if resizing.evolving.times[job, LEAVES] < np.inf:
        give_up(jobs, state, resizing, job)
        return False
    return _ask_for_change(jobs, state, resizing, job)


@called_kernel
def largest_start(jobs: PackedJobs, resizing: Resizing, job: int, most: int) -> int:
    """Return the largest number of nodes, at most so many, on which a job can start; 0 if there is none."""
    if resizing.evolving.numbers[job, READING] == PROFILE:
        return int(jobs.nodes[job]) if jobs.nodes[job] <= most else 0
    return largest_size(jobs, job, most)


@called_kernel
def answer(jobs: PackedJobs, state: State, resizing: Resizing, job: int, granted: bool) -> None:
    """Answer the open request of a job; if it is granted, there are free nodes for it.

    O(open requests + log running).
    """
    numbers = resizing.evolving.numbers
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
        size_changed(jobs, state, resizing, job, change_size(jobs, state, resizing, job, size))
        return
    resizing.evolving.times[job, CHANGED] = state.clock[0]
    hold(state, resizing, job, size, state.key[job])
    if numbers[job, ROW] == numbers[job, LAST_ROW]:
        return  # what the job will do is not known: the state was made of a view
    if numbers[job, READING] == PROFILE:
        _begin_step(state, resizing, job)
    else:
        join_node(state, resizing, job)


# Stalls, and requested changes.


@inner_kernel
def size_changed(jobs: PackedJobs, state: State, resizing: Resizing, job: int, waits: bool) -> None:
    """Set what comes next after `change_size`, which told whether the job `waits` to give up nodes."""
    if waits:
        resizing.evolving.times[job, LEAVES] = resizing.since[job]
        set_next_event(resizing, job, resizing.since[job])
    elif resizing.evolving.numbers[job, READING] == REQUESTED:
        _await_moment(jobs, state, resizing, job)


@called_kernel
def give_up(jobs: PackedJobs, state: State, resizing: Resizing, job: int) -> None:
    """Let a job give up the nodes that it held until the end of its stall."""
    size = resizing.target[job]
    resizing.evolving.times[job, LEAVES] = np.inf
    set_next_event(resizing, job, np.inf)
    give_up_nodes(state, resizing, job, state.size[job] - size)
    hold(state, resizing, job, size, state.key[job])
    if resizing.evolving.numbers[job, READING] == REQUESTED:
        _await_moment(jobs, state, resizing, job)


@called_kernel
def _await_moment(jobs: PackedJobs, state: State, resizing: Resizing, job: int) -> None:
    """Set when a job next asks for another number of nodes."""
    evolving, time = resizing.evolving, np.inf
    row = evolving.numbers[job, ROW]
    if row < evolving.numbers[job, LAST_ROW]:
        work = resizing.left[job] - evolving.rows[row, AMOUNT] * jobs.runtime[job]
        time = max(state.clock[0], resizing.since[job] + work / resizing.rate[job])
    set_next_event(resizing, job, time)


@called_kernel
def _ask_for_change(jobs: PackedJobs, state: State, resizing: Resizing, job: int) -> bool:
    """Let a job shrink, or ask for more nodes: a moment of its work has come."""
    numbers, size = resizing.evolving.numbers, state.size[job]
    change = int(resizing.evolving.rows[numbers[job, ROW], NODES])
    numbers[job, ROW] += 1
    withdraw(resizing, job)
    wanted = min(max(size + change, jobs.min_nodes[job]), jobs.max_nodes[job])
    if wanted < size:
        resizing.target[job] = wanted
        size_changed(jobs, state, resizing, job, change_size(jobs, state, resizing, job, wanted))
        return False
    if wanted > size:
        ask(resizing, job, wanted)
    _await_moment(jobs, state, resizing, job)
    return bool(wanted > size)


# Profiles.


@called_kernel
def _begin_step(state: State, resizing: Resizing, job: int) -> None:
    """Begin the present step now."""
    now, evolving = state.clock[0], resizing.evolving
    row = evolving.numbers[job, ROW]
    seconds = evolving.rows[row, AMOUNT]
    resizing.since[job], resizing.left[job], resizing.rate[job] = now, seconds, 1.0
    is_last = row + 1 == evolving.numbers[job, LAST_ROW]
    set_end(state, job, now + seconds if is_last else np.inf)
    set_next_event(resizing, job, np.inf if is_last else now + seconds)


@called_kernel
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
