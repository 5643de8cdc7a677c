"""Laws of the allocators on node orders, by growth and by blocks: what each returns, and its slow twin."""

from __future__ import annotations

import itertools
from functools import partial
from typing import TYPE_CHECKING, Any, get_args

import naive_allocators as naive
import numpy as np
import pytest
from allocator_strategies import requests, roomy_requests, shapes
from hypothesis import assume, given, strategies as st
from kernel_tools import entry

from allocsolve.heuristics.partition import curve_fit as curve, growth as growing
from allocsolve.heuristics.partition.allocator import lattice
from allocsolve.heuristics.partition.blocks import multiple_buddy, paging
from allocsolve.heuristics.partition.curve_fit import (
    best_fit_run,
    first_fit_run,
    largest_runs,
    min_span,
    sorted_free_list,
)
from allocsolve.heuristics.partition.growth import Growth, growth, leak
from allocsolve.heuristics.partition.submesh import SubmeshChoice, submesh
from allocsolve.model import NODE_ORDERS, Budget, Mesh, PartitionProblem, Topology, Torus, frozen, node_order

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
    assert curve.in_largest_runs(positions, free, size).tolist() == naive.largest_runs(order, free, size)


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


def steps(shape: tuple[int, ...], name: NodeOrder, bits: int | None = None) -> IntArray:
    """How far each node is from the one before, per axis."""
    mesh = Mesh(shape)
    moved: IntArray = np.abs(np.diff(mesh.coordinates(node_order(mesh, name, bits=bits)), axis=0))
    return moved


@given(shapes(max_nodes=200, max_side=20), st.sampled_from(NODE_ORDERS))
def test_each_is_a_read_only_permutation(shape: tuple[int, ...], name: NodeOrder) -> None:
    order = node_order(Mesh(shape), name)
    assert sorted(order.tolist()) == list(range(Mesh(shape).num_nodes))
    assert order.dtype == np.int64
    assert not order.flags.writeable
    assert node_order(Torus(shape), name) is order  # kept, and rings play no part


@given(shapes(max_axes=4))
def test_the_snakes_are_their_twins_and_go_from_neighbour_to_neighbour(shape: tuple[int, ...]) -> None:
    axes = range(len(shape))
    assert node_order(Mesh(shape), "snake").tolist() == naive.snake_order(shape, axes)
    short = sorted(axes, key=lambda axis: shape[axis])
    assert node_order(Mesh(shape), "short-side-snake").tolist() == naive.snake_order(shape, short)
    assert (steps(shape, "snake").sum(axis=1) == 1).all()
    assert (steps(shape, "short-side-snake").sum(axis=1) == 1).all()


@given(shapes(max_nodes=100, max_axes=4), st.integers(0, 3))
def test_hilbert_is_its_twin(shape: tuple[int, ...], more: int) -> None:
    bits = max(1, (max(shape) - 1).bit_length()) + more
    assert node_order(Mesh(shape), "hilbert", bits=bits).tolist() == naive.hilbert_order(shape, bits)


@given(shapes(max_nodes=100, max_axes=4))
def test_morton_is_its_twin(shape: tuple[int, ...]) -> None:
    assert node_order(Mesh(shape), "morton").tolist() == naive.morton_order(shape)


@pytest.mark.parametrize(("axes", "bits"), [(1, 5), (2, 1), (2, 2), (2, 5), (3, 1), (3, 3), (4, 2)])
def test_hilbert_goes_from_neighbour_to_neighbour_in_its_cube(axes: int, bits: int) -> None:
    assert (steps((1 << bits,) * axes, "hilbert", bits).sum(axis=1) == 1).all()


@pytest.mark.parametrize("long", range(1, 33))
def test_generalised_hilbert_needs_a_diagonal_step_for_odd_by_even_only(long: int) -> None:
    for short in range(1, long + 1):
        for shape in ((long, short), (short, long)):
            moved = steps(shape, "generalised-hilbert")
            assert moved.max(initial=0) <= 1
            assert (moved.sum(axis=1) == 2).sum() == (long % 2 == 1 and short % 2 == 0)


@pytest.mark.parametrize("side", range(1, 13))
def test_generalised_hilbert_in_3d_steps_to_a_neighbour_or_diagonally(side: int) -> None:
    for shape in itertools.product((side,), range(1, 13), range(1, 13)):
        moved = steps(shape, "generalised-hilbert")
        assert moved.max(initial=0) <= 1
        assert moved.sum(axis=1).max(initial=0) <= 2
        if all(n % 2 == 0 for n in shape):
            assert moved.sum(axis=1).max() == 1


@given(shapes(max_nodes=200, max_side=20))
def test_generalised_hilbert_starts_at_a_corner_and_ends_along_the_longest_side(
    shape: tuple[int, ...],
) -> None:
    ends = Mesh(shape).coordinates(node_order(Mesh(shape), "generalised-hilbert")[[0, -1]])
    assert not ends[0].any()
    axis = shape.index(max(shape))
    assert ends[1].tolist() == [side - 1 if a == axis else 0 for a, side in enumerate(shape)]
