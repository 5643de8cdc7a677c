"""The cost of each job of a workload by its end, for every mean over the jobs; and rows of evolving jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from allocsolve.bounds.workload._kernels_phase_prices import PhaseRows
from allocsolve.bounds.workload._kernels_prices import ProfileRows
from allocsolve.errors import InvalidOption
from allocsolve.model import PROFILE, REACTIVE, SLOWDOWN_FLOOR_S, frozen

if TYPE_CHECKING:
    from allocsolve.model import FloatArray, IntArray, WorkloadProblem, WorkloadTerm

#: The terms that are a mean over the jobs.
MEAN_TERMS: Final = ("turnaround", "slowdown", "wait")


class JobCosts(NamedTuple):
    """A term as a sum over the jobs: job j that ends at C costs ``max(floor_j, slope_j (C - submit_j))``.

    The value of the term is ``(sum of the costs - offset) / scale``.
    """

    #: Shape (jobs,), per second; read-only.
    slope: FloatArray
    #: Shape (jobs,); read-only.
    floor: FloatArray
    offset: float
    #: Above 0.
    scale: float


def job_costs(problem: WorkloadProblem, term: WorkloadTerm) -> JobCosts:
    """Return the costs of the jobs under a term that is a mean over the jobs.

    It is one of `MEAN_TERMS`; ``wait`` for rigid jobs only, whose run times are known beforehand.
    """
    packed = problem.jobs.packed
    weight = packed.weight
    scale = float(weight.sum()) or 1.0
    none = np.zeros(len(weight))
    if term == "turnaround":
        return JobCosts(weight, frozen(none), 0.0, scale)
    if term == "slowdown":
        slope = weight / np.maximum(packed.runtime, SLOWDOWN_FLOOR_S)
        return JobCosts(frozen(slope), weight, 0.0, scale)
    if term == "wait" and problem.is_rigid:
        return JobCosts(weight, frozen(none), float((weight * packed.runtime).sum()), scale)
    reason = "of jobs that are not rigid" if term == "wait" else "is no mean over the jobs"
    raise InvalidOption(f"{term} {reason}: prices bound {', '.join(MEAN_TERMS)} (of rigid jobs)")


#: Relative; far above the rounding of a product of doubles.
_ROUNDING = 1e-12


def least_phases(problem: WorkloadProblem, idx: int) -> list[tuple[float, float]]:
    """Return the least that a job with phases does: in order, pairs of seconds and the most useful nodes.

    The first phase is the start, if that takes time: without progress, on the fewest nodes of the job, or on
    as many as its first phase can use if these are fewer. Neighbours with equal numbers of nodes are one
    phase.
    """
    packed, evolving = problem.packed, problem.jobs.evolving
    at = slice(*evolving.offsets[idx : idx + 2])
    useful = np.minimum(evolving.nodes[at], packed.max_nodes[idx]).tolist()
    phases = list(zip((evolving.amounts[at] / useful).tolist(), useful, strict=True))
    start = float(evolving.join_start[idx])
    if start > 0:
        phases.insert(0, (start, min(useful[0], int(packed.min_nodes[idx]))))
    merged: list[tuple[float, float]] = []
    for seconds, nodes in phases:
        if merged and merged[-1][1] == nodes:
            merged[-1] = (merged[-1][0] + seconds, nodes)
        else:
            merged.append((seconds, float(nodes)))
    return merged


def phase_rows(problem: WorkloadProblem) -> PhaseRows:
    """Return two readings of each job with phases: all its work in any order, and phase by phase.

    In any order means at the rate of the phase that can use most nodes. With one phase both are the same
    reading.
    """
    jobs: list[int] = []
    shortest: list[float] = []
    readings: list[list[tuple[float, float]]] = []
    for idx in np.flatnonzero(problem.jobs.evolving.reading == REACTIVE).tolist():
        phases = least_phases(problem, idx)
        widest = max(nodes for _, nodes in phases)
        both = [[(sum(seconds * nodes for seconds, nodes in phases) / widest, widest)], phases]
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

    A job that may hold its nodes for longer in any step may in this bound do so in every step, without limit.
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
