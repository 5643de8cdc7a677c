"""Laws of the judges of partitions and of placements."""

from __future__ import annotations

import dataclasses
import itertools
import pickle
from typing import TYPE_CHECKING, Any

import naive_partition as naive
import naive_placement
import numpy as np
import pytest
from hypothesis import given, strategies as st
from placement_strategies import placement_problems, placements, regular_trees, switch_trees
from strategies import partition_problems, partitions, topologies

from allocsolve.errors import InvalidAnswer, InvalidOption, InvalidProblem, UnknownName
from allocsolve.judge import (
    metrics,
    partition_metrics,
    partition_value,
    partition_violations,
    placement_metrics,
    placement_value,
    placement_violations,
    value,
    violations,
)
from allocsolve.model import (
    PARTITION_OBJECTIVES,
    PLACEMENT_OBJECTIVES,
    Mesh,
    Partition,
    PartitionProblem,
    Placement,
    PlacementProblem,
    SwitchTree,
    Topology,
    Torus,
)

if TYPE_CHECKING:
    from hypothesis.strategies import DataObject


@st.composite
def cases(draw: st.DrawFn, /, **limits: Any) -> tuple[PartitionProblem, Partition]:
    problem = draw(partition_problems(**{"max_nodes": 45, "contiguous": None, **limits}))
    return problem, draw(partitions(problem))


def total(topology: Topology, nodes: list[int]) -> int:
    problem = PartitionProblem.of(topology, size=len(nodes))
    return partition_value(problem, Partition(np.array(nodes)), PARTITION_OBJECTIVES)


# --- the definitions -----------------------------------------------------------------------------------


@given(topologies(max_nodes=60, complete=True))
def test_hops_are_those_of_a_search(topology: Topology) -> None:
    for node in range(topology.num_nodes):
        assert topology.distances_from(node).tolist() == list(naive.distances(topology, node))
        assert topology.neighbours(node) == naive.links(topology)[node]
    assert topology.diameter == max(max(naive.distances(topology, n)) for n in range(topology.num_nodes))


@given(cases())
def test_the_value_is_the_sum_over_pairs_over_cuts_and_over_coordinates(
    case: tuple[PartitionProblem, Partition],
) -> None:
    problem, partition = case
    nodes = partition.nodes.tolist()
    found = partition_value(problem, partition, PARTITION_OBJECTIVES)
    assert found == naive.pairwise(problem.topology, nodes)
    assert found == naive.cut_sum(problem.topology, nodes)
    assert found == naive.axis_counts_pairwise(problem.topology, nodes)


@given(cases(), st.data())
def test_metrics_are_those_of_the_definitions(
    case: tuple[PartitionProblem, Partition], data: st.DataObject
) -> None:
    problem, partition = case
    topology, nodes = problem.topology, partition.nodes.tolist()
    order = data.draw(st.permutations(range(topology.num_nodes)))
    found = partition_metrics(problem, partition, order=np.array(order))
    pairs = len(nodes) * (len(nodes) - 1) // 2
    box = naive.bounding_box(topology, nodes)
    volume = int(np.prod(box))
    left = set(naive.free_nodes(problem)) - set(nodes)
    ranks = sorted(order.index(node) for node in nodes)
    assert dataclasses.asdict(found) == {
        "total_distance": naive.pairwise(topology, nodes),
        "average_distance": naive.pairwise(topology, nodes) / pairs if pairs else 0,
        "diameter": naive.diameter(topology, nodes),
        "radius": naive.radius(topology, nodes),
        "box": box,
        "box_volume": volume,
        "box_fill": len(nodes) / volume,
        "components": len(naive.components(topology, nodes)),
        "boundary": naive.boundary(problem, nodes),
        "span": ranks[-1] - ranks[0] + 1,
        "runs": len(naive.runs(order, nodes)),
        "largest_free_component": max(map(len, naive.components(topology, left)), default=0),
    }


@given(cases(max_nodes=200, max_axes=2))
def test_longer_axes_change_nothing(case: tuple[PartitionProblem, Partition]) -> None:
    problem, partition = case
    topology, nodes = problem.topology, partition.nodes.tolist()
    found = partition_metrics(problem, partition)
    assert found.diameter == naive.diameter(topology, nodes)
    assert found.radius == naive.radius(topology, nodes)
    assert found.components == len(naive.components(topology, nodes))
    assert (found.components == 1) == naive.is_connected(topology, nodes)


