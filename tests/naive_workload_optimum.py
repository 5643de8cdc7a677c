"""The optimum of tiny workloads by brute force: plain Python, nothing shared with any solver."""

from __future__ import annotations

import functools
from fractions import Fraction
from typing import TYPE_CHECKING

from naive_malleable import seconds_on, sizes_of
from naive_resources import naive_earliest, needs_of, release_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from naive_resources import Placed

    from allocsolve.model import Job, WorkloadProblem


def runs_of(job: Job) -> list[tuple[int, float]]:
    """Return the sizes of a job and its seconds on each."""
    return [(nodes, seconds_on(job, nodes)) for nodes in sizes_of(job)]


def cost_of(job: Job, term: str, start: float | Fraction, end: float | Fraction) -> Fraction:
    """Return what a job adds to the sum of a mean; of the makespan, which is none, nothing."""
    late = Fraction(start if term == "wait" else end) - Fraction(job.submit)
    if term == "slowdown":
        late = max(Fraction(1), late / max(Fraction(job.runtime), Fraction(10)))
    return Fraction(job.weight) * late if term != "makespan" else Fraction(0)


def naive_values(
    problem: WorkloadProblem, objective: Sequence[str], runs: Sequence[tuple[float, float]]
) -> tuple[float, ...]:
    """Return the terms of an objective, rounded once; runs are pairs of start and end."""
    weight = sum(Fraction(job.weight) for job in problem.jobs)
    values = []
    for term in objective:
        if term == "makespan":
            values.append(max((end for _, end in runs), default=0.0))
            continue
        total = sum(cost_of(job, term, *run) for job, run in zip(problem.jobs, runs, strict=True))
        values.append(float(total / weight) if weight else 0.0)
    return tuple(values)


def naive_optimum(problem: WorkloadProblem, objective: Sequence[str]) -> tuple[float, ...]:
    """Return the least value of an objective, lexicographically, rounded once."""
    return tuple(map(float, _optimum(problem, objective)))


def workload_optimum(problem: WorkloadProblem, term: str) -> Fraction:
    """Return the least value of a term."""
    return _optimum(problem, (term,))[0]


def _optimum(problem: WorkloadProblem, objective: Sequence[str]) -> tuple[Fraction, ...]:
    """Place jobs one after the other, in all orders and sizes, as early as those before them allow.

    Some optimum of each objective is among these schedules. What is placed costs no less later on.
    """
    jobs = [*problem.jobs]
    weight = sum((Fraction(job.weight) for job in jobs), Fraction(0))
    runs = [runs_of(job) for job in jobs]
    best: tuple[Fraction, ...] | None = None

    def costs(idx: int, start: float, end: float) -> tuple[Fraction, ...]:
        return tuple(
            Fraction(end) if term == "makespan" else cost_of(jobs[idx], term, start, end)
            for term in objective
        )

    def after(values: tuple[Fraction, ...], more: tuple[Fraction, ...]) -> tuple[Fraction, ...]:
        rows = zip(objective, values, more, strict=True)
        return tuple(max(value, cost) if term == "makespan" else value + cost for term, value, cost in rows)

    releases = [release_of(job) for job in jobs]
    alone = [
        costs(idx, release, release + min(seconds for _, seconds in runs[idx]))
        for idx, release in enumerate(releases)
    ]

    def extend(placed: list[Placed], waiting: list[int], values: tuple[Fraction, ...]) -> None:
        nonlocal best
        if best is not None and functools.reduce(after, (alone[idx] for idx in waiting), values) >= best:
            return
        if not waiting:
            best = values
        for idx in waiting:
            for nodes, seconds in runs[idx]:
                needs = {**needs_of(jobs[idx]), "nodes": nodes}
                start = naive_earliest(problem, placed, needs, seconds, releases[idx])
                rest = [other for other in waiting if other != idx]
                ran = (start, start + seconds, needs)
                extend([*placed, ran], rest, after(values, costs(idx, start, start + seconds)))

    extend([], [*range(len(jobs))], (Fraction(0),) * len(objective))
    assert best is not None
    scales = (Fraction(1) if term == "makespan" else weight for term in objective)
    return tuple(value / scale if scale else Fraction(0) for value, scale in zip(best, scales, strict=True))
