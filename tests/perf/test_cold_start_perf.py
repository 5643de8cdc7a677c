"""What the first call of a solver costs on an empty cache of machine code."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from compilation import cold_start

from allocsolve import Budget
from allocsolve.instances import klein2011

if TYPE_CHECKING:
    from pytest_benchmark.fixture import BenchmarkFixture

PROBLEM = replace(klein2011(3, num_apps=(9, 9)), expand_limit=1)


@pytest.mark.parametrize("name", ["rigid", "noX", "infX+c", "annealing", "lns", "conflict-search"])
def test_a_cold_start(benchmark: BenchmarkFixture, name: str) -> None:
    """The CPU time of compiling and loading is in the extra information (s); nothing is left to compile."""
    budget = Budget(seconds=2, iterations=100)
    start = benchmark.pedantic(cold_start, (name, PROBLEM, budget), rounds=1)
    benchmark.extra_info["ready_cpu_s"] = round(start.ready_s, 2)
    assert start.compiled == []
