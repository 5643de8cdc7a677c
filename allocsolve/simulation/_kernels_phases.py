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
from allocsolve.simulation._kernels_events import FREE, State
from allocsolve.simulation._kernels_requests import ask, withdraw
from allocsolve.simulation._kernels_resizing_state import (
    AMOUNT,
    CHANGED,
    GIVES,
    JOIN_SHRINK,
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

__all__ = ["await_change", "change_useful_nodes", "go_through_phases"]


@inner_kernel
def change_useful_nodes(state: State, resizing: Resizing, job: int, change: int) -> None:
    """Count the progress up to now, and go on with other useful nodes."""
    evolving = resizing.evolving
    left = work_left(state, resizing, job)
    resizing.since[job], resizing.left[job] = state.clock[0], left
    evolving.numbers[job, USEFUL] += change
    most = evolving.rows[evolving.numbers[job, ROW], NODES]
    resizing.rate[job] = min(float(evolving.numbers[job, USEFUL]), most)


@inner_kernel
def await_change(state: State, resizing: Resizing, job: int) -> None:
    """Set when the job ends, or what happens next within it."""
    numbers, times = resizing.evolving.numbers, resizing.evolving.times
    end = resizing.since[job] + max(0.0, resizing.left[job]) / resizing.rate[job]
    time = min(times[job, JOINS], times[job, LEAVES])
    if times[job, LEAVES] == np.inf:
        time = min(time, times[job, GIVES])
    if numbers[job, ROW] + 1 == numbers[job, LAST_ROW]:
        set_end(state, job, end)
    else:
        time = min(time, end)
    set_next_event(resizing, job, max(state.clock[0], time))


@inner_kernel
def go_through_phases(jobs: PackedJobs, state: State, resizing: Resizing, job: int) -> bool:
    """Let happen what happens now to a job with phases; return whether it asks for a node."""
    now, numbers, times = state.clock[0], resizing.evolving.numbers, resizing.evolving.times
    rows, row = resizing.evolving.rows, numbers[job, ROW]
    end = resizing.since[job] + max(0.0, resizing.left[job]) / resizing.rate[job]
    if row + 1 < numbers[job, LAST_ROW] and end <= now:
        row += 1
        numbers[job, ROW] = row
        resizing.since[job], resizing.left[job] = now, rows[row, AMOUNT]
        resizing.rate[job] = min(float(numbers[job, USEFUL]), rows[row, NODES])
    if times[job, JOINS] <= now:
        change_useful_nodes(state, resizing, job, 1)
        times[job, JOINS] = np.inf
    while True:
        # It counts while there are too many useful nodes.
        if numbers[job, USEFUL] <= rows[row, NODES]:
            times[job, GIVES] = np.inf
        elif times[job, GIVES] == np.inf:
            times[job, GIVES] = now + times[job, RELEASE_DELAY]
        if times[job, LEAVES] <= now:
            times[job, LEAVES] = np.inf
            state.counts[FREE] += 1
            hold(state, resizing, job, state.size[job] - 1, state.key[job])
            if numbers[job, REQUEST]:
                numbers[job, REQUEST] = state.size[job] + 1
        elif times[job, LEAVES] == np.inf and times[job, GIVES] <= now:
            change_useful_nodes(state, resizing, job, -1)
            times[job, LEAVES], times[job, GIVES] = now + times[job, JOIN_SHRINK], np.inf
            times[job, CHANGED] = now
            resizing.target[job] -= 1
            withdraw(resizing, job)
        else:
            break
    most = min(rows[row, NODES], float(jobs.max_nodes[job]))
    asks = times[job, JOINS] == np.inf and not numbers[job, REQUEST] and state.size[job] < most
    if asks:
        ask(resizing, job, state.size[job] + 1)
    await_change(state, resizing, job)
    return bool(asks)
