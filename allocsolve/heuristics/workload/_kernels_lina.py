"""Running jobs get nodes for which they ask, queued ones start, others shrink for them, and grow."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from allocsolve.heuristics.workload._kernels_lina_victims import (
    Candidates,
    LinaRule,
    note_growth,
    shrink_for,
    was_shrunk,
)
from allocsolve.heuristics.workload._kernels_queue import reservation
from allocsolve.kernels import inner_kernel, kernel
from allocsolve.kernels.records import records
from allocsolve.model.job_kinds import MALLEABLE
from allocsolve.simulation.decisions import AT_HEAD, BACKFILLED
from allocsolve.simulation.kernels import (
    Resizing,
    State,
    advance_resizing,
    answer,
    begin,
    has_room,
    heap_lower,
    heap_raise,
    largest_size,
    leave_queue,
    promise,
    resize,
    run_time,
    start_promised,
    take_in,
    time_ratio,
)
from allocsolve.simulation.state import Entry

if TYPE_CHECKING:
    from allocsolve.kernels.records import Records
    from allocsolve.model.arrays import IntArray
    from allocsolve.model.jobs import PackedJobs

__all__ = ["Growing", "initial_growing", "run_lina"]


class Growing(NamedTuple):
    """Room for the jobs that may grow: a heap by the time left. Shape (jobs,), but there are no places."""

    heap: Records[Entry]
    places: IntArray


def initial_growing(count: int) -> Growing:
    """Return the room for so many jobs."""
    return Growing(records(Entry, count), np.zeros(0, dtype=np.int64))


@inner_kernel
def _answer_requests(
    jobs: PackedJobs, state: State, resizing: Resizing, candidates: Candidates, rule: LinaRule
) -> None:
    """Grant requests, in the order made, from free nodes or from victims; or refuse them."""
    while resizing.ledger.requests:
        job, free = resizing.requests[0], state.engine.free
        more = resizing.job[job].request - state.job[job].size
        granted = more <= free
        if not granted and not rule.gives_later:
            lack = more - free if rule.combine else more
            granted = shrink_for(jobs, state, resizing, candidates, rule, job, lack, False)
        answer(jobs, state, resizing, job, granted)


@inner_kernel
def _start_size(jobs: PackedJobs, state: State, rule: LinaRule, job: int) -> int:
    """Return the nodes on which a job starts now if it may; 0 if there are too few."""
    free = state.engine.free
    if jobs.nodes[job] <= free:
        return int(jobs.nodes[job])
    below = rule.starts_below and jobs.kind[job] == MALLEABLE
    return int(largest_size(jobs, job, free)) if below else 0


@inner_kernel
def _start_queued(jobs: PackedJobs, state: State, resizing: Resizing, rule: LinaRule) -> None:
    """Start jobs in the order of the queue; with EASY only those that do not delay the first that waits."""
    now, engine, at = state.engine.clock, state.engine, state.engine.head
    blocked, shadow_time, extra = -1, np.inf, engine.free
    while at < engine.tail and engine.free:
        job = state.queue[at]
        at += 1
        nodes = _start_size(jobs, state, rule, job)
        if nodes:
            limit = resizing.job[job].estimate * time_ratio(jobs, job, nodes)
            if now + limit > shadow_time:
                if nodes > extra:
                    continue
                extra -= nodes
            leave_queue(state, at - 1)
            why = AT_HEAD if blocked < 0 else BACKFILLED
            begin(state, job, nodes, run_time(jobs, job, nodes), limit, now + limit, why, blocked)
        elif blocked < 0:
            blocked = job
            if rule.easy:
                shadow_time, extra = reservation(state, jobs.nodes[job])
    take_in(jobs, state, resizing)


@inner_kernel
def _shrink_for_queue(
    jobs: PackedJobs, state: State, resizing: Resizing, candidates: Candidates, rule: LinaRule
) -> None:
    """Promise queued jobs, in their order, the nodes that victims give up for them."""
    at = state.engine.head
    while at < state.engine.tail:
        job = state.queue[at]
        need = jobs.min_nodes[job] if jobs.kind[job] == MALLEABLE else jobs.nodes[job]
        from_free = min(need, state.engine.free) if rule.combine else 0
        if shrink_for(jobs, state, resizing, candidates, rule, job, need - from_free, True):
            leave_queue(state, at)
            promise(state, resizing, job, need, from_free)
            start_promised(jobs, state, resizing)
        at += 1


@inner_kernel
def _grow(
    jobs: PackedJobs,
    state: State,
    resizing: Resizing,
    candidates: Candidates,
    rule: LinaRule,
    growing: Growing,
) -> None:
    """Let malleable jobs that were no victims in this call grow: the one with the longest time left first."""
    if not state.engine.free:
        return
    heap, places, count = growing.heap, growing.places, 0
    for at in range(resizing.ledger.malleable_running):
        job = resizing.running[at]
        pending = resizing.job[job].target != state.job[job].size
        old_enough = rule.fresh or state.job[job].start != state.engine.clock
        if pending or not old_enough or resizing.job[job].target == jobs.max_nodes[job]:
            continue
        if not was_shrunk(resizing, candidates, job):
            heap_raise(heap, places, count, -state.job[job].end, job)
            count += 1
    while count and state.engine.free:
        job = heap[0].job
        count -= 1
        heap_lower(heap, places, count, 0, heap[count].time, heap[count].job)
        before = resizing.job[job].target
        size = largest_size(jobs, job, before + state.engine.free)
        if size > before:
            note_growth(candidates, job, size - before)
            resize(jobs, state, resizing, job, size, 0)


@kernel
def run_lina(
    jobs: PackedJobs,
    state: State,
    resizing: Resizing,
    candidates: Candidates,
    rule: LinaRule,
    growing: Growing,
    coalesce: bool,
) -> bool:
    """Run a workload to its end under the policy; False if the log of changes has to grow first."""
    while has_room(state, resizing):
        if not advance_resizing(jobs, state, resizing, np.inf, coalesce):
            return True
        _answer_requests(jobs, state, resizing, candidates, rule)
        _start_queued(jobs, state, resizing, rule)
        _shrink_for_queue(jobs, state, resizing, candidates, rule)
        if not rule.queue_first or state.engine.head == state.engine.tail:
            _grow(jobs, state, resizing, candidates, rule, growing)
    return False
