"""The EASYs of other tools for kernels, as they are, defects included.

Only those are here that differ from EASY in more than an option of `QueueRule`; see
`allocsolve.heuristics.workload.policies.Easy` for what each tool does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from allocsolve.heuristics.workload._kernels_queue import backfill, reservation, start_heads
from allocsolve.kernels import inner_kernel, kernel
from allocsolve.simulation.decisions import AT_HEAD, BACKFILLED
from allocsolve.simulation.kernels import advance, begin, largest_size, leave_queue, run_time, time_ratio

if TYPE_CHECKING:
    from allocsolve.heuristics.workload._kernels_queue import Estimates, QueueRule
    from allocsolve.model.arrays import IntArray
    from allocsolve.model.columns import FloatArray
    from allocsolve.model.packed_jobs import PackedJobs
    from allocsolve.simulation.kernels import State

#: Codes of `QueueRule.kind`, beside those of `_kernels_queue`.
HPCOPT: Final = 3
RAPS: Final = 4
MJS2023: Final = 5


@inner_kernel
def _start(
    jobs: PackedJobs, state: State, estimates: Estimates, job: int, nodes: int, kind: int, blocked: int
) -> None:
    """Start a job that has left the queue; RAPS lists running jobs by their limits, not by their ends."""
    estimate = estimates.running[job] * time_ratio(jobs, job, nodes)
    key = estimate if kind == RAPS else state.engine.clock + estimate
    why = AT_HEAD if blocked < 0 else BACKFILLED
    begin(state, job, nodes, run_time(jobs, job, nodes), estimate, key, why, blocked)


@inner_kernel
def _pass_hpcopt(jobs: PackedJobs, state: State, estimates: Estimates, rule: QueueRule) -> None:
    """Start jobs as EASY without extra nodes, and without a reservation if the head has started now."""
    engine = state.engine
    first = engine.head
    start_heads(jobs, state, estimates, rule.moldable)
    if not engine.free or engine.head + 1 >= engine.tail:
        return
    shadow_time = np.inf
    if engine.head == first:
        shadow_time, _ = reservation(state, jobs.min_nodes[state.queue[first]])
    backfill(jobs, state, estimates, rule, shadow_time, 0, engine.head + 1)


@inner_kernel
def _shadow_by_limit(state: State, needed: int) -> float:
    """Return the shadow time as RAPS computes it: running jobs release nodes in the order of their limits."""
    free, shadow_time, at = state.engine.free, 0.0, state.engine.first
    while at < state.engine.last and free < needed:
        job = state.held[at].job
        if job >= 0:
            free += state.job[job].size
            shadow_time = state.job[job].expected
        at += 1
    return shadow_time


@inner_kernel
def _pass_raps(jobs: PackedJobs, state: State, estimates: Estimates) -> None:
    """Start heads; then the first job that fits and ends by the shadow time, and repeat."""
    engine, queue, now = state.engine, state.queue, state.engine.clock
    while engine.head < engine.tail:
        job = queue[engine.head]
        nodes = largest_size(jobs, job, engine.free)
        if not nodes:
            break
        engine.head += 1
        _start(jobs, state, estimates, job, nodes, RAPS, -1)
    at = engine.head
    while at < engine.tail:
        shadow_time = _shadow_by_limit(state, jobs.min_nodes[queue[engine.head]])
        at = engine.head + 1
        while at < engine.tail:
            job = queue[at]
            nodes = largest_size(jobs, job, engine.free)
            if nodes and now + estimates.queued[job] * time_ratio(jobs, job, nodes) <= shadow_time:
                blocked = queue[engine.head]
                leave_queue(state, at)
                _start(jobs, state, estimates, job, nodes, RAPS, blocked)
                break
            at += 1


@inner_kernel
def _pass_mjs2023(jobs: PackedJobs, state: State, estimates: Estimates) -> None:
    """Start jobs as the schedulers of MalleableJobScheduling (2023) do.

    They compare the present time with the estimate of the head, and after each start they skip the next job.
    """
    engine, queue, now = state.engine, state.queue, state.engine.clock
    at = engine.head
    while at < engine.tail and engine.free:
        job, head = queue[at], queue[engine.head]
        nodes = largest_size(jobs, job, engine.free)
        if nodes and (job == head or now >= estimates.queued[head]):
            leave_queue(state, at)
            _start(jobs, state, estimates, job, nodes, MJS2023, -1 if job == head else head)
            at += 1
        at += 1


@inner_kernel
def _one_pass(jobs: PackedJobs, state: State, estimates: Estimates, rule: QueueRule) -> None:
    """Make the decisions of one call."""
    if rule.kind == HPCOPT:
        _pass_hpcopt(jobs, state, estimates, rule)
    elif rule.kind == RAPS:
        _pass_raps(jobs, state, estimates)
    else:
        _pass_mjs2023(jobs, state, estimates)


@kernel
def run_variant(
    jobs: PackedJobs, state: State, estimates: Estimates, rule: QueueRule, coalesce: bool
) -> None:
    """Run a workload to its end under the EASY of a tool."""
    while advance(state, np.inf, coalesce):
        _one_pass(jobs, state, estimates, rule)


@kernel
def decide_variant(
    jobs: PackedJobs,
    state: State,
    estimates: Estimates,
    rule: QueueRule,
    running: IntArray,
    starts: FloatArray,
) -> None:
    """Make the decisions of one call, on a state with a filled queue, after placing its running jobs."""
    now = state.engine.clock
    for at in range(len(running)):
        job = running[at]
        state.engine.clock = starts[at]
        _start(jobs, state, estimates, job, state.job[job].size, rule.kind, -1)
    state.engine.clock = now
    _one_pass(jobs, state, estimates, rule)
