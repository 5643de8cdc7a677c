"""Partition problems and their answers: what is refused, and the JSON format."""

from __future__ import annotations

import copy
import dataclasses
import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from json_tools import faults_of, saved
from strategies import topologies

from allocsolve.errors import InvalidAnswer, InvalidOption, InvalidProblem, UnknownName
from allocsolve.instances import (
    digest,
    read_solution,
    write_problem,
    write_solution,
)
from allocsolve.judge import partition_violations
from allocsolve.model import (
    EvolutionProblem,
    HyperX,
    Mesh,
    NodeOrder,
    Partition,
    PartitionProblem,
    Topology,
    Torus,
    node_order,
)
from allocsolve.model.node_orders import SLURM_BITS

if TYPE_CHECKING:
    from pathlib import Path


MESH = Mesh((4, 3))
PROBLEM = PartitionProblem.of(MESH, busy=[5, 1], size=4, name="small", meta={"seed": 7})


# --- topologies ----------------------------------------------------------------------------------------


def test_nodes_are_numbered_along_the_first_axis_first() -> None:
    cube = Mesh((4, 3, 2))
    assert cube.num_nodes == 24
    for z, y, x in np.ndindex(2, 3, 4):
        assert cube.node_at((x, y, z)) == x + 4 * y + 12 * z
        assert cube.coordinates([x + 4 * y + 12 * z]).tolist() == [[x, y, z]]


@given(topologies(max_nodes=40, complete=True))
def test_coordinates_and_nodes_are_inverse(topology: Topology) -> None:
    places = topology.coordinates(range(topology.num_nodes)).tolist()
    assert [topology.node_at(place) for place in places] == list(range(topology.num_nodes))
    assert [topology.hop_distance(0, node) for node in range(topology.num_nodes)] == (
        topology.distances_from(0).tolist()
    )


def test_the_axes_of_a_hyperx_are_complete() -> None:
    assert HyperX([4, 3]) == Topology((4, 3), complete=(True, True)) != Mesh((4, 3))
    assert repr(HyperX((4,))) == "Topology(shape=(4,), wrap=(False,), complete=(True,))"
    assert repr(Torus((4,))) == "Topology(shape=(4,), wrap=(True,))"
    cube, mesh = HyperX((2, 2, 2)), Mesh((2, 2, 2))
    assert [cube.neighbours(node) for node in range(8)] == [mesh.neighbours(node) for node in range(8)]
    assert HyperX((4, 3, 1)).diameter == 2
    with pytest.raises(InvalidProblem, match="complete has 1 entries for the 2 axes"):
        Topology((4, 3), (), (True,))
    with pytest.raises(InvalidProblem, match="axis 1 is a ring by wrap and complete"):
        Topology((4, 3), (True, True), (False, True))
    with pytest.raises(InvalidProblem, match=r"shape \[8192\] with complete axes has more than 2\^24 links"):
        HyperX((8192,))


def test_rings_of_one_or_two_nodes_have_no_second_link() -> None:
    torus = Torus((1, 2, 3))
    assert torus.neighbours(0) == (1, 2, 4)
    assert torus.diameter == 2


@pytest.mark.parametrize("place", [(4, 0), (-1, 0), (0, 3), (0,), (0, 0, 0)])
def test_there_is_no_node_outside(place: tuple[int, ...]) -> None:
    with pytest.raises(IndexError, match="there is no node at"):
        MESH.node_at(place)


@pytest.mark.parametrize(
    ("shape", "wrap", "message"),
    [
        ((), (), "shape has 0 axes, not 1 to 32"),
        ((1,) * 33, (), "shape has 33 axes, not 1 to 32"),
        ((2, 2**14 + 1), (), r"side 16385 is above 2\^14"),
        ((10**5000, 2), (), r"side beyond 10\^18 is above 2\^14"),
        ((4, 0), (), r"shape \[4, 0\]: side 0 is below 1"),
        ((-2, 3), (), r"shape \[-2, 3\]: side -2 is below 1"),
        ((2**12, 2**13), (), r"shape \[4096, 8192\] has 33554432 nodes, more than 2\^24"),
        ((4.5, 3), (), r"shape \(4.5, 3\) is not a sequence of integers"),
        (12, (), "shape 12 is not a sequence of integers"),
        ((4, 3), (True,), r"wrap has 1 entries for the 2 axes of shape \[4, 3\]"),
    ],
)
def test_a_faulty_topology_is_refused(shape: Any, wrap: Any, message: str) -> None:
    with pytest.raises(InvalidProblem, match=message):
        Topology(shape, wrap)


