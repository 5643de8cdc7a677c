"""Optimal towns: published values, enumeration, and what the formula implies."""

from __future__ import annotations

import itertools
import math
from typing import Any

import naive_nearest
import naive_partition as naive
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from strategies import topologies
from tiers import examples

from allocsolve.bounds import partition as partition_bounds, partition_bound, star_bound, town
from allocsolve.bounds.partition import extent, town_set
from allocsolve.errors import InvalidAnswer, InvalidOption, InvalidProblem
from allocsolve.instances import (
    MACHINE_SOURCES,
    MACHINES,
    SWITCH_TREES,
    churned_occupancy,
    median_worst_case,
    uniform_occupancy,
)
from allocsolve.model import BoolArray, IntArray, Mesh, PartitionProblem, Topology, Torus


def _cost(cells: list[list[int]]) -> int:
    return sum(
        abs(one[0] - other[0]) + abs(one[1] - other[1]) for one, other in itertools.combinations(cells, 2)
    )


def test_the_published_values() -> None:
    assert [town(n) for n in range(1, 11)] == [0, 1, 4, 8, 16, 25, 38, 54, 72, 96]
    assert (town(16), town(32)) == (318, 1840)


@pytest.mark.parametrize("size", range(1, 25))
def test_the_search_finds_what_enumeration_of_all_partitions_does(size: int) -> None:
    assert town(size) == naive_nearest.town(size, size, size)


@settings(max_examples=examples(120))
@given(st.integers(1, 9), st.integers(1, 9), st.data())
def test_boxes_are_those_of_enumeration(width: int, height: int, data: st.DataObject) -> None:
    size = data.draw(st.integers(1, min(22, width * height)))
    assert town(size, (width, height)) == naive_nearest.town(size, width, height)


@pytest.mark.parametrize("shape", [(1, 9), (9, 1), (2, 7), (5, 2), (3, 4), (4, 3)])
def test_the_formula_is_the_optimum_over_all_sets(shape: tuple[int, int]) -> None:
    mesh = Mesh(shape)
    free = np.ones(mesh.num_nodes, dtype=np.bool_)
    for size in range(1, mesh.num_nodes + 1):
        assert town(size, shape) == naive_nearest.optimum(mesh, free, size)


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
    places = list(naive_nearest.places(torus, free))
    for size in range(2, 6):  # by symmetry, one node is given
        sets = ((places[0], *rest) for rest in itertools.combinations(places[1:], size - 1))
        best = min(naive_nearest.cost(torus, nodes) for nodes in sets)
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
    assert naive_nearest.optimum(Mesh((60,)), free, 3) == 20
    assert star_bound(problem) == partition_bound(problem) == 20


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


HLRN = MACHINES["hlrn-ii"]


def first_free(topology: Topology, free: BoolArray, size: int) -> IntArray | None:  # noqa: ARG001 - called with the arguments of every allocator
    return np.flatnonzero(free)[:size]


def first_row(topology: Topology, free: BoolArray, size: int) -> IntArray | None:
    """The first stretch of free nodes within a row of the first axis."""
    side = topology.shape[0]
    for start in range(topology.num_nodes - size + 1):
        if free[start : start + size].all() and start // side == (start + size - 1) // side:
            return np.arange(start, start + size)
    return None


# --- machines ------------------------------------------------------------------------------------------


def test_the_machines_are_those_of_the_literature() -> None:
    assert dict(MACHINES) == {
        "hlrn-ii": Mesh((16, 8)),
        "mesh-32x32": Mesh((32, 32)),
        "mesh-8x8x8": Mesh((8, 8, 8)),
        "titan": Torus((25, 16, 24)),
        "fugaku": Topology((24, 23, 24, 2, 3, 2), (True, True, True, False, True, False)),
        "tpu-v5e": Torus((16, 16)),
    }
    assert {
        name: (tree.num_nodes, tree.num_switches, tree.height) for name, tree in SWITCH_TREES.items()
    } == {
        "summit": (256 * 18, 1 + 256, 2),
        "meta-24k": (8 * 192 * 2, 1 + 8 + 8 * 192, 3),
        "nvl72": (128 * 18, 1 + 8 + 128, 3),
        "perlmutter-cpu": (12 * 16 * 16, 1 + 12 + 12 * 16, 3),
        "frontier": (74 * 128, 1 + 74, 2),
        "jupiter": (25 * 5 * 48, 1 + 25 + 25 * 5, 3),
        "tpu-v4": (4096, 1 + 64 * 31, 6),
    }
    assert {*MACHINE_SOURCES} == {*MACHINES, *SWITCH_TREES}
    with pytest.raises(TypeError):
        MACHINES["titan"] = HLRN  # type: ignore[index]  # what the test is about


