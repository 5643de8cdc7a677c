"""The event loop of executions: jobs start, go on from event to event, and end.

Each job has a clock of its own, so that nothing depends on when it started or how long it may run: on the
same nodes a program always does exactly the same, down to the last bit. The job with the earliest next event
goes on.
"""

from __future__ import annotations

# ruff: noqa: PLR0915
# The entry kernel is a single loop.
from typing import TYPE_CHECKING

import numpy as np

from allocsolve.kernels import inner_kernel, kernel
from allocsolve.kernels.heap import change, raise_up, take_out
from allocsolve.model.reservation import CANCELLED, REJECTED, SUCCESSFUL
from reproductions.linnert2024.programs._kernels_flows import BITS, MASK, drop_flows, end_flow, set_rates
from reproductions.linnert2024.programs._kernels_processes import (
    drop,
    give_back,
    go_on,
    stop_computing,
    take_node,
)
from reproductions.linnert2024.programs.state import (
    ABSENT,
    COMPUTED,
    DELIVERED,
    FORKED,
    KILL,
    LIVING,
    OVER,
    RUNNING,
    START,
    TO_COME,
    WAITING,
    seconds,
)

if TYPE_CHECKING:
    from reproductions.linnert2024.programs.state import Executed, Machine, Programs, State


@inner_kernel
def _set_job_event(state: State, time: float, key: int) -> None:
    """Set the time and the key of the next event in a slot of the heap of jobs. O(log jobs)."""
    heap, places, counts = state.job_events, state.job_event_places, state.counts
    at = places[key & MASK]
    if at >= 0:
        change(heap, places, MASK, counts.job_events, at, time, key)
    else:
        raise_up(heap, places, MASK, counts.job_events, time, key)
        counts.job_events += 1


@inner_kernel
def _clear_job_event(state: State, slot: int) -> None:
    """Remove the event in a slot of the heap of jobs, if there is one. O(log jobs)."""
    places, counts = state.job_event_places, state.counts
    if places[slot] >= 0:
        take_out(state.job_events, places, MASK, counts.job_events, places[slot])
        counts.job_events -= 1


@inner_kernel
def _foresee_job(jobs: Executed, state: State, job: int) -> None:
    """Set the next event of a running job in the heap of jobs."""
    base = jobs.slot_at[job]
    if state.job[job].events > 0:
        began = state.job[job].began
        at = seconds(began, jobs.limit[job], jobs.factor[job], state.events[base].time)
        kind = state.events[base].item >> BITS
        _set_job_event(state, at, (kind << BITS) | job)
    else:
        _clear_job_event(state, job)


@inner_kernel
def _moves_on(jobs: Executed, state: State, now: float) -> bool:
    """Return whether the next event moves the time on, or the clock of its job.

    By the clock, times may differ that are equal in seconds. With this rule, a job that is alone always sets
    its rates at the same times of its clock.
    """
    if state.counts.job_events == 0 or state.job_events[0].time > now:
        return True
    key = state.job_events[0].item
    if key >> BITS >= KILL:
        return False
    job = key & MASK
    return bool(state.events[jobs.slot_at[job]].time > state.job[job].clock)


@inner_kernel
def _set_rates(machine: Machine, jobs: Executed, state: State, now: float) -> None:
    """Share the links again, and update the next events of the jobs that use them."""
    set_rates(machine.lattice, jobs, state, now)
    for k in range(state.counts.flows):
        _foresee_job(jobs, state, state.flow[state.flows[k]].job)


@inner_kernel
def _arrive(jobs: Executed, state: State, job: int) -> int:
    """Let a job arrive; return on how many nodes in `State.spot` it starts, 0 if it waits in the queue."""
    counts, limit = state.counts, jobs.limit[job]
    _clear_job_event(state, job)
    if limit < np.inf:
        _set_job_event(state, limit, (KILL << BITS) | (len(jobs.limit) + job))
    count = 0
    for here in jobs.sets[jobs.set_at[job] : jobs.set_at[job + 1]]:
        state.spot[count] = here
        count += 1
    if count == 0:
        state.job[job].phase = WAITING
        state.queue[counts.queue_tail] = job
        counts.queue_tail += 1
        counts.retry = 1
    return count


