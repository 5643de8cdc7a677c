"""Slow, obvious twins of what is asked of workloads: who holds what, counted piece by piece."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from allocsolve.model import SpeedupTable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allocsolve.model import Job, WorkloadProblem, WorkloadSchedule

__all__ = ["most_used", "value", "violates"]


def most_used(schedule: WorkloadSchedule) -> int:
    """Return how many nodes are held at most: usage only grows where a piece starts."""
    pieces = list(zip(schedule.starts, schedule.ends, schedule.nodes, strict=True))
    return max((sum(int(n) for s, e, n in pieces if s <= t < e) for t, _, _ in pieces), default=0)


def violates(problem: WorkloadProblem, schedule: WorkloadSchedule) -> bool:
    """Tell whether a schedule breaks a rule, one job after the other."""
    for idx, job in enumerate(problem.jobs):
        pieces = schedule.pieces(idx)
        if job.kind == "malleable":
            if not pieces or pieces[0][0] < job.submit or not _does_its_work(job, pieces):
                return True
            continue
        if len(pieces) != 1:
            return True
        ((start, end, nodes),) = pieces
        time = _time(job, nodes)
        if time is None or start < job.submit or abs(end - start - time) > 1e-6:
            return True
    return most_used(schedule) > problem.num_nodes


def _does_its_work(job: Job, pieces: Sequence[tuple[float, float, int]]) -> bool:
    """Tell whether the pieces of a malleable job follow each other, change at points and add up to it."""
    done = Fraction(0)
    for at, (start, end, nodes) in enumerate(pieces):
        time = _time(job, nodes)
        if time is None or end < start or (at and abs(start - pieces[at - 1][1]) > 1e-6):
            return False
        if at and nodes != pieces[at - 1][2] and job.points:
            parts = done * job.points
            if abs(parts - round(parts)) > Fraction(1, 10**6):
                return False
        done += (Fraction(end) - Fraction(start)) / Fraction(time)
    return abs(done - 1) <= Fraction(1, 10**6)


def _time(job: Job, nodes: int) -> float | None:
    """Return the run time on so many nodes; None if the job cannot run on them."""
    if nodes == job.nodes:
        return job.runtime
    assert job.min_nodes is not None
    assert job.max_nodes is not None
    if job.speedup is None or not job.min_nodes <= nodes <= job.max_nodes:
        return None
    if job.size_set == "powers-of-two":
        if nodes not in {2**k for k in range(20)}:
            return None
    elif nodes % job.size_set:
        return None
    if isinstance(job.speedup, SpeedupTable):
        return dict(job.speedup.rows).get(nodes)
    return job.runtime * job.speedup.time_ratio(nodes, job.nodes)


def value(problem: WorkloadProblem, schedule: WorkloadSchedule, term: str) -> float:
    """Return the value of a schedule, summed up in fractions."""
    if term == "makespan":
        return max((float(end) for end in schedule.ends), default=0.0)
    total = weights = Fraction(0)
    for idx, job in enumerate(problem.jobs):
        pieces = schedule.pieces(idx)
        start, end = pieces[0][0], pieces[-1][1]
        turnaround = Fraction(end) - Fraction(job.submit)
        worth = {
            "turnaround": turnaround,
            "wait": Fraction(start) - Fraction(job.submit),
            "slowdown": max(Fraction(1), turnaround / max(Fraction(job.runtime), Fraction(10))),
        }[term]
        total += Fraction(job.weight) * worth
        weights += Fraction(job.weight)
    return float(total / weights) if weights else 0.0
