"""The loop of queue policies over a whole workload, and one call of them, for kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from allocsolve.heuristics.workload._kernels_queue import RESERVING, learn, one_pass, sort_queue, start
from allocsolve.heuristics.workload._kernels_reservations import reserving_pass
from allocsolve.heuristics.workload._kernels_resources import Machine, move_on, next_step
from allocsolve.heuristics.workload._kernels_slurm import slurm_pass
from allocsolve.kernels import inner_kernel, kernel
from allocsolve.simulation.kernels import advance

if TYPE_CHECKING:
    from allocsolve.heuristics.workload._kernels_queue import Blocked, Estimates, QueueRule
    from allocsolve.kernels.free_nodes import FreeNodes
    from allocsolve.model.packed_jobs import PackedJobs
    from allocsolve.simulation.kernels import Started, State


@inner_kernel
def _place(
    jobs: PackedJobs, state: State, estimates: Estimates, started: Started, machine: Machine | None = None
) -> None:
    """Let jobs run that have started, on the sizes that the state has of them.

    Where a part of a machine is closed by now or later, they keep what they hold.
    """
    for at in range(len(started.jobs)):
        job = started.jobs[at]
        state.engine.clock = started.starts[at]
        start(jobs, state, estimates, job, state.job[job].size, -1, machine)


@inner_kernel
def _take_in(
    jobs: PackedJobs, state: State, estimates: Estimates, rule: QueueRule, machine: Machine | None = None
) -> int:
    """Learn from the jobs that have ended, and put those that were submitted in their places in the queue.

    Return the first place that has changed.
    """
    if rule.learning:
        learn(state, estimates)
    first = state.engine.tail - state.engine.submitted
    if machine is not None:
        return sort_queue(jobs, state, estimates.queued, estimates.scores, rule.order, first, machine.submit)
    if rule.order:
        return sort_queue(jobs, state, estimates.queued, estimates.scores, rule.order, first)
    return int(first)


@kernel
def run(
    jobs: PackedJobs,
    state: State,
    estimates: Estimates,
    rule: QueueRule,
    memory: Blocked,
    coalesce: bool,
    started: Started,
    machine: Machine | None = None,
    free: FreeNodes | None = None,
) -> None:
    """Run a workload to its end under a policy, after placing the jobs that have started.

    Policies that plan are given what is free over time.
    """
    _place(jobs, state, estimates, started, machine)
    wake = np.inf
    while advance(state, wake, coalesce):
        if machine is not None and move_on(state, machine):
            memory.flags[1] = 0
        new, wake = _take_in(jobs, state, estimates, rule, machine), np.inf
        if free is None:
            one_pass(jobs, state, estimates, rule, memory, new, machine)
        elif rule.kind == RESERVING:
            reserving_pass(jobs, state, estimates, rule, free, machine)
        else:
            wake = slurm_pass(jobs, state, estimates, rule, free, machine)
        if machine is not None:
            wake = min(wake, next_step(state, machine))


@kernel
def decide(
    jobs: PackedJobs,
    state: State,
    estimates: Estimates,
    rule: QueueRule,
    memory: Blocked,
    started: Started,
    free: FreeNodes | None = None,
) -> float:
    """Make the decisions of one call, on a state with a filled queue, after placing its running jobs.

    Return when the policy wants to be called, infinite for never.
    """
    now, head = state.engine.clock, state.engine.head
    _place(jobs, state, estimates, started)
    state.engine.clock = now
    if rule.order:
        sort_queue(jobs, state, estimates.queued, estimates.scores, rule.order, head)
    if free is None:
        one_pass(jobs, state, estimates, rule, memory, head)
    elif rule.kind == RESERVING:
        reserving_pass(jobs, state, estimates, rule, free)
    else:
        return slurm_pass(jobs, state, estimates, rule, free)
    return np.inf
