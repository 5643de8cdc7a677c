"""Few malleable jobs by mixed-integer programming: the optimum in continuous time."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated

import numpy as np

from allocsolve.errors import UnsupportedProblem
from allocsolve.exact.workload._event_model import EventModel, Speeds
from allocsolve.exact.workload.prices import Prices
from allocsolve.heuristics.workload.serial import MAX_LISTED_SIZES
from allocsolve.judge.workload.rules import workload_value, workload_violations
from allocsolve.model import EVOLVING, MOLDABLE, Limit, Status, WorkloadObjective, shown_values, terms
from allocsolve.model.options import Options, Params, Within
from allocsolve.model.search import search_result

if TYPE_CHECKING:
    from allocsolve.model import Budget, Result, WorkloadProblem, WorkloadSchedule

#: Relative; values that differ by less count as equal: the tolerance of the solver of the program.
_TOLERANCE = 1e-6


@dataclass(frozen=True, slots=True)
class WorkloadMilpParams(Params):
    """The numbers of `WorkloadMilp`."""

    #: The share of the time for the schedule and the bound of `Prices`, and the most seconds of it.
    prices_share: float = 0.2
    prices_s: float = 0.5


@dataclass(frozen=True, slots=True)
class WorkloadMilp(Options):
    """Minimise a term over all schedules of a few malleable and rigid jobs, with a proof, by HiGHS.

    `UnsupportedProblem` when called, if a job is moldable or evolving, changes its size at points only or at
    a cost, or may not have every number of nodes between its fewest and its most ones.

    Parameters
    ----------
    objective
        ``turnaround``, ``slowdown``, ``wait``, ``makespan``, or several of them, lexicographic: the first one
        is minimised, of the others nothing is proven.
    max_jobs
        Larger problems get the schedule and the bound of `Prices` only (limit ``size``).

    Notes
    -----
    *Method*: a program over the order of all starts and ends (`allocsolve.exact.workload._event_model`), with
    the value and the bound of `Prices` as limits; the order that is best is solved again as a linear program.
    Times are real numbers, as those of the judge are: what is proven holds for all schedules, not for those
    in whole seconds.
    *Guarantee*: ``optimal`` is a proof to a relative difference of 1e-6, the tolerance of HiGHS; the bound
    holds at any time, to the same difference.
    *Complexity*: exponential in the jobs: four take a second, five up to some seconds.

    Examples
    --------
    >>> from allocsolve.model import Budget, Job, PowerLaw, WorkloadProblem
    >>> job = {"min_nodes": 1, "max_nodes": 3, "speedup": PowerLaw(1), "kind": "malleable"}
    >>> problem = WorkloadProblem(4, [Job(0, 3, 100, **job), Job(10, 3, 100, **job)])
    >>> result = WorkloadMilp()(problem, Budget(seconds=60))
    >>> str(result.status), round(result.objective, 3)
    ('optimal', 130.0)
    """

    objective: WorkloadObjective = ("turnaround",)
    max_jobs: Annotated[int, Within(0)] = 5
    params: WorkloadMilpParams = field(default=WorkloadMilpParams(), repr=False)

    def __call__(self, problem: WorkloadProblem, budget: Budget, /) -> Result[WorkloadSchedule]:
        """Solve within the budget; one thread."""
        problem.check_plain("sizes")
        clock = budget.start()
        speeds = _speeds(problem)
        before = clock.stage(self.params.prices_share, self.params.prices_s)
        result = Prices(self.objective)(problem, replace(budget, seconds=max(before.remaining, 1e-9)))
        if result.status is Status.OPTIMAL or result.answer is None or result.objective is None:
            return result
        if len(problem.jobs) > self.max_jobs:
            return replace(result, limit=Limit.SIZE)
        if result.limit is Limit.INTERRUPTED or clock.remaining == 0:
            return result
        value, (lower, *_) = terms(result.objective), terms(result.bound)
        model = EventModel(problem, speeds, self.objective[0], lower, value[0])
        try:
            found = model.solve(clock.remaining)
        except KeyboardInterrupt:
            return replace(result, limit=Limit.INTERRUPTED)
        answer = result.answer
        incumbents = result.incumbents
        if found.schedule is not None and not workload_violations(problem, found.schedule):
            reached = terms(workload_value(problem, found.schedule, self.objective))
            if reached < value:
                value, answer = reached, found.schedule
                incumbents = (*incumbents, (clock.elapsed, shown_values(value)))
        bound = max(lower, found.bound)
        is_met = value[0] - bound <= _TOLERANCE * abs(value[0])
        bound = value[0] if is_met else max(lower, bound - _TOLERANCE * abs(bound))
        limit = Limit.TIME if found.timed_out else result.limit
        certificate = result.certificate
        return search_result(answer, value, (bound,), limit, clock, incumbents, certificate=certificate)


def _speeds(problem: WorkloadProblem) -> list[Speeds]:
    """Return the sizes and speeds of all jobs."""
    packed, evolving = problem.packed, problem.jobs.evolving
    costs = (evolving.stall_fixed, evolving.stall_per_node, evolving.stall_shared)
    speeds = []
    for job, name in enumerate(problem.jobs.names):
        fewest, count = int(packed.min_nodes[job]), int(packed.max_nodes[job] - packed.min_nodes[job]) + 1
        sizes = fewest + np.arange(min(count, MAX_LISTED_SIZES))
        times = problem.run_times(sizes, np.full(len(sizes), job))
        fault = ""
        if packed.kind[job] in (MOLDABLE, EVOLVING):
            fault = f"is {'moldable' if packed.kind[job] == MOLDABLE else 'evolving'}"
        elif packed.points[job] > 0:
            fault = "changes its size at points only"
        elif any(column[job] > 0 for column in costs):
            fault = "pays for changes of its size"
        elif count > len(sizes):
            fault = f"may have {count} numbers of nodes, more than 2^20"
        elif np.isnan(times).any():
            fault = f"may not have every number of nodes in {sizes[0]}..{sizes[-1]}"
        if fault:
            msg = f"job {name!r} {fault}: this solver knows jobs that are rigid or change their size freely"
            raise UnsupportedProblem(msg)
        rates = 1 / times
        useful = int(np.argmax(rates)) + 1
        if (np.diff(rates[:useful], 2) > 1e-12 * rates.max()).any():
            msg = f"job {name!r}: its speed is not concave in its nodes, as this solver needs"
            raise UnsupportedProblem(msg)
        speeds.append(Speeds(sizes[:useful], rates[:useful]))
    return speeds
