"""Faults of workload files: each is named with its place and value."""

from __future__ import annotations

from typing import Any

import pytest

from allocsolve.errors import FormatError, InvalidAnswer
from allocsolve.instances import parse_problem, parse_solution, problem_document, solution_document
from allocsolve.model import Job, SpeedupTable, WorkloadProblem, WorkloadSchedule

JOB = {"submit": 0, "nodes": 2, "runtime": 5}
HEAD = {"format": "allocsolve/1", "kind": "workload", "num_nodes": 4}

JOBS: dict[str, tuple[Any, str]] = {
    "no list": (7, "jobs: must be a list, not 7"),
    "too wide": ([{**JOB, "nodes": 5}], "job 'j0': 5 nodes on a cluster of 4"),
    "twice": ([{**JOB, "name": "a"}] * 2, "jobs[1].name: 'a' also names jobs[0]"),
    "law": (
        [{**JOB, "speedup": {}}],
        "jobs[0].speedup: must have one of amdahl, power, overhead, table, not 0 of them",
    ),
    "table": ([{**JOB, "speedup": {"table": [[2, 1], [1, 2]]}}], "speedup table: 1 nodes after 2"),
    "reference": ([{**JOB, "speedup": {"table": [[2, 6]]}}], "the speedup table has no row [2, 5.0]"),
    "rigid": ([{**JOB, "max_nodes": 3}], "a job without speedup is rigid"),
    "sum": ([{**JOB, "submit": 2**53, "runtime": 2**53}], "latest submission plus all run times"),
}


@pytest.mark.parametrize(("jobs", "fault"), JOBS.values(), ids=JOBS)
def test_a_faulty_problem_is_refused_with_place_and_value(jobs: Any, fault: str) -> None:
    with pytest.raises(FormatError) as caught:
        parse_problem({**HEAD, "jobs": jobs}, "p.json")
    assert fault in str(caught.value) or fault.replace('"', "'") in str(caught.value)


PROBLEM = WorkloadProblem(4, [Job(0, 3, 100), Job(1, 4, 10)])
PIECES: dict[str, tuple[Any, str]] = {
    "missing": ([{"name": "j0", "pieces": []}], "jobs: 'j1' is missing"),
    "strange": ([{"name": "x", "pieces": []}], "jobs[0].name: the problem has no job 'x'"),
    "twice": ([{"name": "j0", "pieces": []}] * 2, "jobs[1].name: 'j0' stands twice"),
    "no piece": ([{"name": "j0", "pieces": [[1, 2]]}], "must have 3 entries, not 2"),
}


@pytest.mark.parametrize(("jobs", "fault"), PIECES.values(), ids=PIECES)
def test_a_faulty_schedule_is_refused_with_place_and_value(jobs: Any, fault: str) -> None:
    document = {"format": "allocsolve/1", "kind": "workload-schedule", "jobs": jobs}
    with pytest.raises(FormatError) as caught:
        parse_solution(document, "a.json", PROBLEM)
    assert fault in str(caught.value)


def test_a_schedule_of_another_problem_is_not_written() -> None:
    other = WorkloadSchedule.of(WorkloadProblem(4, [Job(0, 1, 1)]), [0])
    with pytest.raises(InvalidAnswer, match="1 scheduled jobs for 2 submitted"):
        solution_document(PROBLEM, other, {})


def test_tables_of_speedups_are_written() -> None:
    table = SpeedupTable([(1, 8), (2, 5.5)])
    problem = WorkloadProblem(2, [Job(0, 1, 8, min_nodes=1, max_nodes=2, speedup=table)])
    document = problem_document(problem)
    assert document["jobs"][0]["speedup"] == {"table": [[1, 8], [2, 5.5]]}
    assert parse_problem(document, "p.json") == problem
