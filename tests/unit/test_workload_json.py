"""Faults of workload files: each is named with its place and value."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from format_draws import random_workload_of
from hypothesis import given, settings, strategies as st
from tiers import examples

from allocsolve.errors import FormatError, InvalidAnswer
from allocsolve.instances import digest, parse_problem, parse_solution, problem_document, solution_document
from allocsolve.model import Job, Jobs, Profile, SpeedupTable, WorkloadProblem, WorkloadSchedule

if TYPE_CHECKING:
    from collections.abc import Iterator


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


TABLE = {"table": [[2, 100], [4, 60], [8, 40]]}
STEPS = [[10, 2], [10, 3]]


def stated(row: dict[str, Any]) -> Iterator[str]:
    """Yield the fields of a job in a file that its other fields say."""
    table = "table" in row.get("speedup", {})
    if "profile" in row:
        yield from ("nodes", "runtime", "min_nodes", "max_nodes")
    elif table:
        yield from ("runtime", "min_nodes", "max_nodes")
    elif "phases" in row:
        yield "runtime"


@settings(max_examples=examples(200))
@given(st.integers(0, 10_000), st.data())
def test_any_of_them_may_be_left_out(seed: int, data: st.DataObject) -> None:
    problem = random_workload_of(seed, "roaqps")
    document = problem_document(problem)
    for row in document["jobs"]:
        for field in [*stated(row)]:
            if data.draw(st.booleans()):
                row.pop(field, None)
    assert digest(parse_problem(document, "mine.json")) == digest(problem)


@settings(max_examples=examples(100))
@given(st.integers(0, 10_000))
def test_jobs_and_columns_take_the_range_from_the_profile_or_the_table(seed: int) -> None:
    problem = random_workload_of(seed, "roaqps")
    said = [job for job in problem.jobs if isinstance(job.evolution or job.speedup, Profile | SpeedupTable)]
    bare = [replace(job, min_nodes=None, max_nodes=None) for job in said]
    assert Jobs.of(bare) == Jobs.of(said)
    if said:
        columns = Jobs(
            *([getattr(job, name) for job in said] for name in ("submit", "nodes", "runtime")),
            speedups=[job.speedup for job in said],
            evolutions=[job.evolution for job in said],
        )
        whole = Jobs.of(said).packed
        assert columns.packed.min_nodes.tolist() == whole.min_nodes.tolist()
        assert columns.packed.max_nodes.tolist() == whole.max_nodes.tolist()


def test_a_profile_alone_is_a_job() -> None:
    job = Job(0, 2, 20, evolution=Profile([(10, 2), (10, 3)]))
    problem = WorkloadProblem(4, [job])
    head = {"format": "allocsolve/1", "kind": "workload", "num_nodes": 4}
    assert digest(parse_problem({**head, "jobs": [{"submit": 0, "profile": STEPS}]}, "f")) == digest(problem)


@pytest.mark.parametrize(
    ("job", "fault"),
    [
        ({"profile": STEPS, "nodes": 3}, "'j0' has other nodes than the first step of its profile"),
        ({"profile": STEPS, "runtime": 30}, "'j0': runtime 30, but on its nodes it takes 20 s"),
        ({"profile": STEPS, "max_nodes": 5}, "'j0' has max_nodes other than those of its profile"),
        ({"profile": [[10, 2], [10, 9]]}, "jobs[0].profile: 9 nodes are above num_nodes 8"),
        ({"profile": []}, "jobs[0].profile: a profile without steps has no work"),
        ({"profile": None}, "jobs[0].nodes: missing; jobs[0].runtime: missing"),
        ({"speedup": TABLE}, "jobs[0].nodes: missing; jobs[0].runtime: missing"),
        ({"speedup": TABLE, "nodes": 3}, "jobs[0].nodes: the speedup table has no row of 3 nodes"),
        ({"speedup": TABLE, "nodes": 4, "runtime": 70}, "'j0': the speedup table has no row [4, 70.0]"),
        (
            {"speedup": TABLE, "nodes": 4, "min_nodes": 1},
            "'j0': the speedup table has 2..8 nodes, min_nodes..max_nodes are 1..8",
        ),
        (
            {"speedup": {"table": [[4, 60], [16, 40]]}, "nodes": 4},
            "jobs[0].speedup.table: 16 nodes are above num_nodes 8",
        ),
        ({"speedup": {"amdahl": 0.9}, "nodes": 4}, "jobs[0].runtime: missing"),
        ({"phases": [[120, 4]], "nodes": 4, "runtime": 60}, "runtime 60, but on its nodes it takes 30 s"),
        ({"phases": [[120, 4]]}, "jobs[0].nodes: missing; jobs[0].runtime: missing"),
        (
            {"speedup": {"amdahl": 0.9}, "nodes": 4, "runtime": 9, "size_set": 3},
            "'j0' has nodes outside its size set",
        ),
        (
            {"speedup": {"amdahl": 0.9}, "nodes": 4, "runtime": 9, "max_nodes": 3},
            "'j0': nodes 4 is not in min_nodes..max_nodes, 4..3",
        ),
    ],
)
def test_faults_name_fields_of_the_file(job: dict[str, Any], fault: str) -> None:
    document = {"format": "allocsolve/1", "kind": "workload", "num_nodes": 8, "jobs": [{"submit": 0, **job}]}
    with pytest.raises(FormatError) as caught:
        parse_problem(document, "f.json")
    assert str(caught.value).endswith(fault)
