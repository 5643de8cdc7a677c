"""A slow twin: least costs of malleable jobs under prices, by knapsacks."""

from __future__ import annotations

import functools
import math
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from allocsolve.model import SLOWDOWN_FLOOR_S, SpeedupTable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allocsolve.model import WorkloadProblem

#: Real numbers of nodes that are tried between the fewest and the most.
_SIZES = 150
#: Seconds of a slot of a toy schedule.
TOY_SLOT_S = 8


def rates_of(problem: WorkloadProblem, j: int, *, whole: bool = False) -> list[tuple[float, float]]:
    """Return numbers of nodes, real ones unless `whole`, and the work done on them per second."""
    job = problem.jobs[j]
    law = job.speedup
    if law is None:
        return [(job.nodes, 1 / job.runtime)]
    if isinstance(law, SpeedupTable):
        return [(nodes, 1 / seconds) for nodes, seconds in law.rows]
    low, high = job.min_nodes or job.nodes, job.max_nodes or job.nodes
    sizes = range(low, high + 1) if whole else np.geomspace(low, high, _SIZES).tolist()
    return [(nodes, 1 / (law.time_ratio(nodes, job.nodes) * job.runtime)) for nodes in sizes]


def delay_cost(problem: WorkloadProblem, term: str, j: int, end: float) -> float:
    """Return the weighted cost of an end."""
    job = problem.jobs[j]
    if term == "slowdown":
        return job.weight * max(1.0, (end - job.submit) / max(job.runtime, SLOWDOWN_FLOOR_S))
    return job.weight * (end - job.submit)


@functools.lru_cache(maxsize=1000)
def _pieces(rates: tuple[tuple[float, float], ...], price: float) -> list[tuple[float, float]]:
    """Return the lower hull of (rate, cost) from (0, 0) on: cost per rate, and rate, of each edge of it."""
    hull: list[tuple[float, float]] = [(0.0, 0.0)]
    for point in sorted((rate, price * nodes) for nodes, rate in rates):
        if point[0] <= hull[-1][0]:
            continue
        while len(hull) > 1 and _turns(hull[-2], hull[-1], point):
            hull.pop()
        hull.append(point)
    return [
        ((after[1] - before[1]) / (after[0] - before[0]), after[0] - before[0])
        for before, after in pairwise(hull)
    ]


def _turns(first: tuple[float, float], second: tuple[float, float], third: tuple[float, float]) -> bool:
    left = (second[1] - first[1]) * (third[0] - first[0])
    return left >= (third[1] - first[1]) * (second[0] - first[0])


def cost_at(
    problem: WorkloadProblem,
    term: str,
    j: int,
    edges: Sequence[float],
    prices: Sequence[float],
    end: float,
    *,
    whole: bool = False,
) -> float:
    """Return the least cost of a malleable job that ends then: its seconds bought where they are cheapest.

    Mixtures of sizes in time make each slot an offer of work at rising costs.
    """
    job = problem.jobs[j]
    rates = tuple(rates_of(problem, j, whole=whole))
    offers = []
    begins, ends = [-math.inf, *edges], [*edges, math.inf]
    for begin, until, price in zip(begins, ends, [0.0, *prices, 0.0], strict=True):
        seconds = min(until, end) - max(begin, job.submit)
        if seconds > 0:
            offers += [(cost, rate * seconds) for cost, rate in _pieces(rates, price)]
    left, paid = 1.0, 0.0
    for cost, work in sorted(offers):
        paid += cost * min(left, work)
        left -= work
        if left <= 1e-12:
            return delay_cost(problem, term, j, end) + paid
    return math.inf


def least_cost_of_job(
    problem: WorkloadProblem,
    term: str,
    j: int,
    edges: Sequence[float],
    prices: Sequence[float],
    *,
    whole: bool = False,
) -> float:
    """Return the least cost over all ends: it is convex within slots, so by thirds in each of them.

    Numbers of nodes are real ones unless `whole`.
    """
    job = problem.jobs[j]
    longest = 1 / min(rate for _, rate in rates_of(problem, j))
    latest = max(job.submit, edges[-1]) + longest + SLOWDOWN_FLOOR_S + job.runtime
    cuts = sorted({job.submit, *(edge for edge in edges if edge > job.submit), latest})
    best = math.inf
    for begin, until in pairwise(cuts):
        low, high = begin, until
        for _ in range(30):
            first, second = low + (high - low) / 3, high - (high - low) / 3
            at_first = cost_at(problem, term, j, edges, prices, first, whole=whole)
            at_second = cost_at(problem, term, j, edges, prices, second, whole=whole)
            best = min(best, at_first, at_second)
            if at_first <= at_second < math.inf:
                high = second
            else:
                low = first
        best = min(best, cost_at(problem, term, j, edges, prices, until, whole=whole))
    return best
