"""Slurm's two schedulers for kernels: heads start at events, all others in passes at fixed intervals."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from allocsolve.heuristics.workload._kernels_capacity import book, earliest_room, expect_running
from allocsolve.heuristics.workload._kernels_queue import FIRST_AGING, MAX_SIZE, start, start_heads
from allocsolve.heuristics.workload._kernels_reservations import fits_now, last_that_fits
from allocsolve.kernels import inner_kernel
from allocsolve.kernels.free_nodes import FreeNodes, change, least_free, limit_free
from allocsolve.simulation.kernels import leave_queue

if TYPE_CHECKING:
    from allocsolve.heuristics.workload._kernels_queue import Estimates, Passes, QueueRule
    from allocsolve.heuristics.workload._kernels_resources import Machine
    from allocsolve.model.packed_jobs import PackedJobs
    from allocsolve.simulation.kernels import State


@inner_kernel
def _plan(free: FreeNodes, now: float, start: float, limit: float, amount: int, passes: Passes) -> None:
    """Enter a job into the plan of a resource, from the step in which it starts to the one in which it ends.

    In its first step, before it starts, others may have what it leaves: it takes what becomes free then
    before what is idle. Others have to end before that step: so it is taken to begin an instant earlier.
    """
    step = passes.resolution
    window_end = math.floor((now + passes.window) / step) * step
    if start >= window_end:
        return
    first = np.nextafter(math.floor(start / step) * step, -np.inf)
    limit_free(free, max(now, first), start, least_free(free, start, start) - amount)
    change(free, start, min(math.ceil((start + limit) / step) * step, window_end), -amount)


@inner_kernel
def _backfill(
    jobs: PackedJobs,
    state: State,
    estimates: Estimates,
    passes: Passes,
    last: int,
    free: FreeNodes,
    machine: Machine | None = None,
) -> None:
    """Make one pass over the queue up to the place `last`."""
    engine, queue, now = state.engine, state.queue, state.engine.clock
    if last == engine.head:
        return
    expect_running(state, free, machine)
    blocked, at = queue[engine.head], engine.head
    while at <= last and engine.free > 0:
        job = queue[at]
        nodes, limit = jobs.nodes[job], estimates.queued[job]
        starts = earliest_room(free, job, nodes, now, limit, np.inf, machine)
        if starts == now and fits_now(jobs, state, job, machine):
            book(free, job, nodes, now, now + limit, -1, machine)
            leave_queue(state, at)
            start(jobs, state, estimates, job, nodes, blocked, machine)
        else:
            _plan(free, now, starts, limit, nodes, passes)
            if machine is not None:
                for need in range(machine.offsets[job] + 1, machine.offsets[job + 1]):
                    row = machine.resource[need] - 1
                    left = FreeNodes(machine.numbers[row], machine.chunks[row], machine.steps[row])
                    _plan(left, now, starts, limit, machine.amount[need], passes)
        at += 1


@inner_kernel
def slurm_pass(
    jobs: PackedJobs,
    state: State,
    estimates: Estimates,
    rule: QueueRule,
    free: FreeNodes,
    machine: Machine | None = None,
) -> float:
    """Make the decisions of one call; return the instant of the next pass, infinite if it is not needed.

    A pass does nothing as long as no job that is tested fits. Orders that change with time may bring any job
    to the front.
    """
    engine, passes = state.engine, rule.passes
    start_heads(jobs, state, estimates, MAX_SIZE, machine)
    if engine.head == engine.tail:
        return np.inf
    number, behind = math.floor(engine.clock / passes.interval), passes.max_jobs - 1
    if number * passes.interval == engine.clock:
        _backfill(jobs, state, estimates, passes, last_that_fits(jobs, state, behind, machine), free, machine)
    if rule.order >= FIRST_AGING:
        behind = engine.tail
    if last_that_fits(jobs, state, behind, machine) == engine.head:
        return np.inf
    return float((number + 1) * passes.interval)
