"""List scheduling of a hundred thousand applications, of a million rigid jobs, and a simulator's profile."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from allocsolve import Budget, EvolutionProblem, EvolutionProfile
from allocsolve.heuristics import Fit, ListScheduling, ResourceProfile, Rigid
from allocsolve.instances import klein2011
from allocsolve.judge import evolution_violations

if TYPE_CHECKING:
    from pytest_benchmark.fixture import BenchmarkFixture


NODES = 1024


def _uniform(num_apps: int, most: int) -> EvolutionProblem:
    return klein2011(0, num_apps=(num_apps, num_apps), nodes=(1, most), num_nodes=NODES)


def _log_uniform(num_apps: int) -> EvolutionProblem:
    """The same with node counts of every magnitude, 1 to 1023."""
    rng = np.random.default_rng(0)
    sizes = rng.integers(1, 10, size=num_apps, endpoint=True)
    total = int(sizes.sum())
    durations = rng.integers(500, 3600, size=total, endpoint=True).tolist()
    nodes = np.exp2(rng.uniform(0, 10, size=total)).astype(np.int64).tolist()
    steps = list(zip(durations, nodes, strict=True))
    ends = np.cumsum(sizes).tolist()
    apps = (
        EvolutionProfile(tuple(steps[end - size : end]))
        for end, size in zip(ends, sizes.tolist(), strict=True)
    )
    return EvolutionProblem(NODES, tuple(apps))


@pytest.mark.parametrize(
    ("problem", "limit", "makespan"),
    [
        (lambda: _uniform(100_000, 75), 1, 43_852_924),
        (lambda: _uniform(100_000, 768), 2, 534_700_676),
        (lambda: _log_uniform(100_000), math.inf, 188_789_550),
    ],
    ids=["1-75", "1-768", "log-uniform"],
)
def test_a_hundred_thousand_applications(
    benchmark: BenchmarkFixture, problem: object, limit: float, makespan: int
) -> None:
    assert callable(problem)
    drawn = problem()
    solver, budget = ListScheduling(Fit(limit)), Budget()
    solver(_uniform(2000, 75), budget)  # compiled
    result = benchmark.pedantic(solver, (drawn, budget), rounds=1)
    assert result.answer.completions.max() == makespan
    assert not evolution_violations(drawn, result.answer)


@pytest.mark.parametrize("limit", [1, 2, math.inf])
@pytest.mark.parametrize("name", ["1-75", "1-768", "log-uniform"])
def test_ten_thousand_applications(benchmark: BenchmarkFixture, name: str, limit: float) -> None:
    """Asked for: 0.15 s."""
    problem = _log_uniform(10_000) if name == "log-uniform" else _uniform(10_000, int(name[2:]))
    solver, budget = ListScheduling(Fit(limit)), Budget()
    result = benchmark.pedantic(solver, (problem, budget), rounds=7, warmup_rounds=1)
    assert not evolution_violations(problem, result.answer)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="no /proc to read the peak memory from")
def test_the_first_call_on_an_empty_cache(benchmark: BenchmarkFixture, tmp_path: Path) -> None:
    """Asked for: 15 s with the compilation, here with 100,000 applications at once; and less than 1 GB."""
    code = (
        "import time\n"
        "from pathlib import Path\n"
        "from allocsolve import solve\n"
        "from allocsolve.instances import klein2011\n"
        "problem = klein2011(0, num_apps=(100_000, 100_000), nodes=(1, 768), num_nodes=1024)\n"
        "begun = time.perf_counter()\n"
        "solve(problem, 'infX+c')\n"
        "print(time.perf_counter() - begun)\n"
        "print(Path('/proc/self/status').read_text().split('VmHWM:')[1].split()[0])"
    )

    def run() -> list[str]:
        called = [sys.executable, "-c", code]
        environment = os.environ | {"ALLOCSOLVE_KERNELS": str(tmp_path)}
        return subprocess.run(
            called, env=environment, check=True, capture_output=True, text=True
        ).stdout.split()

    seconds, kilobytes = benchmark.pedantic(run, rounds=1)
    benchmark.extra_info |= {"first_call_seconds": float(seconds), "peak_kilobytes": int(kilobytes)}
    assert int(kilobytes) < 10**6


def test_a_million_rigid_jobs(benchmark: BenchmarkFixture) -> None:
    problem = klein2011(0, num_apps=(10**6, 10**6), num_steps=(1, 1), nodes=(1, 75), num_nodes=NODES)
    solver, budget = Rigid(), Budget()
    solver(_uniform(2000, 75), budget)  # compiled
    result = benchmark.pedantic(solver, (problem, budget), rounds=1)
    assert result.answer.completions.max() == 77_107_911
    assert not evolution_violations(problem, result.answer)


def test_ten_thousand_jobs_on_the_profile_of_a_simulator(benchmark: BenchmarkFixture) -> None:
    problem = klein2011(0, num_apps=(10_000, 10_000), nodes=(1, 768), num_nodes=NODES)

    def simulate() -> list[int]:
        cluster = ResourceProfile(NODES)
        starts = []
        for app in problem.applications:
            found = cluster.fit(app, 1)
            starts.append(found.start)
            cluster.reserve(*found)
        return starts

    starts = benchmark.pedantic(simulate, rounds=1, warmup_rounds=1)
    answer = ListScheduling(Fit(1))(problem, Budget()).answer
    assert answer is not None
    assert starts == answer.starts.tolist()
