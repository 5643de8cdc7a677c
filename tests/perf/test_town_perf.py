"""Speed of optimal towns and of the bounds of partition problems."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from allocsolve.bounds import partition_bound, town
from allocsolve.bounds.town import _best, _fringes
from allocsolve.model import Mesh, PartitionProblem

if TYPE_CHECKING:
    from pytest_benchmark.fixture import BenchmarkFixture


def _forget() -> None:
    _best.cache_clear()
    _fringes.cache_clear()


def test_all_towns_up_to_80(benchmark: BenchmarkFixture) -> None:
    """To be had in 2 s, with nothing kept from before."""
    values: list[int] = benchmark.pedantic(
        lambda: [town(size) for size in range(1, 81)], setup=_forget, rounds=5, iterations=1
    )
    assert values[:10] == [0, 1, 4, 8, 16, 25, 38, 54, 72, 96]
    assert (values[15], values[31], values[79]) == (318, 1840, 18478)


def test_bounds_on_100x100(benchmark: BenchmarkFixture) -> None:
    """Half of the nodes busy, size 64; the towns are kept."""
    free = np.random.default_rng(1).random(10_000) >= 0.5
    problem = PartitionProblem(Mesh((100, 100)), free, 64)
    assert benchmark(partition_bound, problem) == town(64) == 10556
