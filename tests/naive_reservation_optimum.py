"""The most that tiny reservations can accept, by brute force: nothing shared with any solver."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import TYPE_CHECKING

from naive_reservation import has_shape

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from allocsolve.model import ReservationProblem

Booking = tuple[int, int, int]


def naive_counts(problem: ReservationProblem, term: str) -> list[Fraction]:
    """What the jobs count in a term."""
    return [Fraction(job.weight) * (job.area if term == "rejected-area" else 1) for job in problem.jobs]


def naive_earliest(problem: ReservationProblem, booked: Sequence[Booking], idx: int) -> int | None:
    """The first start of a job at which nodes are free by count; booked are (start, end, nodes)."""
    job = problem.jobs[idx]
    starts = {job.arrival, *(end for _, end, _ in booked if end > job.arrival)}
    for start in sorted(starts):
        end = start + job.runtime
        if end > job.deadline:
            return None
        moments = {start, *(begin for begin, _, _ in booked if start < begin < end)}
        used = (sum(nodes for begin, until, nodes in booked if begin <= at < until) for at in moments)
        if all(nodes + job.nodes <= problem.topology.num_nodes for nodes in used):
            return start
    return None


def naive_greedy(problem: ReservationProblem, order: Sequence[int]) -> list[int]:
    """The starts of jobs that are placed in an order; -1 for a rejected one."""
    booked: list[Booking] = []
    starts = [-1] * len(problem.jobs)
    for idx in order:
        start = naive_earliest(problem, booked, idx)
        if start is not None:
            starts[idx] = start
            booked.append((start, start + problem.jobs[idx].runtime, problem.jobs[idx].nodes))
    return starts


def naive_optimum(problem: ReservationProblem, objective: Sequence[str]) -> tuple[float, ...]:
    """The least terms by count: in the order of the starts of an optimal schedule nothing starts later."""
    values = []
    for order in itertools.permutations(range(len(problem.jobs))):
        starts = naive_greedy(problem, order)
        values.append(_values(problem, objective, [start < 0 for start in starts]))
    return min(values)


def naive_shape_optimum(problem: ReservationProblem, objective: Sequence[str]) -> tuple[float, ...]:
    """The least terms over all starts and all sets of the shape, job by job."""
    return min(
        _values(problem, objective, [at is None for at in placed]) for placed in _placements(problem, [])
    )


Placement = tuple[int, tuple[int, ...]]


def _placements(
    problem: ReservationProblem, placed: list[Placement | None]
) -> Iterator[list[Placement | None]]:
    if len(placed) == len(problem.jobs):
        yield placed
        return
    yield from _placements(problem, [*placed, None])
    job = problem.jobs[len(placed)]
    for nodes in itertools.combinations(range(problem.topology.num_nodes), job.nodes):
        if not has_shape(problem.topology, list(nodes), problem.shape):
            continue
        for start in range(job.arrival, job.deadline - job.runtime + 1):
            end = start + job.runtime
            clash = any(
                other is not None
                and other[0] < end
                and start < other[0] + problem.jobs[idx].runtime
                and set(other[1]) & set(nodes)
                for idx, other in enumerate(placed)
            )
            if not clash:
                yield from _placements(problem, [*placed, (start, nodes)])


def _values(
    problem: ReservationProblem, objective: Sequence[str], rejected: Sequence[bool]
) -> tuple[float, ...]:
    values = []
    for term in objective:
        counts = naive_counts(problem, term)
        lost = sum((c for c, out in zip(counts, rejected, strict=True) if out), Fraction(0))
        values.append(float(lost / sum(counts)) if sum(counts) else 0.0)
    return tuple(values)
