"""Queue policies on machines whose nodes are places, for kernels: the state of the nodes, and one pass.

A node has room for k chunks of a job, and whether the job fits is a sum of these k over the nodes; see
`allocsolve.model.PackedPlaces`. The sum is kept for each shape of job in the queue, as nodes change, so that
a test takes O(1). Where a job goes is told by a choice, see
`allocsolve.kernels.node_choices`.

The head of the queue is planned *late*, see `allocsolve.heuristics.Easy`, so that its plan keeps as little as
it can of what is free now, and planned anew when somebody has started: equal jobs need not be tested again
beside one plan, and on whole nodes of one type the starts are those of nodes that are counted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from allocsolve.heuristics.workload._kernels_queue import EASY, FCFS
from allocsolve.kernels import inner_kernel
from allocsolve.kernels.closed_nodes import keep_open, next_opening
from allocsolve.kernels.node_choices import (
    LATE,
    LATER,
    NOW,
    Choice,
    Places,
    Shape,
    choose,
    chunks_on,
    has_room,
    hold,
    see_room,
)
from allocsolve.simulation.decisions import AT_HEAD, BACKFILLED
from allocsolve.simulation.kernels import begin, leave_queue

if TYPE_CHECKING:
    from allocsolve.heuristics.workload._kernels_queue import Estimates, QueueRule
    from allocsolve.model.packed_jobs import PackedJobs
    from allocsolve.simulation.kernels import State


@inner_kernel
def _count_room(places: Places, shape: int, node: int, sign: int) -> None:
    """Add the room of a node to what a shape has, or (sign -1) take it off."""
    room = chunks_on(places, NOW, shape, node)
    if room:
        places.shapes[shape].room += sign * room
        places.shapes[shape].nodes += sign


@inner_kernel
def hold_now(places: Places, job: int, sign: int) -> None:
    """Let a job hold its pieces from now on, or give them back. O(pieces x shapes in the queue)."""
    for piece in range(places.first[job], places.first[job] + places.pieces[job]):
        for at in range(places.numbers.waiting):
            _count_room(places, places.waiting[at], places.node[piece], -1)
        hold(places, NOW, places.shape[job], piece, sign)
        for at in range(places.numbers.waiting):
            _count_room(places, places.waiting[at], places.node[piece], 1)


@inner_kernel
def enter(places: Places, shape: int) -> None:
    """Note that a job of a shape has come to the queue. O(nodes) for the first one."""
    row, numbers = places.shapes[shape], places.numbers
    if not row.queued:
        row.room = row.nodes = 0
        for node in range(len(places.room)):
            _count_room(places, shape, node, 1)
        row.at = numbers.waiting
        places.waiting[numbers.waiting] = shape
        numbers.waiting += 1
    row.queued += 1


@inner_kernel
def _leave(places: Places, shape: int) -> None:
    """Note that a job of a shape has left the queue."""
    row, numbers = places.shapes[shape], places.numbers
    row.queued -= 1
    if not row.queued:
        numbers.waiting -= 1
        last = places.waiting[numbers.waiting]
        places.waiting[row.at], places.shapes[last].at = last, row.at


@inner_kernel
def fits(row: Shape) -> bool:
    """Return whether jobs of a shape in the queue fit now."""
    return bool(row.room >= row.chunks and row.nodes >= row.least_nodes)


@inner_kernel
def somebody_fits(places: Places) -> bool:
    """Return whether any job in the queue fits now. O(shapes in the queue)."""
    at = places.numbers.waiting - 1
    while at >= 0 and not fits(places.shapes[places.waiting[at]]):
        at -= 1
    return bool(at >= 0)


@inner_kernel
def fits_open(places: Places, shape: int, begin: float, end: float) -> bool:
    """Return whether a job fits into the room that is noted on nodes that are open; others have none then.

    The job has room there if no node closes. O(nodes + spans in which nodes are closed).
    """
    if places.closed is None:
        return True
    keep_open(places.closed, places.room, begin, end)
    return has_room(places, shape)


@inner_kernel
def copy_free(places: Places, source: int, target: int) -> None:
    """Write what is free on each node at one time as what is free at another. O(nodes)."""
    for node in range(len(places.room)):
        places.occupants[target, node] = places.occupants[source, node]
        for resource in range(places.free.shape[2]):
            places.free[target, node, resource] = places.free[source, node, resource]


@inner_kernel
def _shadow_time(state: State, places: Places, shape: int, seconds: float) -> float:
    """Return when a job that cannot start now is expected to; what is free then is written.

    All jobs that are expected to end by then are taken off. O(nodes + what running jobs hold); where nodes
    are closed, O(nodes) for each expected end and opening besides.
    """
    copy_free(places, NOW, LATER)
    room, nodes = places.shapes[shape].room, places.shapes[shape].nodes
    chunks, least = places.shapes[shape].chunks, places.shapes[shape].least_nodes
    held, at, last, time = state.held, state.engine.first, state.engine.last, state.engine.clock
    while True:
        while at < last and held[at].key <= time:
            job = held[at].job
            at += 1
            if job < 0:
                continue
            for piece in range(places.first[job], places.first[job] + places.pieces[job]):
                before = chunks_on(places, LATER, shape, places.node[piece])
                hold(places, LATER, places.shape[job], piece, -1)
                after = chunks_on(places, LATER, shape, places.node[piece])
                room += after - before
                nodes += (after > 0) - (before > 0)
        if room >= chunks and nodes >= least:
            if places.closed is None:
                return float(time)
            see_room(places, shape, LATER, LATER)
            if fits_open(places, shape, time, time + seconds):
                return float(time)
        time = next_opening(places.closed, time)
        if at < last:
            time = min(time, held[at].key)


@inner_kernel
def _plan(places: Places, choice: Choice, shape: int, begin: float, end: float) -> None:
    """Plan the head late on what is free at its shadow time, in place of its last plan. O(nodes)."""
    numbers, first = places.numbers, len(places.node) - len(places.room)
    for at in range(numbers.planned):
        hold(places, LATER, shape, first + at, -1)
    see_room(places, shape, LATER, LATER)
    fits_open(places, shape, begin, end)
    numbers.planned = choose(places, choice, LATE, shape, first)
    for at in range(numbers.planned):
        hold(places, LATER, shape, first + at, 1)
    numbers.plans += 1


@inner_kernel
def start_on_places(
    jobs: PackedJobs,
    state: State,
    estimates: Estimates,
    places: Places,
    choice: Choice,
    at: int,
    blocked: int,
) -> None:
    """Start the job at a place of the queue, in the room that is noted; `blocked` is -1, or the head."""
    job = state.queue[at]
    shape, first = places.shape[job], places.numbers.used
    leave_queue(state, at)
    _leave(places, shape)
    count = choose(places, choice, choice.rule, shape, first)
    places.first[job], places.pieces[job], places.numbers.used = first, count, first + count
    hold_now(places, job, 1)
    why, expected = AT_HEAD if blocked < 0 else BACKFILLED, estimates.running[job]
    begin(state, job, count, jobs.runtime[job], expected, state.engine.clock + expected, why, blocked)


@inner_kernel
def start_heads(jobs: PackedJobs, state: State, estimates: Estimates, places: Places, choice: Choice) -> None:
    """Start the head of the queue while it fits."""
    engine = state.engine
    while engine.head < engine.tail:
        job = state.queue[engine.head]
        shape = places.shape[job]
        if not fits(places.shapes[shape]):
            return
        see_room(places, shape, NOW, NOW)
        if not fits_open(places, shape, engine.clock, engine.clock + estimates.queued[job]):
            return
        start_on_places(jobs, state, estimates, places, choice, engine.head, -1)


@inner_kernel
def one_pass(
    jobs: PackedJobs, state: State, estimates: Estimates, rule: QueueRule, places: Places, choice: Choice
) -> None:
    """Make the decisions of one call, of policies with one reservation at most."""
    engine, shapes, numbers = state.engine, places.shapes, places.numbers
    start_heads(jobs, state, estimates, places, choice)
    if rule.kind == FCFS or engine.head + 1 >= engine.tail or not somebody_fits(places):
        return
    at, stop, blocked = engine.head + 1, engine.tail, state.queue[engine.head]
    shadow_time, planned = np.inf, False
    numbers.planned = 0
    if rule.kind == EASY:
        shadow_time = _shadow_time(state, places, places.shape[blocked], estimates.queued[blocked])
    stop = min(stop, at + rule.scan_limit)
    while at < stop:
        job = state.queue[at]
        shape = places.shape[job]
        starts = beside = False
        end = engine.clock
        if fits(shapes[shape]):
            end += estimates.queued[job]
            starts = end < shadow_time or (end == shadow_time and not rule.strict)
            beside = not starts and rule.extra_nodes
        if starts:
            see_room(places, shape, NOW, NOW)
        elif beside:
            if not planned:
                last = shadow_time + estimates.queued[blocked]
                _plan(places, choice, places.shape[blocked], shadow_time, last)
                planned = True
            # While the plan stays and nobody starts, who is of the same shape does not fit either.
            if shapes[shape].failed != numbers.plans:
                starts = see_room(places, shape, NOW, LATER)
                if not starts:
                    shapes[shape].failed = numbers.plans
        if starts and fits_open(places, shape, engine.clock, end):
            start_on_places(jobs, state, estimates, places, choice, at, blocked)
            if beside:
                for piece in range(places.first[job], places.first[job] + places.pieces[job]):
                    hold(places, LATER, shape, piece, 1)
            planned = False
            if not somebody_fits(places):
                return
        at += 1
