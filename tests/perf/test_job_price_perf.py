"""Speed of prices per job: one evaluation of the smooth dual, the judge; fixed work, answers checked."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from allocsolve.bounds.workload.job_price_dual import DualJobs, JobDual, JobWindows, slots_of
from allocsolve.judge.workload.job_prices import job_price_bound
from allocsolve.model import Jobs, WorkloadProblem, frozen

if TYPE_CHECKING:
    from pytest_benchmark.fixture import BenchmarkFixture

HOUR = 3600.0


def dual(jobs: int, waited: float) -> JobDual:
    """Jobs as those of a busy cluster of 100 nodes, each with prices for some hours behind its run time."""
    random = np.random.default_rng(3)
    submit = np.cumsum(random.integers(0, 2000, jobs)).astype(np.float64)
    runtime = np.ceil(random.lognormal(7.5, 1.8, jobs)).clip(1, 2e5)
    nodes = np.minimum(100, np.ceil(random.lognormal(1.5, 1.3, jobs))).astype(np.int64)
    columns = (submit, runtime, np.ones(jobs), np.zeros(jobs), nodes)
    edges = np.arange(0, submit[-1] + runtime.max() + waited + HOUR, HOUR)
    last = slots_of(edges, submit + runtime + waited)
    windows = JobWindows.empty(edges, slots_of(edges, submit), last)
    prices = random.exponential(0.1, len(windows.prices)) * nodes[windows.owners] / 10
    return JobDual(DualJobs(*map(frozen, columns)), 100, windows.with_prices(prices))


@pytest.mark.parametrize("temperature", [30.0, 300.0])
def test_smooth_dual(benchmark: BenchmarkFixture, temperature: float) -> None:
    """1,200 jobs with about 20,000 prices. To be had in 12 ms, .6 us a price."""
    problem = dual(1200, 10 * HOUR)
    levels = problem.windows.prices * HOUR
    value, _ = problem.soft(levels.copy(), temperature)  # compiles the kernels
    again, gradient = benchmark(problem.soft, levels, temperature)
    assert again == value
    assert np.abs(gradient).max() <= 1 + 1e-9


def test_judge(benchmark: BenchmarkFixture) -> None:
    """28,000 jobs with about half a million prices, read from JSON before. To be had in .3 s."""
    problem = dual(28_000, 10 * HOUR)
    windows, jobs = problem.windows, problem.jobs
    certificate: dict[str, Any] = {
        "kind": "job-prices",
        "term": "turnaround",
        "edges": windows.edges.astype(int).tolist(),
        "nodes": 1,
        "unit": 10**6,
        "first_slots": windows.first.tolist(),
        "offsets": windows.offsets.tolist(),
        "prices": np.rint(windows.prices * 10**6).astype(int).tolist(),
    }
    workload = WorkloadProblem(100, Jobs(jobs.submit, jobs.nodes, jobs.runtime, np.full(28_000, np.nan)))
    certificate = json.loads(json.dumps(certificate))
    job_price_bound(workload, certificate, "turnaround")  # compiles the kernels
    bound = benchmark(job_price_bound, workload, certificate, "turnaround")
    exact = problem.exact(windows.prices * windows.lengths) / 28_000
    assert bound == pytest.approx(exact, abs=1e-2)