# --- uniform -------------------------------------------------------------------------------------------


@given(topologies(max_nodes=40, complete=True), st.floats(0, 1), st.integers(0, 2**40), st.booleans())
def test_the_share_of_busy_nodes_is_met(
    topology: Topology, share: float, seed: int, contiguous: bool
) -> None:
    wanted = round(share * topology.num_nodes)
    if wanted == topology.num_nodes:
        with pytest.raises(InvalidProblem, match="size 1 is above the 0 free nodes"):
            uniform_occupancy(topology, share, 1, seed)
        return
    problem = uniform_occupancy(topology, share, 1, seed, contiguous=contiguous)
    assert len(problem.busy) == wanted
    assert (problem.topology, problem.size, problem.contiguous) == (topology, 1, contiguous)
    assert uniform_occupancy(topology, share, 1, seed, contiguous=contiguous) == problem


def test_the_problem_of_a_seed_is_frozen() -> None:
    # Published results name seeds: a change here needs a new version in the generator.
    uniform = uniform_occupancy(Topology((5, 4), (True, False)), 0.3, 4, 7, contiguous=True)
    assert uniform.busy == (10, 11, 14, 15, 16, 18)
    assert uniform.name == "uniform-5rx4-b0.3-k4-contiguous-s7"
    options: dict[str, Any] = {"allocator": first_row, "allocator_name": "rows", "job_sizes": (1, 4)}
    churned = churned_occupancy(Mesh((5, 4)), 0.5, 4, 7, **options, steps=20)
    assert churned.busy == (0, 1, 5, 6, 7, 8, 10, 11, 12, 13)
    assert churned.name == "churned-rows-5x4-b0.5-k4-s7"
    assert median_worst_case(16, 40, 3).name == "median-worst-case-k16-d40-s3"


def test_impossible_shares_and_seeds_are_refused() -> None:
    def both(share: float, seed: Any, message: str) -> None:
        with pytest.raises(InvalidOption, match=message):
            uniform_occupancy(HLRN, share, 1, seed)
        with pytest.raises(InvalidOption, match=message):
            churned_occupancy(HLRN, share, 1, seed, allocator=first_free)

    for share in (-0.1, 1.01, math.nan, math.inf):
        both(share, 0, rf"busy_share {share} is not in 0\.\.1")
    for seed in (-1, 1.5, "7", None):
        both(0.5, seed, "is not made of integers >= 0")
    with pytest.raises(InvalidProblem, match="size 65 is above the 64 free"):
        uniform_occupancy(HLRN, 0.5, 65, 0)


# --- churned -------------------------------------------------------------------------------------------


@given(
    topologies(max_nodes=40, complete=True),
    st.floats(0, 0.9),
    st.integers(0, 2**40),
    st.tuples(st.integers(1, 9), st.integers(1, 9)).map(sorted),
    st.integers(0, 30),
)
def test_the_share_is_met_if_the_allocator_can_fill_the_machine(
    topology: Topology, share: float, seed: int, sizes: list[int], steps: int
) -> None:
    wanted = round(share * topology.num_nodes)
    sizes = [min(size, topology.num_nodes) for size in sizes]
    if wanted == topology.num_nodes:
        return
    options: dict[str, Any] = {"allocator": first_free, "job_sizes": (sizes[0], sizes[1]), "steps": steps}
    problem = churned_occupancy(topology, share, 1, seed, **options)
    # At the end a job departed because another, of at most sizes[1] nodes, did not fit.
    assert min(wanted, topology.num_nodes - 2 * sizes[1] + 1) <= len(problem.busy) <= wanted
    assert churned_occupancy(topology, share, 1, seed, **options) == problem
    jobs = problem.meta["jobs"]
    assert isinstance(jobs, int)
    assert jobs * sizes[1] >= len(problem.busy) >= jobs


