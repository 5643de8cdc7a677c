"""The cost of the work of malleable jobs, and of those with requests, under the prices of a bound."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from allocsolve.bounds.workload._kernels_malleable_prices import CheapestWork, cheapest_work
from allocsolve.bounds.workload._kernels_prices import price_list
from allocsolve.bounds.workload.costs import job_costs
from allocsolve.model import WORKLOAD_OBJECTIVES, parse_objective

if TYPE_CHECKING:
    from allocsolve.bounds.workload.time_prices import PriceBound
    from allocsolve.model import FloatArray, WorkloadProblem


def work_prices(problem: WorkloadProblem, bound: PriceBound) -> FloatArray:
    """Return the price of all the work of each job that changes its size by a law, at its cheapest end.

    It is the marginal price; such jobs are malleable jobs and those with requests.

    The bound is one of the problem by `time_prices`. Shape (jobs,), read-only, in the units of the cost of a
    job (see `JobCosts`); 0 for jobs of other kinds and for those that do not count.

    Notes
    -----
    At its cheapest end a job with the work price m holds at each instant, with l the price of a node-second
    then, the number of nodes n that maximises ``m / run time on n nodes - l n``. O(jobs * slots of a job^2).

    Examples
    --------
    >>> from allocsolve.bounds.workload import time_prices
    >>> from allocsolve.model import Amdahl, Job, WorkloadProblem
    >>> law = Amdahl(0.9)
    >>> job = Job(0, 2, 60, min_nodes=1, max_nodes=4, speedup=law, kind="malleable")
    >>> problem = WorkloadProblem(4, [job, job, Job(0, 1, 9)])
    >>> work_prices(problem, time_prices(problem)).round(1).tolist()
    [35.5, 35.5, 0.0]
    """
    (term,) = parse_objective(str(bound.certificate["term"]), WORKLOAD_OBJECTIVES)
    costs = job_costs(problem, term)
    count = len(problem.jobs)
    least_costs, starts, ends, prices = (np.zeros(count) for _ in range(4))
    sizes, usage = np.zeros(count, dtype=np.int64), np.zeros(len(bound.prices) + 1)
    out = CheapestWork(least_costs, starts, sizes, ends, prices, usage)
    cheapest_work(problem.packed, costs.slope, costs.floor, price_list(bound.edges, bound.prices), out)
    prices.setflags(write=False)
    return prices
