"""Conservative backfilling of whole logs: Cori KNL (41,524 jobs) and KTH-SP2 (28,467 jobs)."""

from __future__ import annotations

import csv
import gzip
import os
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from allocsolve.heuristics.workload.conservative import Conservative, conservative_plan
from allocsolve.model import Budget, Jobs, WorkloadProblem

if TYPE_CHECKING:
    from pytest_benchmark.fixture import BenchmarkFixture

TRACES = Path(os.environ.get("ALLOCSOLVE_TRACES", ""))
WARM_UP_S = 12 * 3600


def _trace(name: str) -> Path:
    path = TRACES / name
    if not os.environ.get("ALLOCSOLVE_TRACES") or not path.exists():
        pytest.skip(f"ALLOCSOLVE_TRACES names no folder with {name}")
    return path


@pytest.fixture(scope="module")
def knl() -> WorkloadProblem:
    with gzip.open(_trace("cori_knl_merged.csv.gz"), "rt") as file:
        rows = list(csv.DictReader(file))
    submits = [datetime.fromisoformat(row["submit_time"]) for row in rows]
    seconds = [(submit - min(submits)).total_seconds() for submit in submits]
    nodes = [int(row["num_nodes"]) for row in rows]
    return WorkloadProblem(9688, Jobs(seconds, nodes, [float(row["runtime_seconds"]) for row in rows]))


@pytest.fixture(scope="module")
def kth() -> WorkloadProblem:
    with gzip.open(_trace("KTH-SP2-1996-2.1-cln.swf.gz"), "rt") as file:
        rows = np.array([line.split() for line in file if line.strip() and not line.startswith(";")], float)
    submit, runtime, nodes, limit = rows[:, 1], rows[:, 3], rows[:, 4], rows[:, 8]
    run = (runtime > 0) & (nodes > 0)
    limit = np.where(limit > 0, np.maximum(limit, runtime), np.nan)
    return WorkloadProblem(100, Jobs(submit[run] - submit[run].min(), nodes[run], runtime[run], limit[run]))


@pytest.mark.parametrize(("compression", "turnaround"), [("compress", 5003.21), ("replan", 5199.86)])
def test_cori_knl(
    benchmark: BenchmarkFixture, knl: WorkloadProblem, compression: Any, turnaround: float
) -> None:
    solver, budget = Conservative(compression), Budget()
    solver(WorkloadProblem(4, knl.jobs[:0]), budget)  # compiled
    result = benchmark.pedantic(solver, (knl, budget), rounds=3)
    submit, ends = knl.packed.submit, result.answer.last_ends
    window = (submit >= WARM_UP_S) & (ends <= submit.max())
    assert abs((ends - submit)[window].mean() - turnaround) < 0.05


@pytest.mark.parametrize(("compression", "turnaround"), [("compress", 16_205.93), ("replan", 16_941.74)])
def test_kth_sp2(
    benchmark: BenchmarkFixture, kth: WorkloadProblem, compression: Any, turnaround: float
) -> None:
    solver, budget = Conservative(compression), Budget()
    solver(WorkloadProblem(4, kth.jobs[:0]), budget)  # compiled
    result = benchmark.pedantic(solver, (kth, budget), rounds=3)
    assert abs((result.answer.last_ends - kth.packed.submit).mean() - turnaround) < 0.05
    assert result.runtime < 5  # seconds


def test_no_job_of_the_logs_starts_after_its_promise(knl: WorkloadProblem, kth: WorkloadProblem) -> None:
    for problem in (knl, kth):
        plan = conservative_plan(problem)
        assert (plan.starts <= plan.promised).all()
