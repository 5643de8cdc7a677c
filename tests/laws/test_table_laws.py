"""Laws of tables: what is written as columns or as CSV is read back, whatever the order of the rows."""

from __future__ import annotations

import csv
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
from hypothesis import assume, given, strategies as st
from strategies import (
    box_problems,
    evolution_problems,
    partition_problems,
    partitions,
    workload_problems,
    workload_schedules,
)

from allocsolve.instances import (
    digest,
    problem_columns,
    problem_from_columns,
    read_problem,
    read_solution,
    solution_columns,
    solution_from_columns,
    write_problem,
    write_solution,
)
from allocsolve.model import EvolutionProblem, EvolutionSchedule, SpeedupTable, WorkloadProblem

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hypothesis.strategies import DataObject, SearchStrategy

    from allocsolve.model import Answer, PartitionProblem, Problem

#: Names that a careless reader or writer of CSV would change.
NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=5) | st.sampled_from(
    ["7", "007", "1e5", "NA", "true", " a ", '"', ",", "\r", "\n", "\r\n", "\ufeff", "-", "=1+1"]
)


@st.composite
def named_problems(draw: st.DrawFn) -> EvolutionProblem:
    problem = draw(evolution_problems().filter(lambda drawn: drawn.applications))
    count = len(problem.applications)
    names = draw(st.lists(NAMES, min_size=count, max_size=count, unique=True))
    parts = problem.num_nodes, problem.applications, problem.releases, problem.expand_limit, "", tuple(names)
    return EvolutionProblem(*parts)


@st.composite
def named_workloads(draw: st.DrawFn) -> WorkloadProblem:
    """Workloads without tables of speedups, which tables of jobs cannot hold."""
    problem = draw(workload_problems(min_jobs=1, moldable=draw(st.booleans())))
    rows = [row for row in problem.jobs if not isinstance(row.speedup, SpeedupTable)]
    names = draw(st.lists(NAMES, min_size=len(rows), max_size=len(rows), unique=True))
    assume(rows and "" not in names)  # no name is the default one
    jobs = [replace(row, name=name) for row, name in zip(rows, names, strict=True)]
    return WorkloadProblem(problem.num_nodes, jobs)


PROBLEMS: SearchStrategy[Problem] = st.one_of(
    named_problems(), partition_problems(), box_problems(), named_workloads()
)


def same_columns(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return list(one) == list(other) and all(
        # NaN stands for a limit that is not given.
        bool(((one[name] == other[name]) | ((one[name] != one[name]) & (other[name] != other[name]))).all())
        and len(one[name]) == len(one[next(iter(one))])
        for name in one
    )


@given(PROBLEMS)
def test_columns_are_read_back(problem: Problem) -> None:
    columns = problem_columns(problem)
    again = problem_from_columns(columns)
    assert digest(again) == digest(problem)
    assert same_columns(problem_columns(again), columns)


@given(PROBLEMS)
def test_files_are_read_back(problem: Problem) -> None:
    with TemporaryDirectory() as folder:
        path, other = Path(folder, "problem.csv"), Path(folder, "again.CSV")
        write_problem(problem, path)
        write_problem(read_problem(path), other)
        assert digest(read_problem(path)) == digest(problem)
        assert other.read_bytes() == path.read_bytes()


@given(PROBLEMS, st.randoms())
def test_the_order_of_rows_and_columns_matters_to_the_order_of_applications_only(
    problem: Problem, random: Any
) -> None:
    columns = problem_columns(problem)
    rows = list(range(len(next(iter(columns.values())))))
    random.shuffle(rows)
    names = list(columns)
    random.shuffle(names)
    again = problem_from_columns({name: columns[name][rows] for name in names})
    if isinstance(problem, EvolutionProblem):
        assert isinstance(again, EvolutionProblem)
        assert _by_name(again) == _by_name(problem)
    elif isinstance(problem, WorkloadProblem):
        assert isinstance(again, WorkloadProblem)
        assert {job.name: job for job in again.jobs} == {job.name: job for job in problem.jobs}
    else:
        assert digest(again) == digest(problem)


def _by_name(problem: EvolutionProblem) -> dict[str, object]:
    return dict(
        zip(problem.application_names, zip(problem.releases, problem.applications, strict=True), strict=True)
    )


def some_schedule(problem: EvolutionProblem) -> EvolutionSchedule:
    """Return one of which only the shape is right: a table says what is, not what should be."""
    packed = problem.packed
    starts = packed.releases + 5 * np.arange(len(packed.releases))
    return EvolutionSchedule(starts, packed.offsets, packed.durations + 1, packed.nodes)


def assert_read_back(problem: Problem, answer: Answer) -> None:
    """An answer comes back from columns, from a table and from JSON."""
    assert solution_from_columns(solution_columns(problem, answer), problem) == answer
    with TemporaryDirectory() as folder:
        for name in ("answer.csv", "answer.json"):
            write_solution(Path(folder, name), problem, answer, {})
            assert read_solution(Path(folder, name), problem) == answer


@given(evolution_problems())
def test_schedules_are_read_back(problem: EvolutionProblem) -> None:
    assert_read_back(problem, some_schedule(problem))


@given(named_problems())
def test_a_schedule_has_a_row_for_each_step_one_after_another(problem: EvolutionProblem) -> None:
    schedule = some_schedule(problem)
    columns = solution_columns(problem, schedule)
    for app, name in enumerate(problem.application_names):
        # One by one: numpy takes zeros off the end of a text that it compares with an array.
        rows = np.flatnonzero([other == name for other in columns["application"].tolist()])
        assert columns["start"][rows[0]] == schedule.starts[app]
        assert columns["nodes"][rows].tolist() == list(problem.applications[app].nodes)
        ends = columns["start"][rows] + columns["duration"][rows]
        assert all(end == columns["start"][row] for end, (_, row) in zip(ends, pairwise(rows), strict=False))
        assert ends[-1] == schedule.completions[app]


@given(partition_problems(), st.data())
def test_partitions_are_read_back(problem: PartitionProblem, data: DataObject) -> None:
    partition = data.draw(partitions(problem))
    assert_read_back(problem, partition)
    assert solution_from_columns({"node": partition.nodes}, problem) == partition


@given(named_workloads(), st.data())
def test_schedules_of_workloads_are_read_back(problem: WorkloadProblem, data: DataObject) -> None:
    assert_read_back(problem, data.draw(workload_schedules(problem)))


@given(named_problems())
def test_a_table_that_others_write_is_the_same_table(problem: EvolutionProblem) -> None:
    """As R and spreadsheets write it: marks, quotes everywhere, whole numbers as 1e+05, steps from 1 on."""
    columns = problem_columns(problem)
    with TemporaryDirectory() as folder:
        path = Path(folder, "others.csv")
        with path.open("w", encoding="utf-8-sig", newline="") as file:
            writer = csv.writer(file, quoting=csv.QUOTE_ALL)
            writer.writerow(columns)
            for row in range(len(columns["step"])):
                cells = {name: column[row] for name, column in columns.items()}
                cells |= {"step": cells["step"] + 1, "duration": f"{float(cells['duration']):.15e}"}
                if np.isinf(cells["expand_limit"]):
                    cells["expand_limit"] = ""
                writer.writerow(cells.values())
        assert digest(read_problem(path)) == digest(problem)
