"""Laws of the allocators on node orders, by growth and by blocks: what each returns, and its slow twin."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, get_args

import naive_allocators as naive
import numpy as np
import pytest
from allocator_strategies import requests, roomy_requests
from hypothesis import assume, given, strategies as st
from kernel_tools import entry

from allocsolve.heuristics.partition import _kernels_curve as curve, _kernels_growth as growing
from allocsolve.heuristics.partition.blocks import multiple_buddy, paging
from allocsolve.heuristics.partition.curve_fit import (
    best_fit_run,
    first_fit_run,
    largest_runs,
    min_span,
    sorted_free_list,
)
from allocsolve.heuristics.partition.growth import Growth, growth, leak
from allocsolve.heuristics.partition.lattice import lattice
from allocsolve.heuristics.partition.submesh import SubmeshChoice, submesh
from allocsolve.model import NODE_ORDERS, Budget, Mesh, PartitionProblem, Topology, frozen, node_order

if TYPE_CHECKING:
    from allocsolve.model import BoolArray, IntArray, NodeOrder

Request = tuple[Topology, "BoolArray", int]

grow = entry(growing.grow)


def listed(nodes: IntArray | None) -> list[int] | None:
    return None if nodes is None else nodes.tolist()


# On a node order -------------------------------------------------------------------------------------------


@given(requests(), st.randoms(use_true_random=False))
def test_curve_kernels_are_their_twins_on_any_order(request: Request, random: Any) -> None:
    _, free, size = request
    free.setflags(write=False)
    order = list(range(len(free)))
    random.shuffle(order)
    positions = frozen(np.array(order, dtype=np.int64))

    def taken(start: int) -> list[int] | None:
        return None if start < 0 else curve.collect(positions, free, start, size).tolist()

    sufficient = partial(curve.sufficient_run, positions, free, size)
    assert taken(0) == naive.sorted_free_list(order, free, size)
    assert taken(sufficient(smallest=False)) == naive.first_fit_run(order, free, size)
    assert taken(sufficient(smallest=True)) == naive.best_fit_run(order, free, size)
    assert taken(curve.least_span(positions, free, size)) == naive.min_span(order, free, size)
    assert curve.largest_runs(positions, free, size).tolist() == naive.largest_runs(order, free, size)


@given(requests(), st.sampled_from(NODE_ORDERS))
def test_curve_functions_are_their_twins_on_named_orders(request: Request, order: NodeOrder) -> None:
    topology, free, size = request
    positions = node_order(topology, order).tolist()
    best = naive.best_fit_run(positions, free, size)
    span = naive.min_span(positions, free, size)
    few = naive.largest_runs(positions, free, size)
    assert listed(sorted_free_list(topology, free, size, order=order)) == naive.sorted_free_list(
        positions, free, size
    )
    assert listed(first_fit_run(topology, free, size, order=order)) == naive.first_fit_run(
        positions, free, size
    )
    assert listed(min_span(topology, free, size, order=order)) == span
    assert listed(largest_runs(topology, free, size, order=order)) == few
    assert listed(best_fit_run(topology, free, size, order=order, fallback="fail")) == best
    assert listed(best_fit_run(topology, free, size, order=order)) == (best or span)
    assert listed(best_fit_run(topology, free, size, order=order, fallback="largest-runs")) == (best or few)


@given(requests())
def test_largest_runs_touch_as_few_runs_as_can_be(request: Request) -> None:
    topology, free, size = request
    order = node_order(topology, "hilbert").tolist()
    lengths = sorted(map(len, naive.runs(order, free)), reverse=True)
    least = next(count for count in range(1, len(lengths) + 1) if sum(lengths[:count]) >= size)
    nodes = set(largest_runs(topology, free, size).tolist())
    assert sum(not nodes.isdisjoint(run) for run in naive.runs(order, free)) == least


# Growing ---------------------------------------------------------------------------------------------------


@given(requests(max_nodes=20))
def test_growth_is_its_twin(request: Request) -> None:
    topology, free, size = request
    assert listed(growth(topology, free, size)) == naive.growth(topology, free, size)


@given(requests(max_nodes=16))
def test_growth_from_all_seeds_is_its_twin(request: Request) -> None:
    topology, free, size = request
    expected = naive.growth_best(topology, free, size)
    assert listed(growth(topology, free, size, seeds="all")) == expected
    # With a time limit the seeds come in portions.
    result = Growth("all")(PartitionProblem(topology, free, size), Budget(seconds=60))
    assert listed(None if result.answer is None else result.answer.nodes) == (expected and sorted(expected))


@given(requests(max_nodes=16))
def test_the_growing_kernel_knows_its_cost_and_stops_at_the_bound(request: Request) -> None:
    topology, free, size = request
    expected = naive.growth(topology, free, size)
    assume(expected is not None)
    assert expected is not None
    free.setflags(write=False)
    value = naive.cost(topology, expected)
    for bound in (value + 1, value, 0):
        nodes = np.full(size, expected[0])
        assert grow(lattice(topology), free, nodes, bound) == min(value, bound)
        if bound > value:
            assert nodes.tolist() == expected


@given(requests(), st.data())
def test_leaks_are_their_twins(request: Request, data: Any) -> None:
    topology, free, size = request
    row = data.draw(st.integers(0, topology.num_nodes // topology.shape[0] - 1))
    connected = leak(topology, free, size, start_row=row)
    anywhere = leak(topology, free, size, contiguous=False, start_row=row)
    assert listed(connected) == naive.leak(topology, free, size, row, contiguous=True)
    assert listed(anywhere) == naive.leak(topology, free, size, row, contiguous=False)
    assert connected is None or listed(anywhere) == listed(connected)


# Blocks ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("choice", get_args(SubmeshChoice))
@pytest.mark.parametrize("all_shapes", [False, True])
@given(request=requests() | roomy_requests())
def test_submeshes_are_their_twins(choice: SubmeshChoice, all_shapes: bool, request: Request) -> None:
    topology, free, size = request
    box = listed(submesh(topology, free, size, choice=choice, all_shapes=all_shapes))
    expected = naive.submesh(topology, free, size, best=choice == "best", all_shapes=all_shapes)
    assert (box and sorted(box)) == (expected and sorted(expected))


@given(requests())
def test_multiple_buddy_is_its_twin(request: Request) -> None:
    topology, free, size = request
    assert listed(multiple_buddy(topology, free, size)) == naive.multiple_buddy(topology, free, size)


@given(requests(), st.integers(0, 4), st.sampled_from(NODE_ORDERS))
def test_paging_is_its_twin(request: Request, exponent: int, order: NodeOrder) -> None:
    topology, free, size = request
    grid = Mesh([-(-side // 2**exponent) for side in topology.shape])
    expected = naive.paging(topology, free, size, exponent, node_order(grid, order).tolist())
    assert listed(paging(topology, free, size, exponent=exponent, order=order)) == expected
    if exponent == 0:
        assert expected == listed(sorted_free_list(topology, free, size, order=order))
