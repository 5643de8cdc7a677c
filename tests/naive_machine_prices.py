"""A slow, obvious twin: what prices of resources prove."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

from naive_resources import available, needs_of, release_of
from naive_workload_prices import cost_of, price_until

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from allocsolve.model import WorkloadProblem


def least_cost_on_machine(
    problem: WorkloadProblem,
    term: str,
    job_idx: int,
    edges: Sequence[int],
    prices: Mapping[str, Sequence[int]],
    unit: int,
) -> Fraction:
    """Return the least cost of a job over all starts at quarters of a second, all that it holds paid for."""
    job = problem.jobs[job_idx]
    first = Fraction(release_of(job))
    costs = []
    for quarter in range(max(0, math.ceil(4 * (edges[-1] - first))) + 80):
        start = first + Fraction(quarter, 4)
        end = start + Fraction(job.runtime)
        paid = sum(
            (
                needs_of(job).get(name, 0)
                * (price_until(edges, listed, end) - price_until(edges, listed, start))
                for name, listed in prices.items()
            ),
            Fraction(0),
        )
        costs.append(cost_of(problem, term, job_idx, float(end)) + paid / unit)
    return min(costs)


def machine_price_value(
    problem: WorkloadProblem, term: str, edges: Sequence[int], prices: Mapping[str, Sequence[int]], unit: int
) -> Fraction:
    """Return the bound that follows from prices ``q / unit`` of a second of one of each resource."""
    count = len(problem.jobs)
    total = sum(
        (least_cost_on_machine(problem, term, j, edges, prices, unit) for j in range(count)), Fraction(0)
    )
    changes = {Fraction(edge) for window in problem.closed for edge in (window.start, window.end)}
    for begin, end in pairwise(sorted({*map(Fraction, edges), *changes})):
        there = available(problem, float(begin))
        for name, listed in prices.items():
            paid = price_until(edges, listed, end) - price_until(edges, listed, begin)
            total -= there[name] * paid / unit
    if term == "wait":
        total -= sum(Fraction(job.weight) * Fraction(job.runtime) for job in problem.jobs)
    scale = sum(Fraction(job.weight) for job in problem.jobs)
    return max(Fraction(0), total / scale) if scale else Fraction(0)
