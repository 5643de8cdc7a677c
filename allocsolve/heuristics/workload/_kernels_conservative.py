"""Conservative backfilling on what is expected to be free: one call, and the loop over a workload.

A job is known by its place among all jobs in queue order; it may come to the queue after one that stands
behind it. Free is what is so from now on: running jobs hold what they need until their expected end, queued
jobs for their estimate, from their reservation on. A search for an earlier place stops at the present
reservation of the job, because from there on what it needs is its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from allocsolve.heuristics.workload._kernels_capacity import begin_at, book, earliest_room
from allocsolve.heuristics.workload._kernels_resources import Machine, hold, is_open, move_on
from allocsolve.kernels import inner_kernel, kernel
from allocsolve.kernels.heap import BY_ITEM, Entry, lower, raise_up
from allocsolve.kernels.records import Record, Records, record, records
from allocsolve.model.arrays import frozen
from allocsolve.simulation.decisions import AT_HEAD, BACKFILLED
from allocsolve.simulation.kernels import Started, State, advance, begin

if TYPE_CHECKING:
    from allocsolve.kernels.free_nodes import FreeNodes
    from allocsolve.model import FloatArray, IntArray, PackedJobs

#: What happens to reservations when a job ends before its expected end.
NO_COMPRESSION: Final = 0
COMPRESS: Final = 1
REPLAN: Final = 2


class PlanNumbers(Record):
    """The single numbers of `Reservations`."""

    #: Number of jobs with reservations.
    in_use: int
    #: When the next reservation begins, in seconds; infinite for never.
    due: float
    #: Until when there is more room than at the last compression, in seconds.
    freed: float
    #: Number of facts.
    facts: int


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


class Fact(Record):
    """What is known of all jobs with at least so many nodes and seconds."""

    nodes: int
    seconds: float
    #: In a compression, minus an instant: no such job whose reservation begins then or later can have an
    #: earlier one. Else an instant before which no such job has room. The larger one says more.
    time: float


#: The most facts that are kept.
_MOST_FACTS: Final = 16


class Reservations(NamedTuple):
    """What conservative backfilling keeps from call to call; all is written."""

    numbers: PlanNumbers
    #: By place. Those in the queue are a ring that the last one closes.
    jobs: Records[Reserved]
    #: The job at each place, and the place of each job; read-only.
    order: IntArray
    place: IntArray
    #: A heap of the reservations, and where each job is on it.
    next: Records[Entry]
    places: IntArray
    free: FreeNodes
    facts: Records[Fact]


def no_reservations(
    free: FreeNodes, order: IntArray, nodes: IntArray, runtime: FloatArray, estimate: FloatArray
) -> Reservations:
    """Return an empty queue with room for the jobs of `order`, in queue order.

    The other columns, in seconds and nodes, are those of all jobs; `free` has room for all of them.
    """
    count, numbers = len(order), record(PlanNumbers)
    numbers["due"] = np.inf
    jobs = records(Reserved, count + 1, start=np.inf)
    for name, column in ("nodes", nodes), ("runtime", runtime), ("estimate", estimate):
        jobs[name][:count] = column[order]
    jobs["before"][count] = jobs["behind"][count] = count
    place = np.full(len(nodes), -1)
    place[order] = np.arange(count)
    heap, places = records(Entry, count), np.empty(count, dtype=np.int64)
    facts = records(Fact, _MOST_FACTS)
    return Reservations(numbers, jobs, frozen(order), frozen(place), heap, places, free, facts)


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
    """Put a job at its place in the queue. O(jobs behind it)."""
    jobs, end = plan.jobs, len(plan.jobs) - 1
    behind = end
    while jobs[behind].before != end and jobs[behind].before > place:
        behind = jobs[behind].before
    before = jobs[behind].before
    jobs[before].behind = jobs[behind].before = place
    jobs[place].before, jobs[place].behind = before, behind


@inner_kernel
def _leave(plan: Reservations, place: int) -> None:
    """Take a job out of the queue."""
    before, behind = plan.jobs[place].before, plan.jobs[place].behind
    plan.jobs[before].behind, plan.jobs[behind].before = behind, before


@inner_kernel
def _known(plan: Reservations, nodes: int, seconds: float) -> float:
    """Return the largest time of the facts that hold for a job. O(facts)."""
    time = -np.inf
    for at in range(plan.numbers.facts):
        fact = plan.facts[at]
        if fact.nodes <= nodes and fact.seconds <= seconds:
            time = max(time, fact.time)
    return time


@inner_kernel
def _note(
    plan: Reservations, job: int, nodes: int, seconds: float, time: float, machine: Machine | None = None
) -> None:
    """Keep a fact that was found for a job, in place of those that say less. O(facts)."""
    if machine is not None and machine.offsets[job + 1] - machine.offsets[job] > 1:
        return  # it may be for the lack of something else than nodes
    kept, facts = 0, plan.facts
    for at in range(plan.numbers.facts):
        fact = facts[at]
        if fact.nodes < nodes or fact.seconds < seconds or fact.time > time:
            facts[kept] = facts[at]
            kept += 1
    kept = min(kept, len(facts) - 1)
    facts[kept].nodes, facts[kept].seconds, facts[kept].time = nodes, seconds, time
    plan.numbers.facts = kept + 1


@inner_kernel
def _reserve(plan: Reservations, place: int, now: float, machine: Machine | None = None) -> None:
    """Give a job without a reservation the earliest possible one."""
    row, job = plan.jobs[place], plan.order[place]
    begin = max(now, _known(plan, row.nodes, row.estimate))
    start = earliest_room(plan.free, job, row.nodes, begin, row.estimate, np.inf, machine)
    if start > begin:
        _note(plan, job, row.nodes, row.estimate, start, machine)
    _book(plan, place, start)
    book(plan.free, job, row.nodes, start, start + row.estimate, -1, machine)


@inner_kernel
def _replan(plan: Reservations, now: float, machine: Machine | None = None) -> None:
    """Drop all reservations and make them anew in queue order."""
    jobs, end = plan.jobs, len(plan.jobs) - 1
    place = jobs[end].behind
    while place != end:
        row = jobs[place]
        until = row.start + row.estimate
        book(plan.free, plan.order[place], row.nodes, max(now, row.start), until, 1, machine)
        place = row.behind
    plan.numbers.in_use = plan.numbers.facts = 0
    place = jobs[end].behind
    while place != end:
        _reserve(plan, place, now, machine)
        place = jobs[place].behind
    plan.numbers.freed = 0.0


@inner_kernel
def _compress(plan: Reservations, now: float, machine: Machine | None = None) -> None:
    """Move each job, in queue order, to its earliest place while all others keep their reservations.

    There is more room than before until an instant only: a job that gets earlier starts before that, and then
    there is more room until the end of what it leaves. Jobs before it in the queue have not been asked
    whether they want that, so they are next time.
    """
    jobs, end, free = plan.jobs, len(plan.jobs) - 1, plan.free
    freed, left = plan.numbers.freed, 0.0
    plan.numbers.facts = 0
    place = jobs[end].behind
    while place != end:
        row, job = jobs[place], plan.order[place]
        place = row.behind
        nodes, seconds, before = row.nodes, row.estimate, row.start
        if -_known(plan, nodes, seconds) <= before:
            continue
        latest = until = min(before, freed)
        start = earliest_room(free, job, nodes, now, seconds, latest, machine)
        if start < latest < before:  # it has room until then at least
            until = before
            start = earliest_room(free, job, nodes, start, seconds, before, machine)
        if start >= latest:
            if latest == freed:
                _note(plan, job, nodes, seconds, -until, machine)
        else:
            plan.numbers.facts = 0
            left = max(left, before + seconds)
            freed = max(freed, left)
            # It keeps what the two places have in common.
            book(free, job, nodes, max(before, start + seconds), before + seconds, 1, machine)
            book(free, job, nodes, start, min(before, start + seconds), -1, machine)
            row.start = start
            mine = plan.place[job]
            raise_up(plan.next, plan.places, BY_ITEM, plan.places[mine], start, mine)
    plan.numbers.freed = left
    plan.numbers.facts = 0


@inner_kernel
def _release(state: State, plan: Reservations, machine: Machine | None = None) -> bool:
    """Free what jobs held that have ended; return whether one did so before its expected end."""
    now, early = state.engine.clock, False
    for at in range(state.engine.completed):
        row = state.job[state.events[at]]
        early |= row.expected > now
        plan.numbers.freed = max(plan.numbers.freed, row.expected)
        book(plan.free, state.events[at], row.size, now, row.expected, 1, machine)
    return early


@inner_kernel
def _start(
    state: State, job: int, row: Reserved, why: int, blocked: int, machine: Machine | None = None
) -> None:
    """Start a job."""
    until = state.engine.clock + row.estimate
    begin(state, job, row.nodes, row.runtime, row.estimate, until, why, blocked)
    if machine is not None:
        hold(machine, job, row.nodes, until, 1)


@inner_kernel
def _start_due(state: State, plan: Reservations, machine: Machine | None = None) -> None:
    """Start the jobs whose reservations have begun, in queue order, unless others hold what they need."""
    engine, end = state.engine, len(plan.jobs) - 1
    now, late = engine.clock, -1  # jobs whose nodes others hold for longer than estimated, in a chain; few
    while plan.numbers.in_use and plan.next[0].time <= now:
        place = _take_first(plan)
        row, job = plan.jobs[place], plan.order[place]
        if row.nodes > engine.free or (machine is not None and not is_open(machine, job)):
            plan.places[place] = late
            late = place
            continue
        first = plan.jobs[end].behind
        _leave(plan, place)
        engine.head += 1
        if first == place:
            _start(state, job, row, AT_HEAD, -1, machine)
        else:
            _start(state, job, row, BACKFILLED, plan.order[first], machine)
    plan.numbers.due = plan.next[0].time if plan.numbers.in_use else np.inf
    while late >= 0:
        place, late = late, plan.places[late]
        _book(plan, place, now)


@inner_kernel
def _one_call(
    state: State, compression: int, plan: Reservations, early: bool, machine: Machine | None = None
) -> None:
    """Make the decisions of one call; `early` says whether a job has ended before its expected end.

    In queue order all jobs, then the new ones as they come, get their earliest reservations.
    """
    engine, now = state.engine, state.engine.clock
    # A reservation has passed where another job runs longer than estimated.
    is_late = plan.numbers.in_use > 0 and plan.next[0].time < now
    plan.numbers.facts = 0
    if is_late or (early and compression == REPLAN):
        _replan(plan, now, machine)
    elif early and compression == COMPRESS:
        _compress(plan, now, machine)
    for at in range(engine.tail - engine.submitted, engine.tail):
        place = plan.place[state.queue[at]]
        if plan.jobs[place].start == np.inf:
            _enter(plan, place)
            _reserve(plan, place, now, machine)
        plan.jobs[place].promised = plan.jobs[place].start
    _start_due(state, plan, machine)


@kernel
def run_conservative(
    state: State,
    compression: int,
    plan: Reservations,
    jobs: PackedJobs,
    started: Started,
    machine: Machine | None = None,
) -> None:
    """Run a workload to its end, after placing the jobs that have started.

    Jobs are in `plan` by their places; `jobs` are looked at for those that have started.
    """
    for at in range(len(started.jobs)):
        job, clock = started.jobs[at], started.starts[at]
        state.engine.clock = clock
        nodes, estimate = jobs.nodes[job], jobs.estimate[job]
        begin(state, job, nodes, jobs.runtime[job], estimate, clock + estimate, AT_HEAD, -1)
        book(plan.free, job, nodes, clock, clock + estimate, -1, machine)
        if machine is not None:
            hold(machine, job, nodes, clock + estimate, 1)
    while advance(state, plan.numbers.due, True):
        if machine is not None:
            move_on(state, machine)
        begin_at(plan.free, state.engine.clock, machine)
        early = _release(state, plan, machine)
        _one_call(state, compression, plan, early, machine)


@kernel
def decide_conservative(
    state: State, compression: int, plan: Reservations, held: IntArray, expected_ends: FloatArray, early: bool
) -> None:
    """Make the decisions of one call, on a state with a filled queue.

    Jobs that have a reservation already begin with it in the plan. Running jobs hold `held` nodes until their
    expected ends; `early` says whether a job has ended before its expected end since the last call.
    """
    engine, now = state.engine, state.engine.clock
    begin_at(plan.free, now)
    plan.numbers.freed = np.inf
    for at in range(len(held)):
        book(plan.free, at, held[at], now, expected_ends[at], -1)
    engine.submitted = 0
    for place in range(engine.tail):
        row = plan.jobs[place]
        if row.start == np.inf:
            engine.submitted = max(engine.submitted, engine.tail - place)
            continue
        _enter(plan, place)
        _book(plan, place, row.start)
        book(plan.free, place, row.nodes, max(now, row.start), row.start + row.estimate, -1)
    _one_call(state, compression, plan, early)
