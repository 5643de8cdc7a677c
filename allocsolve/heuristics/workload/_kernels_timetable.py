"""Conservative backfilling on machines with counted resources and closed windows, for kernels.

The timetable says what is free of each resource from each instant on, if running jobs hold what they need
until their expected ends, and queued jobs for their estimates, from their reservations on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from allocsolve.heuristics.workload._kernels_conservative import COMPRESS, REPLAN
from allocsolve.kernels import inner_kernel, kernel
from allocsolve.kernels.heap import BY_ITEM, lower, raise_up

if TYPE_CHECKING:
    from allocsolve.heuristics.workload._kernels_conservative import Plan
    from allocsolve.heuristics.workload._kernels_machines import Machine
    from allocsolve.kernels.heap import Entry
    from allocsolve.kernels.records import Records
    from allocsolve.model import FloatArray, IntArray, PackedJobs


class Timetable(NamedTuple):
    """What is free from now on: rows of steps, with room for two more of each job."""

    #: Shape (room,), seconds, rising, and (room, resources), of which rows ``first`` to ``last`` are in use.
    times: FloatArray
    free: IntArray
    #: Shape (2,): ``first`` and ``last``.
    span: IntArray


class Queue(NamedTuple):
    """The queue, and who is to come to it."""

    #: Shape (jobs,): jobs by the instants at which they may start; at one instant in the order of the queue.
    arrivals: IntArray
    #: Shape (jobs,): the first ones are those that wait, in order.
    waiting: IntArray
    #: Shape (jobs,), seconds: when reservations begin.
    reserved: FloatArray
    #: Heap of the running jobs by their ends.
    ends: Records[Entry]


@inner_kernel
def _row(table: Timetable, time: float) -> int:
    """Return the row that begins at an instant, or the first one if that has passed; it is made if needed."""
    times, free = table.times, table.free
    first, last = table.span[0], table.span[1]
    if time <= times[first]:
        return int(first)
    low, high = first, last
    while low < high:
        middle = (low + high) >> 1
        if times[middle] < time:
            low = middle + 1
        else:
            high = middle
    if low < last and times[low] == time:
        return int(low)
    for row in range(last, low, -1):
        times[row] = times[row - 1]
        for resource in range(free.shape[1]):
            free[row, resource] = free[row - 1, resource]
    times[low] = time
    for resource in range(free.shape[1]):
        free[low, resource] = free[low - 1, resource]
    table.span[1] = last + 1
    return int(low)


@inner_kernel
def _join(table: Timetable, row: int) -> None:
    """Remove a row that is as the one before it."""
    first, last = table.span[0], table.span[1]
    if row <= first or row >= last:
        return
    for resource in range(table.free.shape[1]):
        if table.free[row, resource] != table.free[row - 1, resource]:
            return
    for later in range(row, last - 1):
        table.times[later] = table.times[later + 1]
        for resource in range(table.free.shape[1]):
            table.free[later, resource] = table.free[later + 1, resource]
    table.span[1] = last - 1


@inner_kernel
def _book(table: Timetable, machine: Machine, job: int, begin: float, end: float, sign: int) -> None:
    """Take what a job needs out of the timetable between two instants, or (sign -1) put it back."""
    if end <= table.times[table.span[0]]:
        return
    row = _row(table, begin)
    stop = _row(table, end)
    for at in range(machine.offsets[job], machine.offsets[job + 1]):
        resource, amount = machine.resource[at], sign * machine.amount[at]
        for step in range(row, stop):
            table.free[step, resource] -= amount
    _join(table, stop)
    _join(table, row)


@inner_kernel
def _earliest(
    table: Timetable, machine: Machine, job: int, seconds: float, latest: float, freed: float
) -> float:
    """Return the first instant from now on from which a job has room, at most `latest`, its reservation.

    It is `latest` also if the first such instant is `freed` or later.
    """
    row, last = table.span[0], table.span[1]
    start = table.times[row]
    begin, end = machine.offsets[job], machine.offsets[job + 1]
    while start < min(latest, freed):
        fits = True
        for at in range(begin, end):
            if table.free[row, machine.resource[at]] < machine.amount[at]:
                fits = False
                break
        row += 1
        if row == last:
            return float(start) if fits else float(latest)
        if not fits:
            start = table.times[row]
        elif table.times[row] >= min(start + seconds, latest):
            return float(start)
    return latest


@inner_kernel
def _plan_again(
    table: Timetable,
    machine: Machine,
    queue: Queue,
    waiting: int,
    estimates: FloatArray,
    drop: bool,
    freed: float,
) -> float:
    """Give each job of the queue, in order, its earliest reservation; with `drop`, all are dropped first.

    Else there is more room than before until `freed` only: a job that gets earlier starts before that, and
    then there is more room until the end of what it leaves. Return until when: jobs before it in the queue
    have not been asked whether they want it.
    """
    reserved, left = queue.reserved, 0.0
    if drop:
        for at in range(waiting):
            job = queue.waiting[at]
            _book(table, machine, job, reserved[job], reserved[job] + estimates[job], -1)
            reserved[job] = np.inf
    for at in range(waiting):
        job = queue.waiting[at]
        before, seconds = reserved[job], estimates[job]
        start = _earliest(table, machine, job, seconds, before, freed)
        if start < before:
            if not drop:
                left = max(left, before + seconds)
                freed = max(freed, left)
                _book(table, machine, job, before, before + seconds, -1)
            _book(table, machine, job, start, start + seconds, 1)
            reserved[job] = start
    return left


@inner_kernel
def _enter(jobs: PackedJobs, machine: Machine, queue: Queue, waiting: int, job: int) -> None:
    """Put a job in its place in the queue."""
    key, submit, at = machine.order[job], jobs.submit[job], waiting
    while at > 0:
        before = queue.waiting[at - 1]
        other = machine.order[before]
        if other < key or (
            other == key
            and (jobs.submit[before] < submit or (jobs.submit[before] == submit and before < job))
        ):
            break
        queue.waiting[at] = before
        at -= 1
    queue.waiting[at] = job


@inner_kernel
def _has_room(machine: Machine, job: int) -> bool:
    """Return whether what a job needs is not held by jobs that run longer than expected."""
    step = machine.step[0]
    for at in range(machine.offsets[job], machine.offsets[job + 1]):
        resource = machine.resource[at]
        if machine.held[resource] + machine.amount[at] > machine.capacity[step, resource]:
            return False
    return True


@inner_kernel
def _hold(machine: Machine, job: int, sign: int) -> None:
    for at in range(machine.offsets[job], machine.offsets[job + 1]):
        machine.held[machine.resource[at]] += sign * machine.amount[at]


@inner_kernel
def _move_on(machine: Machine, table: Timetable, now: float) -> None:
    """Let time go on: the present step is the one that holds now, and the timetable begins now."""
    while machine.step[0] + 1 < len(machine.times) and machine.times[machine.step[0] + 1] <= now:
        machine.step[0] += 1
    while table.span[0] + 1 < table.span[1] and table.times[table.span[0] + 1] <= now:
        table.span[0] += 1
    table.times[table.span[0]] = now


@inner_kernel
def _is_late(queue: Queue, waiting: int, now: float) -> bool:
    """Return whether a reservation has passed because another job runs longer than estimated."""
    late = False
    for at in range(waiting):
        late |= queue.reserved[queue.waiting[at]] < now
    return late


@kernel
def conservative_on_machine(
    jobs: PackedJobs,
    release: FloatArray,
    estimates: FloatArray,
    machine: Machine,
    table: Timetable,
    queue: Queue,
    compression: int,
    plan: Plan,
) -> None:
    """Run a workload to its end; write into `plan` when and why jobs start and what they were promised."""
    count = len(release)
    places = queue.arrivals[:0]
    submitted = waiting = running = 0
    due, freed = np.inf, 0.0
    while submitted < count or waiting:
        now = due
        if submitted < count:
            now = min(now, release[queue.arrivals[submitted]])
        if running:
            now = min(now, queue.ends[0].time)
        _move_on(machine, table, now)
        early = False
        while running and queue.ends[0].time <= now:
            job, running = queue.ends[0].item, running - 1
            last = queue.ends[running].item
            lower(queue.ends, places, BY_ITEM, running, 0, queue.ends[running].time, last)
            _hold(machine, job, -1)
            expected = plan.starts[job] + estimates[job]
            early |= expected > now
            freed = max(freed, expected)
            _book(table, machine, job, now, expected, -1)
        if _is_late(queue, waiting, now) or (early and compression == REPLAN):
            freed = _plan_again(table, machine, queue, waiting, estimates, True, np.inf)
        elif early and compression == COMPRESS:
            freed = _plan_again(table, machine, queue, waiting, estimates, False, freed)
        while submitted < count and release[queue.arrivals[submitted]] <= now:
            job = queue.arrivals[submitted]
            start = _earliest(table, machine, job, estimates[job], np.inf, np.inf)
            _book(table, machine, job, start, start + estimates[job], 1)
            queue.reserved[job] = plan.promised[job] = start
            _enter(jobs, machine, queue, waiting, job)
            submitted += 1
            waiting += 1
        due, stay = np.inf, 0
        for at in range(waiting):
            job = queue.waiting[at]
            if queue.reserved[job] <= now and _has_room(machine, job):
                plan.starts[job] = now
                plan.blocked[job] = queue.waiting[0] if stay else -1
                _hold(machine, job, 1)
                raise_up(queue.ends, places, BY_ITEM, running, now + jobs.runtime[job], job)
                running += 1
                continue
            if queue.reserved[job] > now:
                due = min(due, queue.reserved[job])
            else:
                queue.reserved[job] = now
            queue.waiting[stay] = job
            stay += 1
        waiting = stay
