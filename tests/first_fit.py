"""A feasible schedule of any workload, made in the most obvious way."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

import numpy as np

from allocsolve.model import WorkloadSchedule

if TYPE_CHECKING:
    from allocsolve.model import WorkloadProblem


def first_fit(problem: WorkloadProblem) -> WorkloadSchedule:
    """Whenever a job is submitted or ends, all that fit start, in order of submission."""
    return _simulated(problem, overtake=True)


def in_order(problem: WorkloadProblem) -> WorkloadSchedule:
    """No job starts before one that was submitted earlier."""
    return _simulated(problem, overtake=False)


def _simulated(problem: WorkloadProblem, *, overtake: bool) -> WorkloadSchedule:
    packed = problem.packed
    submit, nodes, runtime = packed.submit.tolist(), packed.nodes.tolist(), packed.runtime.tolist()
    arriving = np.argsort(packed.submit, kind="stable").tolist()
    starts, free = [0.0] * len(submit), problem.num_nodes
    waiting: list[int] = []
    running: list[tuple[float, int]] = []
    while arriving or waiting:
        now = min([*(submit[job] for job in arriving[:1]), *(end for end, _ in running[:1])])
        while running and running[0][0] <= now:
            free += heapq.heappop(running)[1]
        while arriving and submit[arriving[0]] <= now:
            waiting.append(arriving.pop(0))
        late: list[int] = []
        for job in waiting:
            if nodes[job] <= free and (overtake or not late):
                free -= nodes[job]
                starts[job] = now
                heapq.heappush(running, (now + runtime[job], nodes[job]))
            else:
                late.append(job)
        waiting = late
    return WorkloadSchedule.of(problem, starts)
