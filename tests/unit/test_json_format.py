"""The JSON format: what is read, what is refused and with which words, and how files are written."""

from __future__ import annotations

import json
import math
import os
import stat
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from strategies import evolution_problems

from allocsolve.instances import digest, read_problem, read_solution, write_problem, write_solution
from allocsolve.model import EvolutionProblem, EvolutionProfile, EvolutionSchedule

if TYPE_CHECKING:
    from pathlib import Path

from json_tools import (
    MINIMAL,
    PROBLEM,
    changed,
    faults_of,
    problem_faults,
    saved,
    solution_faults,
    without,
)


def test_absent_fields_have_their_defaults(tmp_path: Path) -> None:
    """A file may say where its schema is."""
    for document in (MINIMAL, {"$schema": "evolution.schema.json", **MINIMAL}):
        assert read_problem(saved(tmp_path, document)) == PROBLEM


def test_whole_numbers_are_integers_however_they_are_written(tmp_path: Path) -> None:
    document = json.dumps({**MINIMAL, "num_nodes": 8.0}).replace("60", "6e1").replace("8]", "8.0]")
    problem = read_problem(saved(tmp_path, document))
    assert problem == PROBLEM
    assert digest(problem) == digest(PROBLEM)
    assert problem_faults(tmp_path, {**MINIMAL, "num_nodes": 1e300})[0].endswith(" is beyond 2^53")


STEP = ("applications", 1, "steps", 0)
KINDS = "'evolution' or 'partition' or 'workload' or 'reservation' or 'placement'"
FAULTY_PROBLEMS = {
    "same names": (
        changed(MINIMAL, ("applications", 0, "name"), "a1"),
        "applications[1].name: 'a1' also names applications[0]",
    ),
    "nodes 9": (changed(MINIMAL, (*STEP, 1), 9), "applications[1].steps[0][1]: nodes 9 is above num_nodes 8"),
    "horizon": (
        changed(changed(MINIMAL, (*STEP, 0), 2**53), ("applications", 0, "release"), 2**53),
        "latest release plus all durations is 18014398509482094 s, beyond 2^53",
    ),
    "same empty names": (
        {**MINIMAL, "applications": [{"name": "", "steps": [[1, 1]]}] * 2},
        "applications[1].name: '' also names applications[0]",
    ),
    "format": ({**MINIMAL, "format": "allocsolve/2"}, "format: 'allocsolve/2' is not 'allocsolve/1'"),
    "format list": ({**MINIMAL, "format": [1]}, "format: a list of 1 is not 'allocsolve/1'"),
    "missing format": (without(MINIMAL, "format"), "format: missing"),
    "kind": (
        {**MINIMAL, "kind": "evolution-schedule"},
        f"kind: 'evolution-schedule' is not {KINDS}",
    ),
    "missing kind": (without(MINIMAL, "kind"), "kind: missing"),
    "schema": ({"$schema": 5, **MINIMAL}, "$schema: must be a string, not 5"),
    "list": ([MINIMAL], "must be an object, not a list of 1"),
    "number": (7, "must be an object, not 7"),
}


@pytest.mark.parametrize(("document", "fault"), FAULTY_PROBLEMS.values(), ids=FAULTY_PROBLEMS.keys())
def test_a_faulty_problem_is_refused_with_place_and_value(
    tmp_path: Path, document: object, fault: str
) -> None:
    assert problem_faults(tmp_path, document) == (fault,)


def test_all_faults_of_a_problem_are_told_at_once(tmp_path: Path) -> None:
    document = {
        "format": "allocsolve/1",
        "kind": "evolution",
        "num_nodes": 0,
        "applications": [{"steps": [[0, 9], [1, -1]]}, {"name": 1, "steps": []}, {"name": 2, "step": []}],
    }
    assert problem_faults(tmp_path, document) == (
        "num_nodes: 0 is below 1",
        "applications[0].steps[0][0]: duration 0 is below 1",
        "applications[0].steps[1][1]: nodes -1 is below 0",
        "applications[1].name: must be a string, not 1",
        "applications[1].steps: has 0 entries, at least 1 are needed",
        "applications[2].steps: missing",
        "applications[2].name: must be a string, not 2",
        "applications[2]: unknown field 'step' (known: name, release, steps)",
    )


