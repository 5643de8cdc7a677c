"""A slow twin of prices of node-seconds and of resources: all starts on a grid are tried."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

from naive_resources import available, edges_of, needs_of, release_of
from naive_workload_optimum import cost_of, runs_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from allocsolve.model import WorkloadProblem

    #: By the name of what is paid for, the prices of slots.
    Prices = Mapping[str, Sequence[int]]


def _price_until(edges: Sequence[int], prices: Sequence[int], moment: Fraction) -> Fraction:
    """Return the integral of the prices up to a moment."""
    slots = zip(pairwise(edges), prices, strict=True)
    return sum(
        (price * max(Fraction(0), min(moment, Fraction(end)) - begin) for (begin, end), price in slots),
        Fraction(0),
    )


def least_cost(
    problem: WorkloadProblem, term: str, job_idx: int, edges: Sequence[int], prices: Prices, unit: int
) -> Fraction:
    """Return the least cost of a job, over all sizes and all starts at quarters of a second.

    It pays for all that it holds.
    """
    job = problem.jobs[job_idx]
    first, costs = Fraction(release_of(job)), []
    counted = "turnaround" if term == "wait" else term  # the run time counts, too
    for nodes, seconds in runs_of(job):
        needs = {**needs_of(job), "nodes": nodes}
        for quarter in range(max(0, math.ceil(4 * (edges[-1] - first))) + 80):
            start = first + Fraction(quarter, 4)
            end = start + Fraction(seconds)
            paid = sum(
                (
                    needs.get(name, 0)
                    * (_price_until(edges, listed, end) - _price_until(edges, listed, start))
                    for name, listed in prices.items()
                ),
                Fraction(0),
            )
            costs.append(cost_of(job, counted, start, float(end)) + paid / unit)
    return min(costs)


def price_value(
    problem: WorkloadProblem, term: str, edges: Sequence[int], prices: Prices, unit: int
) -> Fraction:
    """Return the bound that follows from prices ``q / unit`` of a second of one of each resource."""
    count = len(problem.jobs)
    total = sum((least_cost(problem, term, j, edges, prices, unit) for j in range(count)), Fraction(0))
    changes = {*map(Fraction, edges_of(problem))}
    for begin, end in pairwise(sorted({*map(Fraction, edges), *changes})):
        there = available(problem, float(begin))
        for name, listed in prices.items():
            paid = _price_until(edges, listed, end) - _price_until(edges, listed, begin)
            total -= there[name] * paid / unit
    if term == "wait":
        total -= sum(Fraction(job.weight) * Fraction(job.runtime) for job in problem.jobs)
    scale = sum(Fraction(job.weight) for job in problem.jobs)
    return max(Fraction(0), total / scale) if scale else Fraction(0)
