"""Laws of allocators of meshes: curves, growth, buddies, and those that take what is nearest."""

from __future__ import annotations

import itertools
from functools import partial
from typing import TYPE_CHECKING, Any, get_args

import naive_allocators as naive
import naive_nearest
import numpy as np
import pytest
from allocator_strategies import requests, roomy_requests, shapes
from hypothesis import assume, given, settings, strategies as st
from kernel_tools import entry
from nearest_tools import greedy_ring, with_swaps
from tiers import examples

from allocsolve.bounds import partition_bound, star_bound
from allocsolve.heuristics.partition import (
    _kernels_nearest as rings,
    curve_fit as curve,
    growth as growing,
    nearest as search,
)
from allocsolve.heuristics.partition._kernels_nearest import descend
from allocsolve.heuristics.partition.allocator import lattice, pairwise_distance
from allocsolve.heuristics.partition.blocks import multiple_buddy, paging
from allocsolve.heuristics.partition.curve_fit import (
    best_fit_run,
    first_fit_run,
    largest_runs,
    min_span,
    sorted_free_list,
)
from allocsolve.heuristics.partition.growth import Growth, growth, leak
from allocsolve.heuristics.partition.nearest import manhattan_median, mc1x1
from allocsolve.heuristics.partition.submesh import SubmeshChoice, submesh
from allocsolve.instances import median_worst_case
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


# --- Nearest ------------------------------------------------------------------------------------------

#: What `manhattan_median` and `mc1x1` take.
CENTRES: tuple[search.Centres, ...] = get_args(search.Centres)
LAST_SHELLS: tuple[search.LastShell, ...] = get_args(search.LastShell)


#: Small enough for all sets to be tried: at most 12 over 6 of them.
tiny = requests(max_nodes=12)
flat = requests(max_nodes=48).filter(lambda drawn: len(drawn[0].shape) == 2)


def cost_of(topology: Topology, nodes: IntArray) -> int:
    arrays = lattice(topology)
    return pairwise_distance(arrays.shape, arrays.wrap, arrays.coordinates, nodes)


def as_mesh(topology: Topology) -> Topology:
    return Mesh(topology.shape)


@given(requests(), st.sampled_from(CENTRES), st.sampled_from(LAST_SHELLS))
def test_the_median_method_is_its_twin(request: Request, centres: Any, last: Any) -> None:
    topology, free, size = request
    nodes = manhattan_median(topology, free, size, centres=centres, last_ring=last)
    assert nodes.tolist() == naive_nearest.median(topology, free, size, centres, last)


@given(requests(max_nodes=20), st.integers(1, 8))
def test_swaps_are_their_twin(request: Request, starts: int) -> None:
    topology, free, size = request
    nodes = with_swaps(topology, free, size, swaps_from=starts)
    assert nodes.tolist() == naive_nearest.median_swaps(topology, free, size, starts, alike=3)


@given(requests(), st.sampled_from(LAST_SHELLS))
def test_shells_are_their_twin(request: Request, last: Any) -> None:
    topology, free, size = request
    assert mc1x1(topology, free, size, last_shell=last).tolist() == naive_nearest.mc1x1(
        topology, free, size, last
    )


@given(flat, st.booleans())
def test_the_ring_kernels_value_centres_as_the_plain_ones(request: Request, greedy: bool) -> None:
    topology, free, size = as_mesh(request[0]), request[1], request[2]
    field = search.field_of(topology, frozen_mask(free))
    machine, points, everywhere = field.machine, field.points, field.machine.points
    assert machine.planar
    width, height = topology.shape
    sums = rings.prefix_sums(points, width, height)
    quick = rings.costs_of_mesh_centres(sums, everywhere, size, greedy)
    plain = search._ball_values(field, size, greatest=False, greedy=greedy)(everywhere)
    assert quick.tolist() == plain.tolist()
    among = [tuple(point) for point in points.tolist()]
    last = "greedy" if greedy else "first"
    for centre, value in zip(everywhere.tolist(), plain.tolist(), strict=True):
        chosen = naive_nearest.median_set(topology, among, size, tuple(centre), last)
        assert value == naive_nearest.cost(topology, chosen)


