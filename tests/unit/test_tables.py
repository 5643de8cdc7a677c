"""Tables: what is refused and with which words, and tables on the command line."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

import numpy as np
import pytest
from cli_tools import refused, run

from allocsolve.errors import FormatError, InvalidProblem
from allocsolve.instances import (
    problem_columns,
    problem_from_columns,
    read_problem,
    read_solution,
    solution_columns,
    solution_from_columns,
    write_problem,
)
from allocsolve.model import EvolutionProblem, EvolutionProfile, EvolutionSchedule, Mesh, PartitionProblem

if TYPE_CHECKING:
    from pathlib import Path

    from cli_tools import Capture

PROBLEM = EvolutionProblem(8, (EvolutionProfile([(60, 2), (30, 8)]), EvolutionProfile([(90, 4)])), (0, 10), 2)
TABLE = """application,duration,nodes,num_nodes,release,expand_limit
a0,60,2,8,,2
a0,30,8,8,,2
a1,90,4,8,10,2
"""
MESH = "node,x,y,free,size\n0,0,0,1,2\n1,1,0,1,2\n2,0,1,0,2\n3,1,1,1,2\n"

FAULTS = {
    "": "is empty",
    TABLE.replace(",nodes,", ",width,"): "there is no column 'nodes'; unknown column 'width'; known: appl",
    TABLE.replace("release", "nodes"): "the column 'nodes' stands twice",
    TABLE.replace("a0,30,8,8,,2", "a0,30,8"): "line 3: 3 cells for 6 columns",
    TABLE.replace("a0,60", "a0,0"): "line 2: duration 0 is below 1",
    TABLE.replace("a0,60", "a0,1.5"): "line 2: duration must be an integer, not 1.5",
    TABLE.replace("a0,60", "a0,NA"): "line 2: duration must be an integer, not null",
    TABLE.replace("30,8,8", "30,9,8"): "line 3: nodes 9 is above num_nodes 8",
    TABLE.replace("90,4,8", "90,4,9"): "line 4: num_nodes 9, but 8 in line 2",
    TABLE.replace("30,8,8,", "30,8,8,7"): "line 3: release 7, but 0 in line 2",
    TABLE.replace("4,8,10", "4,8,-1"): "line 4: release -1 is below 0",
    TABLE.replace(",2\n", f",{'9' * 400}\n"): "expand_limit: must be a number or null, not '99999999",
    TABLE.replace("8,10,2", "8,10,3"): "line 4: expand_limit 3, but 2 in line 2",
    "application,step,duration,nodes,num_nodes\na,0,1,1,8\na,2,1,1,8\n": "line 3: step 2 of 'a' where step 1",
    "application,step,duration,nodes,num_nodes\na,0,1,1,8\na,x,1,1,8\n": "line 3: step 'x' of 'a' where",
    "application,duration,nodes,num_nodes\n": "there are no rows",
    'application,duration\n"a,1': "line 2: unexpected end of data",
    MESH.replace("3,1,1,1,2\n", ""): "3 rows, but the coordinates are those of a machine of 2x2 nodes",
    MESH.replace("3,1,1,1", "3,0,1,1"): "line 5: node 3, but the one at these coordinates is 2; line 5: node",
    MESH.replace("1,1,0,1,2", "1,1,0,2,2"): "line 3: free must be 0 or 1, not 2",
    MESH.replace("1,1,0,1,2", "1,1,-1,1,2"): "line 3: y must be an integer from 0 on, not -1",
    MESH.replace(",y", ",z"): "there is a column z, but none y",
    MESH.replace(",2\n", ",4\n"): "size: value 4 is above the number of free nodes 3",
}


@pytest.mark.parametrize("text", FAULTS)
def test_a_fault_is_named_with_its_line(text: str, tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(FormatError) as refusal:
        read_problem(path)
    assert str(refusal.value).startswith(f"{path}: {FAULTS[text]}")


def test_a_table_of_bytes_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes(b"node,\xff")
    with pytest.raises(FormatError, match="byte 5: 0xff is not UTF-8"):
        read_problem(path)
    with pytest.raises(FormatError, match="cannot be read: No such file"):
        read_problem(tmp_path / "none.csv")


def test_columns_that_may_be_left_out(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text(TABLE, encoding="utf-8")
    assert read_problem(path) == PROBLEM
    path.write_text(MESH, encoding="utf-8")
    assert read_problem(path) == PartitionProblem.of(Mesh((2, 2)), busy=[2], size=2)


def test_single_values_stand_for_columns() -> None:
    columns = {"application": [1, 1, 2], "duration": np.array([60.0, 30, 90]), "nodes": [2, 8, 4]}
    problem = problem_from_columns({**columns, "num_nodes": 8, "release": [0, 0, 10], "expand_limit": 2})
    assert isinstance(problem, EvolutionProblem)
    assert problem.applications == PROBLEM.applications
    assert problem.application_names == ("1", "2")
    with pytest.raises(FormatError, match=r"^table: 3 rows, but 2 of nodes$"):
        problem_from_columns({**columns, "nodes": [1, 2], "num_nodes": 8})
    with pytest.raises(FormatError, match=r"^jobs: row 1: nodes must be an integer, not 'x'$"):
        problem_from_columns({**columns, "nodes": [2, "x", 4], "num_nodes": 8}, "jobs")


def test_data_frames_are_columns_and_columns_are_data_frames() -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = pandas.DataFrame(problem_columns(PROBLEM))
    assert list(frame["duration"]) == [60, 30, 90]
    assert problem_from_columns(frame) == PROBLEM


def test_what_has_no_rows_is_no_table(tmp_path: Path) -> None:
    with pytest.raises(InvalidProblem, match="without applications"):
        write_problem(EvolutionProblem(8, ()), tmp_path / "empty.csv")
    assert not (tmp_path / "empty.csv").exists()


SCHEDULE = EvolutionSchedule.of([0, 60], PROBLEM.applications)


@pytest.mark.parametrize(
    ("changed", "fault"),
    [
        ({"nodes": [2, 7, 4]}, "row 1: nodes 7, but the step requests 8"),
        ({"start": [0, 61, 60]}, "row 1: start 61, but the step before ends at 60"),
        ({"duration": [60, 1.5, 90]}, "row 1: duration must be an integer, not 1.5"),
        ({"application": ["a0", "a0", "b"]}, "row 2: the problem has no application 'b'"),
    ],
)
def test_schedules_that_say_what_cannot_be_are_refused(changed: dict[str, object], fault: str) -> None:
    columns = {**solution_columns(PROBLEM, SCHEDULE), **changed}
    with pytest.raises(FormatError) as refusal:
        solution_from_columns(columns, PROBLEM)
    assert fault in refusal.value.faults


def test_tables_on_the_command_line(tmp_path: Path, capsys: Capture) -> None:
    problem, answer = tmp_path / "jobs.csv", tmp_path / "schedule.csv"
    problem.write_text(TABLE, encoding="utf-8")
    shown = run(capsys, "solve", problem, "--solver", "noX", "--out", answer)
    assert "2 applications, 8 nodes, expand limit 2" in shown
    assert "feasible" in run(capsys, "check", problem, answer)
    with answer.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["application"], row["step"]) for row in rows] == [("a0", "0"), ("a0", "1"), ("a1", "0")]
    assert isinstance(read_solution(answer, PROBLEM), EvolutionSchedule)
    problem.write_text(TABLE.replace("a0,60", "a0,-60"), encoding="utf-8")
    assert "jobs.csv: line 2: duration -60 is below 1" in refused(capsys, "check", problem, answer)
