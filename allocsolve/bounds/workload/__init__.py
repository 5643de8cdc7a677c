"""Lower bounds on the terms of workloads, and the prices that prove them."""

from __future__ import annotations

from allocsolve.bounds.workload.costs import MEAN_TERMS, JobCosts, job_costs
from allocsolve.bounds.workload.price_bound import PriceBound

__all__ = ["MEAN_TERMS", "JobCosts", "PriceBound", "job_costs"]