# --- problems ------------------------------------------------------------------------------------------


def test_the_busy_nodes_are_those_that_are_not_free() -> None:
    assert PROBLEM.busy == (1, 5)
    assert np.flatnonzero(~PROBLEM.free).tolist() == [1, 5]
    assert (PROBLEM.size, PROBLEM.contiguous, PROBLEM.name) == (4, False, "small")
    assert PartitionProblem(MESH, PROBLEM.free, 4, name="small") == PROBLEM
    assert PartitionProblem.of(MESH, size=12).busy == ()


def test_a_box_is_asked_for_or_its_sides() -> None:
    any_box = PartitionProblem.of(MESH, size=4, box=np.True_)  # type: ignore[arg-type]  # numpy's truth will do
    sides = PartitionProblem.of(MESH, size=4, box=np.array([2, 2]))  # type: ignore[arg-type]  # a sequence
    assert (any_box.box, sides.box, PROBLEM.box) == (True, (2, 2), False)
    assert len({any_box, sides, PartitionProblem.of(MESH, size=4)}) == 3
    for problem in (any_box, sides):
        assert copy.deepcopy(problem) == problem == dataclasses.replace(problem)


@pytest.mark.parametrize(
    ("box", "message"),
    [
        (1, "box 1 is neither true, false nor a sequence of integers"),
        ("22", "box '22' is neither true, false nor a sequence of integers"),
        ((2, 1.5), r"box \(2, 1.5\) is neither"),
        ((4,), r"box has 1 sides for the 2 axes of shape \[4, 3\]"),
        ((1, 4), r"box \[1, 4\]: side 4 along axis 1 is not in 1..3"),
        ((-2, -2), r"box \[-2, -2\]: side -2 along axis 0 is not in 1..4"),
        ((2, 1), r"box \[2, 1\] has 2 nodes, but size is 4"),
    ],
)
def test_a_faulty_box_is_refused(box: Any, message: str) -> None:
    with pytest.raises(InvalidProblem, match=message):
        PartitionProblem.of(MESH, size=4, box=box)


def test_replace_and_inequality() -> None:
    ones = np.ones(12, dtype=np.bool_)
    changed: list[dict[str, Any]] = [{"topology": Torus((4, 3))}, {"topology": Mesh((3, 4))}, {"free": ones}]
    for changes in (*changed, {"size": 5}, {"contiguous": True}, {"name": "other"}):
        other = dataclasses.replace(PROBLEM, **changes)
        assert other != PROBLEM
        assert other.meta == PROBLEM.meta
    assert object() != PROBLEM


@pytest.mark.parametrize(
    ("free", "size", "message"),
    [
        (np.ones(11, dtype=np.bool_), 1, r"free is bool of shape \(11,\), not a mask over the 12 nodes"),
        (np.ones((3, 4), dtype=np.bool_), 1, r"free is bool of shape \(3, 4\), not a mask"),
        (np.ones(12, dtype=np.int64), 1, r"free is int64 of shape \(12,\), not a mask"),
        ([True] * 11 + [1], 1, r"free is int64 of shape \(12,\), not a mask"),
        (PROBLEM.free, 0, "size 0 is below 1"),
        (PROBLEM.free, -3, "size -3 is below 1"),
        (PROBLEM.free, 11, "size 11 is above the 10 free nodes"),
        (PROBLEM.free, 2.5, r"size 2\.5 is not an integer"),
        (np.zeros(12, dtype=np.bool_), 1, "size 1 is above the 0 free nodes"),
    ],
)
def test_a_faulty_problem_is_refused(free: Any, size: Any, message: str) -> None:
    with pytest.raises(InvalidProblem, match=message):
        PartitionProblem(MESH, free, size)


@pytest.mark.parametrize(
    ("busy", "message"),
    [
        ([12], r"busy node 12 is not in 0\.\.11"),
        ([-1], r"busy node -1 is not in 0\.\.11"),
        ([3, 4, 3], "busy node 3 is named twice"),
        ([1.5], r"busy node 1\.5 is not an integer"),
        (["1"], "busy node '1' is not an integer"),
    ],
)
def test_a_faulty_busy_node_is_named(busy: Any, message: str) -> None:
    with pytest.raises(InvalidProblem, match=message):
        PartitionProblem.of(MESH, busy=busy, size=1)


