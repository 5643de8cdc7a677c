"""Conservative backfilling on machines with counted resources and closed windows, for kernels.

Jobs are numbered in the order of the queue, and may come to it in another one. Running jobs hold what they
need until their expected ends, queued jobs for their estimates, from their reservations on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from allocsolve.heuristics.workload._kernels_conservative import COMPRESS, REPLAN
from allocsolve.heuristics.workload._kernels_machines import is_open
from allocsolve.heuristics.workload._kernels_timetable import (
    begin_at,
    earliest_room,
    put_back,
    take,
    write_capacities,
)
from allocsolve.kernels import inner_kernel, kernel
from allocsolve.kernels.heap import BY_ITEM, Entry, lower, raise_up
from allocsolve.kernels.records import Records, records

if TYPE_CHECKING:
    from allocsolve.heuristics.workload._kernels_conservative import Plan
    from allocsolve.heuristics.workload._kernels_machines import Machine
    from allocsolve.heuristics.workload._kernels_timetable import Timetable
    from allocsolve.model import FloatArray, IntArray
    from allocsolve.simulation.kernels import Started


class PlannedJobs(NamedTuple):
    """The jobs in the order of the queue, each array of shape (jobs,); all is read-only."""

    #: Seconds: a job comes to the queue then.
    release: FloatArray
    #: Seconds.
    runtime: FloatArray
    #: The run time that the policy expects, in seconds.
    estimate: FloatArray
    #: The jobs that do not run yet, in the order in which they come to the queue.
    arrivals: IntArray


class Waiting(NamedTuple):
    """The queue and its reservations."""

    #: Shape (jobs + 1,): the job before and the job behind each one of the queue. The queue is a ring that
    #: the last entry closes.
    before: IntArray
    behind: IntArray
    #: Shape (jobs,), seconds: when the reservation of each job in the queue begins.
    reserved: FloatArray
    #: A heap of the reservations, where each job is on it, and (shape (1,)) their number.
    next: Records[Entry]
    places: IntArray
    in_use: IntArray


class Running(NamedTuple):
    """The running jobs: a heap by their actual ends, and (shape (1,)) their number."""

    ends: Records[Entry]
    in_use: IntArray


def new_waiting(count: int) -> Waiting:
    """Return an empty queue with room for so many jobs."""
    before, behind, places = np.empty((3, count + 1), dtype=np.int64)
    before[count] = behind[count] = count
    return Waiting(
        before, behind, np.empty(count), records(Entry, count), places, np.zeros(1, dtype=np.int64)
    )


def new_running(count: int) -> Running:
    """Return no running jobs, with room for so many."""
    return Running(records(Entry, count), np.zeros(1, dtype=np.int64))


@inner_kernel
def _book(waiting: Waiting, job: int, start: float) -> None:
    """Note the reservation of a job that has none. O(log queue)."""
    waiting.reserved[job] = start
    raise_up(waiting.next, waiting.places, BY_ITEM, waiting.in_use[0], start, job)
    waiting.in_use[0] += 1


@inner_kernel
def _next_due(waiting: Waiting) -> int:
    """Take the reservation that begins next off the heap, and return its job. O(log queue)."""
    entries, count = waiting.next, waiting.in_use[0] - 1
    job = entries[0].item
    waiting.in_use[0] = count
    lower(entries, waiting.places, BY_ITEM, count, 0, entries[count].time, entries[count].item)
    return job


@inner_kernel
def _enter(waiting: Waiting, job: int) -> None:
    """Put a job at its place in the queue. O(jobs behind it)."""
    end = len(waiting.before) - 1
    behind = end
    while waiting.before[behind] != end and waiting.before[behind] > job:
        behind = waiting.before[behind]
    before = waiting.before[behind]
    waiting.behind[before] = waiting.before[behind] = job
    waiting.before[job], waiting.behind[job] = before, behind


@inner_kernel
def _leave(waiting: Waiting, job: int) -> None:
    """Take a job out of the queue."""
    before, behind = waiting.before[job], waiting.behind[job]
    waiting.behind[before], waiting.before[behind] = behind, before


@inner_kernel
def _reserve(
    table: Timetable, machine: Machine, jobs: PlannedJobs, waiting: Waiting, job: int, now: float
) -> None:
    """Give a job without a reservation the earliest possible one."""
    seconds = jobs.estimate[job]
    start = earliest_room(table, machine, job, now, seconds, np.inf)
    _book(waiting, job, start)
    take(table, machine, job, start, start + seconds)


@inner_kernel
def _replan(table: Timetable, machine: Machine, jobs: PlannedJobs, waiting: Waiting, now: float) -> None:
    """Drop all reservations and make them anew in queue order."""
    end = len(waiting.before) - 1
    job = waiting.behind[end]
    while job != end:
        reserved = waiting.reserved[job]
        put_back(table, machine, job, max(now, reserved), reserved + jobs.estimate[job])
        job = waiting.behind[job]
    waiting.in_use[0] = 0
    job = waiting.behind[end]
    while job != end:
        _reserve(table, machine, jobs, waiting, job, now)
        job = waiting.behind[job]


@inner_kernel
def _compress(
    table: Timetable, machine: Machine, jobs: PlannedJobs, waiting: Waiting, now: float, freed: float
) -> float:
    """Move each job, in queue order, to its earliest place while all others keep their reservations.

    There is more room than before until `freed` only: a job that gets earlier starts before that, and then
    there is more room until the end of what it leaves. Return until when: jobs before it in the queue have
    not been asked whether they want it.
    """
    end, left = len(waiting.before) - 1, 0.0
    job = waiting.behind[end]
    while job != end:
        seconds, before = jobs.estimate[job], waiting.reserved[job]
        latest = min(before, freed)
        start = earliest_room(table, machine, job, now, seconds, latest)
        if start < latest:  # it has room until then at least
            start = earliest_room(table, machine, job, start, seconds, before)
        if start < latest:
            left = max(left, before + seconds)
            freed = max(freed, left)
            # It keeps what the two places have in common.
            put_back(table, machine, job, max(before, start + seconds), before + seconds)
            take(table, machine, job, start, min(before, start + seconds))
            waiting.reserved[job] = start
            raise_up(waiting.next, waiting.places, BY_ITEM, waiting.places[job], start, job)
        job = waiting.behind[job]
    return left


@inner_kernel
def _run(running: Running, places: IntArray, job: int, end: float) -> None:
    """Add a job to the running ones. O(log running)."""
    raise_up(running.ends, places, BY_ITEM, running.in_use[0], end, job)
    running.in_use[0] += 1


@inner_kernel
def _end_first(running: Running, places: IntArray) -> int:
    """Take the job that ends first off the running ones. O(log running)."""
    ends = running.ends
    job = ends[0].item
    count = running.in_use[0] - 1
    running.in_use[0] = count
    lower(ends, places, BY_ITEM, count, 0, ends[count].time, ends[count].item)
    return job


@inner_kernel
def _is_late(waiting: Waiting, now: float) -> bool:
    """Return whether a reservation has passed because another job runs longer than estimated."""
    return waiting.in_use[0] > 0 and waiting.next[0].time < now


@inner_kernel
def _hold(machine: Machine, job: int, sign: int) -> None:
    for at in range(machine.offsets[job], machine.offsets[job + 1]):
        machine.held[machine.resource[at]] += sign * machine.amount[at]


@inner_kernel
def _place(
    jobs: PlannedJobs,
    machine: Machine,
    table: Timetable,
    running: Running,
    places: IntArray,
    plan: Plan,
    started: Started,
) -> None:
    """Let jobs run that have started."""
    for at in range(len(started.jobs)):
        job, begun = started.jobs[at], started.starts[at]
        plan.starts[job] = begun
        _hold(machine, job, 1)
        take(table, machine, job, begun, begun + jobs.estimate[job])
        _run(running, places, job, begun + jobs.runtime[job])


@kernel
def conservative_on_machine(
    jobs: PlannedJobs,
    machine: Machine,
    table: Timetable,
    waiting: Waiting,
    running: Running,
    compression: int,
    plan: Plan,
    started: Started,
) -> None:
    """Run a workload to its end; write into `plan` when and why jobs start and what they were promised.

    At first the timetable is empty, nobody runs but who has started, and nobody waits; all have room for all
    jobs.
    """
    count, times, to_come = len(jobs.release), machine.times, len(jobs.arrivals)
    unnoted = waiting.before[:0]  # nobody asks where a job is on the heap
    late = np.empty(count, dtype=np.int64)
    submitted, due, freed = 0, np.inf, 0.0
    write_capacities(table, machine)
    _place(jobs, machine, table, running, unnoted, plan, started)
    while submitted < to_come or waiting.behind[count] != count:
        now = due
        if submitted < to_come:
            now = min(now, jobs.release[jobs.arrivals[submitted]])
        if running.in_use[0]:
            now = min(now, running.ends[0].time)
        while machine.step[0] + 1 < len(times) and times[machine.step[0] + 1] <= now:
            machine.step[0] += 1
        begin_at(table, now)
        early = False
        while running.in_use[0] and running.ends[0].time <= now:
            job = _end_first(running, unnoted)
            _hold(machine, job, -1)
            expected = plan.starts[job] + jobs.estimate[job]
            early |= expected > now
            freed = max(freed, expected)
            put_back(table, machine, job, now, expected)
        if _is_late(waiting, now) or (early and compression == REPLAN):
            _replan(table, machine, jobs, waiting, now)
            freed = 0.0
        elif early and compression == COMPRESS:
            freed = _compress(table, machine, jobs, waiting, now, freed)
        while submitted < to_come and jobs.release[jobs.arrivals[submitted]] <= now:
            job = jobs.arrivals[submitted]
            _reserve(table, machine, jobs, waiting, job, now)
            plan.promised[job] = waiting.reserved[job]
            _enter(waiting, job)
            submitted += 1
        prevented = 0  # jobs what others hold for longer than estimated keeps from starting; few
        while waiting.in_use[0] and waiting.next[0].time <= now:
            job = _next_due(waiting)
            if not is_open(machine, job):
                late[prevented] = job
                prevented += 1
                continue
            plan.starts[job] = now
            plan.blocked[job] = waiting.behind[count] if waiting.behind[count] != job else -1
            _hold(machine, job, 1)
            _leave(waiting, job)
            _run(running, unnoted, job, now + jobs.runtime[job])
        due = waiting.next[0].time if waiting.in_use[0] else np.inf
        for at in range(prevented):
            _book(waiting, late[at], now)
