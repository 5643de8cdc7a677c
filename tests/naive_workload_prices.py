"""A slow twin of prices of node-seconds: all starts on a grid are tried."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

from naive_workload_optimum import runs_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from allocsolve.model import WorkloadProblem


def cost_of(problem: WorkloadProblem, term: str, job_idx: int, end: float) -> Fraction:
    """Return the weighted cost of a job that ends then, the wait counted with its run time."""
    job = problem.jobs[job_idx]
    turnaround = Fraction(end) - Fraction(job.submit)
    if term == "slowdown":
        return Fraction(job.weight) * max(Fraction(1), turnaround / max(Fraction(job.runtime), Fraction(10)))
    return Fraction(job.weight) * turnaround


def value_of_ends(problem: WorkloadProblem, term: str, ends: Sequence[float]) -> Fraction:
    """Return a term for the ends of the jobs."""
    if term == "makespan":
        return Fraction(max(ends))
    scale = sum(Fraction(job.weight) for job in problem.jobs)
    total = sum((cost_of(problem, term, j, end) for j, end in enumerate(ends)), Fraction(0))
    if term == "wait":
        total -= sum(Fraction(job.weight) * Fraction(job.runtime) for job in problem.jobs)
    return total / scale if scale else Fraction(0)


def price_until(edges: Sequence[int], prices: Sequence[int], moment: Fraction) -> Fraction:
    """Return the integral of the prices up to a moment."""
    slots = zip(pairwise(edges), prices, strict=True)
    return sum(
        (price * max(Fraction(0), min(moment, Fraction(end)) - begin) for (begin, end), price in slots),
        Fraction(0),
    )


def least_cost(
    problem: WorkloadProblem, term: str, job_idx: int, edges: Sequence[int], prices: Sequence[int], unit: int
) -> Fraction:
    """Return the least cost of a job over all sizes and all starts at quarters of a second."""
    costs = []
    for nodes, seconds in runs_of(problem, job_idx):
        for start in _quarters(problem.jobs[job_idx].submit, edges[-1]):
            end = start + Fraction(seconds)
            paid = price_until(edges, prices, end) - price_until(edges, prices, start)
            costs.append(cost_of(problem, term, job_idx, float(end)) + nodes * paid / unit)
    return min(costs)


def _quarters(submit: float, last: float) -> Iterator[Fraction]:
    first = Fraction(submit)
    for k in range(max(0, math.ceil(4 * (last - submit))) + 80):
        yield first + Fraction(k, 4)


def price_value(
    problem: WorkloadProblem, term: str, edges: Sequence[int], prices: Sequence[int], unit: int
) -> Fraction:
    """Return the bound that follows from prices ``q / unit`` of a node-second."""
    total = sum(least_cost(problem, term, j, edges, prices, unit) for j in range(len(problem.jobs)))
    total -= problem.num_nodes * price_until(edges, prices, Fraction(edges[-1])) / unit
    if term == "wait":
        total -= sum(Fraction(job.weight) * Fraction(job.runtime) for job in problem.jobs)
    scale = sum(Fraction(job.weight) for job in problem.jobs)
    return max(Fraction(0), total / scale) if scale else Fraction(0)