def test_what_the_allocator_cannot_place_is_lost() -> None:
    def refuses(topology: Topology, free: BoolArray, size: int) -> IntArray | None:  # noqa: ARG001 - called with the arguments of every allocator
        return None

    assert churned_occupancy(HLRN, 0.5, 16, 7, allocator=refuses).busy == ()
    # No two jobs of more than half a row fit into one.
    problem = churned_occupancy(HLRN, 0.99, 4, 7, allocator=first_row, job_sizes=(9, 10), steps=50)
    assert 7 * 9 <= len(problem.busy) <= 7 * 10
    # Nothing fits into a row that is longer than it.
    assert churned_occupancy(HLRN, 0.99, 4, 7, allocator=first_row, job_sizes=(17, 20)).busy == ()


def test_the_allocator_is_shown_what_is_free_and_no_more_than_it_asks_for() -> None:
    seen = []

    def watched(topology: Topology, free: BoolArray, size: int) -> IntArray | None:
        assert topology is HLRN
        assert not free.flags.writeable
        assert 1 <= size <= free.sum()
        seen.append((free.tobytes(), size))
        return first_free(topology, free, size)

    problem = churned_occupancy(HLRN, 0.5, 16, 7, allocator=watched, job_sizes=(3, 6), steps=40)
    assert {size for _, size in seen} == {3, 4, 5, 6}
    assert len({mask for mask, _ in seen}) > 20
    assert problem.name == "churned-watched-16x8-b0.5-k16-s7"


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ([0], "the allocator returns 1 nodes, asked for 2"),
        ([0, 0], "the allocator returns 1 nodes, asked for 2"),
        ([0, 1, 1], "the allocator returns 2 nodes, asked for 2"),
        ([0, -1], "the allocator returns node -1, which is not free"),
        ([0, 12], "the allocator returns node 12, which is not free"),
        ([0, 1], "the allocator returns node 0, which is not free"),
    ],
)
def test_a_wrong_allocator_is_found_out(nodes: list[int], message: str) -> None:
    def wrong(topology: Topology, free: BoolArray, size: int) -> IntArray | None:  # noqa: ARG001 - called with the arguments of every allocator
        return np.array(nodes)

    with pytest.raises(InvalidAnswer, match=message):
        churned_occupancy(Mesh((4, 3)), 0.9, 1, 0, allocator=wrong, job_sizes=(2, 2), steps=3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"job_sizes": (0, 3)}, r"job_sizes 0-3 is not within 1\.\.128"),
        ({"job_sizes": (4, 3)}, "job_sizes 4-3 is empty"),
        ({"job_sizes": (4, 129)}, r"job_sizes 4-129 is not within 1\.\.128"),
        ({"steps": -1}, "steps takes a whole number of at least 0, not -1"),
    ],
)
def test_an_impossible_option_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidOption, match=message):
        churned_occupancy(HLRN, 0.5, 1, 0, allocator=first_free, **options)


# --- the worst case of the median method ---------------------------------------------------------------


@pytest.mark.parametrize("distance", [6, 7, 8, 10, 13])
def test_the_worst_case_of_the_median_method(distance: int) -> None:
    problem = median_worst_case(8, distance)
    assert problem.topology == Mesh((3 * distance - 3, 2 * distance - 3))
    assert problem.free.sum() == 14
    assert naive.optimum(problem) == 16 * distance + 24
    nodes = naive_nearest.median(problem.topology, problem.free, problem.size)
    assert naive.pairwise(problem.topology, nodes) == 28 * distance - 33


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((0, 33, 2), "size takes a whole number of at least 8, not 0"),
        ((12, 33, 2), "size 12 is not a multiple of 8"),
        ((8, 33, 0), "step takes a whole number of at least 1, not 0"),
        ((8, 5, 2), "distance 5 less step 2 is below 4, too near for size 8"),
        ((64, 9, 2), "distance 9 less step 2 is below 8, too near for size 64"),
    ],
)
def test_an_impossible_worst_case_is_refused(options: tuple[int, int, int], message: str) -> None:
    with pytest.raises(InvalidOption, match=message):
        median_worst_case(*options)


@given(st.integers(1, 6), st.integers(1, 4), st.integers(2, 30))
def test_the_groups_never_touch(eighth: int, step: int, distance: int) -> None:
    try:
        problem: PartitionProblem = median_worst_case(8 * eighth, distance, step)
    except InvalidOption:
        return
    parts = naive.components(problem.topology, naive.free_nodes(problem))
    assert sorted(map(len, parts)) == [eighth] * 6 + [4 * eighth] * 2
