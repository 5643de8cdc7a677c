"""Jobs with phases: nodes join and leave one at a time, as many as a phase can use.

A job makes no progress in its first `join_start` seconds, and asks for nothing. A node is held from the grant
on and joins for `join_grow` seconds; one that leaves is held for `join_shrink` seconds more; neither is
useful. A job asks for a node when it has no open request, no node joins, and it holds fewer than its phase
can use and `max_nodes` allow. It counts `release_delay` seconds while it has more useful nodes than the phase
can use, then gives one back, which drops an open request; the count starts again if there are still too many.
A count that is over while a node leaves waits until that is free.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from allocsolve.kernels import inner_kernel
from allocsolve.simulation._kernels_requests import ask, withdraw
from allocsolve.simulation._kernels_sizes_held import hold, set_end, set_next_event, work_left

if TYPE_CHECKING:
    from allocsolve.model.jobs import PackedJobs
    from allocsolve.simulation.state import Resizing, State

__all__ = ["await_change", "change_useful_nodes", "go_through_phases"]


@inner_kernel
def change_useful_nodes(state: State, resizing: Resizing, job: int, change: int) -> None:
    """Count the progress up to now, and go on with other useful nodes."""
    elastic = resizing.job[job]
    left = work_left(state, resizing, job)
    elastic.since, elastic.left = state.engine.clock, left
    elastic.useful += change
    most = resizing.rows[elastic.row].nodes
    elastic.rate = min(float(elastic.useful), most)


@inner_kernel
def await_change(state: State, resizing: Resizing, job: int) -> None:
    """Set when the job ends, or what happens next within it."""
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
    """Let happen what happens now to a job with phases; return whether it asks for a node."""
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
        # It counts while there are too many useful nodes.
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
    most = min(resizing.rows[row].nodes, float(jobs.max_nodes[job]))
    asks = elastic.joins == np.inf and not elastic.request and state.job[job].size < most
    if asks:
        ask(resizing, job, state.job[job].size + 1)
    await_change(state, resizing, job)
    return bool(asks)
