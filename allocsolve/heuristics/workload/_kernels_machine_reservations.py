"""EASY with any number of reservations on machines with counted resources and closed windows, for kernels.

As `_kernels_reservations` does on plain machines, each call makes the plan anew, for each resource.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from allocsolve.heuristics.workload._kernels_machines import (
    is_open,
    move_on,
    next_step,
    place_on,
    start_heads_on,
    start_on,
    take_in,
)
from allocsolve.heuristics.workload._kernels_timetable import (
    begin_writing,
    earliest_room,
    go_on_writing,
    has_room,
    take,
)
from allocsolve.kernels import inner_kernel, kernel
from allocsolve.simulation.kernels import advance, leave_queue

if TYPE_CHECKING:
    from allocsolve.heuristics.workload._kernels_machines import Machine
    from allocsolve.heuristics.workload._kernels_queue import Estimates, QueueRule
    from allocsolve.heuristics.workload._kernels_timetable import Timetable
    from allocsolve.model.packed_jobs import PackedJobs
    from allocsolve.simulation.kernels import Started, State


@inner_kernel
def _release_until(state: State, machine: Machine, table: Timetable, at: int, time: float) -> int:
    """Add to what is free what jobs hold that are expected to end by an instant; return the next place."""
    held, last = state.held, state.engine.last
    while at < last and held[at].key <= time:
        job = held[at].job
        if job >= 0:
            for place in range(machine.offsets[job], machine.offsets[job + 1]):
                table.level[machine.resource[place]] += machine.amount[place]
        at += 1
    return at


@inner_kernel
def _expect_running(state: State, machine: Machine, table: Timetable) -> None:
    """Write what is free from now on, if running jobs end when they are expected to.

    A job that has run longer than expected is expected to end now. O((running jobs + steps) x resources).
    """
    engine, held, times = state.engine, state.held, machine.times
    step = machine.step[0]
    for resource in range(len(table.level)):
        table.level[resource] = machine.capacity[step, resource] - machine.held[resource]
    at = _release_until(state, machine, table, engine.first, engine.clock)
    begin_writing(table, engine.clock)
    while at < engine.last or step + 1 < len(times):
        time = np.inf
        if at < engine.last:
            time = held[at].key
        if step + 1 < len(times):
            time = min(time, times[step + 1])
        at = _release_until(state, machine, table, at, time)
        if step + 1 < len(times) and times[step + 1] == time:
            step += 1
            for resource in range(len(table.level)):
                table.level[resource] += (
                    machine.capacity[step, resource] - machine.capacity[step - 1, resource]
                )
        go_on_writing(table, time)


@inner_kernel
def _last_that_fits(state: State, machine: Machine, limit: int) -> int:
    """Return the last place of the queue, of those examined, of a job that may start now; or the head.

    Jobs behind it cannot start in this call, so they need not be planned. O(queue).
    """
    engine = state.engine
    at = min(engine.tail, engine.head + 1 + limit) - 1
    while at > engine.head and not is_open(machine, state.queue[at]):
        at -= 1
    return int(at)


@inner_kernel
def _one_pass(
    jobs: PackedJobs,
    state: State,
    estimates: Estimates,
    rule: QueueRule,
    reservations: int,
    machine: Machine,
    table: Timetable,
) -> None:
    """Make the decisions of one call. O(running jobs + queue x steps of the plan) at worst."""
    engine, queue, now = state.engine, state.queue, state.engine.clock
    start_heads_on(jobs, state, estimates, machine)
    if engine.head + 1 >= engine.tail:
        return
    last = _last_that_fits(state, machine, rule.scan_limit)
    if last == engine.head:
        return
    _expect_running(state, machine, table)
    blocked, at, planned = queue[engine.head], engine.head, 0
    open_nodes = machine.capacity[machine.step[0], 0]
    while at <= last and machine.held[0] < open_nodes:
        job = queue[at]
        seconds = estimates.queued[job]
        if is_open(machine, job) and has_room(table, machine, job, now, now + seconds):
            take(table, machine, job, now, now + seconds)
            leave_queue(state, at)
            start_on(jobs, state, estimates, machine, job, blocked)
        elif planned < reservations:
            begin = earliest_room(table, machine, job, now, seconds, np.inf)
            take(table, machine, job, begin, begin + seconds)
            planned += 1
        at += 1


@kernel
def run_reserving_on_machine(
    jobs: PackedJobs,
    state: State,
    estimates: Estimates,
    rule: QueueRule,
    reservations: int,
    machine: Machine,
    table: Timetable,
    coalesce: bool,
    started: Started,
) -> None:
    """Run a workload to its end under EASY with that many reservations, after placing who has started."""
    place_on(jobs, state, estimates, machine, started)
    engine, wake = state.engine, np.inf
    while advance(state, wake, coalesce):
        move_on(state, machine)
        take_in(jobs, state, estimates, rule, machine)
        if engine.head < engine.tail:
            _one_pass(jobs, state, estimates, rule, reservations, machine, table)
        wake = next_step(state, machine)
