"""Speed of the allocators on node orders, by growth and by blocks; the masks are fixed, answers checked."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import naive_allocators as naive
import numpy as np
import pytest

from allocsolve.heuristics.partition.blocks import multiple_buddy, paging
from allocsolve.heuristics.partition.curve_fit import best_fit_run, first_fit_run, min_span
from allocsolve.heuristics.partition.growth import growth, leak
from allocsolve.heuristics.partition.submesh import submesh
from allocsolve.model import Mesh, Topology

if TYPE_CHECKING:
    from pytest_benchmark.fixture import BenchmarkFixture

    from allocsolve.model import BoolArray

OTHERS: dict[str, Any] = {
    "first-fit": first_fit_run,
    "best-fit": best_fit_run,
    "best-fit, largest runs": partial(best_fit_run, fallback="largest-runs"),
    "min-span": min_span,
    "leak-noncontiguous": partial(leak, contiguous=False),
    "growth-best": partial(growth, seeds="all"),
    "submesh-first-fit": submesh,
    "submesh-best-fit": partial(submesh, choice="best"),
    "multiple-buddy": multiple_buddy,
    "paging": paging,
}


def masks(topology: Topology, busy: float, count: int) -> list[BoolArray]:
    """Random masks, as a simulator would hold them: read-only."""
    random = np.random.default_rng(17)
    drawn = [random.random(topology.num_nodes) >= busy for _ in range(count)]
    for mask in drawn:
        mask.setflags(write=False)
    return drawn


def allocate_all(allocate: Any, topology: Topology, drawn: list[BoolArray], size: int) -> list[Any]:
    return [allocate(topology, free, size) for free in drawn]


@pytest.mark.parametrize("busy", [0.0, 0.3])
@pytest.mark.parametrize("size", [4, 16, 64])
def test_growth_on_16x8(benchmark: BenchmarkFixture, busy: float, size: int) -> None:
    """100 allocations, all of which succeed. To be had in 2 ms, 20 us each."""
    mesh = Mesh((16, 8))
    drawn = [free for free in masks(mesh, busy, 150) if growth(mesh, free, size) is not None][:100]
    assert len(drawn) == 100
    allocations = benchmark(allocate_all, growth, mesh, drawn, size)
    assert all(
        len(nodes) == size and free[nodes].all() for nodes, free in zip(allocations, drawn, strict=True)
    )
    if size <= 16:
        assert [nodes.tolist() for nodes in allocations[:3]] == [
            naive.growth(mesh, free, size) for free in drawn[:3]
        ]


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize(("shape", "count"), [((16, 8), 100), ((128, 128), 2)])
def test_others(benchmark: BenchmarkFixture, name: str, shape: tuple[int, ...], count: int) -> None:
    """100 allocations of 16 nodes on 16x8, or 2 on 128x128, each at 30 % busy."""
    mesh = Mesh(shape)
    drawn = masks(mesh, 0.3, count)
    allocate = OTHERS[name]
    allocate(mesh, drawn[0], 16)  # compiles the kernels
    allocations = benchmark(allocate_all, allocate, mesh, drawn, 16)
    for nodes, free in zip(allocations, drawn, strict=True):
        assert nodes is None or (len(set(nodes.tolist())) == 16 and free[nodes].all())
    if name in {"best-fit", "min-span", "leak-noncontiguous", "multiple-buddy"}:
        assert all(nodes is not None for nodes in allocations)
