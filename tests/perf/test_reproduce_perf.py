"""Speed of `reproduce`: the whole experiment of Klein & Perez 2011, drawing and judging included."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from reproductions.klein2011 import reproduce

if TYPE_CHECKING:
    from pytest_benchmark.fixture import BenchmarkFixture

    from reproductions.klein2011 import Reproduction


def test_thousand_tests(benchmark: BenchmarkFixture) -> None:
    """1000 tests, 6 algorithms: 6000 schedules, each judged and measured. To be had in 3 s."""
    reproduce(1)  # compiles the kernels
    made: Reproduction = benchmark.pedantic(reproduce, args=(1000,), rounds=3, iterations=1)
    averages = {name: made.rows[name]["makespan"].avg for name in made.rows}
    assert averages == pytest.approx(
        {"rigid": 1, "noX": 0.657, "2X": 0.644, "2X+c": 0.641, "infX": 0.632, "infX+c": 0.626}, abs=0.02
    )
