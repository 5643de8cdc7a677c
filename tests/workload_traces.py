"""Workloads of real machines, as tests and measurements use them; their logs may not be bundled."""

from __future__ import annotations

import csv
import functools
import gzip
from datetime import datetime
from typing import TYPE_CHECKING

import pytest

from allocsolve.instances import log_problem, read_swf_log
from allocsolve.judge import window_metrics
from allocsolve.model import Jobs, WorkloadProblem

if TYPE_CHECKING:
    from pathlib import Path

    from allocsolve.instances import JobLog
    from allocsolve.model import WorkloadSchedule


@functools.cache
def knl_problem(traces: Path) -> WorkloadProblem:
    """Cori KNL, 6-11 November 2022: 41,524 jobs on 9,688 nodes, without limits."""
    with gzip.open(trace(traces, "cori_knl_merged.csv.gz"), "rt", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    times = [datetime.fromisoformat(row["submit_time"]) for row in rows]
    return WorkloadProblem(
        9688,
        Jobs(
            [(time - times[0]).total_seconds() for time in times],
            [int(row["num_nodes"]) for row in rows],
            [int(row["runtime_seconds"]) for row in rows],
        ),
        name="cori-knl",
    )


def window_turnaround(problem: WorkloadProblem, schedule: WorkloadSchedule) -> float:
    """Return the published mean of Cori KNL: without the warm-up, of what ends by the last submission."""
    return window_metrics(problem, schedule, 12 * 3600, float(problem.packed.submit.max())).turnaround


@functools.cache
def kth_problem(traces: Path) -> WorkloadProblem:
    """KTH-SP2: 28,467 jobs on 100 nodes."""
    return log_problem(swf_log(traces, "KTH-SP2-1996-2.1-cln"))


@functools.cache
def atlas_problem(traces: Path) -> WorkloadProblem:
    """LLNL Atlas: 36,600 jobs on 1,152 nodes of 8 processors."""
    return log_problem(swf_log(traces, "LLNL-Atlas-2006-2.1-cln"))


@functools.cache
def kit_problem(traces: Path, first: int = 10_000) -> WorkloadProblem:
    """KIT-FH2: the first jobs without those above 10,240 of the 24,048 processors."""
    problem = log_problem(swf_log(traces, "KIT-FH2-2016-1-first25326"), jobs=first)
    jobs = [job for job in problem.jobs if job.nodes <= 10_240]
    return WorkloadProblem(problem.num_nodes, jobs, name=problem.name)


def swf_log(traces: Path, name: str) -> JobLog:
    """Return a log of the Parallel Workloads Archive."""
    return read_swf_log(trace(traces, f"{name}.swf.gz"))


def trace(traces: Path, name: str) -> Path:
    """Return the path of a log; the test is skipped if it is not there."""
    path = traces / name
    if not path.exists():
        pytest.skip(f"no {name} among the real logs")
    return path
