"""Lower bounds for exact solvers and baselines: what holds without a model."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from allocsolve.bounds.workload import MEAN_TERMS, makespan_bound, shortest_run_times, time_prices
from allocsolve.bounds.workload.job_prices import job_prices, job_prices_of
from allocsolve.heuristics.workload.plan import plan_values
from allocsolve.judge.workload_certificate import workload_certified_bound
from allocsolve.model import OVERHEAD

if TYPE_CHECKING:
    from collections.abc import Mapping

    from allocsolve.bounds.workload import PriceBound
    from allocsolve.heuristics.workload.serial import Sizes
    from allocsolve.model import Clock, WorkloadProblem, WorkloadTerm

__all__ = [
    "ALWAYS_BY_JOB",
    "TermBound",
    "bound_by_jobs",
    "bound_by_time",
    "bound_of_certificate",
    "bound_of_jobs_alone",
]

#: Up to so many jobs get prices of their own in any case.
ALWAYS_BY_JOB = 100


@dataclass(frozen=True, slots=True)
class TermBound:
    """A lower bound on a term."""

    value: float
    #: For the judge; None if there is none.
    certificate: Mapping[str, object] | None = None
    #: The prices, if there are any.
    prices: PriceBound | None = None
    #: Whether the clock ended the ascent of the prices, so that it might have come further.
    timed_out: bool = False


def bound_of_jobs_alone(problem: WorkloadProblem, term: WorkloadTerm, sizes: Sizes | None) -> float:
    """Return the term as if each job had the cluster to itself, rounded as values of plans are.

    Evolving jobs have no sizes.
    """
    submit = problem.packed.submit
    if sizes is None or (problem.packed.speedup == OVERHEAD).any():  # not all sizes are listed
        fastest = shortest_run_times(problem)
    else:
        fastest = sizes.seconds[sizes.offsets[:-1]]
    return plan_values(problem, (term,), submit, submit + fastest)[0]


def bound_of_certificate(
    problem: WorkloadProblem, term: WorkloadTerm, certificate: Mapping[str, object]
) -> TermBound:
    """Return what the judge makes of a certificate; prices of node-seconds are for `bound_by_time`.

    Raises
    ------
    InvalidAnswer
        If it is no certificate of the problem and term.
    """
    if certificate.get("kind") == "job-prices":
        prices = job_prices_of(problem, term, certificate)
        return TermBound(prices.value, certificate, prices)
    return TermBound(workload_certified_bound(problem, certificate, (term,)), certificate)


def bound_by_time(
    problem: WorkloadProblem,
    term: WorkloadTerm,
    sizes: Sizes | None,
    clock: Clock,
    start: Mapping[str, object] | None = None,
) -> TermBound:
    """Return the bound by prices of node-seconds, or the combinatorial one on the makespan.

    `start` is a certificate of earlier prices, from which the ascent goes on.
    """
    alone = bound_of_jobs_alone(problem, term, sizes)
    if term == "makespan":
        makespan = makespan_bound(problem)
        return TermBound(max(makespan.value, alone), makespan.certificate)
    if term not in MEAN_TERMS or (term == "wait" and not problem.is_rigid) or not len(problem.jobs):
        return TermBound(alone)
    prices = time_prices(problem, term, clock=None if clock.remaining == math.inf else clock, start=start)
    if prices.interrupted:
        raise KeyboardInterrupt
    return TermBound(max(prices.value, alone), prices.certificate, prices, clock.remaining == 0)


def bound_by_jobs(
    problem: WorkloadProblem, term: WorkloadTerm, start: TermBound, clock: Clock, workers: int
) -> TermBound:
    """Return the bound by prices per job, from those of node-seconds on; never a worse one."""
    if start.prices is None or not problem.is_rigid:
        return start
    prices = job_prices(problem, term, start.prices, clock=clock, workers=workers)
    if prices.interrupted:
        raise KeyboardInterrupt
    timed_out = start.timed_out or clock.remaining == 0
    return TermBound(max(prices.value, start.value), prices.certificate, prices, timed_out)
