"""The optimum of tiny workloads by brute force: plain Python, nothing shared with any solver."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from allocsolve.model import WorkloadObjective, WorkloadProblem

__all__ = ["naive_earliest", "naive_optimum", "naive_sizes", "naive_values"]


def naive_sizes(problem: WorkloadProblem, job: int) -> list[tuple[int, float]]:
    """All pairs of nodes and seconds of a job."""
    row = problem.jobs[job]
    assert row.min_nodes is not None
    assert row.max_nodes is not None
    if row.speedup is None:
        return [(row.nodes, row.runtime)]
    rows = getattr(row.speedup, "rows", None)
    if rows is not None:
        return list(rows)
    law = row.speedup
    sizes = []
    for nodes in range(row.min_nodes, row.max_nodes + 1):
        ratio = law.time_ratio(nodes, row.nodes)  # type: ignore[union-attr]
        sizes.append((nodes, row.runtime if nodes == row.nodes else row.runtime * ratio))
    return sizes


def naive_earliest(
    placed: Sequence[tuple[float, float, int]], num_nodes: int, submit: float, nodes: int, seconds: float
) -> float:
    """The first time from `submit` on that leaves room among placed jobs, (start, end, nodes) each."""
    for start in sorted({submit, *(end for _, end, _ in placed if end > submit)}):
        end = start + seconds
        moments = [start, *(begin for begin, _, _ in placed if start < begin < end)]
        used = (sum(held for begin, until, held in placed if begin <= at < until) for at in moments)
        if all(held + nodes <= num_nodes for held in used):
            return start
    raise AssertionError


def naive_values(
    problem: WorkloadProblem, objective: WorkloadObjective, runs: Sequence[tuple[float, float]]
) -> tuple[float, ...]:
    """The terms of an objective; runs are pairs of start and end."""
    values = []
    for term in objective:
        if term == "makespan":
            values.append(max((end for _, end in runs), default=0.0))
            continue
        total = weights = 0.0
        for (start, end), job in zip(runs, problem.jobs, strict=True):
            cost = (start if term == "wait" else end) - job.submit
            if term == "slowdown":
                cost = max(1.0, cost / max(job.runtime, 10))
            total += job.weight * cost
            weights += job.weight
        values.append(total / weights if weights else 0.0)
    return tuple(values)


def _schedules(problem: WorkloadProblem) -> Iterator[list[tuple[float, float]]]:
    """Every way to place the jobs one after the other, each as early as possible.

    Some optimum of each objective is among them.
    """
    count = len(problem.jobs)
    choices = [naive_sizes(problem, job) for job in range(count)]
    for order in itertools.permutations(range(count)):
        for sizes in itertools.product(*choices):
            placed: list[tuple[float, float, int]] = []
            runs = [(0.0, 0.0)] * count
            for job in order:
                nodes, seconds = sizes[job]
                start = naive_earliest(placed, problem.num_nodes, problem.jobs[job].submit, nodes, seconds)
                placed.append((start, start + seconds, nodes))
                runs[job] = start, start + seconds
            yield runs


def naive_optimum(problem: WorkloadProblem, objective: WorkloadObjective) -> tuple[float, ...]:
    """The least value of an objective, lexicographically."""
    return min(naive_values(problem, objective, runs) for runs in _schedules(problem))
