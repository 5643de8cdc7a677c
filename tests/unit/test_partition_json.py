"""The JSON format of partitions: what is read, what is refused with which words, how files are written."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from json_tools import faults_of, saved

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

PROBLEM = PartitionProblem.of(Mesh((4, 3)), busy=[1, 5], size=4)
SOLUTION: dict[str, Any] = {
    "format": "allocsolve/1",
    "kind": "partition-set",
    "problem": digest(PROBLEM),
    "nodes": [7, 3, 2, 6],
}


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
