"""A slow twin of list decoding: pieces in a list, free nodes counted piece by piece, definitions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from naive_malleable import Piece, joined

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allocsolve.model import Job, WorkloadProblem

#: The share of the work that counts as none.
NO_WORK = 1e-12


def naive_decode(problem: WorkloadProblem, order: Sequence[int], caps: Sequence[int]) -> list[list[Piece]]:
    """Return the pieces of each job; `caps` are numbers of nodes, one for each job."""
    placed: list[list[Piece]] = [[] for _ in problem.jobs]
    for job in order:
        placed[job] = naive_pieces(problem, problem.jobs[job], caps[job], [p for row in placed for p in row])
    return placed


def free_at(problem: WorkloadProblem, taken: list[Piece], time: float) -> int:
    return problem.num_nodes - sum(nodes for start, end, nodes in taken if start <= time < end)


def naive_pieces(problem: WorkloadProblem, job: Job, cap: int, taken: list[Piece]) -> list[Piece]:
    times = {nodes: seconds for nodes, seconds in useful_sizes(problem, job) if nodes <= cap}
    if job.kind != "malleable" or job.reconfiguration is not None:
        times = {cap: times[cap]}
    edges = sorted({edge for start, end, _ in taken for edge in (start, end)} | {job.submit})
    earliest = job.submit
    while True:
        begin = next(
            edge for edge in edges if edge >= earliest and free_at(problem, taken, edge) >= min(times)
        )
        run = _run(problem, job, times, taken, edges, begin)
        if run is not None:
            return run
        # It would have to stop at the next hole, so it begins behind.
        earliest = next(
            edge for edge in edges if edge >= begin and free_at(problem, taken, edge) < min(times)
        )


def _run(
    problem: WorkloadProblem,
    job: Job,
    times: dict[int, float],
    taken: list[Piece],
    edges: list[float],
    begin: float,
) -> list[Piece] | None:
    """Return the pieces of a job that begins at `begin`; None if it would have to stop."""
    points = 0 if len(times) == 1 else job.points
    pieces: list[Piece] = []
    time, left, parts = begin, 1.0, points
    while left > NO_WORK and (parts or not points):
        until = min((edge for edge in edges if edge > time), default=math.inf)
        if points:  # the most nodes that are free throughout the next part
            fits = []
            for nodes, seconds in times.items():
                end = time + seconds / points
                within = [time, *(edge for edge in edges if time < edge < end)]
                if all(free_at(problem, taken, instant) >= nodes for instant in within):
                    fits.append((nodes, end))
            if not fits:
                return None
            nodes, end = max(fits)
            parts -= 1
        else:
            allowed = [nodes for nodes in times if nodes <= free_at(problem, taken, time)]
            if not allowed:
                return None
            nodes = max(allowed)
            end = time + left * times[nodes]
            if end - until > NO_WORK * times[nodes]:
                end = until
                left -= (until - time) / times[nodes]
            else:
                end, left = min(end, until), 0.0
        pieces.append((time, end, nodes))
        time = end
    return joined(pieces)


def useful_sizes(problem: WorkloadProblem, job: Job) -> list[tuple[int, float]]:
    """Return the numbers of nodes on which a job is faster than on all fewer ones, with seconds."""
    useful: list[tuple[int, float]] = []
    idx = problem.jobs.names.index(job.name)
    for nodes in range(job.min_nodes or 1, (job.max_nodes or 1) + 1):
        (seconds,) = problem.run_times(np.array([nodes]), np.array([idx])).tolist()
        if not math.isnan(seconds) and (not useful or seconds < useful[-1][1]):
            useful.append((nodes, seconds))
    return useful
