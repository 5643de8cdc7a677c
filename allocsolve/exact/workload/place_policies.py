"""Nodes that are places: the best schedule of policies, with the bound of prices of what is counted."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from allocsolve.bounds.workload import machine_prices
from allocsolve.exact.workload._windows import TermBound, bound_by_time, bound_of_jobs_alone, bounded_result
from allocsolve.heuristics.workload.policies import QUEUE_ORDERS, Easy, FirstFit
from allocsolve.heuristics.workload.serial import job_sizes
from allocsolve.judge.workload.rules import workload_value
from allocsolve.model import Limit, terms
from allocsolve.model.search import Best
from allocsolve.simulation.node_choice import NODE_CHOICES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from allocsolve.exact.workload._windows import Earlier
    from allocsolve.model import Budget, Clock, Result, WorkloadProblem, WorkloadSchedule


def best_on_places(
    earlier: Earlier, budget: Budget, clock: Clock, prices_share: float
) -> Result[WorkloadSchedule]:
    """Return the best schedule of policies on nodes that are places, with the bound of prices of counts.

    The budget's iterations are policies that are run; the prices get a share of the time.
    """
    problem, term, counts = earlier.problem, earlier.objective[0], earlier.problem.on_counts()
    sizes = job_sizes(counts)
    best: Best[WorkloadSchedule] = Best(clock)
    if earlier.schedule is not None:
        best.keep(earlier.schedule, earlier.values)
    limit, bound = None, TermBound(bound_of_jobs_alone(counts, term, sizes))
    try:
        own = clock.stage(prices_share)
        if term == "makespan":
            bound = replace(bound_by_time(counts, term, sizes, own), certificate=None)
        else:
            start = None if earlier.bound is None else earlier.bound.certificate
            prices = machine_prices(
                counts, term, clock=own if own.remaining < math.inf else None, start=start
            )
            bound = TermBound(max(bound.value, prices.value), prices.certificate)
        for number, schedule in enumerate(_place_schedules(problem)):
            best.keep(schedule, terms(workload_value(problem, schedule, earlier.objective)))
            if best.values == (bound.value,):
                break
            if clock.remaining == 0 or number + 1 == budget.iterations:
                limit = Limit.TIME if clock.remaining == 0 else Limit.ITERATIONS
                break
    except KeyboardInterrupt:
        if best.answer is None:
            raise
        limit = Limit.INTERRUPTED
    return bounded_result(best, bound, limit, clock)


def _place_schedules(problem: WorkloadProblem) -> Iterator[WorkloadSchedule]:
    """Yield schedules of first fit, and of EASY with true run times in each order, by each rule of choice."""
    if problem.closed:  # where first fit asks whether a job ends before a node closes
        problem = replace(problem, jobs=problem.jobs.replace(limit=problem.jobs.packed.runtime))
    for choice in NODE_CHOICES:
        yield FirstFit(choice=choice).simulated(problem).schedule
    for order in QUEUE_ORDERS:
        for choice in NODE_CHOICES:
            yield Easy(order=order, estimate="actual", choice=choice).simulated(problem).schedule
