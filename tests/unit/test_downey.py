"""The synthetic workload after Downey: its distributions, its load, the command."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from cli_tools import run
from hypothesis import given, strategies as st

from allocsolve.errors import AllocsolveError
from allocsolve.instances import downey1997, read_problem, regenerate
from allocsolve.registry import make_allocator

if TYPE_CHECKING:
    from pathlib import Path

    from cli_tools import Capture


def test_the_workload_of_the_paper() -> None:
    """10,000 jobs: 4,700 s and 639 nodes in the mean, one in 400 s, 75 % of 10,000 nodes."""
    for seed in (17, 18):
        packed = downey1997(seed).packed
        assert len(packed.nodes) == 10_000
        assert 2 <= packed.nodes.min() <= 3
        assert 4900 <= packed.nodes.max() <= 5000
        assert 296 <= packed.runtime.min() <= 300
        assert 20_000 <= packed.runtime.max() <= 20_131
        assert packed.runtime.mean() == pytest.approx(4700.3, rel=0.05)
        assert packed.nodes.mean() == pytest.approx(638.8, rel=0.06)
        gaps = np.diff(packed.submit)
        assert gaps.mean() == pytest.approx(400.3, rel=0.03)
        assert gaps.std() == pytest.approx(400.3, rel=0.05)
        assert (packed.nodes @ packed.runtime) / (10_000 * packed.submit[-1]) == pytest.approx(0.75, rel=0.06)


def test_logarithms_are_uniform_and_independent() -> None:
    packed = downey1997(3).packed
    shares = []
    for values, low, high in ((packed.nodes, 2, 5000), (packed.runtime, 296, 20_131)):
        share = (np.log(values) - math.log(low)) / math.log(high / low)
        # Kolmogorov's distance; whole nodes add up to .07 at the smallest sizes.
        above = share[values > 20]
        ranks = np.searchsorted(np.sort(share), above, side="right") / len(share)
        assert np.abs(ranks - above).max() < 0.02
        shares.append(share)
    assert abs(np.corrcoef(shares[0], shares[1])[0, 1]) < 0.03


@given(
    st.integers(0, 2**32),
    st.integers(0, 30),
    st.lists(st.integers(1, 60), min_size=2, max_size=2).map(sorted),
    st.lists(st.integers(1, 600), min_size=2, max_size=2).map(sorted),
    st.floats(0.01, 3),
)
def test_what_is_drawn(seed: int, jobs: int, nodes: list[int], runtime: list[int], load: float) -> None:
    problem = downey1997(seed, num_jobs=jobs, num_nodes=60, load=load, nodes=nodes, runtime=runtime)
    packed = problem.packed
    assert len(problem.jobs) == jobs
    for values, (low, high) in ((packed.nodes, nodes), (packed.runtime, runtime)):
        assert ((values >= low) & (values <= high)).all()
        assert (values % 1 == 0).all()
    assert (np.diff(packed.submit, prepend=0) >= 0).all()
    assert not jobs or packed.submit[0] == 0
    assert regenerate(problem.meta, make_allocator) == problem


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ({"num_jobs": -1}, "num_jobs takes a whole number in 0..16777216, not -1"),
        ({"num_nodes": 4999}, "num_nodes 4999 is below 5000"),
        ({"load": 0}, "load takes a number above 0, not 0"),
        ({"load": math.nan}, "load takes a number above 0, not nan"),
        ({"nodes": (5, 4)}, "nodes 5-4 is empty"),
        ({"runtime": (0, 4)}, r"runtime 0-4 is not within 1\.\.2\^53"),
        ({"runtime": (1, 2, 3)}, "runtime 1-2-3 is not within"),
        ({"seed": -1}, "seed -1 is not made of integers"),
    ],
)
def test_what_cannot_be_drawn_is_refused(options: dict[str, Any], fault: str) -> None:
    with pytest.raises(AllocsolveError, match=fault):
        downey1997(**{"seed": 1, **options})


def test_the_command(tmp_path: Path, capsys: Capture) -> None:
    argv = ("generate", "downey1997", "--count", 2, "--seed", 17, "--jobs", 20, "--out", tmp_path)
    run(capsys, *argv, "--load", 0.5, "--nodes", "2-50", "--runtime", 60, "--num-nodes", 100)
    problem = read_problem(tmp_path / "downey1997-s17-0001.json")
    sizes: dict[str, Any] = {"num_jobs": 20, "num_nodes": 100, "nodes": (2, 50), "runtime": (60, 60)}
    assert problem == downey1997([17, 1], load=0.5, **sizes)
