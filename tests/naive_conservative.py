"""Holes in plans of plain machines, looked for by trying every end of an interval; lists placed in them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from allocsolve.model import WorkloadProblem


class Interval(NamedTuple):
    start: float
    end: float
    nodes: int


def earliest_hole(intervals: list[Interval], num_nodes: int, nodes: int, length: float, now: float) -> float:
    """Return the earliest start from now on at which the nodes are free for this long."""
    for start in sorted({now, *(i.end for i in intervals if i.end > now)}):
        instants = {start, *(i.start for i in intervals if start < i.start < start + length)}
        held = [sum(i.nodes for i in intervals if i.start <= at < i.end) for at in instants]
        if max(held) + nodes <= num_nodes:
            return start
    raise AssertionError


def naive_list_starts(problem: WorkloadProblem, order: Iterable[int] | None = None) -> list[float]:
    """Place each job at its earliest hole for its run time, in an order, else in that of submission."""
    jobs = list(problem.jobs)
    starts = [math.nan] * len(jobs)
    placed: list[Interval] = []
    for idx in sorted(range(len(jobs)), key=lambda idx: jobs[idx].submit) if order is None else order:
        job = jobs[idx]
        starts[idx] = earliest_hole(placed, problem.num_nodes, job.nodes, job.runtime, job.submit)
        placed.append(Interval(starts[idx], starts[idx] + job.runtime, job.nodes))
    return starts
