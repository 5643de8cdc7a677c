"""Bounds of reservations by prices, second by second and in rational numbers."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from naive_reservation_optimum import naive_counts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from allocsolve.model import ReservationProblem


def naive_certified_share(problem: ReservationProblem, certificate: Mapping[str, Any], term: str) -> Fraction:
    """The share that is rejected at least, by the formula."""
    slots = list(zip(pairwise(certificate["edges"]), certificate["prices"], strict=True))
    unit = certificate["unit"]

    def cost(begin: int, end: int) -> Fraction:
        paid = sum(max(0, min(end, right) - max(begin, left)) * price for (left, right), price in slots)
        return Fraction(paid, unit)

    counts = naive_counts(problem, term)
    accepted = sum((right - left) * price for (left, right), price in slots) * Fraction(1, unit)
    accepted *= problem.topology.num_nodes
    possible = []
    for job, count in zip(problem.jobs, counts, strict=True):
        starts = range(job.arrival, job.deadline - job.runtime + 1)
        if starts:
            possible.append(count)
            least = min(cost(start, start + job.runtime) for start in starts)
            accepted += max(Fraction(0), count - job.nodes * least)
    if not sum(counts):
        return Fraction(0)
    scale = max((count.denominator for count in counts), default=1)
    step = math.gcd(*(int(count * scale) for count in possible)) or 1
    whole = accepted * scale // step * step
    return 1 - min(sum(possible, Fraction(0)), Fraction(whole, scale)) / sum(counts)


def naive_window_prices(
    job: tuple[float, float, float], edges: Sequence[float], levels: Sequence[float]
) -> list[float]:
    """What the machine costs in windows of a job: those that begin or end at an edge, and the extreme ones.

    The job is arrival, run time and deadline. The first window stands there once, and so does each other one
    as often as it is of a kind.
    """
    arrival, runtime, deadline = job
    last = deadline - runtime
    starts = [arrival, *(edge for edge in edges if arrival < edge < last)]
    starts += [edge - runtime for edge in edges if arrival < edge - runtime < last]
    starts.append(last)

    def until(moment: float) -> float:
        slots = zip(pairwise(edges), levels, strict=True)
        return sum(level * min(1, max(0, (moment - a) / (b - a))) for (a, b), level in slots)

    return [until(start + runtime) - until(start) for start in starts]


def naive_soft_gain(prices: Sequence[float], weight: float, temperature: float) -> float:
    """The soft greatest gain of a job: nothing, or its weight less what a window costs."""
    return temperature * math.log(1 + sum(math.exp((weight - price) / temperature) for price in prices))
