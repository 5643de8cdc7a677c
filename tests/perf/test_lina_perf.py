"""Lina's policy on ten thousand jobs, all of which are malleable or evolve."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from allocsolve.heuristics import Lina
from allocsolve.instances import lina_workload, lublin1999, shrunk_arrivals
from allocsolve.judge.workload.rules import workload_metrics
from allocsolve.model import Budget

if TYPE_CHECKING:
    from pytest_benchmark.fixture import BenchmarkFixture


@pytest.mark.parametrize(
    ("candidates", "victims", "turnaround"),
    [("default", "gain", 4004.2), ("default", "random", 3901.43), ("system-text", "gain", 8382.84)],
)
def test_a_loaded_cluster(
    benchmark: BenchmarkFixture, candidates: str, victims: str, turnaround: float
) -> None:
    rigid = shrunk_arrivals(lublin1999(1, num_jobs=10_000), 0.65)
    problem, policy = lina_workload(rigid, share=1, seed=1), Lina(candidates, victims)  # type: ignore[arg-type]
    policy(problem, Budget())  # compiled
    result = benchmark.pedantic(policy, (problem, Budget()), rounds=3)
    assert result.answer is not None
    assert workload_metrics(problem, result.answer).turnaround == pytest.approx(turnaround, abs=0.01)
