"""Faults of workload files: each is named with its place and value."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from format_draws import random_workload_of
from hypothesis import given, settings, strategies as st
from tiers import examples

from allocsolve.errors import InvalidAnswer
from allocsolve.instances import digest, parse_problem, problem_document, solution_document
from allocsolve.model import Job, Jobs, Profile, SpeedupTable, WorkloadProblem, WorkloadSchedule

if TYPE_CHECKING:
    from collections.abc import Iterator


PROBLEM = WorkloadProblem(4, [Job(0, 3, 100), Job(1, 4, 10)])


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
