"""Queue policies on machines whose nodes are places, for kernels: the state of the nodes, and one pass.

A node has room for k chunks of a job, and whether the job fits is a sum of these k over the nodes; see
`allocsolve.model.PackedPlaces`. The sum is kept for each shape of job in the queue, as nodes change, so that
a test takes O(1). Where a job goes is told by a choice, see `_kernels_node_choices`.

The head of the queue is planned *late*: at its shadow time it takes the nodes on which least of it would fit
now, so that its plan keeps as little as it can of what is free now. The plan is made anew when somebody has
started. A job that is expected to end by the shadow time starts if it fits; one that runs longer starts on
what is free both now and, beside the plan, at the shadow time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from allocsolve.heuristics.workload._kernels_node_choices import (
    LATE,
    Choice,
    Places,
    Shape,
    choose,
    chunks_on,
)
from allocsolve.heuristics.workload._kernels_queue import EASY, FCFS, FIRST_FIT, learn, sort_queue
from allocsolve.kernels import inner_kernel, kernel
from allocsolve.simulation.decisions import AT_HEAD, BACKFILLED
from allocsolve.simulation.kernels import advance, begin, leave_queue

if TYPE_CHECKING:
    from allocsolve.heuristics.workload._kernels_queue import Estimates, QueueRule
    from allocsolve.model.arrays import IntArray
    from allocsolve.model.columns import FloatArray
    from allocsolve.model.packed_jobs import PackedJobs
    from allocsolve.simulation.kernels import State

#: No job is blocked.
_NOBODY: Final = -1


@inner_kernel
def hold(
    places: Places, free: IntArray, occupants: IntArray, shape: int, node: int, chunks: int, sign: int
) -> None:
    """Let a job of a shape hold chunks on a node, or (sign -1) give them back; an exclusive one holds all."""
    if places.shapes[shape].exclusive:
        occupants[node] -= sign
        kind = places.type_of_node[node]
        for resource in range(free.shape[1]):
            free[node, resource] -= sign * places.has[kind, resource]
    else:
        occupants[node] += sign
        for resource in range(free.shape[1]):
            free[node, resource] -= sign * chunks * places.each[shape, resource]


@inner_kernel
def _count_room(places: Places, node: int, sign: int) -> None:
    """Add the room of a node to what each shape in the queue has, or (sign -1) take it off."""
    shapes, waiting = places.shapes, places.waiting
    for at in range(places.numbers.waiting):
        shape = waiting[at]
        room = chunks_on(places, places.free, places.occupants, shape, node)
        if room:
            shapes[shape].room += sign * room
            shapes[shape].nodes += sign


@inner_kernel
def hold_now(places: Places, shape: int, node: int, chunks: int, sign: int) -> None:
    """Let a job hold chunks on a node from now on, or give them back. O(shapes in the queue)."""
    _count_room(places, node, -1)
    hold(places, places.free, places.occupants, shape, node, chunks, sign)
    _count_room(places, node, 1)


@inner_kernel
def _give_back(places: Places, job: int) -> None:
    """Take a job that has ended off its nodes."""
    for at in range(places.first[job], places.first[job] + places.count[job]):
        hold_now(places, places.shape[job], places.node[at], places.chunks[at], -1)


@inner_kernel
def _enter(places: Places, job: int) -> None:
    """Note that a job has come to the queue. O(nodes) for the first one of its shape."""
    shape = places.shape[job]
    row = places.shapes[shape]
    if not row.queued:
        row.room = row.nodes = 0
        for node in range(len(places.type_of_node)):
            room = chunks_on(places, places.free, places.occupants, shape, node)
            if room:
                row.room += room
                row.nodes += 1
        row.at = places.numbers.waiting
        places.waiting[row.at] = shape
        places.numbers.waiting += 1
    row.queued += 1


@inner_kernel
def _leave(places: Places, job: int) -> None:
    """Note that a job has left the queue."""
    row = places.shapes[places.shape[job]]
    row.queued -= 1
    if not row.queued:
        places.numbers.waiting -= 1
        last = places.waiting[places.numbers.waiting]
        places.waiting[row.at] = last
        places.shapes[last].at = row.at


@inner_kernel
def fits(row: Shape) -> bool:
    """Return whether jobs of a shape in the queue fit now."""
    return bool(row.room >= row.chunks and row.nodes >= row.least_nodes)


@inner_kernel
def _somebody_fits(places: Places) -> bool:
    """Return whether any job in the queue fits now. O(shapes in the queue)."""
    at = places.numbers.waiting - 1
    while at >= 0 and not fits(places.shapes[places.waiting[at]]):
        at -= 1
    return bool(at >= 0)


@inner_kernel
def _see_room_now(places: Places, shape: int) -> None:
    """Note how many chunks of a shape each node has room for now. O(nodes)."""
    for node in range(len(places.room)):
        places.room[node] = chunks_on(places, places.free, places.occupants, shape, node)


@inner_kernel
def _see_room_beside(places: Places, shape: int) -> bool:
    """Note the room that nodes have now and at the shadow time; return whether a job fits. O(nodes)."""
    total = nodes = 0
    for node in range(len(places.room)):
        room = chunks_on(places, places.free, places.occupants, shape, node)
        if room:
            later = chunks_on(places, places.later, places.later_occupants, shape, node)
            room = min(room, later)
        places.room[node] = room
        if room:
            total += room
            nodes += 1
    return bool(total >= places.shapes[shape].chunks and nodes >= places.shapes[shape].least_nodes)


@inner_kernel
def _shadow_time(state: State, places: Places, shape: int) -> float:
    """Return when a job that does not fit now is expected to; what is free then is written.

    All jobs that are expected to end by then are taken off. O(nodes + what running jobs hold).
    """
    free, occupants, held = places.later, places.later_occupants, state.held
    for node in range(len(occupants)):
        occupants[node] = places.occupants[node]
        for resource in range(free.shape[1]):
            free[node, resource] = places.free[node, resource]
    room, nodes = places.shapes[shape].room, places.shapes[shape].nodes
    chunks, least = places.shapes[shape].chunks, places.shapes[shape].least_nodes
    at, last, shadow_time = state.engine.first, state.engine.last, state.engine.clock
    while at < last and (room < chunks or nodes < least):
        shadow_time = max(state.engine.clock, held[at].key)
        while at < last and held[at].key <= shadow_time:
            job = held[at].job
            at += 1
            if job < 0:
                continue
            for piece in range(places.first[job], places.first[job] + places.count[job]):
                node = places.node[piece]
                before = chunks_on(places, free, occupants, shape, node)
                hold(places, free, occupants, places.shape[job], node, places.chunks[piece], -1)
                after = chunks_on(places, free, occupants, shape, node)
                room += after - before
                nodes += (after > 0) - (before > 0)
    return float(shadow_time)


@inner_kernel
def _forget_plan(places: Places, shape: int) -> None:
    """Take the plan of the head off what is free at its shadow time."""
    for at in range(places.numbers.planned):
        node, chunks = places.plan_node[at], places.plan_chunks[at]
        hold(places, places.later, places.later_occupants, shape, node, chunks, -1)
    places.numbers.planned = 0


@inner_kernel
def _plan(places: Places, choice: Choice, shape: int, heap_places: IntArray) -> None:
    """Plan the head late on what is free at its shadow time. O(nodes)."""
    _forget_plan(places, shape)
    for node in range(len(places.room)):
        places.room[node] = chunks_on(places, places.later, places.later_occupants, shape, node)
    count = choose(places, choice, LATE, shape, places.plan_node, places.plan_chunks, 0, heap_places)
    for at in range(count):
        node, chunks = places.plan_node[at], places.plan_chunks[at]
        hold(places, places.later, places.later_occupants, shape, node, chunks, 1)
    places.numbers.planned = count
    places.numbers.plan += 1


@inner_kernel
def start_on_places(
    jobs: PackedJobs,
    state: State,
    estimates: Estimates,
    places: Places,
    choice: Choice,
    job: int,
    blocked: int,
) -> int:
    """Start a job that has left the queue, on nodes whose room has been noted; return their number."""
    shape, used = places.shape[job], places.numbers.used
    _leave(places, job)
    rule = choice.rule
    count = choose(places, choice, rule, shape, places.node, places.chunks, used, state.end_places)
    places.first[job], places.count[job] = used, count
    places.numbers.used = used + count
    for at in range(used, used + count):
        hold_now(places, shape, places.node[at], places.chunks[at], 1)
    estimate = estimates.running[job]
    why = AT_HEAD if blocked < 0 else BACKFILLED
    begin(state, job, count, jobs.runtime[job], estimate, state.engine.clock + estimate, why, blocked)
    return count


@inner_kernel
def _pass(
    jobs: PackedJobs, state: State, estimates: Estimates, rule: QueueRule, places: Places, choice: Choice
) -> None:
    """Make the decisions of one call."""
    engine, queue, now, shapes, numbers = (
        state.engine,
        state.queue,
        state.engine.clock,
        places.shapes,
        places.numbers,
    )
    at, stop, blocked, shadow_time, planned = engine.head, engine.tail, _NOBODY, np.inf, False
    numbers.planned = 0
    while at < stop:
        job = queue[at]
        shape = places.shape[job]
        starts = beside = False
        if fits(shapes[shape]):
            end = now + estimates.queued[job]
            if rule.strict and end == shadow_time:
                end = np.inf
            starts = blocked < 0 or rule.kind == FIRST_FIT or end <= shadow_time
            beside = not starts and rule.extra_nodes
        if starts:
            _see_room_now(places, shape)
        elif beside:
            if not planned:
                _plan(places, choice, places.shape[blocked], state.end_places)
                planned = True
            if shapes[shape].failed != numbers.plan:
                starts = _see_room_beside(places, shape)
                if not starts:
                    shapes[shape].failed = numbers.plan
        if starts:
            leave_queue(state, at)
            count = start_on_places(jobs, state, estimates, places, choice, job, blocked)
            if beside:
                for piece in range(places.first[job], places.first[job] + count):
                    node, chunks = places.node[piece], places.chunks[piece]
                    hold(places, places.later, places.later_occupants, shape, node, chunks, 1)
            planned = False
        elif blocked < 0:
            if rule.kind == FCFS:
                return
            blocked, stop = job, min(stop, at + 1 + rule.scan_limit)
        at += 1
        if blocked >= 0 and (starts or blocked == job):
            if not _somebody_fits(places):
                return
            if rule.kind == EASY and blocked == job:
                shadow_time = _shadow_time(state, places, shape)


@kernel
def run_on_places(
    jobs: PackedJobs,
    state: State,
    estimates: Estimates,
    rule: QueueRule,
    coalesce: bool,
    places: Places,
    choice: Choice,
    submit: FloatArray,
) -> None:
    """Run a workload to its end under a policy.

    Jobs are submitted at `submit`, shape (jobs,), in seconds: their head starts are part of ``jobs.submit``.
    """
    engine = state.engine
    while advance(state, np.inf, coalesce):
        for at in range(engine.completed):
            _give_back(places, state.events[at])
        for at in range(engine.completed, engine.completed + engine.submitted):
            _enter(places, state.events[at])
        if rule.learning:
            learn(state, estimates)
        new = engine.tail - engine.submitted
        sort_queue(jobs, state, estimates.queued, estimates.scores, rule.order, new, submit)
        _pass(jobs, state, estimates, rule, places, choice)
