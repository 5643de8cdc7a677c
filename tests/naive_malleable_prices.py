"""Slow twins: least costs of malleable jobs under prices, by knapsacks; best slotted schedules of toys."""

from __future__ import annotations

import functools
import math
from itertools import pairwise, product
from typing import TYPE_CHECKING

import numpy as np

from allocsolve.model import MALLEABLE, SLOWDOWN_FLOOR_S, SpeedupTable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from allocsolve.model import WorkloadProblem

__all__ = ["TOY_SLOT_S", "cost_at", "least_cost_of_job", "rates_of", "slotted_optimum"]

#: Real numbers of nodes that are tried between the fewest and the most.
_SIZES = 150
#: Slots of a toy schedule, and the seconds of each.
_MOST_SLOTS = 80
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
) -> float:
    """Return the least cost of a malleable job that ends then: its seconds bought where they are cheapest.

    Mixtures of sizes in time make each slot an offer of work at rising costs.
    """
    job = problem.jobs[j]
    rates = tuple(rates_of(problem, j))
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
    problem: WorkloadProblem, term: str, j: int, edges: Sequence[float], prices: Sequence[float]
) -> float:
    """Return the least cost over all ends: it is convex within slots, so by thirds in each of them."""
    job = problem.jobs[j]
    longest = 1 / min(rate for _, rate in rates_of(problem, j))
    latest = max(job.submit, edges[-1]) + longest + SLOWDOWN_FLOOR_S + job.runtime
    cuts = sorted({job.submit, *(edge for edge in edges if edge > job.submit), latest})
    best = math.inf
    for begin, until in pairwise(cuts):
        low, high = begin, until
        for _ in range(30):
            first, second = low + (high - low) / 3, high - (high - low) / 3
            at_first = cost_at(problem, term, j, edges, prices, first)
            at_second = cost_at(problem, term, j, edges, prices, second)
            best = min(best, at_first, at_second)
            if at_first <= at_second < math.inf:
                high = second
            else:
                low = first
        best = min(best, cost_at(problem, term, j, edges, prices, until))
    return best


def slotted_optimum(problem: WorkloadProblem, term: str) -> float:
    """Return the value of the best schedule whose sizes change between slots only.

    Malleable jobs may stop for a while (which no schedule may), and end within a slot; others start with
    one, and run for a whole number of them. So the value is at least that of the price bound, whose jobs may
    do all of this, and at any time. A dynamic programme over the work left, slot by slot.
    """
    rates = [
        [(nodes, rate * TOY_SLOT_S) for nodes, rate in rates_of(problem, j, whole=True)]
        for j in range(len(problem.jobs))
    ]
    some = _search(problem, term, rates, math.inf, beam=10)
    return _search(problem, term, rates, some, beam=10**9)


def _search(
    problem: WorkloadProblem, term: str, rates: list[list[tuple[float, float]]], best: float, beam: int
) -> float:
    """Return the least value below `best`, or that, from so many most promising states of each slot."""
    jobs = problem.jobs
    fastest = [1 / max(rate for _, rate in row) for row in rates]

    def whole_cost(ends: Sequence[float]) -> float:
        if term == "makespan":
            return max(ends) * TOY_SLOT_S
        costs = (delay_cost(problem, term, j, end * TOY_SLOT_S) for j, end in enumerate(ends))
        return sum(costs) / sum(job.weight for job in jobs)

    def earliest(j: int, left: object, now: float) -> float:
        if isinstance(left, tuple):
            return now + float(left[1])
        assert isinstance(left, float)
        return max(now, jobs[j].submit / TOY_SLOT_S) + left * fastest[j]

    # Of each job what is left, work or (nodes, slots), and its end if nothing is. States of equal costs and
    # equal rests are one.
    states: dict[tuple[object, ...], tuple[float, tuple[float, ...]]]
    states = {tuple(1.0 for _ in jobs): (0.0, tuple(math.inf for _ in jobs))}
    for now in range(_MOST_SLOTS):
        after: dict[tuple[object, ...], tuple[float, tuple[float, ...]]] = {}
        for state, (_, ended) in states.items():
            for held, step in _steps(problem, rates, state, now):
                if held > problem.num_nodes:
                    continue
                key = tuple(left for left, _ in step)
                ends = tuple(then if end is None else end for (_, end), then in zip(step, ended, strict=True))
                least = whole_cost(
                    [
                        end if end < math.inf else earliest(j, left, now + 1)
                        for j, (left, end) in enumerate(zip(key, ends, strict=True))
                    ]
                )
                if least >= best:
                    continue
                if max(ends) < math.inf:
                    best = least
                elif key not in after or least < after[key][0]:
                    after[key] = least, ends
        states = dict(sorted(after.items(), key=lambda item: item[1][0])[:beam])
    assert not states or beam < 10**9
    return best


def _steps(
    problem: WorkloadProblem, rates: list[list[tuple[float, float]]], state: tuple[object, ...], now: int
) -> Iterator[tuple[float, list[tuple[object, float | None]]]]:
    """Yield what may happen in a slot: nodes held, and for each job what is left and when it ended."""
    choices = [_choices(problem, rates[j], j, left, now) for j, left in enumerate(state)]
    for chosen in product(*choices):
        yield sum(nodes for nodes, _, _ in chosen), [(left, end) for _, left, end in chosen]


def _choices(
    problem: WorkloadProblem, rates: list[tuple[float, float]], j: int, left: object, now: int
) -> list[tuple[float, object, float | None]]:
    """Return nodes, what is left after the slot and the end, if it comes, of what a job may do."""
    if left == 0:
        return [(0, 0, None)]
    if isinstance(left, tuple):
        nodes, slots = left
        return [(nodes, 0, now + 1) if slots == 1 else (nodes, (nodes, slots - 1), None)]
    assert isinstance(left, float)
    choices: list[tuple[float, object, float | None]] = [(0, left, None)]
    if now * TOY_SLOT_S < problem.jobs[j].submit:
        return choices
    for nodes, rate in rates:
        if problem.packed.kind[j] != MALLEABLE:
            slots = round(1 / rate)
            choices.append((nodes, 0, now + 1) if slots == 1 else (nodes, (nodes, slots - 1), None))
        elif left <= rate * (1 + 1e-9):
            choices.append((nodes, 0, now + left / rate))
        else:
            choices.append((nodes, round(left - rate, 12), None))
    return choices