def test_any_kind_of_integer_will_do() -> None:
    problem = PartitionProblem.of(MESH, busy=np.array([1, 5], dtype=np.uint8), size=np.int32(4), name="small")  # type: ignore[arg-type]  # numpy's are integers too
    assert problem == PROBLEM
    assert type(problem.size) is int
    truth: Any = 1
    flagged = PartitionProblem.of(MESH, busy=[True], size=True, contiguous=truth)
    assert flagged.busy == (1,)
    assert type(flagged.size) is int
    assert flagged.contiguous is True


def test_a_problem_keeps_its_own_data() -> None:
    free = np.ones(12, dtype=np.bool_)
    meta: dict[str, object] = {"seed": 1}
    problem = PartitionProblem(MESH, free, 3, meta=meta)
    free[0] = False
    meta["seed"] = 2
    assert problem.free.all()
    assert problem.meta == {"seed": 1}


# --- partitions ----------------------------------------------------------------------------------------


def test_a_partition_is_kept_in_order_and_its_own() -> None:
    nodes = np.array([5, 2, 9])
    partition = Partition(nodes)
    nodes[0] = 7
    assert partition.nodes.tolist() == [2, 5, 9]
    assert partition.nodes.dtype == np.int64
    with pytest.raises(ValueError, match="read-only"):
        partition.nodes[0] = 7
    assert partition == Partition(np.array([9, 5, 2], dtype=np.uint8)) != Partition(np.array([2, 5]))
    assert hash(partition) == hash(Partition(np.array([9, 5, 2], dtype=np.uint8)))
    assert partition != object()
    assert Partition(np.array([])).nodes.tolist() == []


@pytest.mark.parametrize("nodes", [[1.5], [math.nan], ["1"], [True], [[1, 2]], 3, [2**70]])
def test_what_is_no_list_of_integers_is_refused(nodes: Any) -> None:
    with pytest.raises(InvalidAnswer, match=r"are not (a list of )?integers"):
        Partition(nodes)


def as_text(shape: tuple[int, ...], name: NodeOrder, bits: int | None = None) -> str:
    mesh = Mesh(shape)
    points = mesh.coordinates(node_order(mesh, name, bits=bits)).tolist()
    return " ".join("".join(map(str, point)) for point in points)


def jumps(shape: tuple[int, ...], name: NodeOrder, bits: int | None = None) -> list[int]:
    mesh = Mesh(shape)
    moved = np.abs(np.diff(mesh.coordinates(node_order(mesh, name, bits=bits)), axis=0)).sum(axis=1)
    return sorted(moved[moved > 1].tolist())


def test_slurm_orders() -> None:
    assert as_text((2, 2, 2), "hilbert", SLURM_BITS) == "000 010 110 100 101 111 011 001"
    assert as_text((4, 4), "hilbert", SLURM_BITS) == "00 01 11 10 20 30 31 21 22 32 33 23 13 12 02 03"


def test_without_bits_hilbert_takes_five_or_as_many_as_the_longest_side_needs() -> None:
    for shape, bits in (((16, 8), 5), ((32, 3), 5), ((33, 3), 6), ((1,), 5), ((3, 70), 7)):
        mesh = Mesh(shape)
        assert node_order(mesh, "hilbert") is node_order(mesh, "hilbert", bits=bits)


def test_jumps_of_hilbert_orders() -> None:
    for shape, bits, count in (
        *(((16, 8), 5, 0), ((8, 16), 4, 0), ((12, 10), 4, 2), ((100, 100), 7, 15)),
        *(((16, 8, 8), 4, 1), ((8, 8, 16), 4, 0), ((5, 5, 5), 3, 8)),
    ):
        assert len(jumps(shape, "hilbert", bits)) == count
    assert jumps((16, 8), "hilbert", 4) == jumps((8, 16), "hilbert", 5) == [15]


@pytest.mark.parametrize(
    ("name", "shape", "expected"),
    [
        ("row-major", (3, 2), "00 10 20 01 11 21"),
        ("snake", (3, 2), "00 10 20 21 11 01"),
        ("snake", (2, 2, 2), "000 100 110 010 011 111 101 001"),
        ("short-side-snake", (3, 2), "00 01 11 10 20 21"),
        ("short-side-snake", (2, 3), "00 10 11 01 02 12"),
        ("morton", (4, 2), "00 10 01 11 20 30 21 31"),
        ("generalised-hilbert", (4, 4), "00 10 11 01 02 03 13 12 22 23 33 32 31 21 20 30"),
        ("generalised-hilbert", (3, 2), "00 10 01 11 21 20"),
        ("generalised-hilbert", (2, 2, 2), "000 010 011 001 101 111 110 100"),
        ("generalised-hilbert", (1, 3), "00 01 02"),
    ],
)
def test_small_orders(name: NodeOrder, shape: tuple[int, ...], expected: str) -> None:
    assert as_text(shape, name) == expected


