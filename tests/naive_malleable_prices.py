"""Slow twins: what malleable jobs cost under prices, by fractional knapsacks; best slotted schedules of toys."""

from __future__ import annotations

import math
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from allocsolve.model import MALLEABLE, SLOWDOWN_FLOOR_S, SpeedupTable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from allocsolve.model import WorkloadProblem

__all__ = ["cost_at", "least_cost_of_job", "rates_of", "slotted_optimum"]

#: Real numbers of nodes that are tried between the fewest and the most.
_SIZES = 400
#: Slots of a toy schedule.
_MOST_SLOTS = 60


def rates_of(problem: WorkloadProblem, j: int, *, whole: bool = False) -> list[tuple[float, float]]:
    """Return numbers of nodes, real ones unless `whole`, and the share of the work done on them per second."""
    job = problem.jobs[j]
    law = job.speedup
    if law is None:
        return [(job.nodes, 1 / job.runtime)]
    if isinstance(law, SpeedupTable):
        return [(nodes, 1 / seconds) for nodes, seconds in law.rows]
    low, high = job.min_nodes or job.nodes, job.max_nodes or job.nodes
    given = law.time_factor(job.nodes)
    sizes = range(low, high + 1) if whole else np.geomspace(low, high, _SIZES).tolist()
    return [(nodes, given / (law.time_factor(nodes) * job.runtime)) for nodes in sizes]


def delay_cost(problem: WorkloadProblem, term: str, j: int, end: float) -> float:
    """Return the weighted cost of an end."""
    job = problem.jobs[j]
    if term == "slowdown":
        return job.weight * max(1.0, (end - job.submit) / max(job.runtime, SLOWDOWN_FLOOR_S))
    return job.weight * (end - job.submit)


def _pieces(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the lower hull of (rate, cost) from (0, 0) on: cost per rate, and rate, of each edge of it."""
    hull: list[tuple[float, float]] = [(0.0, 0.0)]
    for point in sorted(points):
        if point[0] <= hull[-1][0]:
            continue
        while len(hull) > 1 and _turns(hull[-2], hull[-1], point):
            hull.pop()
        hull.append(point)
    return [
        ((after[1] - before[1]) / (after[0] - before[0]), after[0] - before[0])
        for before, after in zip(hull[:-1], hull[1:], strict=True)
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
    rates = rates_of(problem, j)
    offers = []
    begins, ends = [-math.inf, *edges], [*edges, math.inf]
    for begin, until, price in zip(begins, ends, [0.0, *prices, 0.0], strict=True):
        seconds = min(until, end) - max(begin, job.submit)
        if seconds > 0:
            pieces = _pieces([(rate, price * nodes) for nodes, rate in rates])
            offers += [(cost, rate * seconds) for cost, rate in pieces]
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
    for begin, until in zip(cuts[:-1], cuts[1:], strict=True):
        low, high = begin, until
        for _ in range(45):
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
    """Return the value of the best schedule whose sizes change at whole seconds only.

    Malleable jobs may stop for a while (which no schedule may), and end within a second; others start at
    whole seconds, of which their run times are multiples. So the value is at least that of the price bound,
    whose jobs may do all of this, and at any time. A dynamic programme over the work left, second by second.
    """
    jobs, packed = problem.jobs, problem.packed
    rates = [rates_of(problem, j, whole=True) for j in range(len(jobs))]
    weight = sum(job.weight for job in jobs)
    # Left of a malleable job: work. Of another: 1 before it starts, then minus (nodes, seconds left).
    states: dict[tuple[object, ...], float] = {tuple(1.0 for _ in jobs): 0.0}
    best = math.inf
    for now in range(_MOST_SLOTS):
        after: dict[tuple[object, ...], float] = {}
        for state, cost in states.items():
            for held, step in _steps(problem, rates, state, now):
                if held > problem.num_nodes:
                    continue
                total, rest = cost, []
                for j, (left, end) in enumerate(step):
                    rest.append(left)
                    if end is not None:
                        total = max(total, end) if term == "makespan" else total + delay_cost(problem, term, j, end)
                if total >= best:
                    continue
                key = tuple(rest)
                if all(left == 0 for left in key):
                    best = total
                elif total < after.get(key, math.inf):
                    after[key] = total
        states = after
        if not states:
            break
    assert not states
    assert len(packed.kind) == len(jobs)
    return best if term == "makespan" else best / weight


def _steps(
    problem: WorkloadProblem, rates: list[list[tuple[float, float]]], state: tuple[object, ...], now: int
) -> Iterator[tuple[float, list[tuple[object, float | None]]]]:
    """Yield what may happen in a second: nodes held, and for each job what is left and when it ended."""
    choices = [_choices(problem, rates[j], j, left, now) for j, left in enumerate(state)]
    for chosen in product(*choices):
        yield sum(nodes for nodes, _, _ in chosen), [(left, end) for _, left, end in chosen]


def _choices(
    problem: WorkloadProblem, rates: list[tuple[float, float]], j: int, left: object, now: int
) -> list[tuple[float, object, float | None]]:
    """Return nodes, what is left after the second and the end, if it comes, of what a job may do."""
    if left == 0:
        return [(0, 0, None)]
    if isinstance(left, tuple):
        nodes, seconds = left
        return [(nodes, 0, now + 1) if seconds == 1 else (nodes, (nodes, seconds - 1), None)]
    assert isinstance(left, float)
    choices: list[tuple[float, object, float | None]] = [(0, left, None)]
    if now < problem.jobs[j].submit:
        return choices
    for nodes, rate in rates:
        if problem.packed.kind[j] != MALLEABLE:
            seconds = round(1 / rate)
            choices.append((nodes, 0, now + 1) if seconds == 1 else (nodes, (nodes, seconds - 1), None))
        elif left <= rate * (1 + 1e-9):
            choices.append((nodes, 0, now + left / rate))
        else:
            choices.append((nodes, round(left - rate, 12), None))
    return choices
