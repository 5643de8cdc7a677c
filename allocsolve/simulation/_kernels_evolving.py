"""Jobs that evolve: they ask for nodes, wait for them, and give nodes back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from allocsolve.kernels.jit import called_kernel
from allocsolve.model.evolving import PROFILE, REACTIVE, REQUESTED
from allocsolve.simulation._kernels_events import FREE, State
from allocsolve.simulation._kernels_resizing_state import REQUESTS, RESERVED, Resizing
from allocsolve.simulation._kernels_sizes import time_ratio
from allocsolve.simulation._kernels_sizes_held import (
    change_size,
    give_up_nodes,
    hold,
    set_end,
    set_next_event,
    work_left,
)

if TYPE_CHECKING:
    from allocsolve.model.jobs import PackedJobs

__all__ = ["answer", "begin_evolving", "evolve", "give_up", "size_changed", "withdraw"]


@called_kernel
def withdraw(resizing: Resizing, job: int) -> None:
    """Take the request of a job off the list of open ones, if it has made one. O(open requests)."""
    evolving = resizing.evolving
    if not evolving.request[job]:
        return
    evolving.request[job] = 0
    last, at = resizing.counts[REQUESTS] - 1, 0
    while evolving.requests[at] != job:
        at += 1
    for place in range(at, last):
        evolving.requests[place] = evolving.requests[place + 1]
    resizing.counts[REQUESTS] = last


@called_kernel
def _ask(resizing: Resizing, job: int, size: int) -> None:
    """Open a request of a job, which has none, to run on so many nodes."""
    evolving = resizing.evolving
    evolving.request[job] = size
    evolving.requests[resizing.counts[REQUESTS]] = job
    resizing.counts[REQUESTS] += 1


@called_kernel
def begin_evolving(jobs: PackedJobs, state: State, resizing: Resizing, job: int) -> None:
    """Take note of an evolving job that has just started."""
    now, size, plan = state.clock[0], state.size[job], resizing.evolving.plan
    row = plan.offsets[job]
    if row == plan.offsets[job + 1]:
        return  # what the job will do is not known: the state was made of a view
    resizing.evolving.row[job] = row
    if plan.reading[job] == REQUESTED:
        resizing.since[job], resizing.left[job] = now, jobs.runtime[job]
        resizing.rate[job] = 1 / time_ratio(jobs, job, size)
        _await_moment(jobs, state, resizing, job)
    elif plan.reading[job] == PROFILE:
        _begin_step(state, resizing, job)
    else:
        resizing.evolving.useful[job] = size
        resizing.since[job], resizing.left[job] = now + plan.join_start[job], plan.amounts[row]
        resizing.rate[job] = min(size, plan.nodes[row])
        _await_change(jobs, state, resizing, job, True)


@called_kernel
def size_changed(jobs: PackedJobs, state: State, resizing: Resizing, job: int, waits: bool) -> None:
    """Set what comes next after `change_size`, which told whether the job `waits` to give up nodes."""
    if waits:
        resizing.evolving.leaves[job] = resizing.since[job]
        set_next_event(resizing, job, resizing.since[job])
    elif resizing.evolving.plan.reading[job] == REQUESTED:
        _await_moment(jobs, state, resizing, job)


@called_kernel
def give_up(jobs: PackedJobs, state: State, resizing: Resizing, job: int) -> None:
    """Let a job give up the nodes that it held until the end of its stall."""
    size = resizing.target[job]
    resizing.evolving.leaves[job] = np.inf
    give_up_nodes(state, resizing, job, state.size[job] - size)
    hold(state, resizing, job, size, state.key[job])
    if resizing.evolving.plan.reading[job] == REQUESTED:
        _await_moment(jobs, state, resizing, job)


# Requested changes.


@called_kernel
def _await_moment(jobs: PackedJobs, state: State, resizing: Resizing, job: int) -> None:
    """Set when a job next asks for another number of nodes."""
    plan, row = resizing.evolving.plan, resizing.evolving.row[job]
    time = np.inf
    if row < plan.offsets[job + 1]:
        work = resizing.left[job] - plan.amounts[row] * jobs.runtime[job]
        time = max(state.clock[0], resizing.since[job] + work / resizing.rate[job])
    set_next_event(resizing, job, time)


@called_kernel
def _ask_for_change(jobs: PackedJobs, state: State, resizing: Resizing, job: int) -> None:
    """Let a job shrink, or ask for more nodes: a moment of its work has come."""
    evolving, size = resizing.evolving, state.size[job]
    change = evolving.plan.nodes[evolving.row[job]]
    evolving.row[job] += 1
    withdraw(resizing, job)
    wanted = min(max(size + change, jobs.min_nodes[job]), jobs.max_nodes[job])
    if wanted < size:
        resizing.target[job] = wanted
        size_changed(jobs, state, resizing, job, change_size(jobs, state, resizing, job, wanted))
        return
    if wanted > size:
        _ask(resizing, job, wanted)
    _await_moment(jobs, state, resizing, job)


# Profiles.


@called_kernel
def _begin_step(state: State, resizing: Resizing, job: int) -> None:
    """Begin the present step now."""
    now, plan, row = state.clock[0], resizing.evolving.plan, resizing.evolving.row[job]
    seconds = plan.amounts[row]
    resizing.since[job], resizing.left[job], resizing.rate[job] = now, seconds, 1.0
    is_last = row + 1 == plan.offsets[job + 1]
    set_end(state, job, now + seconds if is_last else np.inf)
    set_next_event(resizing, job, np.inf if is_last else now + seconds)


@called_kernel
def _end_step(state: State, resizing: Resizing, job: int) -> None:
    """Go on to the next step, or ask for the nodes that it lacks."""
    evolving, size = resizing.evolving, state.size[job]
    evolving.row[job] += 1
    nodes = evolving.plan.nodes[evolving.row[job]]
    if nodes > size:
        resizing.since[job], resizing.left[job], resizing.rate[job] = state.clock[0], 0.0, 0.0
        set_next_event(resizing, job, np.inf)
        _ask(resizing, job, nodes)
        return
    state.counts[FREE] += size - nodes
    resizing.target[job] = nodes
    hold(state, resizing, job, nodes, state.key[job])
    _begin_step(state, resizing, job)


# Phases.


@called_kernel
def _await_change(jobs: PackedJobs, state: State, resizing: Resizing, job: int, starts: bool) -> None:
    """Set how fast a job works, when its phase ends, and what else comes next.

    It asks for a node, or begins to wait before it gives one back; one that `starts` does so when it works.
    """
    now, evolving = state.clock[0], resizing.evolving
    plan, row, useful = evolving.plan, evolving.row[job], evolving.useful[job]
    most = plan.nodes[row]
    rate = min(useful, most)
    if rate != resizing.rate[job]:
        left, since = work_left(state, resizing, job), max(now, resizing.since[job])
        resizing.left[job], resizing.since[job], resizing.rate[job] = left, since, rate
    steady = evolving.joins[job] == np.inf and evolving.leaves[job] == np.inf
    time = np.inf
    if useful <= most:
        evolving.gives[job] = np.inf
        wants = steady and state.size[job] < min(most, jobs.max_nodes[job])
        if starts and wants:
            time = resizing.since[job]
        elif wants and not evolving.request[job]:
            _ask(resizing, job, state.size[job] + 1)
    elif evolving.leaves[job] == np.inf and evolving.gives[job] == np.inf:
        evolving.gives[job] = max(now, resizing.since[job]) + plan.release_delay[job]
    end = resizing.since[job] + max(0.0, resizing.left[job]) / rate
    if row + 1 == plan.offsets[job + 1]:
        set_end(state, job, end)
        end = np.inf
    else:
        set_end(state, job, np.inf)
    time = min(time, end, evolving.joins[job], evolving.gives[job], evolving.leaves[job])
    set_next_event(resizing, job, max(now, time))


@called_kernel
def _go_through_phases(jobs: PackedJobs, state: State, resizing: Resizing, job: int) -> bool:
    """Let happen what happens now to a job with phases; return whether its size changes."""
    now, evolving = state.clock[0], resizing.evolving
    plan, size = evolving.plan, state.size[job]
    row = evolving.row[job]
    ends = row + 1 < plan.offsets[job + 1]
    if ends and resizing.since[job] + max(0.0, resizing.left[job]) / resizing.rate[job] <= now:
        evolving.row[job] += 1
        resizing.since[job], resizing.left[job] = now, plan.amounts[row + 1]
        resizing.rate[job] = min(evolving.useful[job], plan.nodes[row + 1])
    if evolving.joins[job] <= now:
        evolving.joins[job] = np.inf
        evolving.useful[job] += 1
    if evolving.leaves[job] > now and evolving.gives[job] <= now:
        evolving.gives[job] = np.inf
        if evolving.useful[job] > plan.nodes[evolving.row[job]]:
            evolving.useful[job] -= 1
            evolving.leaves[job] = now + plan.join_shrink[job]
            resizing.target[job] -= 1
            withdraw(resizing, job)
    if evolving.leaves[job] <= now:
        evolving.leaves[job] = np.inf
        state.counts[FREE] += 1
        hold(state, resizing, job, size - 1, state.key[job])
    _await_change(jobs, state, resizing, job, False)
    return bool(state.size[job] != size)


@called_kernel
def evolve(jobs: PackedJobs, state: State, resizing: Resizing, job: int) -> bool:
    """Let happen what happens now within an evolving job; return whether its size changes."""
    size, reading = state.size[job], resizing.evolving.plan.reading[job]
    if reading == REACTIVE:
        return _go_through_phases(jobs, state, resizing, job)
    if reading == PROFILE:
        _end_step(state, resizing, job)
    elif resizing.evolving.leaves[job] < np.inf:
        give_up(jobs, state, resizing, job)
    else:
        _ask_for_change(jobs, state, resizing, job)
    return bool(state.size[job] != size)


@called_kernel
def answer(jobs: PackedJobs, state: State, resizing: Resizing, job: int, granted: bool) -> None:
    """Answer the open request of a job, for which there are free nodes if it is granted. O(log running)."""
    evolving, size = resizing.evolving, resizing.evolving.request[job]
    withdraw(resizing, job)
    if not granted:
        return
    more = size - state.size[job]
    state.counts[FREE] -= more
    resizing.target[job] = size
    if evolving.plan.reading[job] == REQUESTED:
        resizing.counts[RESERVED] += more
        size_changed(jobs, state, resizing, job, change_size(jobs, state, resizing, job, size))
        return
    hold(state, resizing, job, size, state.key[job])
    if evolving.row[job] >= evolving.plan.offsets[job + 1]:
        return  # what the job will do is not known: the state was made of a view
    if evolving.plan.reading[job] == PROFILE:
        _begin_step(state, resizing, job)
    else:
        evolving.joins[job] = state.clock[0] + evolving.plan.join_grow[job]
        _await_change(jobs, state, resizing, job, False)