def test_many_axes_and_bits_need_more_than_one_word() -> None:
    shape = (2,) * 8
    assert sorted(node_order(Mesh(shape), "hilbert", bits=20).tolist()) == list(range(256))
    assert jumps(shape, "hilbert", 1) == []


@pytest.mark.parametrize(
    ("shape", "name", "bits", "message"),
    [
        ((16, 8), "hilbert", 3, r"bits 3 is not in 4\.\.62, which shape \[16, 8\] asks for"),
        ((16, 8), "hilbert", 63, r"bits 63 is not in 4\.\.62"),
        ((1,), "hilbert", 0, r"bits 0 is not in 1\.\.62"),
        ((16, 8), "snake", 5, "bits 5 given for the order snake, which has none"),
        ((2, 2, 1, 2, 2), "generalised-hilbert", None, r"shape \[2, 2, 1, 2, 2\] has 4"),
    ],
)
def test_bad_options_are_named(
    shape: tuple[int, ...], name: NodeOrder, bits: int | None, message: str
) -> None:
    with pytest.raises(InvalidOption, match=message):
        node_order(Mesh(shape), name, bits=bits)
    with pytest.raises(UnknownName, match="unknown node order 'hilbrt'; did you mean hilbert"):
        node_order(Mesh((2, 2)), "hilbrt")  # type: ignore[arg-type]  # the test is that it is refused


# --- Partition json -----------------------------------------------------------------------------------

FOUR_OF_TEN = PartitionProblem.of(Mesh((4, 3)), busy=[1, 5], size=4)
SOLUTION: dict[str, Any] = {
    "format": "allocsolve/1",
    "kind": "partition-set",
    "problem": digest(FOUR_OF_TEN),
    "nodes": [7, 3, 2, 6],
}


# --- solutions -----------------------------------------------------------------------------------------


def test_a_solution_may_name_its_nodes_in_any_order(tmp_path: Path) -> None:
    assert read_solution(saved(tmp_path, SOLUTION), FOUR_OF_TEN) == Partition(np.array([2, 3, 6, 7]))


def test_an_infeasible_solution_is_read_for_the_judge(tmp_path: Path) -> None:
    found = read_solution(saved(tmp_path, {**SOLUTION, "nodes": [1, 2, 2, 12, 99, -7]}), FOUR_OF_TEN)
    assert found.nodes.tolist() == [-7, 1, 2, 2, 12, 99]
    assert len(partition_violations(FOUR_OF_TEN, found)) == 6


@pytest.mark.parametrize("node", [-1, 12])
def test_a_partition_of_another_machine_is_not_written(tmp_path: Path, node: int) -> None:
    path = tmp_path / "s.json"
    with pytest.raises(
        InvalidAnswer, match=rf"does not belong to the problem: node {node} is not in 0\.\.11"
    ):
        write_solution(path, FOUR_OF_TEN, Partition(np.array([3, node])), {})
    assert not path.exists()


# --- there and back ------------------------------------------------------------------------------------


def test_complete_axes_and_boxes_are_written_where_they_are(tmp_path: Path) -> None:
    write_problem(FOUR_OF_TEN, tmp_path / "plain.json")
    plain = json.loads((tmp_path / "plain.json").read_text())
    assert not {"box", "complete"} & {*plain, *plain["topology"]}
    topology = Topology((4, 3), (True, False), (False, True))
    write_problem(PartitionProblem.of(topology, size=4, box=(2, 2)), tmp_path / "box.json")
    document = json.loads((tmp_path / "box.json").read_text())
    assert document["topology"] == {"shape": [4, 3], "wrap": [True, False], "complete": [False, True]}
    assert document["box"] == [2, 2]


def test_families_do_not_mix(tmp_path: Path) -> None:
    empty = EvolutionProblem(12, ())
    assert digest(empty) != digest(FOUR_OF_TEN)
    assert faults_of(lambda: read_solution(saved(tmp_path, SOLUTION), empty)) == (
        "kind: 'partition-set' is not 'evolution-schedule'",
    )


def test_nodes_stand_on_one_line(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    write_problem(PartitionProblem.of(Mesh((64, 64)), busy=range(0, 4096, 2), size=3), path)
    assert len(path.read_text().splitlines()) == 10
