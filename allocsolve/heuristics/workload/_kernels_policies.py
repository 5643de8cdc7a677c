"""The loop of queue policies over a whole workload, and one call of them, for kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from allocsolve.heuristics.workload._kernels_queue import learn, one_pass, sort_queue, start
from allocsolve.heuristics.workload._kernels_reservations import reserving_pass
from allocsolve.heuristics.workload._kernels_resources import Machine, move_on, next_step
from allocsolve.heuristics.workload._kernels_slurm import Passes, slurm_pass
from allocsolve.kernels import inner_kernel, kernel
from allocsolve.simulation.kernels import advance

if TYPE_CHECKING:
    from allocsolve.heuristics.workload._kernels_queue import Blocked, Estimates, QueueRule
    from allocsolve.kernels.free_nodes import FreeNodes
    from allocsolve.model.packed_jobs import PackedJobs
    from allocsolve.simulation.kernels import Started, State


@inner_kernel
def _one_call(
    jobs: PackedJobs,
    state: State,
    estimates: Estimates,
    rule: QueueRule,
    memory: Blocked,
    new: int,
    machine: Machine | None = None,
    free: FreeNodes | None = None,
    passes: Passes | None = None,
) -> float:
    """Make the decisions of one call; return when the policy wants to be called, infinite for never.

    The queue has changed from the place `new` on. With what is free over time, jobs are planned: in passes,
    if there are any, else anew in each call.
    """
    wake = np.inf
    if free is None:
        one_pass(jobs, state, estimates, rule, memory, new, machine)
    elif passes is None:
        reserving_pass(jobs, state, estimates, rule, free, machine)
    else:
        wake = slurm_pass(jobs, state, estimates, rule, passes, free, machine)
    if machine is not None:
        wake = min(wake, next_step(state, machine))
    return wake


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
    passes: Passes | None = None,
) -> None:
    """Run a workload to its end under a policy, after placing the jobs that have started."""
    _place(jobs, state, estimates, started, machine)
    engine, wake = state.engine, np.inf
    while advance(state, wake, coalesce):
        if machine is not None and move_on(state, machine):
            memory.flags[1] = 0
        if rule.learning:
            learn(state, estimates)
        new = engine.tail - engine.submitted
        if machine is not None:
            new = sort_queue(jobs, state, estimates.queued, estimates.scores, rule.order, new, machine.submit)
        elif rule.order:
            new = sort_queue(jobs, state, estimates.queued, estimates.scores, rule.order, new)
        wake = _one_call(jobs, state, estimates, rule, memory, new, machine, free, passes)


@kernel
def decide(
    jobs: PackedJobs,
    state: State,
    estimates: Estimates,
    rule: QueueRule,
    memory: Blocked,
    started: Started,
    free: FreeNodes | None = None,
    passes: Passes | None = None,
) -> float:
    """Make the decisions of one call, on a state with a filled queue, after placing its running jobs.

    Return when the policy wants to be called, infinite for never.
    """
    now, head = state.engine.clock, state.engine.head
    _place(jobs, state, estimates, started)
    state.engine.clock = now
    if rule.order:
        sort_queue(jobs, state, estimates.queued, estimates.scores, rule.order, head)
    return _one_call(jobs, state, estimates, rule, memory, head, None, free, passes)