@given(flat)
def test_the_box_kernel_values_centres_as_the_plain_one(request: Request) -> None:
    topology, free, size = as_mesh(request[0]), request[1], request[2]
    field = search.field_of(topology, frozen_mask(free))
    width, height = topology.shape
    quick = rings.mesh_shell_sums(field.points, width, height, field.machine.points, size)
    plain = search._ball_values(field, size, greatest=True, greedy=False)(field.machine.points)
    assert quick.tolist() == plain.tolist()


@given(requests(max_nodes=36), st.sampled_from(LAST_SHELLS), st.booleans())
def test_balls_are_worth_what_their_twins_are(request: Request, last: Any, greatest: bool) -> None:
    topology, free, size = request
    field = search.field_of(topology, frozen_mask(free))
    everywhere = field.machine.points
    values = search._ball_values(field, size, greatest=greatest, greedy=last == "greedy")(everywhere)
    among = [tuple(point) for point in field.points.tolist()]
    for centre, value in zip(map(tuple, everywhere.tolist()), values.tolist(), strict=True):
        if greatest:
            assert value == sum(
                sorted(naive_nearest.shell(topology, centre, place) for place in among)[:size]
            )
        else:
            assert value == naive_nearest.cost(
                topology, naive_nearest.median_set(topology, among, size, centre, last)
            )


@given(requests())
def test_distances_add_up_as_those_of_all_pairs(request: Request) -> None:
    topology, free, size = request
    chosen = list(naive_nearest.places(topology, free).items())[:size]
    nodes = np.array([node for _, node in chosen])
    assert cost_of(topology, nodes) == naive_nearest.cost(topology, [place for place, _ in chosen])


def frozen_mask(free: BoolArray) -> BoolArray:
    free = free.copy()
    free.setflags(write=False)
    return free


@given(requests(max_nodes=20), st.randoms(use_true_random=False))
def test_descents_from_any_set_are_their_twin(request: Request, random: Any) -> None:
    topology, free, size = request
    machine, _, points = search.field_of(topology, frozen_mask(free))
    start = np.array(sorted(random.sample(range(len(points)), size)), dtype=np.int64)
    chosen = start.copy()
    lowered = descend(machine.shape, machine.wrap, points, chosen, 1000)
    among = [tuple(point) for point in points.tolist()]
    before, after = [among[i] for i in start], [among[i] for i in chosen]
    assert after == naive_nearest.descend(topology, among, before)
    assert lowered == naive_nearest.cost(topology, before) - naive_nearest.cost(topology, after)


@given(requests(max_nodes=20), st.randoms(use_true_random=False))
def test_a_descent_can_be_stopped_and_resumed(request: Request, random: Any) -> None:
    topology, free, size = request
    machine, _, points = search.field_of(topology, frozen_mask(free))
    start = np.array(sorted(random.sample(range(len(points)), size)), dtype=np.int64)
    whole, piecewise = start.copy(), start.copy()
    lowered = descend(machine.shape, machine.wrap, points, whole, 1000)
    total = 0
    while step := descend(machine.shape, machine.wrap, points, piecewise, 1):
        total += step
    assert total == lowered
    assert piecewise.tolist() == whole.tolist()


@pytest.mark.parametrize(
    ("size", "busy", "value"),
    [(14, [1, 9, 12, 13, 17, 21, 23, 28], 263), (20, [5, 7, 8, 9, 14, 21, 22], 699)],
)
def test_the_plain_method_is_a_start_where_it_is_better(size: int, busy: list[int], value: int) -> None:
    # From the best greedy set alone the descents end at 264 and 701.
    mesh, free = Mesh((6, 5)), ~np.isin(np.arange(30), busy)
    nodes = with_swaps(mesh, free, size, swaps_from=1)
    assert cost_of(mesh, manhattan_median(mesh, free, size, centres="all")) == value
    assert cost_of(mesh, nodes) == value
    assert nodes.tolist() == naive_nearest.median_swaps(mesh, free, size, 1, alike=3)


def test_descents_start_from_few_sets_of_the_same_cost() -> None:
    costs = np.array([5, 5, 5, 5, 7, 3, 5])
    assert search._varied(costs, 4).tolist() == [5, 0, 1, 2]
    assert search._varied(costs, 30).tolist() == [5, 0, 1, 2, 4]


