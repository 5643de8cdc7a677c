"""Conservative backfilling on machines with counted resources and closed windows, for kernels.

Jobs are numbered in the order of the queue, and may come to it in another one. Running jobs hold what they
need until their expected ends, queued jobs for their estimates, from their reservations on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from allocsolve.heuristics.workload._kernels_conservative import (
    COMPRESS,
    REPLAN,
    _book,
    _end_first,
    _is_late,
    _leave,
    _next_due,
    _run,
)
from allocsolve.heuristics.workload._kernels_machines import is_open
from allocsolve.heuristics.workload._kernels_timetable import (
    begin_at,
    earliest_room,
    put_back,
    take,
    write_capacities,
)
from allocsolve.kernels import inner_kernel, kernel
from allocsolve.kernels.heap import BY_ITEM, raise_up

if TYPE_CHECKING:
    from allocsolve.heuristics.workload._kernels_conservative import Plan, Running, Waiting
    from allocsolve.heuristics.workload._kernels_machines import Machine
    from allocsolve.heuristics.workload._kernels_timetable import Timetable
    from allocsolve.model import FloatArray, IntArray


class PlannedJobs(NamedTuple):
    """The jobs in the order of the queue, each array of shape (jobs,); all is read-only."""

    #: Seconds: a job comes to the queue then.
    release: FloatArray
    #: Seconds.
    runtime: FloatArray
    #: The run time that the policy expects, in seconds.
    estimate: FloatArray
    #: All jobs in the order in which they come to the queue.
    arrivals: IntArray


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
def _hold(machine: Machine, job: int, sign: int) -> None:
    for at in range(machine.offsets[job], machine.offsets[job + 1]):
        machine.held[machine.resource[at]] += sign * machine.amount[at]


@kernel
def conservative_on_machine(
    jobs: PlannedJobs,
    machine: Machine,
    table: Timetable,
    waiting: Waiting,
    running: Running,
    compression: int,
    plan: Plan,
) -> None:
    """Run a workload to its end; write into `plan` when and why jobs start and what they were promised.

    At first the timetable is empty, nobody runs and nobody waits; all have room for all jobs.
    """
    count, times = len(jobs.release), machine.times
    unnoted = waiting.before[:0]  # nobody asks where a job is on the heap
    late = np.empty(count, dtype=np.int64)
    submitted, due, freed = 0, np.inf, 0.0
    write_capacities(table, machine)
    while submitted < count or waiting.behind[count] != count:
        now = due
        if submitted < count:
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
        while submitted < count and jobs.release[jobs.arrivals[submitted]] <= now:
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
