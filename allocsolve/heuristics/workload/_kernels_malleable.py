"""Policies that resize running jobs: one call, and a whole workload."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from allocsolve.heuristics.workload._kernels_queue import Blocked, Estimates, one_pass
from allocsolve.heuristics.workload._kernels_shrink_expand import (
    expand_level,
    expand_one_by_one,
    note,
    shrink_for_queue,
)
from allocsolve.heuristics.workload.malleable_rule import (
    ABOVE_MIN,
    ABOVE_PREFERRED,
    STARTED_NOW,
    MalleableRule,
    Scratch,
)
from allocsolve.kernels import inner_kernel, kernel
from allocsolve.simulation.kernels import Resizing, State, advance_resizing, has_room, take_in, take_running

if TYPE_CHECKING:
    from allocsolve.model.arrays import IntArray
    from allocsolve.model.jobs import FloatArray, PackedJobs

__all__ = ["decide_malleable", "run_malleable"]


@inner_kernel
def _one_call(
    jobs: PackedJobs,
    state: State,
    resizing: Resizing,
    estimates: Estimates,
    scratch: Scratch,
    rule: MalleableRule,
    memory: Blocked,
    orders: IntArray,
    noted: IntArray,
) -> None:
    """Make the decisions of one call: queued jobs start, running jobs shrink for others, or grow."""
    before = state.engine.started
    one_pass(jobs, state, estimates, rule.queue, memory)
    for at in range(before, state.engine.started):
        note(orders, noted, state.started[at], state.job[state.started[at]].size, STARTED_NOW)
    take_in(jobs, state, resizing)
    if state.engine.head < state.engine.tail and resizing.ledger.malleable_running:
        shrink_for_queue(jobs, state, resizing, scratch, rule, orders, noted)
    if rule.measure in (ABOVE_MIN, ABOVE_PREFERRED):
        expand_one_by_one(jobs, state, resizing, scratch, rule, orders, noted)
    else:
        expand_level(jobs, state, resizing, scratch, rule, orders, noted)


@kernel
def run_malleable(
    jobs: PackedJobs,
    state: State,
    resizing: Resizing,
    estimates: Estimates,
    scratch: Scratch,
    rule: MalleableRule,
    memory: Blocked,
    coalesce: bool,
    orders: IntArray,
    noted: IntArray,
) -> bool:
    """Run a workload to its end under a policy; False if the log of changes has to grow first."""
    while has_room(state, resizing):
        if not advance_resizing(jobs, state, resizing, np.inf, coalesce):
            return True
        _one_call(jobs, state, resizing, estimates, scratch, rule, memory, orders, noted)
    return False


@kernel
def decide_malleable(
    jobs: PackedJobs,
    state: State,
    resizing: Resizing,
    estimates: Estimates,
    scratch: Scratch,
    rule: MalleableRule,
    memory: Blocked,
    running: IntArray,
    expected_ends: FloatArray,
    orders: IntArray,
    noted: IntArray,
) -> None:
    """Make the decisions of one call on a state whose queue is filled and whose running jobs are not yet."""
    take_running(jobs, state, resizing, running, expected_ends)
    _one_call(jobs, state, resizing, estimates, scratch, rule, memory, orders, noted)