FAULTY_TEXTS = {
    "broken": ('{\n  "format": oops}', "line 2, column 13: Expecting value"),
    "empty": ("", "is empty"),
    "NaN": ('{"meta": {"a b": [0, NaN]}}', "meta.'a b'[1]: nan is not a finite number"),
    "Infinity": ('{"expand_limit": Infinity}', "expand_limit: inf is not a finite number"),
    "overflow": ('{"expand_limit": 1e999}', "expand_limit: inf is not a finite number"),
    "endless integer": ('{"num_nodes": -' + "9" * 5000 + "}", "num_nodes: -inf is not a finite number"),
    "duplicate key": (
        '{"applications": [{"name": "x", "name": "y"}]}',
        "applications[0]: the key 'name' stands twice",
    ),
    "duplicate key at the top": ('{"kind": 1, "kind": 2}', "top level: the key 'kind' stands twice"),
    "half a character": ('{"name": "a\\ud800"}', "name: 'a\\ud800' has half of a surrogate pair"),
    "half a key": ('{"meta": {"\\udfff": 1}}', "meta: '\\udfff' has half of a surrogate pair"),
    "too deep": ("[" * 100_000, "lists and objects are nested too deeply"),
}


@pytest.mark.parametrize(("text", "fault"), FAULTY_TEXTS.values(), ids=FAULTY_TEXTS.keys())
def test_what_is_not_json_is_refused(tmp_path: Path, text: str, fault: str) -> None:
    assert problem_faults(tmp_path, text) == (fault,)
    assert solution_faults(tmp_path, text) == (fault,)


def test_a_long_value_is_cut_and_kept_on_one_line(tmp_path: Path) -> None:
    (fault,) = problem_faults(tmp_path, {**MINIMAL, "kind": "a\n" * 1000})
    shown = "a\\na\\na\\na\\na\\na\\na\\na\\na\\na\\na\\na\\na\\na\\na\\na..."
    assert fault == f"kind: '{shown} is not {KINDS}"


def test_an_unreadable_file_is_told_with_the_reason(tmp_path: Path) -> None:
    path = tmp_path / "latin.json"
    path.write_bytes(b'{\n"name": "Gr\xf6\xdfe"}')
    assert faults_of(lambda: read_problem(path)) == ("line 2: byte 0xf6 is not UTF-8",)
    missing = tmp_path / "missing.json"
    assert faults_of(lambda: read_problem(missing)) == ("cannot be read: No such file or directory",)
    assert faults_of(lambda: read_solution(str(tmp_path), PROBLEM)) == ("cannot be read: Is a directory",)


@given(problem=evolution_problems(min_apps=0, releases=True), name=st.text(st.characters(codec="utf-8")))
def test_a_problem_survives_the_file(
    tmp_path_factory: pytest.TempPathFactory, problem: EvolutionProblem, name: str
) -> None:
    path = tmp_path_factory.mktemp("problem") / "p.json"
    named = EvolutionProblem(
        problem.num_nodes,
        problem.applications,
        problem.releases,
        problem.expand_limit,
        name=name,
        application_names=tuple(f"{name}{idx}" for idx in range(len(problem.applications))),
        meta={"name": name},
    )
    write_problem(named, path)
    again = read_problem(path)
    assert again == named
    assert again.meta == named.meta
    assert digest(again) == digest(named)


