"""Slow, obvious twins: the optimum on a machine that is not plain, and what prices of resources prove."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise, permutations
from typing import TYPE_CHECKING

from naive_resources import available, needs_of, release_of
from naive_workload_prices import cost_of, price_until, value_of_ends

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from allocsolve.model import WorkloadProblem

__all__ = [
    "earliest_on_machine",
    "least_cost_on_machine",
    "machine_optimum",
    "machine_price_value",
]


def machine_optimum(problem: WorkloadProblem, term: str) -> Fraction:
    """Return the least value: of all orders, each job as early as the machine and those before it allow."""
    best: Fraction | None = None
    for order in permutations(range(len(problem.jobs))):
        ends = [0.0] * len(order)
        placed: list[tuple[float, float, dict[str, int]]] = []
        for idx in order:
            job = problem.jobs[idx]
            start = earliest_on_machine(problem, placed, needs_of(job), job.runtime, release_of(job))
            ends[idx] = start + job.runtime
            placed.append((start, ends[idx], needs_of(job)))
        value = value_of_ends(problem, term, ends)
        best = value if best is None else min(best, value)
    assert best is not None
    return best


def earliest_on_machine(
    problem: WorkloadProblem,
    placed: list[tuple[float, float, dict[str, int]]],
    needs: dict[str, int],
    seconds: float,
    release: float,
) -> float:
    """Return the first instant from the release on at which a job has all that it needs for so long."""
    edges = {edge for window in problem.closed for edge in (window.start, window.end)}
    changes = edges | {moment for begin, end, _ in placed for moment in (begin, end)}
    for start in sorted({release, *(moment for moment in changes if moment > release)}):
        moments = [start, *(moment for moment in changes if start < moment < start + seconds)]
        if all(_fits(problem, placed, needs, moment) for moment in moments):
            return start
    raise AssertionError


def _fits(
    problem: WorkloadProblem,
    placed: list[tuple[float, float, dict[str, int]]],
    needs: dict[str, int],
    at: float,
) -> bool:
    there = available(problem, at)
    for begin, end, held in placed:
        if begin <= at < end:
            for name, amount in held.items():
                there[name] -= amount
    return all(amount <= there[name] for name, amount in needs.items() if amount)


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
