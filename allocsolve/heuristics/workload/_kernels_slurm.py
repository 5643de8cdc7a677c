"""Slurm's two schedulers for kernels: heads start at events, all others in passes at fixed intervals."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from allocsolve.heuristics.workload._kernels_queue import FIRST_AGING, sort_queue
from allocsolve.heuristics.workload._kernels_reservations import expect_running
from allocsolve.kernels import inner_kernel, kernel
from allocsolve.kernels.free_nodes import FreeNodes, change, earliest, least_free, limit_free
from allocsolve.simulation.decisions import AT_HEAD, BACKFILLED
from allocsolve.simulation.kernels import advance, begin, leave_queue

if TYPE_CHECKING:
    from allocsolve.model.arrays import IntArray
    from allocsolve.model.columns import FloatArray
    from allocsolve.model.packed_jobs import PackedJobs
    from allocsolve.simulation.kernels import Started, State


class Passes(NamedTuple):
    """When passes are made, and how far they look; times in seconds."""

    interval: float
    window: float
    resolution: float
    #: How many jobs of the queue are tested.
    max_jobs: int
    #: The code of the order of the queue, see `_kernels_queue.ORDER_CODES`.
    order: int


@inner_kernel
def _start(jobs: PackedJobs, state: State, job: int, blocked: int) -> None:
    """Start a job that has left the queue, as its head (`blocked` is -1) or before a blocked job."""
    estimate = jobs.estimate[job]
    why = AT_HEAD if blocked < 0 else BACKFILLED
    end = state.engine.clock + estimate
    begin(state, job, jobs.nodes[job], jobs.runtime[job], estimate, end, why, blocked)


@inner_kernel
def _last_that_fits(jobs: PackedJobs, state: State, max_jobs: int) -> int:
    """Return the last place of the queue, of those tested, whose job fits into the idle nodes; or the head.

    Jobs behind it cannot start in this pass, so they need not be planned. O(queue).
    """
    engine = state.engine
    at = min(engine.tail, engine.head + max_jobs) - 1
    while at > engine.head and jobs.nodes[state.queue[at]] > engine.free:
        at -= 1
    return int(at)


@inner_kernel
def _reserve(free: FreeNodes, now: float, start: float, limit: float, nodes: int, passes: Passes) -> None:
    """Enter a job into the plan, from the step in which it starts to the one in which it ends.

    In its first step, before it starts, others may have what it leaves: it takes nodes that become free then
    before idle ones. Others have to end before that step: so it is taken to begin an instant earlier.
    """
    step = passes.resolution
    window_end = math.floor((now + passes.window) / step) * step
    if start >= window_end:
        return
    first = np.nextafter(math.floor(start / step) * step, -np.inf)
    limit_free(free, max(now, first), start, least_free(free, start, start) - nodes)
    change(free, start, min(math.ceil((start + limit) / step) * step, window_end), -nodes)


@inner_kernel
def _backfill(jobs: PackedJobs, state: State, passes: Passes, last: int, free: FreeNodes) -> None:
    """Make one pass over the queue up to the place `last`."""
    engine, queue, now = state.engine, state.queue, state.engine.clock
    if last == engine.head:
        return
    expect_running(state, free)
    blocked, at = queue[engine.head], engine.head
    while at <= last and engine.free:
        job = queue[at]
        nodes, limit = jobs.nodes[job], jobs.estimate[job]
        starts = earliest(free, now, nodes, limit, np.inf)
        if starts == now and nodes <= engine.free:
            change(free, now, now + limit, -nodes)
            leave_queue(state, at)
            _start(jobs, state, job, blocked)
        else:
            _reserve(free, now, starts, limit, nodes, passes)
        at += 1


@inner_kernel
def _one_call(jobs: PackedJobs, state: State, passes: Passes, free: FreeNodes) -> float:
    """Make the decisions of one call; return the instant of the next pass, infinite if it is not needed.

    A pass does nothing as long as no job that is tested fits. Orders that change with time may bring any job
    to the front.
    """
    engine = state.engine
    while engine.head < engine.tail and jobs.nodes[state.queue[engine.head]] <= engine.free:
        job = state.queue[engine.head]
        engine.head += 1
        _start(jobs, state, job, -1)
    if engine.head == engine.tail:
        return np.inf
    number = math.floor(engine.clock / passes.interval)
    if number * passes.interval == engine.clock:
        _backfill(jobs, state, passes, _last_that_fits(jobs, state, passes.max_jobs), free)
    aging = passes.order >= FIRST_AGING
    if _last_that_fits(jobs, state, engine.tail if aging else passes.max_jobs) == engine.head:
        return np.inf
    return float((number + 1) * passes.interval)


@kernel
def run_slurm(
    jobs: PackedJobs, state: State, passes: Passes, scores: FloatArray, free: FreeNodes, started: Started
) -> None:
    """Run a workload to its end, after placing the jobs that have started."""
    for at in range(len(started.jobs)):
        job, clock = started.jobs[at], started.starts[at]
        state.engine.clock = clock
        estimate = jobs.estimate[job]
        begin(state, job, jobs.nodes[job], jobs.runtime[job], estimate, clock + estimate, AT_HEAD, -1)
    wake = np.inf
    while advance(state, wake, True):
        if passes.order:
            first = state.engine.tail - state.engine.submitted
            sort_queue(jobs, state, jobs.estimate, scores, passes.order, first)
        wake = _one_call(jobs, state, passes, free)


@kernel
def decide_slurm(
    jobs: PackedJobs,
    state: State,
    passes: Passes,
    scores: FloatArray,
    free: FreeNodes,
    running: IntArray,
    starts: FloatArray,
) -> float:
    """Make the decisions of one call, on a state with a filled queue, after placing its running jobs.

    Return the instant of the next pass, infinite if it would do nothing.
    """
    now = state.engine.clock
    for at in range(len(running)):
        job = running[at]
        state.engine.clock = starts[at]
        estimate = jobs.estimate[job]
        begin(state, job, state.job[job].size, np.inf, estimate, starts[at] + estimate, AT_HEAD, -1)
    state.engine.clock = now
    if passes.order:
        sort_queue(jobs, state, jobs.estimate, scores, passes.order, state.engine.head)
    return _one_call(jobs, state, passes, free)
