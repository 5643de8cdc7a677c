"""Lower bounds on the terms of workloads, and the prices that prove them."""

from __future__ import annotations

from allocsolve.bounds.workload.combinatorial import (
    MakespanBound,
    least_areas,
    makespan_bound,
    shortest_run_times,
    workload_bound,
)
from allocsolve.bounds.workload.costs import MEAN_TERMS, JobCosts, job_costs
from allocsolve.bounds.workload.job_prices import job_prices
from allocsolve.bounds.workload.price_bound import PriceBound
from allocsolve.bounds.workload.time_prices import time_prices
from allocsolve.bounds.workload.work_prices import work_prices

__all__ = [
    "MEAN_TERMS",
    "JobCosts",
    "MakespanBound",
    "PriceBound",
    "job_costs",
    "job_prices",
    "least_areas",
    "makespan_bound",
    "shortest_run_times",
    "time_prices",
    "work_prices",
    "workload_bound",
]
