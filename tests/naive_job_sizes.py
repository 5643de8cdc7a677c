"""A slow twin of `job_sizes`: one job after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from allocsolve.model.job_kinds import ALL_SIZES, allowed_sizes
from allocsolve.model.speedup import SpeedupTable

if TYPE_CHECKING:
    from allocsolve.model import WorkloadProblem

MANY_SIZES = 16


def naive_job_sizes(problem: WorkloadProblem, *, every: bool = False) -> list[list[tuple[int, float]]]:
    """Return pairs of nodes and seconds of each job, the fastest first."""
    return [_sizes_of(problem, idx, every=every) for idx in range(len(problem.jobs))]


def _sizes_of(problem: WorkloadProblem, idx: int, *, every: bool) -> list[tuple[int, float]]:
    packed = problem.packed
    nodes, runtime = int(packed.nodes[idx]), float(packed.runtime[idx])
    law = problem.jobs.speedups[idx] if problem.jobs.speedups else None
    if law is None:
        return [(nodes, runtime)]
    least, most, step = int(packed.min_nodes[idx]), int(packed.max_nodes[idx]), int(packed.size_step[idx])
    times: dict[int, float] = {}
    if isinstance(law, SpeedupTable):
        times = dict(law.rows)
        numbers = sorted(times)
    else:
        listed = every or most - least < MANY_SIZES or step != ALL_SIZES
        numbers = list(allowed_sizes(least, most, step)) if listed else []
    if not numbers or (len(numbers) > MANY_SIZES and not every):
        wanted = np.geomspace(least, most, MANY_SIZES)
        allowed = np.array(numbers) if numbers else None
        near = np.rint(wanted) if allowed is None else allowed[np.searchsorted(allowed, wanted - 0.5)]
        numbers = sorted({*near.astype(int).tolist(), nodes})
    rows: list[tuple[int, float]] = []
    for number in numbers:
        if isinstance(law, SpeedupTable):
            seconds = float(times[number])
        elif number == nodes:
            seconds = runtime
        else:
            seconds = runtime * (law.time_ratio(number, nodes))
        if not rows or seconds < rows[-1][1]:
            rows.append((number, seconds))
    return rows[::-1]