@given(tiny)
def test_guarantees_and_bounds(request: Request) -> None:
    topology, free, size = request
    best = naive_nearest.optimum(topology, free, size)
    dimensions = len(topology.shape)
    problem = PartitionProblem(topology, free, size)
    assert star_bound(problem) <= partition_bound(problem) <= best
    # The best star is above half the optimum.
    assert best * size <= star_bound(problem) * 2 * (size - 1)
    for centres in CENTRES:
        for method in (manhattan_median, greedy_ring, with_swaps):
            value = cost_of(topology, method(topology, free, size, centres=centres))
            assert best <= value
            assert value * size <= best * 2 * (size - 1)
    for last in LAST_SHELLS:
        value = cost_of(topology, mc1x1(topology, free, size, last_shell=last))
        assert best <= value
        assert value * size <= best * dimensions * 2 * (size - 1)


@settings(max_examples=examples(200))
@given(requests(max_nodes=14), st.sampled_from(("grid", "all")))
def test_the_median_method_is_within_its_guarantee_on_meshes(request: Request, centres: Any) -> None:
    topology, free, size = as_mesh(request[0]), request[1], request[2]
    dimensions = len(topology.shape)
    best = naive_nearest.optimum(topology, free, size)
    for method in (manhattan_median, greedy_ring):
        value = cost_of(topology, method(topology, free, size, centres=centres))
        assert value * 2 * dimensions <= best * (4 * dimensions - 1)


@given(requests(max_nodes=60))
def test_swaps_and_more_centres_never_cost(request: Request) -> None:
    topology, free, size = request
    grid, all_, free_ = (
        cost_of(topology, manhattan_median(topology, free, size, centres=centres))
        for centres in ("grid", "all", "free")
    )
    assert all_ <= grid <= free_
    for centres in CENTRES:
        greedy = greedy_ring(topology, free, size, centres=centres)
        plain = manhattan_median(topology, free, size, centres=centres)
        for starts in (1, 30):
            swaps = with_swaps(topology, free, size, centres=centres, swaps_from=starts)
            assert cost_of(topology, swaps) <= min(cost_of(topology, plain), cost_of(topology, greedy))
            of_first = manhattan_median(topology, free, size, centres=centres, swaps_from=starts)
            assert cost_of(topology, of_first) <= cost_of(topology, plain)


@given(requests(max_nodes=40))
def test_the_bounds_are_those_of_the_twins(request: Request) -> None:
    topology, free, size = request
    bound = -(-size * naive_nearest.least_star(topology, free, size, "free") // 2)
    rings_ = [side for side, wrap in zip(topology.shape, topology.wrap, strict=True) if wrap and side > 2]
    full = any(full and side > 2 for side, full in zip(topology.shape, topology.complete, strict=True))
    if not rings_ and not full:
        bound = max(bound, -(-size // 2) * naive_nearest.least_star(topology, free, size, "grid"))
    if size % 2 and not full and not any(side % 2 for side in rings_):
        bound += bound % 2
    assert star_bound(PartitionProblem(topology, free, size)) == bound


def test_the_tight_family_approaches_seven_quarters() -> None:
    ratios = []
    for distance in (20, 33, 60, 100):
        problem = median_worst_case(8, distance)
        topology, free = problem.topology, problem.free
        median = cost_of(topology, manhattan_median(topology, free, 8))
        assert median == 28 * distance - 33
        # Swaps reach the optimum: both blobs.
        swaps = cost_of(topology, with_swaps(topology, free, 8))
        assert swaps == 16 * distance + 24
        assert partition_bound(problem) <= swaps
        ratios.append(median / swaps)
    assert ratios == sorted(ratios)
    assert 1.7 < ratios[-1] < 1.75


def test_swaps_reach_the_town_where_all_sets_of_medians_are_the_same() -> None:
    free = np.ones(10_000, dtype=np.bool_)
    mesh = Mesh((100, 100))
    assert cost_of(mesh, manhattan_median(mesh, free, 32)) == 1865
    assert cost_of(mesh, greedy_ring(mesh, free, 32)) == 1853
    assert cost_of(mesh, with_swaps(mesh, free, 32)) == 1840
