"""The baseline of workloads with evolving jobs: what policies make, and the bound."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from allocsolve.exact.workload._bounds import TermBound, bound_by_time, bound_of_jobs_alone
from allocsolve.heuristics.workload.easyback import EvolvEasyback
from allocsolve.heuristics.workload.plan import shown_values
from allocsolve.heuristics.workload.rebalancing import StaticPrice
from allocsolve.judge.workload import workload_value
from allocsolve.model import PROFILE, Limit, Result, Status, terms

if TYPE_CHECKING:
    from collections.abc import Iterator

    from allocsolve.model import Clock, Value, WorkloadObjective, WorkloadProblem, WorkloadSchedule

__all__ = ["best_of_policies"]


def best_of_policies(
    problem: WorkloadProblem, objective: WorkloadObjective, clock: Clock, start: TermBound | None
) -> Result[WorkloadSchedule]:
    """Return the best schedule that policies make, with a bound on the first term.

    `start` is an earlier bound by prices, from whose certificate the ascent goes on.
    """
    best: tuple[tuple[float, ...], WorkloadSchedule] | None = None
    incumbents: list[tuple[float, Value]] = []
    bound, limit = TermBound(bound_of_jobs_alone(problem, objective[0], None)), None
    try:
        for schedule in _schedules(problem, clock):
            values = terms(workload_value(problem, schedule, objective))
            if best is None or values < best[0]:
                best = values, schedule
                incumbents.append((clock.elapsed, shown_values(values)))
        certificate = None if start is None else start.certificate
        bound = bound_by_time(problem, objective[0], None, clock, certificate)
    except TimeoutError:
        limit = Limit.TIME
    except KeyboardInterrupt:
        if best is None:
            raise
        limit = Limit.INTERRUPTED
    assert best is not None  # the first policy has no clock
    values, schedule = best
    lower = min(bound.value, values[0])
    proven = len(values) == 1 and lower == values[0]
    limit = limit or (Limit.TIME if bound.timed_out else None)
    return Result(
        Status.OPTIMAL if proven else Status.FEASIBLE,
        schedule,
        shown_values(values),
        shown_values((lower, *(-math.inf,) * (len(values) - 1))),
        None if proven else limit,
        clock.elapsed,
        tuple(incumbents),
        bound.certificate,
    )


def _schedules(problem: WorkloadProblem, clock: Clock) -> Iterator[WorkloadSchedule]:
    """Yield what the policies make that answer the requests of all jobs."""
    yield EvolvEasyback().simulated(problem).schedule
    if not (problem.jobs.evolving.reading == PROFILE).any():
        yield StaticPrice().simulated(problem, clock=clock).schedule
