"""The judge of partitions against the definitions, and its messages."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

import naive_partition as naive
import numpy as np
import pytest
from hypothesis import given, strategies as st
from strategies import partition_problems, partitions, topologies

from allocsolve.errors import InvalidAnswer, InvalidOption, UnknownName
from allocsolve.judge import (
    confirm,
    metrics,
    partition_metrics,
    partition_value,
    partition_violations,
    value,
    violations,
)
from allocsolve.model import (
    PARTITION_OBJECTIVES,
    HyperX,
    Mesh,
    Partition,
    PartitionProblem,
    Result,
    Status,
    Topology,
    Torus,
)

#: What depends on the set and its surroundings only, not on where node ids begin.
SHAPE_METRICS = (
    *("total_distance", "average_distance", "diameter", "radius", "box_volume", "box_fill"),
    *("components", "boundary", "largest_free_component"),
)


@st.composite
def cases(draw: st.DrawFn, /, **limits: Any) -> tuple[PartitionProblem, Partition]:
    problem = draw(partition_problems(**{"max_nodes": 45, "contiguous": None, **limits}))
    return problem, draw(partitions(problem))


def total(topology: Topology, nodes: list[int]) -> int:
    problem = PartitionProblem.of(topology, size=len(nodes))
    return partition_value(problem, Partition(np.array(nodes)), PARTITION_OBJECTIVES)


def moved(
    case: tuple[PartitionProblem, Partition], topology: Topology, to: list[int]
) -> tuple[PartitionProblem, Partition]:
    """Return the same machine with each node n renamed to[n]."""
    problem, partition = case
    free = np.empty_like(problem.free)
    free[to] = problem.free
    renamed = PartitionProblem(topology, free, problem.size, problem.contiguous)
    return renamed, Partition(np.array(to)[partition.nodes])


def shape_metrics(case: tuple[PartitionProblem, Partition]) -> list[object]:
    found = partition_metrics(*case)
    return [getattr(found, name) for name in SHAPE_METRICS]


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


# --- symmetries ----------------------------------------------------------------------------------------


@given(cases(), st.data())
def test_reflection_changes_no_shape(case: tuple[PartitionProblem, Partition], data: st.DataObject) -> None:
    topology = case[0].topology
    axis = data.draw(st.integers(0, len(topology.shape) - 1))
    places = topology.coordinates(range(topology.num_nodes))
    places[:, axis] = topology.shape[axis] - 1 - places[:, axis]
    mirrored = moved(case, topology, [topology.node_at(place) for place in places.tolist()])
    assert shape_metrics(mirrored) == shape_metrics(case)
    assert partition_metrics(*mirrored).box == partition_metrics(*case).box


@given(cases(), st.data())
def test_relabelling_axes_changes_no_shape(
    case: tuple[PartitionProblem, Partition], data: st.DataObject
) -> None:
    topology = case[0].topology
    axes = data.draw(st.permutations(range(len(topology.shape))))
    turned = Topology(
        tuple(topology.shape[axis] for axis in axes),
        tuple(topology.wrap[axis] for axis in axes),
        tuple(topology.complete[axis] for axis in axes),
    )
    places = topology.coordinates(range(topology.num_nodes))[:, axes]
    other = moved(case, turned, [turned.node_at(place) for place in places.tolist()])
    assert shape_metrics(other) == shape_metrics(case)
    box = partition_metrics(*case).box
    assert partition_metrics(*other).box == tuple(box[axis] for axis in axes)
    assert bool(partition_violations(*other)) == bool(partition_violations(*case))


@given(cases(wraps=(True,)), st.data())
def test_translation_on_a_torus_changes_no_shape(
    case: tuple[PartitionProblem, Partition], data: st.DataObject
) -> None:
    topology = case[0].topology
    shift = [data.draw(st.integers(0, side - 1)) for side in topology.shape]
    places = (topology.coordinates(range(topology.num_nodes)) + shift) % topology.shape
    shifted = moved(case, topology, [topology.node_at(place) for place in places.tolist()])
    assert shape_metrics(shifted) == shape_metrics(case)
    assert partition_metrics(*shifted).box == partition_metrics(*case).box


@given(cases(max_nodes=12))
def test_more_links_never_make_a_set_dearer(case: tuple[PartitionProblem, Partition]) -> None:
    problem, partition = case
    shape = problem.topology.shape
    for between in (problem.topology, Torus(shape)):
        costs = [
            partition_value(PartitionProblem(topology, problem.free, problem.size), partition)
            for topology in (HyperX(shape), between, Mesh(shape))
        ]
        assert costs == sorted(costs)


# --- the optimum ---------------------------------------------------------------------------------------


@given(partition_problems(max_nodes=10, contiguous=None))
def test_the_optimum_is_a_judged_answer_and_none_is_better(problem: PartitionProblem) -> None:
    worth = []
    for nodes in itertools.combinations(naive.free_nodes(problem), problem.size):
        partition = Partition(np.array(nodes))
        if not partition_violations(problem, partition):
            worth.append(partition_value(problem, partition))
    assert min(worth, default=None) == naive.optimum(problem)


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
    with pytest.raises(UnknownName, match="unknown objective"):
        value(PROBLEM, Partition(np.array([0])), objective)


@pytest.mark.parametrize("order", [[0, 1], [0] * 20, [*range(1, 21)], [[*range(20)]]])
def test_an_order_must_be_a_permutation(order: list[int]) -> None:
    with pytest.raises(InvalidOption, match="order is not a permutation of the 20 nodes"):
        partition_metrics(PROBLEM, Partition(np.array([0])), order=np.array(order))


class TestConfirm:
    """Claims that the judge does not confirm are refused; a bound that is met is a proof."""

    answer = Partition(np.array([0, 1, 2, 5, 6, 10]))

    def test_fills_in_the_value(self) -> None:
        found = confirm(PROBLEM, Result(Status.FEASIBLE, self.answer), PARTITION_OBJECTIVES)
        assert (found.objective, found.status) == (28, Status.FEASIBLE)
        assert value(PROBLEM, self.answer, PARTITION_OBJECTIVES) == 28

    def test_a_met_bound_is_a_proof(self) -> None:
        found = confirm(PROBLEM, Result(Status.FEASIBLE, self.answer, bound=28), PARTITION_OBJECTIVES)
        assert found.status is Status.OPTIMAL

    @pytest.mark.parametrize(
        ("result", "message"),
        [
            (Result(Status.FEASIBLE, answer, 27), "claims pairwise 27, the judge finds 28"),
            (Result(Status.FEASIBLE, answer, bound=29), "claims the bound 29, its own answer has 28"),
            (
                Result(Status.FEASIBLE, Partition(np.array([0, 1, 2, 7, 19]))),
                r"not feasible: 5 nodes are chosen, requested are 6 \(and 2 more\)",
            ),
        ],
    )
    def test_refuses(self, result: Result[Partition], message: str) -> None:
        with pytest.raises(InvalidAnswer, match=message):
            confirm(PROBLEM, result, PARTITION_OBJECTIVES)
