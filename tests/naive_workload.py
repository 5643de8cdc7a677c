"""Slow, obvious twins of what is asked of workloads: who holds what, counted piece by piece."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from naive_malleable import seconds_on, sizes_of

from allocsolve.model import SpeedupTable, Stall

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allocsolve.model import Job, WorkloadProblem, WorkloadSchedule


def most_used(schedule: WorkloadSchedule) -> int:
    """Return how many nodes are held at most: usage only grows where a piece starts."""
    pieces = list(zip(schedule.starts, schedule.ends, schedule.nodes, strict=True))
    return max((sum(int(n) for s, e, n in pieces if s <= t < e) for t, _, _ in pieces), default=0)


#: By how much a job may end before its work is done, and what follows on its nodes before its end.
TOLERANCE = Fraction(1, 10**6)


def violates(problem: WorkloadProblem, schedule: WorkloadSchedule) -> bool:
    """Tell whether a schedule breaks a rule, one job after the other, in fractions.

    Where all times are quarters of a second, a schedule is as good as the one in quarters just before it.
    """
    pieces = [
        [(Fraction(start), Fraction(end), nodes) for start, end, nodes in schedule.pieces(idx)]
        for idx in range(len(problem.jobs))
    ]
    if not _in_quarters(problem):
        return _breaks(problem, pieces, TOLERANCE)
    if all(time % Fraction(1, 4) == 0 for rows in pieces for row in rows for time in row[:2]):
        return _breaks(problem, pieces, Fraction(0))
    if _breaks(problem, pieces, TOLERANCE):
        return True
    before = []
    for job, [(start, end, nodes)] in zip(problem.jobs, pieces, strict=True):
        begin, time = Fraction(start * 4 // 1, 4), Fraction(_time(job, nodes) or 0)
        before.append([(begin, min(Fraction(end * 4 // 1, 4), begin + time), nodes)])
    return _breaks(problem, before, Fraction(0))


def _in_quarters(problem: WorkloadProblem) -> bool:
    """Tell whether all times at which jobs must start and end are quarters of a second."""
    times: list[float] = []
    for job in problem.jobs:
        times += [job.submit, job.runtime]
        if isinstance(job.speedup, SpeedupTable):
            times += [seconds for _, seconds in job.speedup.rows]
        if job.kind == "malleable" or (
            job.speedup is not None
            and not isinstance(job.speedup, SpeedupTable)
            and job.min_nodes != job.max_nodes
        ):
            return False
    return all(time * 4 % 1 == 0 for time in times)


def _breaks(
    problem: WorkloadProblem, pieces: Sequence[Sequence[tuple[Fraction, Fraction, int]]], tolerance: Fraction
) -> bool:
    """Tell whether pieces break a rule, if each job may end that much too early."""
    held = []
    for job, rows in zip(problem.jobs, pieces, strict=True):
        if job.kind == "malleable":
            if not rows or not _does_its_work(job, rows, tolerance):
                return True
        else:
            if len(rows) != 1:
                return True
            time = _time(job, rows[0][2])
            if time is None or abs(rows[0][1] - rows[0][0] - Fraction(time)) > tolerance:
                return True
        if rows[0][0] < Fraction(job.submit):
            return True
        *others, (start, end, nodes) = rows
        held += [*others, (start, end - min(tolerance, (end - start) / 2), nodes)]
    return any(sum(n for s, e, n in held if s <= t < e) > problem.num_nodes for t, _, _ in held)


def _does_its_work(job: Job, pieces: Sequence[tuple[Fraction, Fraction, int]], tolerance: Fraction) -> bool:
    """Tell whether the pieces of a malleable job follow each other, change at points and add up to it."""
    done, before, slowest = Fraction(0), Fraction(0), Fraction(0)
    stalled = pieces[0][0]
    sizes = [nodes for _, _, nodes in pieces]
    for at, (start, end, nodes) in enumerate(pieces):
        given = _time(job, nodes)
        if given is None or end < start or (at and start != pieces[at - 1][1]):
            return False
        time = Fraction(given)
        if at and nodes != sizes[at - 1]:
            parts = done * (job.points or 0)
            if job.points and abs(parts - round(parts)) / job.points * before > tolerance:
                return False
            if not _stalls_ahead(job, sizes[at - 1], nodes):
                stalled = max(stalled, start) + _stall(job, sizes[at - 1], nodes)
        following = sizes[at + 1 : at + 2]
        ahead = Fraction(0)
        if following and _stalls_ahead(job, nodes, following[0]):
            ahead = _stall(job, nodes, following[0])
        runs = end - ahead - max(start, stalled)
        if ahead and runs < -tolerance:
            return False
        done += (runs if ahead else max(Fraction(0), runs)) / time
        if end >= pieces[-1][1] - tolerance:
            slowest = max(slowest, time)
        before = time
    late = max(Fraction(0), stalled - pieces[-1][1]) if done < 1 else 0
    return max(1 - done, done - 1) * slowest + late <= tolerance


def _stall(job: Job, before: int, after: int) -> Fraction:
    """Return what a change of size costs, in seconds."""
    if before == after or not isinstance(job.reconfiguration, Stall):
        return Fraction(0)
    return Fraction(job.reconfiguration.seconds(before, after))


def _stalls_ahead(job: Job, before: int, after: int) -> bool:
    """Tell whether a job stalls before a change, as it holds the larger number of nodes for so long."""
    return isinstance(job.reconfiguration, Stall) and job.reconfiguration.holds == "larger" and after < before


def _time(job: Job, nodes: int) -> float | None:
    """Return the run time on so many nodes; None if the job cannot run on them."""
    return seconds_on(job, nodes) if nodes in sizes_of(job) else None
