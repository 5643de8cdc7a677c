"""Optimal towns: published values, enumeration, and what the formula implies."""

from __future__ import annotations

import itertools

import naive_nearest as naive
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from tiers import examples

from allocsolve.bounds import partition as partition_bounds, partition_bound, star_bound, town
from allocsolve.bounds.town import extent, town_set
from allocsolve.errors import InvalidProblem
from allocsolve.instances import uniform_occupancy
from allocsolve.model import Mesh, PartitionProblem, Topology, Torus


def _cost(cells: list[list[int]]) -> int:
    return sum(
        abs(one[0] - other[0]) + abs(one[1] - other[1]) for one, other in itertools.combinations(cells, 2)
    )


def test_the_published_values() -> None:
    assert [town(n) for n in range(1, 11)] == [0, 1, 4, 8, 16, 25, 38, 54, 72, 96]
    assert (town(16), town(32)) == (318, 1840)


@pytest.mark.parametrize("size", range(1, 25))
def test_the_search_finds_what_enumeration_of_all_partitions_does(size: int) -> None:
    assert town(size) == naive.town(size, size, size)


@settings(max_examples=examples(120))
@given(st.integers(1, 9), st.integers(1, 9), st.data())
def test_boxes_are_those_of_enumeration(width: int, height: int, data: st.DataObject) -> None:
    size = data.draw(st.integers(1, min(22, width * height)))
    assert town(size, (width, height)) == naive.town(size, width, height)


@pytest.mark.parametrize("shape", [(1, 9), (9, 1), (2, 7), (5, 2), (3, 4), (4, 3)])
def test_the_formula_is_the_optimum_over_all_sets(shape: tuple[int, int]) -> None:
    mesh = Mesh(shape)
    free = np.ones(mesh.num_nodes, dtype=np.bool_)
    for size in range(1, mesh.num_nodes + 1):
        assert town(size, shape) == naive.optimum(mesh, free, size)


@settings(max_examples=examples(40))
@given(st.integers(1, 80), st.one_of(st.none(), st.tuples(st.integers(1, 12), st.integers(1, 40))))
def test_the_set_attains_the_value(size: int, shape: tuple[int, int] | None) -> None:
    if shape is not None:
        size = min(size, shape[0] * shape[1])
    cells = town_set(size, shape).tolist()
    assert len(set(map(tuple, cells))) == size
    assert np.min(cells, axis=0).tolist() == [0, 0]
    if shape is not None:
        assert all(x < shape[0] and y < shape[1] for x, y in cells)
    assert _cost(cells) == town(size, shape)


@given(st.integers(2, 80))
def test_no_optimal_town_is_longer_than_its_extent(size: int) -> None:
    sides = np.ptp(town_set(size), axis=0) + 1
    assert sides.max() <= extent(size, town(size) - town(size - 1))


@given(st.integers(2, 60), st.integers(2, 12), st.integers(2, 12))
def test_a_larger_box_never_costs(size: int, width: int, height: int) -> None:
    size = min(size, width * height)
    value = town(size, (width, height))
    assert value == town(size, (height, width))
    assert town(size) <= town(size, (width + 1, height)) <= value
    if size <= min(width, height):
        assert value == town(size)


@pytest.mark.parametrize(("width", "height"), [(3, 3), (4, 3), (5, 3), (4, 4), (7, 2), (6, 3)])
def test_small_towns_bound_tori(width: int, height: int) -> None:
    torus = Torus((width, height))
    free = np.ones(torus.num_nodes, dtype=np.bool_)
    places = list(naive.places(torus, free))
    for size in range(2, 6):  # by symmetry, one node is given
        best = min(
            naive.cost(torus, (places[0], *rest)) for rest in itertools.combinations(places[1:], size - 1)
        )
        assert partition_bound(PartitionProblem(torus, free, size)) <= best


def test_on_a_large_empty_machine_the_town_is_the_bound() -> None:
    for topology in (Mesh((30, 20)), Torus((64, 40)), Mesh((30, 1, 20))):
        problem = PartitionProblem.of(topology, size=32)
        assert star_bound(problem) < partition_bound(problem) == 1840
    # Three nodes of a ring of three: a line would cost 4.
    assert partition_bound(PartitionProblem.of(Torus((3,)), size=3)) == 3


def test_beyond_the_largest_town_the_bound_is_an_average() -> None:
    problem = PartitionProblem.of(Mesh((40, 40)), size=101)
    average = -(-town(100) * 101 * 100 // (100 * 99))
    assert partition_bound(problem) == average + average % 2
    assert star_bound(problem) < partition_bound(problem) <= town(101)


def test_a_bound_for_a_scattered_machine_is_found_far_out() -> None:
    corners = [0, 39, 1560, 1599]
    busy = [node for node in range(1600) if node not in corners]
    problem = PartitionProblem.of(Mesh((40, 40)), busy=busy, size=4)
    # The optimum is 8 * 39 = 312, and each corner has a star of 4 * 39.
    assert star_bound(problem) == partition_bound(problem) == 312


def test_a_star_is_not_the_least_because_it_is_the_first_to_be_complete() -> None:
    # The three nodes round 30 are within 8 of it, the best three (round 1) only within 9.
    free = np.isin(np.arange(60), [0, 1, 10, 22, 30, 38])
    problem = PartitionProblem(Mesh((60,)), free, 3)
    assert star_bound(problem) == partition_bound(problem) == naive.optimum(Mesh((60,)), free, 3) == 20


@pytest.mark.parametrize(
    ("size", "shape", "message"),
    [
        (0, None, "size 0 is below 1"),
        (7, (2, 3), "size 7 is above the 6 nodes"),
        (2, (2, 3, 4), r"shape \[2, 3, 4\] is not that of a 2-D mesh"),
        (2, (0, 3), r"shape \[0, 3\] is not that of a 2-D mesh"),
    ],
)
def test_bad_arguments_are_refused(size: int, shape: tuple[int, ...] | None, message: str) -> None:
    with pytest.raises(InvalidProblem, match=message):
        town(size, shape)


@pytest.mark.parametrize("topology", [Mesh((40, 30)), Torus((17, 24)), Mesh((9, 8, 10))])
def test_the_star_bound_of_few_free_nodes_is_that_of_the_general_way(
    topology: Topology, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in range(20):
        problem = uniform_occupancy(topology, 0.97, 2 + seed % 6, seed)
        monkeypatch.setattr(partition_bounds, "_SPARSE", 0)  # always
        directly = star_bound(problem)
        monkeypatch.setattr(partition_bounds, "_SPARSE", topology.num_nodes + 1)  # never
        assert star_bound(problem) == directly