@inner_kernel
def _lay_out(
    machine: Machine, programs: Programs, jobs: Executed, state: State, job: int, count: int, now: float
) -> int:
    """Give a job the nodes in `State.spot`, lay its first processes on them and return their number."""
    program = jobs.program[job]
    first, its = jobs.process_at[job], programs.process_at[program]
    num_processes = programs.process_at[program + 1] - its
    initial = 0
    for p in range(num_processes):
        state.process[first + p].next = programs.operation_at[its + p]
        state.process[first + p].stage, state.process[first + p].joined = ABSENT, 0
        state.process[first + p].arrives = np.inf
        initial += programs.parent[its + p] < 0
    for c in range(programs.channel_at[program + 1] - programs.channel_at[program]):
        channel = state.channel[jobs.channel_at[job] + c]
        channel.sent = channel.received = 0
    first_message, base = jobs.message_at[job], jobs.slot_at[job]
    for m in range(programs.num_messages[program]):
        state.message[first_message + m].arrives = np.inf
        state.message[first_message + m].receiver = state.message[first_message + m].sender = -1
    for slot in range(num_processes + programs.num_messages[program]):
        state.event_places[base + slot] = -1
        if machine.contention:
            state.flow[base + slot].index = -1
    nodes = state.spot
    for at in range(count):
        take_node(state, nodes[at], job, now)
    ready = 0
    for p in range(num_processes):
        if programs.parent[its + p] < 0:
            at = ready if count >= initial else ready * count // initial
            state.process[first + p].node, state.process[first + p].stage = nodes[at], LIVING
            state.node[nodes[at]].tenants += 1
            state.ready[ready] = p
            ready += 1
    state.job[job].phase, state.job[job].events, state.job[job].alive = RUNNING, 0, initial
    state.job[job].began, state.job[job].clock, state.job[job].worked = now, 0.0, 0.0
    return ready


@inner_kernel
def _start_waiting(machine: Machine, programs: Programs, jobs: Executed, state: State) -> tuple[int, int]:
    """Return the next job that can start, and the number of its nodes in `State.spot`; -1 and 0 for none.

    Jobs are tried in the order of arrival. A job that finds no nodes stays at the head of the queue, or is
    rejected.
    """
    counts = state.counts
    while counts.queue_head < counts.queue_tail:
        job = state.queue[counts.queue_head]
        if state.job[job].phase == WAITING:
            program = jobs.program[job]
            wanted = 0
            for p in range(programs.process_at[program], programs.process_at[program + 1]):
                wanted += programs.parent[p] < 0
            wanted = min(wanted, jobs.nodes[job])
            count = 0
            if counts.free > 0:
                count = drop(machine, state, jobs.row[job], jobs.first[job], wanted)
            if count == wanted or (count > 0 and not machine.need_all):
                counts.queue_head += 1
                return job, count
            if not machine.rejecting:
                break
            state.job[job].phase, state.job[job].outcome = OVER, REJECTED
            _clear_job_event(state, len(jobs.limit) + job)
        counts.queue_head += 1
    return -1, 0


@inner_kernel
def _finish(machine: Machine, jobs: Executed, state: State, job: int, outcome: int, at: float) -> None:
    """End a job: it gives back its nodes and links, and its events are removed."""
    began, factor = state.job[job].began, jobs.factor[job]
    if state.job[job].phase == RUNNING:
        tau = (at - began) / factor
        for here in range(len(state.node)):
            if state.node[here].owner == job:
                if state.node[here].computing > 0:
                    state.job[job].worked += tau - state.node[here].busy
                give_back(state, here, at)
        if machine.contention:
            drop_flows(state, job)
    elif state.job[job].phase == WAITING:  # the job behind it may need fewer nodes
        state.counts.retry = 1
    state.job[job].phase, state.job[job].outcome, state.job[job].events = OVER, outcome, 0
    state.job[job].finished = at
    _clear_job_event(state, job)
    _clear_job_event(state, len(jobs.limit) + job)


