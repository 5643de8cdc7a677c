"""Plans of several jobs on nodes that are places, for kernels; and the loop of policies on such machines.

In each call the plan is made anew. A reservation begins at the earliest instant at which its job fits into
what running jobs and earlier reservations leave. On which nodes it lies is told *late*, in the order in which
reservations begin: see `allocsolve.heuristics.Easy`. So each node is looked at only when somebody begins, as
there is more room at all other instants.

Slurm's reservations lie where they were planned first, and a job needs room on the same nodes from its start
to its end.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from allocsolve.heuristics.workload._kernels_places import (
    copy_free,
    enter,
    fits,
    fits_open,
    hold_now,
    one_pass,
    somebody_fits,
    start_heads,
    start_on_places,
)
from allocsolve.heuristics.workload._kernels_queue import FIRST_AGING, SLURM, learn, sort_queue
from allocsolve.kernels import inner_kernel, kernel
from allocsolve.kernels.closed_nodes import next_opening
from allocsolve.kernels.devices import copy_held
from allocsolve.kernels.node_choices import (
    AHEAD,
    LATE,
    LATER,
    NOW,
    Choice,
    Places,
    also_see,
    choose,
    chunks_on,
    has_room,
    hold,
    see_room,
)
from allocsolve.kernels.records import Record
from allocsolve.simulation.decisions import AT_HEAD
from allocsolve.simulation.kernels import advance, begin

if TYPE_CHECKING:
    from allocsolve.heuristics.workload._kernels_queue import Estimates, Passes, QueueRule
    from allocsolve.kernels.records import Records
    from allocsolve.model.arrays import IntArray
    from allocsolve.model.columns import FloatArray
    from allocsolve.model.packed_jobs import PackedJobs
    from allocsolve.simulation.kernels import Started, State


class Reservation(Record):
    """A job in the plan; times in seconds."""

    shape: int
    begin: float
    end: float
    #: From when on nobody else may hold what it will hold: an instant, at which it begins or before.
    blocks: float
    #: Its pieces are ``first:first + pieces``; before other ones are tried they were `kept_first` and
    #: `kept_pieces`.
    first: int
    pieces: int
    kept_first: int
    kept_pieces: int


class PlanNumbers(Record):
    """The single numbers of `Plans`."""

    count: int
    #: Which half of the room for pieces is written, and where next.
    half: int
    used: int
    #: How often the plan was made or changed.
    version: int


class Cursor(Record):
    """How far a walk through time has come: places of `State.held`, `Plans.by_begin` and `Plans.by_end`."""

    held: int
    begun: int
    ended: int
    #: For how many chunks of the job that is planned there is room then, and on how many nodes.
    room: int
    nodes: int


class Plans(NamedTuple):
    """Reservations."""

    numbers: PlanNumbers
    rows: Records[Reservation]
    #: Of the walk through time (`LATER`), and of one that looks ahead from there (`AHEAD`).
    walk: Cursor
    look: Cursor
    #: Shape (reservations,): rows by begin, then as they were made; and rows by end.
    by_begin: IntArray
    by_end: IntArray
    #: Shape (shapes,): with which plan a job of a shape did not fit now, and the least run time (s) of these.
    failed: IntArray
    seconds: FloatArray
    #: Shape (2,): where each half of the room for pieces begins.
    halves: IntArray


@inner_kernel
def _change(
    places: Places, when: int, shape: int, first: int, pieces: int, sign: int, cursor: Cursor, watched: int
) -> None:
    """Let a job hold its pieces, or (sign -1) give them back; count the room of a shape that is watched."""
    for piece in range(first, first + pieces):
        node = places.node[piece]
        before = chunks_on(places, when, watched, node)
        hold(places, when, shape, piece, sign)
        after = chunks_on(places, when, watched, node)
        cursor.room += after - before
        cursor.nodes += (after > 0) - (before > 0)


@inner_kernel
def _move_on(
    state: State, places: Places, plans: Plans, when: int, cursor: Cursor, time: float, watched: int
) -> None:
    """Let all give back what they hold that are expected to end by an instant."""
    held, rows, by_end = state.held, plans.rows, plans.by_end
    while cursor.held < state.engine.last and held[cursor.held].key <= time:
        job = held[cursor.held].job
        cursor.held += 1
        if job >= 0:
            first, pieces = places.first[job], places.pieces[job]
            _change(places, when, places.shape[job], first, pieces, -1, cursor, watched)
    while cursor.ended < plans.numbers.count and rows[by_end[cursor.ended]].end <= time:
        row = rows[by_end[cursor.ended]]
        cursor.ended += 1
        _change(places, when, row.shape, row.first, row.pieces, -1, cursor, watched)


@inner_kernel
def _begin_walk(state: State, places: Places, plans: Plans, shape: int) -> None:
    """Begin a walk through time now. O(nodes)."""
    walk, row = plans.walk, places.shapes[shape]
    copy_free(places, NOW, LATER)
    walk.held, walk.begun, walk.ended = state.engine.first, 0, 0
    walk.room, walk.nodes = row.room, row.nodes


@inner_kernel
def _begin_look(places: Places, plans: Plans) -> None:
    """Begin to look ahead from where the walk has come to. O(nodes)."""
    walk, look = plans.walk, plans.look
    copy_free(places, LATER, AHEAD)
    look.held, look.begun, look.ended, look.room, look.nodes = walk.held, walk.begun, walk.ended, 0, 0


@inner_kernel
def _has_room_until(state: State, places: Places, plans: Plans, shape: int, end: float) -> bool:
    """Return whether a job fits from where the walk has come to until an instant; its room is noted.

    The room is noted already as far as it is known where the walk is. O(nodes + what is held).
    """
    _begin_look(places, plans)
    look = plans.look
    while look.begun < plans.numbers.count and plans.rows[plans.by_begin[look.begun]].blocks < end:
        row = plans.rows[plans.by_begin[look.begun]]
        look.begun += 1
        _move_on(state, places, plans, AHEAD, look, row.begin, shape)
        _change(places, AHEAD, row.shape, row.first, row.pieces, 1, look, shape)
        for piece in range(row.first, row.first + row.pieces):
            also_see(places, shape, AHEAD, places.node[piece])
    return has_room(places, shape)


@inner_kernel
def _lay_out(state: State, places: Places, plans: Plans, choice: Choice, index: int) -> bool:
    """Tell anew on which nodes reservations lie, from one of those by begin on, as late as the walk is.

    Those before it keep their nodes. Return False, and let all keep theirs, if one does not fit.
    O(reservations x nodes + what is held).
    """
    numbers, rows = plans.numbers, plans.rows
    half, used = 1 - numbers.half, plans.halves[1 - numbers.half]
    for at in range(numbers.count):
        row = rows[plans.by_begin[at]]
        row.kept_first, row.kept_pieces = row.first, row.pieces
        if at < index:
            for piece in range(row.pieces):
                places.node[used + piece] = places.node[row.first + piece]
                places.chunks[used + piece] = places.chunks[row.first + piece]
                copy_held(places.devices, row.first + piece, used + piece)
            row.first = used
            used += row.pieces
    _begin_look(places, plans)
    laid = True
    for at in range(index, numbers.count):
        row = rows[plans.by_begin[at]]
        _move_on(state, places, plans, AHEAD, plans.look, row.begin, row.shape)
        if not (
            see_room(places, row.shape, AHEAD, AHEAD) and fits_open(places, row.shape, row.begin, row.end)
        ):
            laid = False
            break
        row.first, row.pieces = used, choose(places, choice, LATE, row.shape, used)
        used += row.pieces
        _change(places, AHEAD, row.shape, row.first, row.pieces, 1, plans.look, row.shape)
    if laid:
        numbers.half, numbers.used = half, used
        numbers.version += 1
    else:
        for at in range(numbers.count):
            rows[at].first, rows[at].pieces = rows[at].kept_first, rows[at].kept_pieces
    return laid


@inner_kernel
def _insert(plans: Plans, shape: int, begin: float, end: float, blocks: float) -> int:
    """Enter a reservation that lies nowhere yet; return its place among those by begin. O(reservations)."""
    rows, by_begin, by_end, count = plans.rows, plans.by_begin, plans.by_end, plans.numbers.count
    row = rows[count]
    row.shape, row.begin, row.end, row.blocks, row.first, row.pieces = shape, begin, end, blocks, 0, 0
    at = place = count
    while at > 0 and rows[by_begin[at - 1]].begin > begin:
        by_begin[at] = by_begin[at - 1]
        at -= 1
    while place > 0 and rows[by_end[place - 1]].end > end:
        by_end[place] = by_end[place - 1]
        place -= 1
    by_begin[at] = by_end[place] = count
    plans.numbers.count += 1
    return at


@inner_kernel
def _remove_last(plans: Plans) -> None:
    """Take out the reservation that was entered last. O(reservations)."""
    plans.numbers.count -= 1
    last = plans.numbers.count
    begun = ended = 0
    for at in range(last):
        begun += plans.by_begin[at] == last or begun > 0
        ended += plans.by_end[at] == last or ended > 0
        plans.by_begin[at] = plans.by_begin[at + (begun > 0)]
        plans.by_end[at] = plans.by_end[at + (ended > 0)]


@inner_kernel
def _reserve(
    state: State, places: Places, plans: Plans, choice: Choice, passes: Passes, shape: int, seconds: float
) -> None:
    """Plan a job at its earliest: later than now, unless it fits only beside those that should have ended.

    Slurm enters it in steps, and looks no further than its window (`passes`); without a window all is exact.
    """
    now, walk, row, numbers = state.engine.clock, plans.walk, places.shapes[shape], plans.numbers
    horizon, step = np.inf, passes.resolution
    if passes.window:
        horizon = math.floor((now + passes.window) / step) * step
    _begin_walk(state, places, plans, shape)
    time = now
    while time < horizon:
        _move_on(state, places, plans, LATER, walk, time, shape)
        while walk.begun < numbers.count and plans.rows[plans.by_begin[walk.begun]].begin <= time:
            begun = plans.rows[plans.by_begin[walk.begun]]
            walk.begun += 1
            _change(places, LATER, begun.shape, begun.first, begun.pieces, 1, walk, shape)
        end = time + seconds
        if walk.room < row.chunks or walk.nodes < row.least_nodes or (time == now and fits(row)):
            pass
        elif horizon == np.inf:
            if _lay_out(state, places, plans, choice, _insert(plans, shape, time, end, time)):
                return
            _remove_last(plans)
        else:
            see_room(places, shape, LATER, LATER)
            fits_open(places, shape, time, end)
            if _has_room_until(state, places, plans, shape, end):
                blocks = np.nextafter(math.floor(time / step) * step, -np.inf)
                _insert(plans, shape, time, min(math.ceil(end / step) * step, horizon), blocks)
                made = plans.rows[numbers.count - 1]
                made.first = numbers.used
                made.pieces = choose(places, choice, LATE, shape, made.first)
                numbers.used += made.pieces
                return
        time = next_opening(places.closed, time)
        while walk.held < state.engine.last and state.held[walk.held].job < 0:  # it has ended already
            walk.held += 1
        if walk.held < state.engine.last:
            time = min(time, state.held[walk.held].key)
        if walk.ended < numbers.count:
            time = min(time, plans.rows[plans.by_end[walk.ended]].end)


@inner_kernel
def _last_that_fits(state: State, places: Places, limit: int) -> int:
    """Return the last place of the queue, of those examined, whose job fits now; or the head. O(queue)."""
    engine = state.engine
    at = min(engine.tail, engine.head + 1 + limit) - 1
    while at > engine.head and not fits(places.shapes[places.shape[state.queue[at]]]):
        at -= 1
    return int(at)


@inner_kernel
def _planned_pass(
    jobs: PackedJobs,
    state: State,
    estimates: Estimates,
    rule: QueueRule,
    places: Places,
    choice: Choice,
    plans: Plans,
    last: int,
) -> None:
    """Go through the queue up to the place `last`: who can start beside the plan does, others are planned."""
    engine, numbers = state.engine, plans.numbers
    blocked, at = state.queue[engine.head], engine.head
    numbers.count = 0
    numbers.used = plans.halves[numbers.half]
    numbers.version += 1
    while at <= last:
        job = state.queue[at]
        shape, seconds = places.shape[job], estimates.queued[job]
        starts = fits(places.shapes[shape])
        # Beside one plan, nobody fits who is of the same shape and runs as long.
        if starts and (plans.failed[shape] != numbers.version or seconds < plans.seconds[shape]):
            _begin_walk(state, places, plans, shape)
            see_room(places, shape, NOW, NOW)
            fits_open(places, shape, engine.clock, engine.clock + seconds)
            starts = _has_room_until(state, places, plans, shape, engine.clock + seconds)
            if not starts:
                plans.failed[shape], plans.seconds[shape] = numbers.version, seconds
        else:
            starts = False
        if starts:
            start_on_places(jobs, state, estimates, places, choice, at, blocked)
            if not somebody_fits(places):
                return
            if rule.kind != SLURM:
                _begin_walk(state, places, plans, shape)
                if not _lay_out(state, places, plans, choice, 0):
                    numbers.version += 1
        elif numbers.count < len(plans.rows):
            _reserve(state, places, plans, choice, rule.passes, shape, seconds)
        at += 1


@inner_kernel
def _slurm_pass(
    jobs: PackedJobs,
    state: State,
    estimates: Estimates,
    rule: QueueRule,
    places: Places,
    choice: Choice,
    plans: Plans,
) -> float:
    """Make the decisions of one call, see `_kernels_reservations.planning_pass`; return the next instant."""
    engine, passes = state.engine, rule.passes
    if engine.head == engine.tail:
        return np.inf
    number, behind = math.floor(engine.clock / passes.interval), passes.max_jobs - 1
    if number * passes.interval == engine.clock:
        last = _last_that_fits(state, places, behind)
        if last > engine.head:
            _planned_pass(jobs, state, estimates, rule, places, choice, plans, last)
    if rule.order >= FIRST_AGING:
        behind = engine.tail
    if _last_that_fits(state, places, behind) == engine.head:
        return np.inf
    return float((number + 1) * passes.interval)


@inner_kernel
def _place(jobs: PackedJobs, state: State, estimates: Estimates, places: Places, started: Started) -> None:
    """Let jobs run that have started, on the nodes that hold their pieces already."""
    for at in range(len(started.jobs)):
        job, start = started.jobs[at], started.starts[at]
        state.engine.clock, expected = start, estimates.running[job]
        begin(state, job, places.pieces[job], jobs.runtime[job], expected, start + expected, AT_HEAD, -1)


@inner_kernel
def _one_call(
    jobs: PackedJobs,
    state: State,
    estimates: Estimates,
    rule: QueueRule,
    places: Places,
    choice: Choice,
    submit: FloatArray,
    plans: Plans | None,
    new: int,
) -> float:
    """Make the decisions of one call, in which the queue is new from a place on; return the next instant."""
    sort_queue(jobs, state, estimates.queued, estimates.scores, rule.order, new, submit)
    if plans is None:
        one_pass(jobs, state, estimates, rule, places, choice)
        return np.inf
    start_heads(jobs, state, estimates, places, choice)
    if rule.kind == SLURM:
        return _slurm_pass(jobs, state, estimates, rule, places, choice, plans)
    if state.engine.head < state.engine.tail:
        last = _last_that_fits(state, places, rule.scan_limit)
        if last > state.engine.head:
            _planned_pass(jobs, state, estimates, rule, places, choice, plans, last)
    return np.inf


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
    started: Started,
    plans: Plans | None = None,
) -> None:
    """Run a workload to its end under a policy, after placing the jobs that have started.

    Jobs are submitted at `submit`, shape (jobs,), in seconds: their head starts are part of ``jobs.submit``.
    A policy that plans is given `plans`.
    """
    engine, wake = state.engine, np.inf
    _place(jobs, state, estimates, places, started)
    while advance(state, wake, coalesce):
        wake = np.inf
        places.numbers.now = engine.clock
        for at in range(engine.completed):
            hold_now(places, state.events[at], -1)
        for at in range(engine.completed, engine.completed + engine.submitted):
            enter(places, places.shape[state.events[at]])
        if rule.learning:
            learn(state, estimates)
        new = engine.tail - engine.submitted
        wake = _one_call(jobs, state, estimates, rule, places, choice, submit, plans, new)
        if engine.head < engine.tail:
            wake = min(wake, next_opening(places.closed, engine.clock))


@kernel
def decide_on_places(
    jobs: PackedJobs,
    state: State,
    estimates: Estimates,
    rule: QueueRule,
    places: Places,
    choice: Choice,
    started: Started,
    plans: Plans | None = None,
) -> float:
    """Make the decisions of one call, on a state with a filled queue, after placing its running jobs.

    Return when the policy wants to be called, infinite for never.
    """
    engine, now = state.engine, state.engine.clock
    _place(jobs, state, estimates, places, started)
    engine.clock = places.numbers.now = now
    for at in range(engine.head, engine.tail):
        enter(places, places.shape[state.queue[at]])
    return _one_call(jobs, state, estimates, rule, places, choice, jobs.submit, plans, engine.head)
