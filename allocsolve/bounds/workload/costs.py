"""What each job of a workload costs by the time it ends, for every term that is a mean over the jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from allocsolve.errors import InvalidOption
from allocsolve.model import SLOWDOWN_FLOOR_S
from allocsolve.model.arrays import frozen

if TYPE_CHECKING:
    from allocsolve.model import FloatArray, WorkloadProblem, WorkloadTerm

__all__ = ["MEAN_TERMS", "JobCosts", "job_costs"]

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

    Parameters
    ----------
    problem
        The problem.
    term
        One of `MEAN_TERMS`; ``wait`` for rigid jobs only, whose run times are known beforehand.

    Raises
    ------
    InvalidOption
        If the term is none of these.
    """
    packed = problem.packed
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
    msg = f"{term} {reason}: prices bound {', '.join(MEAN_TERMS)} (of rigid jobs)"
    raise InvalidOption(msg)
