"""Slow, obvious twins of what is asked of workloads: who holds what, counted piece by piece."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from allocsolve.model import SpeedupTable

if TYPE_CHECKING:
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
        if len(pieces) != 1:
            return True
        ((start, end, nodes),) = pieces
        time = _time(job, nodes)
        if time is None or start < job.submit or abs(end - start - time) > 1e-6:
            return True
    return most_used(schedule) > problem.num_nodes


def _time(job: Job, nodes: int) -> float | None:
    """Return the run time on so many nodes; None if the job cannot run on them."""
    if nodes == job.nodes:
        return job.runtime
    assert job.min_nodes is not None
    assert job.max_nodes is not None
    if job.speedup is None or not job.min_nodes <= nodes <= job.max_nodes:
        return None
    if isinstance(job.speedup, SpeedupTable):
        return dict(job.speedup.rows).get(nodes)
    return job.runtime * job.speedup.time_factor(nodes) / job.speedup.time_factor(job.nodes)


def value(problem: WorkloadProblem, schedule: WorkloadSchedule, term: str) -> float:
    """Return the value of a schedule, summed up in fractions."""
    if term == "makespan":
        return max((float(end) for end in schedule.ends), default=0.0)
    total = weights = Fraction(0)
    for idx, job in enumerate(problem.jobs):
        ((start, end, _),) = schedule.pieces(idx)
        turnaround = Fraction(end) - Fraction(job.submit)
        worth = {
            "turnaround": turnaround,
            "wait": Fraction(start) - Fraction(job.submit),
            "slowdown": max(Fraction(1), turnaround / max(Fraction(job.runtime), Fraction(10))),
        }[term]
        total += Fraction(job.weight) * worth
        weights += Fraction(job.weight)
    return float(total / weights) if weights else 0.0
