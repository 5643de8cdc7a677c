"""The JSON format of partitions: what is read, what is refused with which words, how files are written."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from json_tools import faults_of, problem_faults, saved

from allocsolve.errors import InvalidAnswer
from allocsolve.instances import (
    digest,
    read_solution,
    write_problem,
    write_solution,
)
from allocsolve.judge import partition_violations
from allocsolve.model import EvolutionProblem, Mesh, Partition, PartitionProblem, Topology

if TYPE_CHECKING:
    from pathlib import Path

MINIMAL: dict[str, Any] = {"format": "allocsolve/1", "kind": "partition", "size": 4, "busy": [5, 1]}
MINIMAL["topology"] = {"shape": [4, 3]}
PROBLEM = PartitionProblem.of(Mesh((4, 3)), busy=[1, 5], size=4)
SOLUTION: dict[str, Any] = {
    "format": "allocsolve/1",
    "kind": "partition-set",
    "problem": digest(PROBLEM),
    "nodes": [7, 3, 2, 6],
}


# --- problems ------------------------------------------------------------------------------------------


BOTH = {"wrap": [False, True], "complete": [True, True]}
FAULTY_PROBLEMS: list[tuple[dict[str, Any], str]] = [
    ({"topology": {"shape": []}}, "topology: shape has 0 axes, not 1 to 32"),
    (
        {"topology": {"shape": [4096, 8192]}},
        "topology: shape [4096, 8192] has 33554432 nodes, more than 2^24",
    ),
    ({"topology": {"shape": [4, 3], "wrap": [True]}}, "topology.wrap: 1 entries for the 2 axes of the shape"),
    ({"topology": {"shape": [4, 3], "wrap": []}}, "topology.wrap: 0 entries for the 2 axes of the shape"),
    (
        {"topology": {"shape": [4, 3], **BOTH}},
        "topology: axis 1 is a ring by wrap and complete: it is one of them at most",
    ),
    ({"box": [4]}, "box: box has 1 sides for the 2 axes of shape [4, 3]"),
    ({"size": 5, "box": [5, 1]}, "box: box [5, 1]: side 5 along axis 0 is not in 1..4"),
    ({"size": 5, "box": [2, 2]}, "box: box [2, 2] has 4 nodes, but size is 5"),
    ({"busy": [12, 5]}, "busy[0]: node 12 is above the last node 11"),
    ({"busy": [5, 1, 5]}, "busy[2]: 5 is also busy[0]"),
    ({"busy": [*range(12)], "size": 1}, "busy: all 12 nodes are busy"),
    ({"size": 11}, "size: value 11 is above the number of free nodes 10"),
]


@pytest.mark.parametrize(("changes", "fault"), FAULTY_PROBLEMS)
def test_a_faulty_problem_is_refused_with_place_and_value(
    tmp_path: Path, changes: dict[str, Any], fault: str
) -> None:
    assert problem_faults(tmp_path, {**MINIMAL, **changes}) == (fault,)


# --- solutions -----------------------------------------------------------------------------------------


def test_a_solution_may_name_its_nodes_in_any_order(tmp_path: Path) -> None:
    assert read_solution(saved(tmp_path, SOLUTION), PROBLEM) == Partition(np.array([2, 3, 6, 7]))


def test_an_infeasible_solution_is_read_for_the_judge(tmp_path: Path) -> None:
    found = read_solution(saved(tmp_path, {**SOLUTION, "nodes": [1, 2, 2, 12, 99, -7]}), PROBLEM)
    assert found.nodes.tolist() == [-7, 1, 2, 2, 12, 99]
    assert len(partition_violations(PROBLEM, found)) == 6


@pytest.mark.parametrize("node", [-1, 12])
def test_a_partition_of_another_machine_is_not_written(tmp_path: Path, node: int) -> None:
    path = tmp_path / "s.json"
    with pytest.raises(
        InvalidAnswer, match=rf"does not belong to the problem: node {node} is not in 0\.\.11"
    ):
        write_solution(path, PROBLEM, Partition(np.array([3, node])), {})
    assert not path.exists()


# --- there and back ------------------------------------------------------------------------------------


def test_complete_axes_and_boxes_are_written_where_they_are(tmp_path: Path) -> None:
    write_problem(PROBLEM, tmp_path / "plain.json")
    plain = json.loads((tmp_path / "plain.json").read_text())
    assert not {"box", "complete"} & {*plain, *plain["topology"]}
    topology = Topology((4, 3), (True, False), (False, True))
    write_problem(PartitionProblem.of(topology, size=4, box=(2, 2)), tmp_path / "box.json")
    document = json.loads((tmp_path / "box.json").read_text())
    assert document["topology"] == {"shape": [4, 3], "wrap": [True, False], "complete": [False, True]}
    assert document["box"] == [2, 2]


def test_families_do_not_mix(tmp_path: Path) -> None:
    empty = EvolutionProblem(12, ())
    assert digest(empty) != digest(PROBLEM)
    assert faults_of(lambda: read_solution(saved(tmp_path, SOLUTION), empty)) == (
        "kind: 'partition-set' is not 'evolution-schedule'",
    )


def test_nodes_stand_on_one_line(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    write_problem(PartitionProblem.of(Mesh((64, 64)), busy=range(0, 4096, 2), size=3), path)
    assert len(path.read_text().splitlines()) == 10
