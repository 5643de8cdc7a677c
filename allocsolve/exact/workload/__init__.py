"""Exact solvers of workloads, and the baseline: a schedule and a certified bound together."""

from __future__ import annotations

from allocsolve.exact.workload.cpsat import WorkloadCpSat
from allocsolve.exact.workload.prices import Prices

__all__ = ["Prices", "WorkloadCpSat"]
