"""Speed of the rules of placement on 10,080 nodes; the masks are fixed, the answers checked."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import naive_placement_rules as naive
import numpy as np
import pytest

from allocsolve import heuristics
from allocsolve.instances import churned_occupancy
from allocsolve.model import SwitchTree

if TYPE_CHECKING:
    from pytest_benchmark.fixture import BenchmarkFixture

    from allocsolve.model import BoolArray

RULES: dict[str, Any] = {
    "lowest-switch": heuristics.lowest_switch,
    "slurm-tree": heuristics.slurm_tree,
    "slurm-block": heuristics.slurm_block,
    "slurm-block, segments": partial(heuristics.slurm_block, segment=8, consolidate=True),
    "kueue": heuristics.kueue,
    "kueue, balanced": partial(heuristics.kueue, mode="balanced"),
    "kai": heuristics.kai,
    "volcano": partial(heuristics.volcano, seed=1),
    "spur": heuristics.spur,
    "pbs-placement": heuristics.pbs_placement,
    "fluxion, locality": partial(heuristics.fluxion, policy="locality"),
    "first-free": heuristics.first_free,
    "random": partial(heuristics.random_free, seed=1),
}
#: Racks of 18 nodes in pods of 16.
TREE = SwitchTree.regular((35, 16, 18))


def masks(busy: str) -> list[BoolArray]:
    """Random masks, or one that jobs left, as a simulator would hold them: read-only."""
    random = np.random.default_rng(17)
    if busy == "churned":
        left = churned_occupancy(
            TREE, 0.7, 1, 3, allocator=heuristics.lowest_switch, job_sizes=(1, 128), steps=100
        )
        drawn = [left.free]
    else:
        drawn = [random.random(TREE.num_nodes) >= float(busy) for _ in range(5)]
    for mask in drawn:
        mask.setflags(write=False)
    return drawn


def choose_all(rule: Any, drawn: list[BoolArray], k: int) -> list[Any]:
    return [rule(TREE, free, k) for free in drawn]


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("busy", ["0.5", "0.9", "churned"])
@pytest.mark.parametrize("k", [64, 512])
def test_rules(benchmark: BenchmarkFixture, name: str, busy: str, k: int) -> None:
    """Five choices, or one where churned. To be had in 2 ms each."""
    drawn = masks(busy)
    rule = RULES[name]
    rule(TREE, drawn[0], k)  # compiles the kernels
    choices = benchmark(choose_all, rule, drawn, k)
    for nodes, free in zip(choices, drawn, strict=True):
        assert nodes is None or (len(set(nodes.tolist())) == k and free[nodes].all())
    if not name.startswith("slurm-block"):
        assert all(nodes is not None for nodes in choices)
    if name in {"first-free", "fluxion, locality"}:
        expected = naive.fluxion(TREE, drawn[0], k, "locality" if name != "first-free" else "low")
        assert choices[0].tolist() == expected


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