@given(partition_problems(max_nodes=16, contiguous=None), st.data())
def test_violations_are_those_of_the_definition(problem: PartitionProblem, data: st.DataObject) -> None:
    near = st.integers(-1, problem.topology.num_nodes)
    right = partitions(problem).map(lambda partition: partition.nodes.tolist())
    nodes = data.draw(right | st.lists(near, max_size=problem.size + 1))
    found = partition_violations(problem, Partition(np.array(nodes, dtype=np.int64)))
    assert bool(found) == naive.violates(problem, nodes)


# --- examples ------------------------------------------------------------------------------------------


def test_values_by_hand() -> None:
    assert total(Mesh((4, 2)), [0]) == 0
    assert total(Mesh((4, 2)), [0, 1, 4, 5]) == 8
    assert total(Mesh((16, 8)), [0, 127]) == 22
    assert total(Torus((16, 8)), [0, 127]) == 2
    assert total(Torus((5,)), [0, 1, 2, 3, 4]) == 15
    assert total(Mesh((128, 128)), list(range(128**2))) == 2 * 128**2 * 128 * (128**2 - 1) // 6


def test_the_longest_axis() -> None:
    length = 2**14
    assert total(Mesh((length,)), np.arange(length).tolist()) == length * (length**2 - 1) // 6


PROBLEM = PartitionProblem.of(Mesh((5, 4)), busy=[7, 19], size=6)
# 0 1 . . .     chosen: 0 1 5 13 15 18
# 5 . b . .
# . . . 13 .
# 15 . . 18 b


def test_metrics_by_hand() -> None:
    found = metrics(PROBLEM, Partition(np.array([0, 1, 5, 13, 15, 18])))
    assert (found.total_distance, found.average_distance) == (50, 50 / 15)
    assert (found.diameter, found.radius) == (6, 3)
    assert (found.box, found.box_volume, found.box_fill) == ((4, 4), 16, 0.375)
    assert (found.components, found.boundary) == (3, 10)
    assert (found.span, found.runs) == (19, 5)
    assert found.largest_free_component == 6  # on either side


def test_a_set_round_the_corner_of_a_torus_is_a_square() -> None:
    problem = PartitionProblem.of(Torus((8, 6)), size=4)
    corners = Partition(np.array([0, 7, 40, 47]))
    found = partition_metrics(problem, corners)
    assert (found.total_distance, found.diameter, found.box, found.box_fill) == (8, 2, (2, 2), 1)
    assert (found.components, found.boundary) == (1, 8)
    on_mesh = partition_metrics(PartitionProblem.of(Mesh((8, 6)), size=4), corners)
    assert (on_mesh.total_distance, on_mesh.diameter, on_mesh.box) == (48, 12, (8, 6))
    assert (on_mesh.components, on_mesh.boundary) == (4, 8)


@pytest.mark.parametrize(
    ("nodes", "messages"),
    [
        ([0, 1, 2, 3, 4], ["5 nodes are chosen, requested are 6"]),
        ([0, 1, 2, 3, 3, 3], ["node 3 is chosen 3 times"]),
        ([-2, 1, 2, 3, 4, 20], ["node -2 is not in 0..19", "node 20 is not in 0..19"]),
        ([1, 2, 3, 7, 8, 19], ["node 7 is busy", "node 19 is busy"]),
        ([], ["0 nodes are chosen, requested are 6"]),
        ([0, 1, 5, 13, 15, 18], []),
    ],
)
def test_messages_name_the_node(nodes: list[int], messages: list[str]) -> None:
    partition = Partition(np.array(nodes, dtype=np.int64))
    assert list(partition_violations(PROBLEM, partition)) == messages


def test_messages_tell_what_is_not_connected() -> None:
    linked = dataclasses.replace(PROBLEM, contiguous=True)
    assert violations(linked, Partition(np.array([0, 1, 5, 13, 15, 18]))) == (
        "node 13 is not connected to node 0: the set has 3 components",
    )
    assert violations(linked, Partition(np.array([0, 1, 2, 3, 4, 9]))) == ()
    # What is out of the machine connects nothing, and an empty set has no parts.
    assert violations(linked, Partition(np.array([0, 1, 2, 3, 20]))) == (
        "5 nodes are chosen, requested are 6",
        "node 20 is not in 0..19",
    )
    assert len(violations(linked, Partition(np.array([], dtype=np.int64)))) == 1


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ([], "the partition has no nodes"),
        ([-1, 3], r"node -1 of the partition is not in 0\.\.19"),
        ([3, 20], r"node 20 of the partition is not in 0\.\.19"),
        ([3, 4, 4], "node 4 of the partition is chosen twice"),
    ],
)
def test_what_is_no_set_of_nodes_has_no_worth(nodes: list[int], message: str) -> None:
    partition = Partition(np.array(nodes, dtype=np.int64))
    for judged in (partition_value, partition_metrics):
        with pytest.raises(InvalidAnswer, match=message):
            judged(PROBLEM, partition)


