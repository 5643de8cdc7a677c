"""Conservative backfilling on the nodes that are expected to be free: one call, and the loop over a workload.

A job is known by its place in `State.queue`, which lists all submitted jobs in queue order; the engine counts
those that are left. The free nodes are those from now on: running jobs hold theirs until their expected end,
queued jobs hold theirs for their estimate, from their reservation on. A search for an earlier place stops at
the present reservation of the job, because from there on its nodes are its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from allocsolve.kernels import inner_kernel, kernel
from allocsolve.kernels.free_nodes import FreeNodes, change, earliest, forget_past, new_free_nodes
from allocsolve.kernels.heap import BY_ITEM, Entry, lower, raise_up
from allocsolve.kernels.records import Record, Records, record, records
from allocsolve.simulation.decisions import AT_HEAD, BACKFILLED
from allocsolve.simulation.kernels import Started, State, advance, begin

if TYPE_CHECKING:
    from allocsolve.model import FloatArray, IntArray, PackedJobs

#: What happens to reservations when a job ends before its expected end.
NO_COMPRESSION: Final = 0
COMPRESS: Final = 1
REPLAN: Final = 2


class Plan(NamedTuple):
    """The result of a run on a machine, each array of shape (jobs,)."""

    #: Seconds.
    starts: FloatArray
    #: The start of the reservation that each job got at its submission, in seconds.
    promised: FloatArray
    #: The first job in the queue that could not start when this job did; -1 if this job was the first.
    blocked: IntArray


class PlanNumbers(Record):
    """The single numbers of `Reservations`."""

    #: Number of jobs with reservations.
    in_use: int
    #: When the next reservation begins, in seconds; infinite for never.
    due: float


class Reserved(Record):
    """A job in the queue, and its reservation; times in seconds."""

    #: Given: its nodes, its run time, and the run time that the policy expects.
    nodes: int
    runtime: float
    estimate: float
    #: When the reservation begins, infinite if there is none; when the first one began.
    start: float
    promised: float
    #: The places of the jobs before it and behind it in the queue.
    before: int
    behind: int


class Reservations(NamedTuple):
    """What conservative backfilling keeps from call to call; all is written."""

    numbers: PlanNumbers
    #: By place in the queue. The last one closes the queue to a ring.
    jobs: Records[Reserved]
    #: A heap of the reservations, and where each job is on it.
    next: Records[Entry]
    places: IntArray
    free: FreeNodes


def no_reservations(
    num_nodes: int, num_running: int, nodes: IntArray, runtime: FloatArray, estimate: FloatArray
) -> Reservations:
    """Return an idle cluster and an empty queue, with room for these jobs, by place, and for running ones."""
    count, numbers = len(nodes), record(PlanNumbers)
    numbers["due"] = np.inf
    jobs = records(Reserved, count + 1, start=np.inf)
    for name, column in ("nodes", nodes), ("runtime", runtime), ("estimate", estimate):
        jobs[name][:count] = column
    jobs["before"][count] = jobs["behind"][count] = count
    heap, places = records(Entry, count), np.empty(count, dtype=np.int64)
    return Reservations(numbers, jobs, heap, places, new_free_nodes(num_nodes, count + num_running))


@inner_kernel
def _book(plan: Reservations, place: int, start: float) -> None:
    """Note the reservation of a job that has none. O(log queue)."""
    plan.jobs[place].start = start
    raise_up(plan.next, plan.places, BY_ITEM, plan.numbers.in_use, start, place)
    plan.numbers.in_use += 1


@inner_kernel
def _take_first(plan: Reservations) -> int:
    """Take the reservation that begins next off the heap, and return the place of its job. O(log queue)."""
    entries, count = plan.next, plan.numbers.in_use - 1
    place = entries[0].item
    plan.numbers.in_use = count
    lower(entries, plan.places, BY_ITEM, count, 0, entries[count].time, entries[count].item)
    return place


@inner_kernel
def _enter(plan: Reservations, place: int) -> None:
    """Put a job at the end of the queue."""
    jobs, end = plan.jobs, len(plan.jobs) - 1
    last = jobs[end].before
    jobs[last].behind = jobs[end].before = place
    jobs[place].before, jobs[place].behind = last, end


@inner_kernel
def _leave(plan: Reservations, place: int) -> None:
    """Take a job out of the queue."""
    before, behind = plan.jobs[place].before, plan.jobs[place].behind
    plan.jobs[before].behind, plan.jobs[behind].before = behind, before


@inner_kernel
def _reserve(plan: Reservations, place: int, now: float) -> None:
    """Give a job its earliest reservation while all others keep theirs; it may have one already."""
    row = plan.jobs[place]
    nodes, length, before = row.nodes, row.estimate, row.start
    start = earliest(plan.free, now, nodes, length, before)
    if start < before:
        at = plan.numbers.in_use
        if before < np.inf:
            at = plan.places[place]
        else:
            plan.numbers.in_use += 1
        # It keeps what the two places have in common.
        change(plan.free, max(before, start + length), before + length, nodes)
        change(plan.free, start, min(before, start + length), -nodes)
        row.start = start
        raise_up(plan.next, plan.places, BY_ITEM, at, start, place)


@inner_kernel
def _drop_all(plan: Reservations, now: float) -> None:
    """Drop all reservations."""
    jobs, end = plan.jobs, len(plan.jobs) - 1
    place = jobs[end].behind
    while place != end:
        row = jobs[place]
        change(plan.free, max(now, row.start), row.start + row.estimate, row.nodes)
        row.start = np.inf
        place = row.behind
    plan.numbers.in_use = 0


@inner_kernel
def _release(state: State, plan: Reservations) -> bool:
    """Free the nodes of the jobs that have ended; return whether one did so before its expected end."""
    now, early = state.engine.clock, False
    for at in range(state.engine.completed):
        row = state.job[state.events[at]]
        early |= row.expected > now
        change(plan.free, now, row.expected, row.size)
    return early


@inner_kernel
def _start_due(state: State, plan: Reservations) -> None:
    """Start the jobs whose reservations have begun, in queue order, where nobody else holds their nodes."""
    engine, end = state.engine, len(plan.jobs) - 1
    now, late = engine.clock, -1  # jobs whose nodes others hold for longer than estimated, in a chain; few
    while plan.numbers.in_use and plan.next[0].time <= now:
        place = _take_first(plan)
        row, job = plan.jobs[place], state.queue[place]
        if row.nodes > engine.free:
            plan.places[place] = late
            late = place
            continue
        first = plan.jobs[end].behind
        at_head = first == place
        _leave(plan, place)
        engine.head += 1
        begin(
            state,
            job,
            row.nodes,
            row.runtime,
            row.estimate,
            now + row.estimate,
            AT_HEAD if at_head else BACKFILLED,
            -1 if at_head else state.queue[first],
        )
    plan.numbers.due = plan.next[0].time if plan.numbers.in_use else np.inf
    while late >= 0:
        place, late = late, plan.places[late]
        _book(plan, place, now)


@inner_kernel
def _one_call(state: State, compression: int, plan: Reservations, early: bool) -> None:
    """Make the decisions of one call; `early` says whether a job has ended before its expected end.

    In queue order, all jobs or the new ones get their earliest reservations.
    """
    engine, jobs, end, now = state.engine, plan.jobs, len(plan.jobs) - 1, state.engine.clock
    # A reservation has passed where another job runs longer than estimated.
    is_late = plan.numbers.in_use > 0 and plan.next[0].time < now
    if is_late or (early and compression == REPLAN):
        _drop_all(plan, now)
    last, new = jobs[end].before, engine.tail - engine.submitted
    for place in range(new, engine.tail):
        if jobs[place].start == np.inf:
            _enter(plan, place)
    place = jobs[end if is_late or (early and compression != NO_COMPRESSION) else last].behind
    while place != end:
        _reserve(plan, place, now)
        place = jobs[place].behind
    for place in range(new, engine.tail):
        jobs[place].promised = jobs[place].start
    _start_due(state, plan)


@kernel
def run_conservative(
    state: State, compression: int, plan: Reservations, jobs: PackedJobs, started: Started
) -> None:
    """Run a workload to its end, after placing the jobs that have started.

    Jobs are in `plan` by their places in the queue; `jobs` are looked at for those that have started.
    """
    for at in range(len(started.jobs)):
        job, clock = started.jobs[at], started.starts[at]
        state.engine.clock = clock
        nodes, end = jobs.nodes[job], clock + jobs.estimate[job]
        begin(state, job, nodes, jobs.runtime[job], jobs.estimate[job], end, AT_HEAD, -1)
        change(plan.free, clock, end, -nodes)
    while advance(state, plan.numbers.due, True):
        forget_past(plan.free, state.engine.clock)
        early = _release(state, plan)
        _one_call(state, compression, plan, early)


@kernel
def decide_conservative(
    state: State, compression: int, plan: Reservations, held: IntArray, expected_ends: FloatArray, early: bool
) -> None:
    """Make the decisions of one call, on a state with a filled queue.

    Jobs that have a reservation already begin with it in the plan. Running jobs hold `held` nodes until their
    expected ends; `early` says whether a job has ended before its expected end since the last call.
    """
    engine, now = state.engine, state.engine.clock
    forget_past(plan.free, now)
    for at in range(len(held)):
        change(plan.free, now, expected_ends[at], -held[at])
    engine.submitted = 0
    for place in range(engine.tail):
        row = plan.jobs[place]
        if row.start == np.inf:
            engine.submitted = max(engine.submitted, engine.tail - place)
            continue
        _enter(plan, place)
        _book(plan, place, row.start)
        change(plan.free, max(now, row.start), row.start + row.estimate, -row.nodes)
    _one_call(state, compression, plan, early)
