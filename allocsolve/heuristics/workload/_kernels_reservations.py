"""EASY backfilling with any number of reservations, for kernels.

In each call the plan is made anew: running jobs hold their nodes until their expected ends, and the jobs that
cannot start now are planned in the order of the queue, each at its earliest, until there are as many
reservations as the rule says.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from allocsolve.heuristics.workload._kernels_queue import (
    FIT_SIZE,
    place,
    resume,
    size_now,
    start,
    start_heads,
    take_in,
)
from allocsolve.kernels import inner_kernel, kernel
from allocsolve.kernels.free_nodes import FreeNodes, append, change, earliest, least_free, restart
from allocsolve.model.speedup import SPEEDUP_TABLE
from allocsolve.simulation.kernels import advance, largest_size, leave_queue, time_ratio

if TYPE_CHECKING:
    from allocsolve.heuristics.workload._kernels_queue import Estimates, QueueRule
    from allocsolve.model.arrays import IntArray
    from allocsolve.model.columns import FloatArray
    from allocsolve.model.packed_jobs import PackedJobs
    from allocsolve.simulation.kernels import Started, State

#: A code of `QueueRule.kind`, beside those of `_kernels_queue` and `_kernels_easy_variants`.
RESERVING: Final = 6


@inner_kernel
def expect_running(state: State, free: FreeNodes) -> None:
    """Write the nodes that are free from now on, if running jobs end when they are expected to.

    A job that has run longer than expected is expected to end now. O(running jobs).
    """
    now, last, held = state.engine.clock, state.engine.last, state.held
    nodes, at = state.engine.free, state.engine.first
    while at < last and held[at].key <= now:
        nodes += held[at].nodes
        at += 1
    restart(free, now, nodes)
    while at < last:
        end, released = held[at].key, 0
        while at < last and held[at].key == end:
            released += held[at].nodes
            at += 1
        if released:
            nodes += released
            append(free, end, nodes)


@inner_kernel
def _size_beside(
    jobs: PackedJobs, job: int, idle: int, estimate: float, now: float, moldable: int, free: FreeNodes
) -> int:
    """Return the size, at most `idle`, on which a job delays no reservation if it starts now, or 0."""
    nodes = size_now(jobs, job, idle, moldable)
    while nodes:
        least = least_free(free, now, now + estimate * time_ratio(jobs, job, nodes))
        if nodes <= least:
            return nodes
        if moldable != FIT_SIZE:
            return 0
        # On fewer nodes a job runs longer, except by some tables: only these need every smaller size tried.
        nodes = largest_size(jobs, job, nodes - 1 if jobs.speedup[job] == SPEEDUP_TABLE else least)
    return 0


@inner_kernel
def _last_that_fits(jobs: PackedJobs, state: State, limit: int) -> int:
    """Return the last place of the queue, of those examined, whose job fits into the idle nodes; or the head.

    Jobs behind it cannot start in this call, so they need not be planned. O(queue).
    """
    engine = state.engine
    at = min(engine.tail, engine.head + 1 + limit) - 1
    while at > engine.head and jobs.min_nodes[state.queue[at]] > engine.free:
        at -= 1
    return int(at)


@inner_kernel
def _one_pass(
    jobs: PackedJobs,
    state: State,
    estimates: Estimates,
    rule: QueueRule,
    reservations: int,
    free: FreeNodes,
) -> None:
    """Make the decisions of one call. O(running jobs + queue x steps of the plan) at worst."""
    engine, queue, now = state.engine, state.queue, state.engine.clock
    start_heads(jobs, state, estimates, rule.moldable)
    if not engine.free or engine.head + 1 >= engine.tail:
        return
    last = _last_that_fits(jobs, state, rule.scan_limit)
    if last == engine.head:
        return
    expect_running(state, free)
    blocked, at, planned = queue[engine.head], engine.head, 0
    while at <= last and engine.free:
        job = queue[at]
        estimate, fewest = estimates.queued[job], jobs.min_nodes[job]
        nodes = 0
        if fewest <= engine.free:
            nodes = _size_beside(jobs, job, engine.free, estimate, now, rule.moldable, free)
        if not nodes and planned < reservations:
            seconds = estimate * time_ratio(jobs, job, fewest)
            begins = earliest(free, now, fewest, seconds, np.inf)
            if begins == now and fewest <= engine.free:
                nodes = fewest
            else:
                change(free, begins, begins + seconds, -fewest)
                planned += 1
        if nodes:
            change(free, now, now + estimate * time_ratio(jobs, job, nodes), -nodes)
            leave_queue(state, at)
            start(jobs, state, estimates, job, nodes, blocked)
        at += 1


@kernel
def run_reserving(
    jobs: PackedJobs,
    state: State,
    estimates: Estimates,
    rule: QueueRule,
    reservations: int,
    free: FreeNodes,
    coalesce: bool,
    started: Started,
) -> None:
    """Run a workload to its end under EASY with that many reservations, after placing who has started."""
    place(jobs, state, estimates, started.jobs, started.starts)
    while advance(state, np.inf, coalesce):
        take_in(jobs, state, estimates, rule)
        _one_pass(jobs, state, estimates, rule, reservations, free)


@kernel
def decide_reserving(
    jobs: PackedJobs,
    state: State,
    estimates: Estimates,
    rule: QueueRule,
    reservations: int,
    free: FreeNodes,
    running: IntArray,
    starts: FloatArray,
) -> None:
    """Make the decisions of one call, on a state with a filled queue, after placing its running jobs."""
    resume(jobs, state, estimates, rule, running, starts)
    _one_pass(jobs, state, estimates, rule, reservations, free)
