"""Queue policies on machines with counted resources and closed windows, for kernels.

A job can start at t if at each instant until its expected end the expected use of each resource, with the
job, is at most what is open. Running jobs are expected to give things back and never to take more: between
two steps of the capacities use only falls, so that it is enough to look at t and at the steps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from allocsolve.heuristics.workload._kernels_queue import EASY, FCFS, FIRST_AGING, learn, score_of
from allocsolve.kernels import inner_kernel, kernel
from allocsolve.simulation.decisions import AT_HEAD, BACKFILLED
from allocsolve.simulation.kernels import advance, begin, leave_queue

if TYPE_CHECKING:
    from allocsolve.heuristics.workload._kernels_queue import Estimates, QueueRule
    from allocsolve.model.arrays import IntArray
    from allocsolve.model.columns import FloatArray
    from allocsolve.model.packed_jobs import PackedJobs
    from allocsolve.simulation.kernels import Started, State


class Machine(NamedTuple):
    """A machine, what jobs need of it, and what is held. See `allocsolve.model.PackedMachine`."""

    #: Shape (steps,), seconds, and (steps, resources); read-only.
    times: FloatArray
    capacity: IntArray
    #: Shape (jobs + 1,), (needs,) and (needs,); read-only.
    offsets: IntArray
    resource: IntArray
    amount: IntArray
    #: Shape (jobs,), seconds: when jobs are submitted. To kernels of queues their head starts are part of
    #: `PackedJobs.submit`, and this tells apart who is equal there; read-only.
    submit: FloatArray
    #: Shape (jobs,): the least one comes first; written where the order is not that of `PackedJobs.submit`.
    scores: FloatArray
    #: Shape (1,): the present step.
    step: IntArray
    #: Shape (resources,): what is held now.
    held: IntArray
    #: Shape (steps, resources): what is expected to be held when a later step begins.
    expected: IntArray
    #: Shape (resources,): what the blocked head needs, and what is left beside it at its shadow time.
    head_needs: IntArray
    extra: IntArray
    #: Shape (2,): whether the memory of the last call can be used at all, and whether there is one. While no
    #: job ends and no step begins, jobs that waited still cannot start.
    memory: IntArray
    #: Shape (1,), seconds: the shadow time of the last call.
    shadow_time: FloatArray


@inner_kernel
def _add(machine: Machine, job: int, until: float, sign: int) -> None:
    """Let a job hold what it needs from now on, or (sign -1) give it back. O(needs x steps)."""
    times = machine.times
    for at in range(machine.offsets[job], machine.offsets[job + 1]):
        resource, amount = machine.resource[at], sign * machine.amount[at]
        machine.held[resource] += amount
        step = machine.step[0] + 1
        while step < len(times) and times[step] < until:
            machine.expected[step, resource] += amount
            step += 1


@inner_kernel
def _fits_steps(machine: Machine, job: int, step: int, until: float) -> bool:
    """Return whether a job fits in all steps from one on that begin before an instant."""
    times = machine.times
    while step < len(times) and times[step] < until:
        for at in range(machine.offsets[job], machine.offsets[job + 1]):
            resource = machine.resource[at]
            if machine.expected[step, resource] + machine.amount[at] > machine.capacity[step, resource]:
                return False
        step += 1
    return True


@inner_kernel
def is_open(machine: Machine, job: int) -> bool:
    """Return whether what a job needs is there now, and nobody holds it. O(needs)."""
    now = machine.step[0]
    for at in range(machine.offsets[job], machine.offsets[job + 1]):
        resource = machine.resource[at]
        if machine.held[resource] + machine.amount[at] > machine.capacity[now, resource]:
            return False
    return True


@inner_kernel
def _can_start(machine: Machine, job: int, until: float) -> bool:
    """Return whether a job that is expected to run until an instant can start now."""
    return is_open(machine, job) and _fits_steps(machine, job, machine.step[0] + 1, until)


@inner_kernel
def _reserve(state: State, machine: Machine, job: int, seconds: float) -> float:
    """Return the shadow time of a job that cannot start now, and set what is left beside it then.

    All jobs that are expected to end by then count. O((running jobs + steps) x needs).
    """
    held, last, now = state.held, state.engine.last, state.engine.clock
    times, offsets = machine.times, machine.offsets
    at, step, shadow_time = state.engine.first, machine.step[0], now
    left = machine.extra
    for resource in range(len(left)):
        left[resource] = -machine.held[resource]
        machine.head_needs[resource] = 0
    for place in range(offsets[job], offsets[job + 1]):
        machine.head_needs[machine.resource[place]] = machine.amount[place]
    while True:
        while at < last and held[at].key <= shadow_time:
            if held[at].job >= 0:
                for place in range(offsets[held[at].job], offsets[held[at].job + 1]):
                    left[machine.resource[place]] += machine.amount[place]
            at += 1
        while step + 1 < len(times) and times[step + 1] <= shadow_time:
            step += 1
        fits = True
        for place in range(offsets[job], offsets[job + 1]):
            resource = machine.resource[place]
            if machine.capacity[step, resource] + left[resource] < machine.amount[place]:
                fits = False
                break
        if fits and _fits_steps(machine, job, step + 1, shadow_time + seconds):
            break
        later = np.inf
        if at < last:
            later = held[at].key
        if step + 1 < len(times):
            later = min(later, times[step + 1])
        shadow_time = later
    for resource in range(len(left)):
        left[resource] += machine.capacity[step, resource] - machine.head_needs[resource]
    return shadow_time


@inner_kernel
def _leaves_head(
    machine: Machine, job: int, until: float, shadow_time: float, head_until: float, rule: QueueRule
) -> bool:
    """Return whether the head can still start at its shadow time if a job runs until an instant."""
    if until < shadow_time or (until == shadow_time and not rule.strict):
        return True
    if not rule.extra_nodes:
        return False
    for at in range(machine.offsets[job], machine.offsets[job + 1]):
        resource = machine.resource[at]
        if machine.head_needs[resource] and machine.amount[at] > machine.extra[resource]:
            return False
    step, times = machine.step[0] + 1, machine.times
    while step < len(times) and times[step] <= shadow_time:
        step += 1
    end = min(until, head_until)
    while step < len(times) and times[step] < end:
        for at in range(machine.offsets[job], machine.offsets[job + 1]):
            resource = machine.resource[at]
            needed = machine.amount[at] + machine.head_needs[resource]
            if (
                machine.head_needs[resource]
                and machine.expected[step, resource] + needed > machine.capacity[step, resource]
            ):
                return False
        step += 1
    return True


@inner_kernel
def start_on(
    jobs: PackedJobs, state: State, estimates: Estimates, machine: Machine, job: int, blocked: int
) -> None:
    """Start a job that has left the queue, as its head (`blocked` is -1) or before a blocked job."""
    estimate = estimates.running[job]
    until = state.engine.clock + estimate
    why = AT_HEAD if blocked < 0 else BACKFILLED
    begin(state, job, jobs.nodes[job], jobs.runtime[job], estimate, until, why, blocked)
    _add(machine, job, until, 1)


@inner_kernel
def place_on(
    jobs: PackedJobs, state: State, estimates: Estimates, machine: Machine, started: Started
) -> None:
    """Let jobs run that have started; where a part is closed by now or later, they keep what they hold."""
    for at in range(len(started.jobs)):
        state.engine.clock = started.starts[at]
        start_on(jobs, state, estimates, machine, started.jobs[at], -1)


@inner_kernel
def start_heads_on(jobs: PackedJobs, state: State, estimates: Estimates, machine: Machine) -> None:
    """Start the head of the queue while it can start."""
    engine = state.engine
    while engine.head < engine.tail:
        job = state.queue[engine.head]
        if not _can_start(machine, job, engine.clock + estimates.queued[job]):
            break
        engine.head += 1
        start_on(jobs, state, estimates, machine, job, -1)


@inner_kernel
def _backfill(
    jobs: PackedJobs, state: State, estimates: Estimates, rule: QueueRule, machine: Machine, at: int
) -> None:
    """Start jobs that can start, and let the head start at its shadow time, from the place `at` on."""
    engine, queue, now = state.engine, state.queue, state.engine.clock
    head, shadow_time = engine.head, machine.shadow_time[0]
    blocked = queue[head]
    head_until = shadow_time + estimates.queued[blocked]
    stop = min(engine.tail, head + 1 + rule.scan_limit)
    open_nodes = machine.capacity[machine.step[0], 0]
    while at < stop and machine.held[0] < open_nodes:
        job = queue[at]
        until = now + estimates.queued[job]
        if (
            machine.held[0] + jobs.nodes[job] <= open_nodes
            and _can_start(machine, job, until)
            and _leaves_head(machine, job, until, shadow_time, head_until, rule)
        ):
            if until > shadow_time:
                for place in range(machine.offsets[job], machine.offsets[job + 1]):
                    machine.extra[machine.resource[place]] -= machine.amount[place]
            leave_queue(state, at)
            start_on(jobs, state, estimates, machine, job, blocked)
        at += 1


@inner_kernel
def _one_pass(
    jobs: PackedJobs,
    state: State,
    estimates: Estimates,
    rule: QueueRule,
    machine: Machine,
    first_new: int,
    steady: bool,
) -> None:
    """Make the decisions of one call; `steady` says that no job ended, and that no step began."""
    engine, now = state.engine, state.engine.clock
    if machine.memory[1] and steady and first_new > engine.head and machine.shadow_time[0] >= now:
        _backfill(jobs, state, estimates, rule, machine, first_new)
        return
    machine.memory[1] = 0
    start_heads_on(jobs, state, estimates, machine)
    if rule.kind == FCFS or engine.head + 1 >= engine.tail:
        return
    machine.shadow_time[0] = np.inf
    if rule.kind == EASY:
        head = state.queue[engine.head]
        machine.shadow_time[0] = _reserve(state, machine, head, estimates.queued[head])
    _backfill(jobs, state, estimates, rule, machine, engine.head + 1)
    machine.memory[1] = machine.memory[0]


@inner_kernel
def _is_before(jobs: PackedJobs, machine: Machine, job: int, other: int) -> bool:
    """Return whether a job stands before another one in the queue."""
    scores, submit = machine.scores, machine.submit
    if scores[job] != scores[other]:
        return bool(scores[job] < scores[other])
    if jobs.submit[job] != jobs.submit[other]:
        return bool(jobs.submit[job] < jobs.submit[other])
    if submit[job] != submit[other]:
        return bool(submit[job] < submit[other])
    return job < other


@inner_kernel
def take_in(jobs: PackedJobs, state: State, estimates: Estimates, rule: QueueRule, machine: Machine) -> int:
    """Put new jobs in their places in the queue; return the first place that has changed.

    Under an order that changes with time, all are scored and sorted again: O(queue) if nothing changes.
    """
    engine, queue = state.engine, state.queue
    first = engine.tail - engine.submitted
    if rule.learning:
        learn(state, estimates)
    if rule.order >= FIRST_AGING:
        first = engine.head
    if rule.order:
        for at in range(first, engine.tail):
            job = queue[at]
            machine.scores[job] = score_of(jobs, job, estimates.queued[job], engine.clock, rule.order)
    changed = engine.tail
    for at in range(first, engine.tail):
        job, place = queue[at], at
        while place > engine.head and _is_before(jobs, machine, job, queue[place - 1]):
            queue[place] = queue[place - 1]
            place -= 1
        queue[place] = job
        changed = min(changed, place)
    return int(changed)


@inner_kernel
def move_on(state: State, machine: Machine) -> bool:
    """Let jobs that have ended give back what they held; return whether none has, and no step has begun."""
    engine, times = state.engine, machine.times
    steady = engine.completed == 0
    while machine.step[0] + 1 < len(times) and times[machine.step[0] + 1] <= engine.clock:
        machine.step[0] += 1
        steady = False
    for at in range(engine.completed):
        job = state.events[at]
        _add(machine, job, state.job[job].expected, -1)
    return steady


@inner_kernel
def next_step(state: State, machine: Machine) -> float:
    """Return when the next step begins; infinite if there is none, or nobody waits for it."""
    engine, times = state.engine, machine.times
    if engine.head < engine.tail and machine.step[0] + 1 < len(times):
        return float(times[machine.step[0] + 1])
    return np.inf


@kernel
def run_on_machine(
    jobs: PackedJobs,
    state: State,
    estimates: Estimates,
    rule: QueueRule,
    machine: Machine,
    coalesce: bool,
    started: Started,
) -> None:
    """Run a workload to its end under a policy, after placing who has started; jobs arrive when they may."""
    place_on(jobs, state, estimates, machine, started)
    engine, wake = state.engine, np.inf
    while advance(state, wake, coalesce):
        steady = move_on(state, machine)
        first_new = take_in(jobs, state, estimates, rule, machine)
        if engine.head < engine.tail:
            _one_pass(jobs, state, estimates, rule, machine, first_new, steady)
        wake = next_step(state, machine)
