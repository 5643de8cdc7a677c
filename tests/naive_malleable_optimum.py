"""The optimum of few malleable jobs: every order of starts and ends, and every set of sizes at a time.

Plain Python and linear programs, nothing shared with any solver: for each order of the events, the seconds
that all running jobs together spend on each tuple of sizes that fits the cluster.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import linprog

if TYPE_CHECKING:
    from collections.abc import Iterator

    from allocsolve.model import WorkloadProblem, WorkloadTerm

#: The run time (s) below which a slowdown is relative to it.
FLOOR_S = 10


def optimum(problem: WorkloadProblem, term: WorkloadTerm) -> float:
    """Return the least value of a term over all schedules, to about 1e-9."""
    return min(_least(problem, term, order) for order in _orders(len(problem.jobs)))


def _orders(count: int) -> Iterator[tuple[int, ...]]:
    """Yield all orders of events: each job twice, its start before its end."""
    yield from dict.fromkeys(itertools.permutations([*range(count)] * 2))


def _rate(problem: WorkloadProblem, job: int, size: int) -> float:
    (seconds,) = problem.run_times(np.array([size]), np.array([job])).tolist()
    return 0.0 if math.isnan(seconds) else 1 / seconds


def _least(problem: WorkloadProblem, term: WorkloadTerm, order: tuple[int, ...]) -> float:
    jobs = [*problem.jobs]
    events = len(order)
    first = {job: order.index(job) for job in order}
    last = {job: events - 1 - order[::-1].index(job) for job in order}
    columns: list[tuple[int, tuple[int, ...], tuple[int, ...]]] = []  # interval, jobs, sizes
    for event in range(events - 1):
        running = tuple(job for job in first if first[job] <= event < last[job])
        sizes = [range(jobs[job].min_nodes or 1, (jobs[job].max_nodes or 1) + 1) for job in running]
        columns += [
            (event, running, chosen)
            for chosen in itertools.product(*sizes)
            if sum(chosen) <= problem.num_nodes
        ]
    # The times of the events, the costs of the jobs, the makespan, the seconds of the columns.
    width = events + len(jobs) + 1 + len(columns)
    equal, right, above, limits = [], [], [], []
    for event in range(events - 1):
        row = np.zeros(width)
        row[event], row[event + 1] = 1, -1
        for at, (interval, _, _) in enumerate(columns):
            row[events + len(jobs) + 1 + at] = float(interval == event)
        equal.append(row)
        right.append(0.0)
    cost, total = np.zeros(width), sum(job.weight for job in jobs)
    for job, what in enumerate(jobs):
        work = np.zeros(width)
        for at, (_, running, chosen) in enumerate(columns):
            if job in running:
                work[events + len(jobs) + 1 + at] = _rate(problem, job, chosen[running.index(job)])
        equal.append(work)
        right.append(1.0)
        begins = np.zeros(width)
        begins[first[job]] = -1
        above.append(begins)
        limits.append(-what.submit)
        end, own = np.zeros(width), events + job
        end[last[job]], end[events + len(jobs)] = 1, -1
        above.append(end)
        limits.append(0.0)
        row = np.zeros(width)
        row[first[job] if term == "wait" else last[job]] = 1
        row[own] = -max(what.runtime, FLOOR_S) if term == "slowdown" else -1
        above.append(row)
        limits.append(what.submit)
        cost[own] = what.weight / total if total and term != "makespan" else 0
    cost[events + len(jobs)] = float(term == "makespan")
    low = [0.0] * events + [float(term == "slowdown")] * len(jobs) + [0.0] * (1 + len(columns))
    found = linprog(cost, np.array(above), limits, np.array(equal), right, [(least, None) for least in low])
    return math.inf if found.status or found.fun is None else float(found.fun)