@inner_kernel
def _take_event(machine: Machine, programs: Programs, jobs: Executed, state: State, job: int) -> int:
    """Carry out the next event of a job; return how many processes in `State.ready` can go on after it."""
    base, program = jobs.slot_at[job], jobs.program[job]
    first = jobs.process_at[job]
    tau, key = state.events[base].time, state.events[base].item
    kind, slot = key >> BITS, key & MASK
    take_out(state.events[base:], state.event_places[base:], MASK, state.job[job].events, 0)
    state.job[job].events -= 1
    state.job[job].clock = tau
    if machine.contention:
        end_flow(state, base + slot)
    state.ready[0] = slot
    if kind == COMPUTED:
        stop_computing(machine, jobs, state, job, slot, tau)
        return 1
    if kind == FORKED:
        return 1
    ready = 0
    if kind == DELIVERED:
        message = jobs.message_at[job] + slot
        message -= programs.process_at[program + 1] - programs.process_at[program]
        its = state.message[message]
        its.arrives = tau
        for waits in (its.receiver, its.sender):
            if waits >= 0:
                state.ready[ready] = waits
                ready += 1
        its.receiver = its.sender = -1
        return ready
    state.process[first + slot].arrives = tau
    if state.process[first + slot].joined == 1:
        state.process[first + slot].joined = 0
        state.ready[0] = programs.parent[programs.process_at[program] + slot]
        ready = 1
    return ready


@kernel
def run_jobs(machine: Machine, programs: Programs, jobs: Executed, state: State, alone: bool) -> None:
    """Execute jobs together or, if `alone`, one after the other, each on an empty machine.

    A job that is alone and can never go on is left `RUNNING`.
    """
    num_jobs, counts = len(jobs.limit), state.counts
    for begin in range(num_jobs if alone else 1):
        counts.job_events, counts.free, counts.rows = 0, len(state.node), 0
        counts.queue_head = counts.queue_tail = counts.retry = 0
        counts.flows = counts.flows_changed = 0
        for here in range(len(state.node)):
            state.node[here].owner = -1
        for job in range(num_jobs):
            if not alone or job == begin:
                state.job[job].phase = TO_COME
                _set_job_event(state, jobs.start[job], (START << BITS) | job)
        now, tau, job = -np.inf, 0.0, num_jobs  # no job yet, but of the type of all jobs
        ready = going = 0
        starting = False
        while True:
            outcome, at = -1, now
            if going < ready:
                go_on(machine, programs, jobs, state, job, state.ready[going], tau)
                going += 1
                if going == ready and state.job[job].alive == 0:
                    began = state.job[job].began
                    outcome, at = SUCCESSFUL, seconds(began, jobs.limit[job], jobs.factor[job], tau)
            else:
                count = going = ready = 0
                if starting or counts.job_events == 0 or state.job_events[0].time > now:
                    following, still = -1, starting
                    if counts.retry == 1 or starting:
                        counts.retry = 0
                        following, count = _start_waiting(machine, programs, jobs, state)
                    starting = following >= 0
                    if starting:
                        job = following
                    elif still:
                        continue
                    elif counts.flows_changed == 0:
                        if counts.job_events == 0:
                            break
                        now = state.job_events[0].time
                if not starting:
                    if counts.flows_changed == 1 and _moves_on(jobs, state, now):
                        counts.flows_changed = 0
                        _set_rates(machine, jobs, state, now)
                        continue
                    kind, job = state.job_events[0].item >> BITS, state.job_events[0].item & MASK
                    if kind == KILL:
                        job -= num_jobs
                        outcome, at = CANCELLED, now
                    elif kind == START:
                        count = _arrive(jobs, state, job)
                        if count == 0:
                            continue
                    else:
                        tau = state.events[jobs.slot_at[job]].time
                        ready = _take_event(machine, programs, jobs, state, job)
                if count > 0:
                    tau, ready = 0.0, _lay_out(machine, programs, jobs, state, job, count, now)
            if outcome >= 0:
                _finish(machine, jobs, state, job, outcome, at)
            elif going == ready:
                _foresee_job(jobs, state, job)
