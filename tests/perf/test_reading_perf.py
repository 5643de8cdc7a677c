"""What it costs to read a log of 28,467 jobs from its problem file, and to begin at all."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

import numpy as np

from allocsolve import Jobs, WorkloadProblem
from allocsolve.instances import read_problem, write_problem

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_benchmark.fixture import BenchmarkFixture

JOBS = 28_467


def test_a_log_is_read(benchmark: BenchmarkFixture, tmp_path: Path) -> None:
    """Seconds of CPU, and how many times those of `json.loads` alone, are in the extra information."""
    draw = np.random.default_rng(0)
    jobs = Jobs(
        submit=np.sort(draw.integers(0, 10**7, JOBS)),
        nodes=draw.integers(1, 100, JOBS),
        runtime=draw.integers(1, 10**5, JOBS),
        limit=np.full(JOBS, 10**5),
        users=[f"u{user}" for user in draw.integers(0, 200, JOBS)],
    )
    file = tmp_path / "log.json"
    write_problem(WorkloadProblem(100, jobs), file)
    text = file.read_text(encoding="utf-8")
    seconds = {"read": 1.0, "json": 1.0}
    for _ in range(5):
        stamps = [time.process_time()]
        problem = read_problem(file)
        stamps.append(time.process_time())
        json.loads(text)
        stamps.append(time.process_time())
        seconds["read"] = min(seconds["read"], stamps[1] - stamps[0])
        seconds["json"] = min(seconds["json"], stamps[2] - stamps[1])
    benchmark.extra_info["read_cpu_s"] = round(seconds["read"], 3)
    benchmark.extra_info["times_json"] = round(seconds["read"] / seconds["json"], 2)
    assert isinstance(problem, WorkloadProblem)
    assert len(problem.jobs) == JOBS
    benchmark.pedantic(read_problem, (file,), rounds=3)
