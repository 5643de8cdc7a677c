"""EASY backfilling with any number of reservations, for kernels.

In each call the plan is made anew: running jobs hold their nodes until their expected ends, and the jobs that
cannot start now are planned in the order of the queue, each at its earliest, until there are as many
reservations as the rule says.

Slurm plans by the same rules: its heads start at events, all other jobs in passes at fixed intervals.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from allocsolve.heuristics.workload._kernels_capacity import (
    Facts,
    book,
    earliest_room,
    expect_running,
    known,
    no_facts,
    note,
    others_have_room,
)
from allocsolve.heuristics.workload._kernels_queue import (
    FIRST_AGING,
    FIT_SIZE,
    RESERVING,
    size_to_start,
    start,
    start_heads,
)
from allocsolve.heuristics.workload.resources import Machine, is_open
from allocsolve.kernels import inner_kernel
from allocsolve.kernels.free_nodes import FreeNodes, change, has_room, least_free, limit_free
from allocsolve.kernels.records import Record, record
from allocsolve.model.speedup import SPEEDUP_TABLE
from allocsolve.simulation.kernels import leave_queue, time_ratio

if TYPE_CHECKING:
    from allocsolve.heuristics.workload._kernels_queue import Estimates, Passes, QueueRule
    from allocsolve.model.packed_jobs import PackedJobs
    from allocsolve.simulation.kernels import State


@inner_kernel
def _size_beside(
    jobs: PackedJobs,
    job: int,
    idle: int,
    estimate: float,
    now: float,
    moldable: int,
    free: FreeNodes,
    machine: Machine | None = None,
) -> int:
    """Return the size, at most `idle`, on which a job delays no reservation if it starts now, or 0."""
    nodes = size_to_start(jobs, job, idle, moldable, estimate, now, machine)
    while nodes:
        end = now + estimate * time_ratio(jobs, job, nodes)
        least = least_free(free, now, end)
        if nodes <= least:
            return nodes if machine is None or others_have_room(machine, job, now, end) else 0
        if moldable != FIT_SIZE:
            return 0
        # On fewer nodes a job runs longer, except by some tables: only these need every smaller size tried.
        fewer = nodes - 1 if jobs.speedup[job] == SPEEDUP_TABLE else least
        nodes = size_to_start(jobs, job, fewer, moldable, estimate, now, machine)
    return 0


@inner_kernel
def fits_now(jobs: PackedJobs, state: State, job: int, machine: Machine | None = None) -> bool:
    """Return whether what a job needs is there now, and nobody holds it."""
    if machine is not None and not is_open(machine, job):
        return False
    return bool(jobs.min_nodes[job] <= state.engine.free)


@inner_kernel
def last_that_fits(jobs: PackedJobs, state: State, limit: int, machine: Machine | None = None) -> int:
    """Return the last place of the queue, of those examined, whose job fits into what is idle; or the head.

    Jobs behind it cannot start in this call, so they need not be planned. O(queue).
    """
    engine = state.engine
    at = min(engine.tail, engine.head + 1 + limit) - 1
    while at > engine.head and not fits_now(jobs, state, state.queue[at], machine):
        at -= 1
    return int(at)


@inner_kernel
def _last_that_may_start(
    jobs: PackedJobs,
    state: State,
    estimates: Estimates,
    first: int,
    last: int,
    free: FreeNodes,
    machine: Machine | None = None,
) -> int:
    """Return the last place, from `last` down to `first`, whose job may start beside the plan so far.

    `first` if there is none. Of a moldable job it is asked only whether it fits now.
    """
    now = state.engine.clock
    while last > first:
        job = state.queue[last]
        if fits_now(jobs, state, job, machine):
            nodes = jobs.min_nodes[job]
            if nodes < jobs.max_nodes[job] or has_room(free, now, now + estimates.queued[job], nodes):
                break
        last -= 1
    return last


class PlanNumbers(Record):
    """The single numbers of a `KeptPlan`."""

    #: Given: whether it may be kept. Then, whether there is one.
    usable: int
    is_there: int
    #: The first place of the queue that is not in the plan, and how many jobs have reservations.
    place: int
    reservations: int
    #: When the first of them begins, in seconds.
    due: float


class KeptPlan(NamedTuple):
    """How far the plan of the last call goes. It holds while no job ends and no reservation begins.

    Jobs that waited start no earlier then, so that only new ones can start, behind the others: jobs are
    rigid, and the queue is in the order of submission.
    """

    numbers: PlanNumbers
    facts: Facts


def no_plan(*, usable: bool) -> KeptPlan:
    """Return that there is no plan so far."""
    numbers = record(PlanNumbers)
    numbers["usable"] = usable
    return KeptPlan(numbers, no_facts())


@inner_kernel
def _reserve_and_fill(
    jobs: PackedJobs,
    state: State,
    estimates: Estimates,
    rule: QueueRule,
    free: FreeNodes,
    machine: Machine | None = None,
    kept: KeptPlan | None = None,
) -> None:
    """Start who fits beside the reservations. O(running jobs + queue x steps of the plan) at worst.

    What is free in the plan only gets less in a call: who cannot start beside a part of it cannot do so
    beside all of it, and need not be planned if nobody behind it can.
    """
    engine, queue, now = state.engine, state.queue, state.engine.clock
    last = last_that_fits(jobs, state, rule.scan_limit, machine)
    if last == engine.head:
        return
    blocked, at, planned, due = queue[engine.head], engine.head, 0, np.inf
    if kept is not None and kept.numbers.is_there:
        at, planned, due = kept.numbers.place, kept.numbers.reservations, kept.numbers.due
    else:
        expect_running(state, free, machine)
        if kept is not None:
            kept.facts.used[0] = 0
    last = _last_that_may_start(jobs, state, estimates, at - 1, last, free, machine)
    while at <= last and engine.free > 0:
        job = queue[at]
        estimate, fewest = estimates.queued[job], jobs.min_nodes[job]
        nodes, plans = 0, planned < rule.reservations
        fits = fits_now(jobs, state, job, machine)
        if fits and not (plans and fewest == jobs.max_nodes[job]):  # else the reservation is asked alone
            nodes = _size_beside(jobs, job, engine.free, estimate, now, rule.moldable, free, machine)
        if not nodes and plans:
            seconds = estimate * time_ratio(jobs, job, fewest)
            least = now
            if kept is not None:
                least = max(now, known(kept.facts, fewest, seconds))
            begins = earliest_room(free, job, fewest, least, seconds, np.inf, machine)
            if kept is not None and begins > least:
                note(kept.facts, job, fewest, seconds, begins, machine)
            if begins == now and fits:
                nodes = fewest
            else:
                book(free, job, fewest, begins, begins + seconds, -1, machine)
                planned += 1
                due = min(due, begins)
                if begins < now + estimates.queued[queue[last]]:
                    last = _last_that_may_start(jobs, state, estimates, at, last, free, machine)
        if nodes:
            book(free, job, nodes, now, now + estimate * time_ratio(jobs, job, nodes), -1, machine)
            leave_queue(state, at)
            start(jobs, state, estimates, job, nodes, blocked, machine)
        at += 1
    if kept is not None:
        numbers = kept.numbers
        numbers.is_there, numbers.place, numbers.reservations, numbers.due = numbers.usable, at, planned, due


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
    # The window ends with a step; limits may be infinite.
    change(free, start, math.ceil(min(start + limit, window_end) / step) * step, -amount)


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
            last = _last_that_may_start(jobs, state, estimates, at, last, free, machine)
            if machine is not None:
                for need in range(machine.offsets[job] + 1, machine.offsets[job + 1]):
                    row = machine.resource[need] - 1
                    left = FreeNodes(machine.numbers[row], machine.chunks[row], machine.steps[row])
                    _plan(left, now, starts, limit, machine.amount[need], passes)
        at += 1


@inner_kernel
def _pass_at_interval(
    jobs: PackedJobs,
    state: State,
    estimates: Estimates,
    rule: QueueRule,
    free: FreeNodes,
    machine: Machine | None = None,
) -> float:
    """Make a pass if it is time for one; return the instant of the next one, infinite if it is not needed.

    A pass does nothing as long as no job that is tested fits. Orders that change with time may bring any job
    to the front.
    """
    engine, passes = state.engine, rule.passes
    number, behind = math.floor(engine.clock / passes.interval), passes.max_jobs - 1
    if number * passes.interval == engine.clock:
        _backfill(jobs, state, estimates, passes, last_that_fits(jobs, state, behind, machine), free, machine)
    if rule.order >= FIRST_AGING:
        behind = engine.tail
    if last_that_fits(jobs, state, behind, machine) == engine.head:
        return np.inf
    return float((number + 1) * passes.interval)


@inner_kernel
def planning_pass(
    jobs: PackedJobs,
    state: State,
    estimates: Estimates,
    rule: QueueRule,
    free: FreeNodes,
    machine: Machine | None = None,
    kept: KeptPlan | None = None,
) -> float:
    """Make the decisions of one call; return when the next one is due without an event, infinite for never.

    Heads are started in one place for both policies, so that no event pays for a call with all these arrays.
    """
    engine = state.engine
    before = engine.head
    start_heads(jobs, state, estimates, rule.moldable, machine)
    if kept is not None and (engine.completed or engine.head > before or kept.numbers.due < engine.clock):
        kept.numbers.is_there = 0
    if engine.free <= 0 or engine.head + 1 >= engine.tail:
        return np.inf
    if rule.kind == RESERVING:
        _reserve_and_fill(jobs, state, estimates, rule, free, machine, kept)
        return np.inf
    return _pass_at_interval(jobs, state, estimates, rule, free, machine)