@given(data=st.data(), problem=evolution_problems(min_apps=0))
def test_a_solution_survives_the_file(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, problem: EvolutionProblem
) -> None:
    path = tmp_path_factory.mktemp("solution") / "s.json"
    times = st.integers(1, 2**53)
    schedule = EvolutionSchedule.of(
        [data.draw(times) for _ in problem.applications],
        [
            EvolutionProfile(tuple((data.draw(times), nodes) for nodes in app.nodes))
            for app in problem.applications
        ],
    )
    write_solution(path, problem, schedule, {"solver": "none"})
    assert read_solution(path, problem) == schedule
    assert json.loads(path.read_text())["meta"] == {"solver": "none"}


@given(problem=evolution_problems(releases=True), data=st.data())
def test_the_digest_sees_all_but_name_and_meta(problem: EvolutionProblem, data: st.DataObject) -> None:
    def variant(**changes: Any) -> EvolutionProblem:
        fields = {
            "num_nodes": problem.num_nodes,
            "applications": problem.applications,
            "releases": problem.releases,
            "expand_limit": problem.expand_limit,
            **changes,
        }
        return EvolutionProblem(**fields)

    assert digest(variant(name="x", meta={"seed": 1})) == digest(problem)
    app = data.draw(st.integers(0, len(problem.applications) - 1))
    later = tuple(release + (idx == app) for idx, release in enumerate(problem.releases))
    (duration, nodes), *rest = problem.applications[app].steps
    longer = EvolutionProfile(((duration + 1, nodes), *rest))
    variants = [
        variant(num_nodes=problem.num_nodes + 1),
        variant(releases=later),
        variant(expand_limit=7.25),
        variant(application_names=tuple(f"b{idx}" for idx in range(len(problem.applications)))),
        variant(applications=(*problem.applications[:app], longer, *problem.applications[app + 1 :])),
    ]
    assert len({digest(other) for other in (problem, *variants)}) == 6


@pytest.mark.parametrize("limit", [1, 1.0, 2, 1.5, 2.0**53 - 1, 2.0**53, math.inf])
def test_every_expand_limit_survives_the_file(tmp_path: Path, limit: float) -> None:
    path = tmp_path / "p.json"
    write_problem(EvolutionProblem(8, PROBLEM.applications, expand_limit=limit), path)
    again = read_problem(path)
    assert isinstance(again, EvolutionProblem)
    assert again.expand_limit == limit


def test_the_kind_of_number_does_not_change_the_digest() -> None:
    plain = EvolutionProblem(8, PROBLEM.applications, expand_limit=2)
    numpy = EvolutionProblem(8, PROBLEM.applications, expand_limit=np.float64(2))
    assert digest(plain) == digest(numpy)


@pytest.mark.parametrize("value", [math.nan, {1, 2}, "\ud800"])
def test_meta_that_json_cannot_hold_is_refused_and_the_old_file_kept(tmp_path: Path, value: object) -> None:
    path = saved(tmp_path, MINIMAL)
    problem = EvolutionProblem(8, PROBLEM.applications, meta={"value": value})
    (fault,) = faults_of(lambda: write_problem(problem, path))
    assert fault.startswith("cannot be written as JSON: ")
    assert read_problem(path) == PROBLEM
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_cannot_be_written_is_told_with_the_reason(tmp_path: Path) -> None:
    nowhere = tmp_path / "nowhere" / "p.json"
    assert faults_of(lambda: write_problem(PROBLEM, nowhere)) == (
        "cannot be written: No such file or directory",
    )
    assert faults_of(lambda: write_problem(PROBLEM, tmp_path)) == ("cannot be written: Is a directory",)
    assert list(tmp_path.iterdir()) == []


def test_writing_replaces_the_file_at_once_and_leaves_nothing_else(tmp_path: Path) -> None:
    path = saved(tmp_path, "old")
    reader = path.open(encoding="utf-8")
    write_problem(PROBLEM, path)
    with reader:
        assert reader.read() == "old"
    assert read_problem(path) == PROBLEM
    assert list(tmp_path.iterdir()) == [path]


def test_a_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_problem(PROBLEM, pipe)
        assert json.loads(os.read(reader, 10_000))["num_nodes"] == 8
    finally:
        os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
