"""Lower bounds for exact solvers and baselines: what holds without a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from allocsolve.heuristics.workload.plan import plan_values

if TYPE_CHECKING:
    from collections.abc import Mapping

    from allocsolve.heuristics.workload.serial import Sizes
    from allocsolve.model import Clock, FloatArray, WorkloadProblem, WorkloadTerm

__all__ = ["TermBound", "term_bound"]


class TermBound(NamedTuple):
    """A lower bound on a term."""

    value: float
    #: For the judge; None if the bound needs none.
    certificate: Mapping[str, object] | None = None
    #: Shape (jobs,), seconds: cheapest starts under the prices, if there are prices.
    starts: FloatArray | None = None


def term_bound(problem: WorkloadProblem, term: WorkloadTerm, sizes: Sizes, clock: Clock) -> TermBound:
    """Return the best bound within the time of the clock."""
    submit, fastest = problem.packed.submit, sizes.seconds[sizes.offsets[:-1]]
    (alone,) = plan_values(problem, (term,), submit, submit + fastest)
    return TermBound(alone)
