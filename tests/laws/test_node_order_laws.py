"""Laws of node orders: permutations, neighbours where theory says so, and the slow twins."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import naive_allocators as naive
import numpy as np
import pytest
from allocator_strategies import shapes
from hypothesis import given, strategies as st

from allocsolve.model import NODE_ORDERS, Mesh, Torus, node_order

if TYPE_CHECKING:
    from allocsolve.model import IntArray, NodeOrder


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