@pytest.mark.parametrize("objective", [("makespan",), (), ("pairwise", "pairwise")])
def test_there_is_no_other_objective(objective: tuple[str, ...]) -> None:
    with pytest.raises((InvalidOption, UnknownName), match="objective"):
        value(PROBLEM, Partition(np.array([0])), objective)


@pytest.mark.parametrize("order", [[0, 1], [0] * 20, [*range(1, 21)], [[*range(20)]]])
def test_an_order_must_be_a_permutation(order: list[int]) -> None:
    with pytest.raises(InvalidOption, match="order is not a permutation of the 20 nodes"):
        partition_metrics(PROBLEM, Partition(np.array([0])), order=np.array(order))


# --- Placement judge ----------------------------------------------------------------------------------


@given(switch_trees())
def test_distances_are_those_of_the_way_along_links(tree: SwitchTree) -> None:
    for one, other in itertools.product(range(tree.num_nodes), repeat=2):
        hops = naive_placement.distance(tree, one, other)
        if hops is None:
            with pytest.raises(ValueError, match="no switch is above"):
                tree.hop_distance(one, other)
        else:
            assert tree.hop_distance(one, other) == hops


@given(st.data(), placement_problems())
def test_metrics_are_those_of_all_pairs(data: DataObject, problem: PlacementProblem) -> None:
    placement = data.draw(placements(problem))
    nodes, tree = placement.nodes.tolist(), problem.tree
    metrics = placement_metrics(problem, placement)
    hops = [naive_placement.distance(tree, one, other) for one, other in itertools.combinations(nodes, 2)]
    assert metrics.total_distance == naive_placement.pairwise(tree, nodes)
    assert metrics.diameter == max((way for way in hops if way is not None), default=0)
    assert metrics.domains == tuple(
        naive_placement.domains(tree, nodes, level) for level in range(1, tree.height + 1)
    )
    assert metrics.leftover == naive_placement.leftover(problem, nodes)
    assert metrics.bottleneck == float(naive_placement.bottleneck(tree, nodes))
    values = placement_value(problem, placement, PLACEMENT_OBJECTIVES)
    assert values == tuple(placement_value(problem, placement, [term]) for term in PLACEMENT_OBJECTIVES)
    assert isinstance(values, tuple)
    assert values[0] == metrics.total_distance


@given(st.data(), placement_problems())
def test_what_breaks_a_demand_is_found(data: DataObject, problem: PlacementProblem) -> None:
    placement = data.draw(placements(problem))
    assert (not placement_violations(problem, placement)) == naive_placement.is_feasible(
        problem, placement.nodes.tolist()
    )


@given(st.data(), placement_problems())
def test_what_is_no_set_of_free_nodes_is_found(data: DataObject, problem: PlacementProblem) -> None:
    nodes = data.draw(placements(problem)).nodes.tolist()
    for wrong in (nodes[1:], [*nodes, nodes[0]], [*nodes[1:], problem.tree.num_nodes], [*nodes[1:], -1]):
        assert placement_violations(problem, Placement(np.array(wrong, dtype=np.int64)))
    busy = np.flatnonzero(~problem.free).tolist()
    if busy:
        fault = f"node {busy[0]} is busy"
        assert fault in placement_violations(problem, Placement(np.array([*nodes[1:], busy[0]])))


@given(regular_trees())
def test_a_regular_tree_is_told_from_its_switches(tree: SwitchTree) -> None:
    form = tree.regular_form()
    assert form is not None
    assert SwitchTree.regular(*form) == tree


@given(switch_trees())
def test_the_regular_form_is_that_of_the_tree_or_none(tree: SwitchTree) -> None:
    form = tree.regular_form()
    assert form is None or SwitchTree.regular(*form) == tree
    assert pickle.loads(pickle.dumps(tree)) == tree  # noqa: S301 - made in the line itself


@pytest.mark.parametrize("levels", [16, 17])
def test_a_tree_of_too_many_levels_is_refused(levels: int) -> None:
    parent, switch = np.arange(-1, levels - 1), np.array([levels - 1])
    if levels <= 16:
        assert SwitchTree(parent, switch).height == levels
    else:
        with pytest.raises(InvalidProblem, match="more than 16 levels"):
            SwitchTree(parent, switch)
