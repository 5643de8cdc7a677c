"""Jobs that evolve: a batch of Posner's, and a stream of thousands of such jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from allocsolve.heuristics import EvolvEasyback
from allocsolve.instances import evotree_batch, evotree_stream
from allocsolve.judge.workload.rules import workload_metrics
from allocsolve.model import Budget

if TYPE_CHECKING:
    from pytest_benchmark.fixture import BenchmarkFixture


def test_a_batch(benchmark: BenchmarkFixture) -> None:
    problem, policy = evotree_batch(42), EvolvEasyback()
    policy(problem, Budget())  # compiled
    result = benchmark.pedantic(policy, (problem, Budget()), rounds=20)
    assert result.answer is not None
    assert workload_metrics(problem, result.answer).makespan == pytest.approx(921.6, abs=0.01)


def test_a_stream(benchmark: BenchmarkFixture) -> None:
    problem, policy = evotree_stream(1, num_jobs=10_000, num_nodes=100), EvolvEasyback()
    policy(problem, Budget())  # compiled
    result = benchmark.pedantic(policy, (problem, Budget()), rounds=3)
    assert result.answer is not None
    assert workload_metrics(problem, result.answer).turnaround == pytest.approx(201.03, abs=0.01)
