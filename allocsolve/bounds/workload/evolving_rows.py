"""What jobs with phases or profiles do at least, as arrays for the kernels that price node-seconds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from allocsolve.bounds.workload._kernels_phase_prices import PhaseRows
from allocsolve.bounds.workload._kernels_profile_prices import ProfileRows
from allocsolve.model import PROFILE, REACTIVE, frozen

if TYPE_CHECKING:
    from allocsolve.model import IntArray, WorkloadProblem

#: Far above the rounding of a product, relative.
_ROUNDING = 1e-12

__all__ = ["least_phases", "phase_rows", "profile_rows"]


def least_phases(problem: WorkloadProblem, idx: int) -> list[tuple[float, float]]:
    """Return what a job with phases does at least: in order, seconds on the most useful nodes, and these.

    The first one is its start, if that takes time: without progress, on its fewest nodes, or on as many as
    its first phase can use, if these are fewer. Neighbours on equal nodes are one phase.
    """
    packed, evolving = problem.packed, problem.jobs.evolving
    at = slice(*evolving.offsets[idx : idx + 2])
    most = np.minimum(evolving.nodes[at], packed.max_nodes[idx]).tolist()
    phases = list(zip((evolving.amounts[at] / most).tolist(), most, strict=True))
    start = float(evolving.join_start[idx])
    if start > 0:
        phases.insert(0, (start, min(most[0], int(packed.min_nodes[idx]))))
    merged: list[tuple[float, float]] = []
    for seconds, nodes in phases:
        if merged and merged[-1][1] == nodes:
            merged[-1] = (merged[-1][0] + seconds, nodes)
        else:
            merged.append((seconds, float(nodes)))
    return merged


def phase_rows(problem: WorkloadProblem) -> PhaseRows:
    """Return two readings of each job with phases: all its work in any order, and phase by phase.

    In any order, at the rate of the phase that can use most nodes; only the first reading if that is all.
    """
    jobs: list[int] = []
    shortest: list[float] = []
    readings: list[list[tuple[float, float]]] = []
    for idx in np.flatnonzero(problem.jobs.evolving.reading == REACTIVE).tolist():
        phases = least_phases(problem, idx)
        most = max(nodes for _, nodes in phases)
        both = [[(sum(seconds * nodes for seconds, nodes in phases) / most, most)], phases]
        for reading in both[: len(phases)]:
            jobs.append(idx)
            shortest.append(sum(seconds for seconds, _ in phases))
            readings.append(reading)
    columns = np.array([phase for reading in readings for phase in reading]).reshape(-1, 2)
    lengths = [0, *(len(reading) for reading in readings)]
    floats = (np.array(shortest, dtype=np.float64), columns[:, 0].copy(), columns[:, 1].copy())
    return PhaseRows(_integers(jobs), _integers(np.cumsum(lengths)), *map(frozen, floats))


def profile_rows(problem: WorkloadProblem) -> ProfileRows:
    """Return the jobs with profiles.

    One that may hold its nodes for longer in any step may in this bound do so in each, without limit.
    """
    evolving = problem.jobs.evolving
    jobs = np.flatnonzero(evolving.reading == PROFILE)
    until: list[float] = []
    nodes: list[int] = []
    waits, lengths = [], [0]
    for idx in jobs.tolist():
        at = slice(*evolving.offsets[idx : idx + 2])
        seconds = evolving.amounts[at]
        until += np.cumsum(seconds).tolist()
        nodes += evolving.nodes[at].tolist()
        longest = np.floor(seconds * evolving.expand_limit[idx] * (1 + _ROUNDING))
        waits.append(bool((longest > seconds).any()))
        lengths.append(len(seconds))
    floats = (np.array(until, dtype=np.float64), np.array(nodes, dtype=np.float64))
    offsets = np.cumsum(lengths)
    return ProfileRows(_integers(jobs), _integers(waits), _integers(offsets), *map(frozen, floats))


def _integers(values: object) -> IntArray:
    return frozen(np.array(values, dtype=np.int64))
