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
from allocsolve.simulation._kernels_phases import await_change, change_useful_nodes, go_through_phases
from allocsolve.simulation._kernels_requests import ask, withdraw
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
    from allocsolve.simulation.state import Resizing, State

__all__ = ["answer", "begin_evolving", "happen", "largest_start"]


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
