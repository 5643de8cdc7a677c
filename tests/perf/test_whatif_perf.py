"""What the page of a real log costs: from the shell to the page in 60 s at most, kernels compiled or not.

The work is fixed: 10 s of search by two workers, beside the four policies; all else is reading, judging and
writing.
"""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from workload_traces import trace

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_benchmark.fixture import BenchmarkFixture

#: Of the log of Cirrus, whose jobs share nodes.
PROCESSORS = 12_960
JOBS = "11,434 jobs on 12,960 processors"


@pytest.mark.parametrize("kernels", ["compiled", "to be compiled"])
def test_from_the_log_to_the_page(
    kernels: str, benchmark: BenchmarkFixture, traces: Path, tmp_path: Path
) -> None:
    log = trace(traces, "cirrus_2024Q1_sacct.csv.gz")
    argv = [sys.executable, "-m", "allocsolve", "whatif", str(log), "--nodes", str(PROCESSORS)]
    argv += ["--unit", "processors", "--seconds", "10", "--workers", "2"]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    if kernels == "to be compiled":
        env["ALLOCSOLVE_KERNELS"] = str(tmp_path / "cache")

    def command() -> str:
        for left in tmp_path.glob("page.*"):  # else nothing would be run again
            left.unlink()
        out = [*argv, "--out", str(tmp_path / "page.html")]
        return subprocess.run(out, check=True, capture_output=True, text=True, env=env).stdout

    text = benchmark.pedantic(command, rounds=1)
    assert JOBS in text
    assert "No scheduler, however clever, could have brought the mean wait below 1" in text
    assert (tmp_path / "page.html").stat().st_size < 200_000
