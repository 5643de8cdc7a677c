"""Blocks that take Slurm many attempts; the gate times the rules of placement on random nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from allocsolve import heuristics
from allocsolve.model import SwitchTree

if TYPE_CHECKING:
    from pytest_benchmark.fixture import BenchmarkFixture


#: Racks of 18 nodes in pods of 16.
TREE = SwitchTree.regular((35, 16, 18))


def test_blocks_that_stall(benchmark: BenchmarkFixture) -> None:
    """Pods without a busy rack have fewer free nodes: Slurm tries 481 times. To be had in 10 ms."""
    racks = np.ones((35, 16, 18), dtype=np.bool_)
    racks[:32, 5] = False
    racks[32:, :, :2] = False
    free = racks.ravel()
    free.setflags(write=False)
    heuristics.slurm_block(TREE, free, 300)
    nodes = benchmark(heuristics.slurm_block, TREE, free, 300)
    assert nodes is not None
    assert len(set(nodes.tolist())) == 300
    assert free[nodes].all()
    assert np.isin(nodes // (16 * 18), [32, 33, 34]).sum() == 16 * 16
