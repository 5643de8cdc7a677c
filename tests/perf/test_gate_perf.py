"""The clock of the gate: what is as fast as it was passes, a kernel that does its work twice does not.

Fixed work on the timing problems; only ratios count. Few repetitions here; see `_TIME_FACTOR` in
`allocsolve.bench.gate.gate` for what many have shown.
"""

from __future__ import annotations

import importlib
import json
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
