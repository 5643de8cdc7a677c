"""The clock of the gate, and what it costs to compile."""

from __future__ import annotations

import importlib
import json
import os
import resource
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from gate_tools import doubled

from allocsolve.bench import run_gate, suite
from allocsolve.bench.gate import timing
from allocsolve.bench.gate.timing import References

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_benchmark.fixture import BenchmarkFixture

    from allocsolve.model import Problem


REPETITIONS = 3

#: A kernel of each kind, by the module that calls it, and a solver that spends its time in it.
KERNELS = {
    "noX": ("evolution.list_scheduling", "list_schedule"),
    "gen-alg": ("partition.nearest", "costs_of_mesh_centres"),
    "growth": ("partition.growth", "grow_first"),
}


def _both_families(_: str) -> tuple[Problem, ...]:
    return suite("klein-5-inf")[0], suite("mesh-16x8")[0]


@pytest.fixture
def baseline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("allocsolve.bench.gate.gate.suite_problems", _both_families)
    path = tmp_path / "gate.json"
    assert run_gate(path, update=True, solvers=[*KERNELS]).timed == len(KERNELS)
    return path


def test_unchanged_kernels_pass(baseline: Path) -> None:
    for _ in range(REPETITIONS):
        assert run_gate(baseline).changes == ()


@pytest.mark.parametrize("solver", KERNELS)
def test_a_doubled_kernel_is_found(baseline: Path, solver: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module = importlib.import_module(f"allocsolve.heuristics.{KERNELS[solver][0]}")
    name = KERNELS[solver][1]
    monkeypatch.setattr(module, name, doubled(getattr(module, name)))
    for _ in range(REPETITIONS):
        assert [(change.what, change.solver) for change in run_gate(baseline).changes] == [("slower", solver)]


def test_a_slower_machine_passes(baseline: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine of half the speed is one on which the reference works take twice as long, too."""
    monkeypatch.setattr(timing, "do", doubled(timing.do))
    module = importlib.import_module("allocsolve.heuristics.evolution.list_scheduling")
    monkeypatch.setattr(module, "list_schedule", doubled(module.list_schedule))
    assert run_gate(baseline, solvers=["noX"]).passed


@pytest.mark.parametrize("name", References._fields)
def test_a_reference_work_is_short(benchmark: BenchmarkFixture, name: str) -> None:
    timing.do(name)
    benchmark.pedantic(timing.do, (name,), rounds=50)
    assert benchmark.stats is not None
    assert benchmark.stats.stats.min < 5e-3


def test_the_gate(benchmark: BenchmarkFixture, baseline: Path) -> None:
    """A run with warm kernels: two problems, three solvers."""
    report = benchmark.pedantic(run_gate, (baseline,), rounds=3)
    assert report.passed
    assert len(json.loads(baseline.read_text(encoding="utf-8"))["results"]) == 3


# --- Compile perf -------------------------------------------------------------------------------------

#: Seconds that were asked for (None: nothing) and those before, on two shared cores of an Intel Xeon.
WARMED = {
    "noX": (3.0, 2.3),
    "growth": (3.0, 2.6),
    "easy": (4.0, 6.9),
    "branch-and-bound": (8.0, 16.6),
    "conflict-search": (10.0, 23.2),
    "malleable-min": (None, 36.9),
    "lina": (None, 25.1),
    "static-price": (None, 25.5),
}
ALL = (100.0, 191.0)
HELP = (0.3, None)

JOBS = """JobID|User|Submit|Start|End|Elapsed|Timelimit|NNodes|State
101|ann|2024-03-04T08:00:00|2024-03-04T08:00:00|2024-03-04T10:00:00|02:00:00|03:00:00|3|COMPLETED
102|bob|2024-03-04T08:10:00|2024-03-04T10:00:00|2024-03-04T11:00:00|01:00:00|02:00:00|4|COMPLETED
103|ann|2024-03-04T08:20:00|2024-03-04T11:00:00|2024-03-04T11:30:00|00:30:00|01:00:00|1|COMPLETED
104|cem|2024-03-04T08:30:00|2024-03-04T11:00:00|2024-03-04T11:20:00|00:20:00|01:00:00|1|COMPLETED
105|bob|2024-03-05T09:00:00|2024-03-05T09:00:00|2024-03-05T10:30:00|01:30:00|02:00:00|2|COMPLETED
"""

#: Makes a solver ready for a problem that takes it through all of its kernels, as before its first call.
READY = """
import sys
from allocsolve.registry import families_named, make_solver, ready
for family in families_named(sys.argv[1])[:1]:
    problem = family.large_example()
    ready(make_solver(sys.argv[1], problem), problem)
"""


def _cpu_s(cache: Path, *argv: str) -> float:
    environment = {
        **os.environ,
        "ALLOCSOLVE_KERNELS": str(cache),
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    }
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, *argv], env=environment, cwd=cache.parent, check=True, capture_output=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _shown(
    benchmark: BenchmarkFixture, asked: tuple[float | None, float | None], cache: Path, *argv: str
) -> None:
    seconds = benchmark.pedantic(_cpu_s, (cache, *argv), rounds=1)
    benchmark.extra_info |= {"cpu_s": round(seconds, 2), "asked_s": asked[0], "before_s": asked[1]}


@pytest.mark.parametrize("solver", WARMED)
def test_the_first_call_of_a_solver(solver: str, benchmark: BenchmarkFixture, tmp_path: Path) -> None:
    _shown(benchmark, WARMED[solver], tmp_path / "cache", "-c", READY, solver)


def test_the_kernels_of_all_solvers(benchmark: BenchmarkFixture, tmp_path: Path) -> None:
    _shown(benchmark, ALL, tmp_path / "cache", "-m", "allocsolve", "warm")


def test_help(benchmark: BenchmarkFixture, tmp_path: Path) -> None:
    _shown(benchmark, HELP, tmp_path / "cache", "-m", "allocsolve", "--help")


def test_what_if(benchmark: BenchmarkFixture, tmp_path: Path) -> None:
    """The example of its page, on an empty cache, then with its kernels."""
    (tmp_path / "jobs.txt").write_text(JOBS, encoding="utf-8")
    argv = ("-m", "allocsolve", "whatif", "jobs.txt", "--nodes", "4")
    _shown(benchmark, (15.0, None), tmp_path / "cache", *argv)
    warm_s = _cpu_s(tmp_path / "cache", *argv, "--out", "again.html")
    benchmark.extra_info |= {"warm_cpu_s": round(warm_s, 2), "warm_asked_s": 3.0}
