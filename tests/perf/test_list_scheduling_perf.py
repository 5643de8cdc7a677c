"""List scheduling: a Klein instance through the public API, and ten thousand applications."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from allocsolve import Budget
from allocsolve.heuristics import Fit, ListScheduling
from allocsolve.instances import klein2011
from allocsolve.judge import evolution_violations

if TYPE_CHECKING:
    from pytest_benchmark.fixture import BenchmarkFixture

#: Makespans of klein2011(1) and of the ten thousand applications below, by expand limit.
KLEIN = {1: 133_325, 2: 133_051, math.inf: 133_671}
LARGE = {1: 55_050_982, 2: 55_396_403, math.inf: 57_355_881}

limits = pytest.mark.parametrize("limit", [1, 2, math.inf])


@limits
def test_klein_instance(benchmark: BenchmarkFixture, limit: float) -> None:
    problem, solver, budget = klein2011(1), ListScheduling(Fit(limit)), Budget()
    solver(problem, budget)  # compiled
    result = benchmark.pedantic(solver, (problem, budget), rounds=50, iterations=20)
    assert result.answer.completions.max() == KLEIN[limit]


@limits
def test_ten_thousand_applications(benchmark: BenchmarkFixture, limit: float) -> None:
    problem = klein2011(0, num_apps=(10_000, 10_000), nodes=(1, 768), num_nodes=1024)
    solver, budget = ListScheduling(Fit(limit)), Budget()
    result = benchmark.pedantic(solver, (problem, budget), rounds=3)
    assert result.answer.completions.max() == LARGE[limit]
    assert not evolution_violations(problem, result.answer)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="no /proc to read the peak memory from")
def test_ten_thousand_applications_fit_in_500_megabytes() -> None:
    # Not ru_maxrss: a child process starts with that of its parent.
    code = (
        "from pathlib import Path\n"
        "from allocsolve import solve\n"
        "from allocsolve.instances import klein2011\n"
        "solve(klein2011(0, num_apps=(10_000, 10_000), nodes=(1, 768), num_nodes=1024), 'infX+c')\n"
        "print(Path('/proc/self/status').read_text().split('VmHWM:')[1].split()[0])"
    )
    run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert int(run.stdout) < 500_000  # kilobytes
