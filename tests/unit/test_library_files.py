"""A library on disk: what is read when, and what is wrong with it in one line."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from json_tools import changed, faults_of, without
from library_tools import KLEIN, entry, small_library

from allocsolve.errors import FormatError, InvalidAnswer, InvalidOption, UnknownName
from allocsolve.instances import (
    BestKnown,
    Library,
    digest,
    elastic_workload,
    lina_workload,
    lublin1999,
    read_best_known,
    regenerate,
    write_best_known,
)
from allocsolve.registry import make_allocator

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from allocsolve.model import WorkloadProblem


def test_suites_and_selections(tmp_path: Path) -> None:
    library = small_library(tmp_path)
    assert list(library) == ["klein", "mesh", "both"]
    assert (len(library), library.folders) == (3, ("klein", "mesh"))
    assert "both" in library
    assert "other" not in library
    assert library["klein"].summary == "three applications"
    assert [digest(problem) for problem in library["klein"].problems()] == [digest(p) for p in KLEIN]
    assert [problem.name for problem in library["both"].problems()] == ["mesh-0", "klein-1"]
    with pytest.raises(UnknownName, match="unknown suite 'klien'; did you mean klein"):
        library["klien"]


def test_nothing_is_read_before_it_is_asked_for(tmp_path: Path) -> None:
    library = small_library(tmp_path)
    (tmp_path / "klein" / "klein-0.json").write_text("spoilt")
    assert len(library["klein"].members) == 2
    assert len(library["both"].problems()) == 2
    with pytest.raises(FormatError, match=r"klein-0\.json: line 1"):
        library["klein"].problems()


def test_a_problem_is_named_like_its_file(tmp_path: Path) -> None:
    library = small_library(tmp_path)
    path = tmp_path / "mesh" / "mesh-0.json"
    path.rename(path.with_name("mesh-7.json"))
    with pytest.raises(FormatError, match=r"mesh-7\.json: name: 'mesh-0' is not that of the file"):
        library["mesh"].problems()


def test_best_known_of_a_selection(tmp_path: Path) -> None:
    library = small_library(tmp_path)
    assert library["both"].best_known() == ()
    rows = [BestKnown(f"klein-{idx}", name, "d") for idx in (0, 1) for name in ("completion", "makespan")]
    write_best_known(library["klein"].best_known_path("klein"), rows)
    assert library["both"].best_known() == tuple(rows[2:])
    assert library["klein"].best_known() == tuple(rows)


INDEX: dict[str, Any] = {
    "format": "allocsolve-library/1",
    "suites": [{"name": "a", "summary": ""}, {"name": "b", "summary": ""}],
    "selections": [{"name": "c", "summary": "", "instances": ["a/one"]}],
}


@pytest.mark.parametrize(
    ("document", "fault"),
    [
        (changed(INDEX, ("format",), "x/1"), "format: must be 'allocsolve-library/1', not 'x/1'"),
        (changed(INDEX, ("suites", 1, "name"), "a"), "suites[1].name: 'a' stands twice"),
        (changed(INDEX, ("selections", 0, "name"), "a"), "selections[0].name: 'a' stands twice"),
        (
            changed(INDEX, ("selections", 0, "instances"), ["d/one"]),
            "selections[0].instances[0]: 'd/one' is not <suite>/<instance> of a suite above",
        ),
    ],
)
def test_a_faulty_index(document: dict[str, Any], fault: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"library\.json: cannot be read: No such file"):
        list(Library(tmp_path))
    (tmp_path / "library.json").write_text(json.dumps(document))
    assert fault in faults_of(lambda: list(Library(tmp_path)))


ROW: dict[str, Any] = {
    "instance": "i",
    "objective": "makespan",
    "digest": "d",
    "lower": 7,
    "upper": 9,
    "status": "open",
    "history": [
        {
            "kind": kind,
            "value": value,
            "date": "2026-11-20",
            "solver": "S()",
            "versions": {"allocsolve": "0.1.0"},
            "seconds": 1.5,
            **({"solution": "s"} if kind == "solution" else {}),
        }
        for kind, value in (("solution", 9), ("bound", 7))
    ],
}


def best_known_faults(folder: Path, *rows: object) -> tuple[str, ...]:
    path = folder / "best_known.json"
    path.write_text(json.dumps({"format": "allocsolve-best-known/1", "rows": rows}))
    return faults_of(lambda: read_best_known(path))


@pytest.mark.parametrize(
    ("place", "value", "fault"),
    [
        (("lower",), 8, "rows[0].lower: 8, but the history says 7"),
        (("upper",), None, "rows[0].upper: null, but the history says 9"),
        (("status",), "optimal", "rows[0].status: 'optimal', but the history says 'open'"),
        (("history", 1, "value"), 10, "rows[0]: history[1]: the bound 10 is above the solution 9"),
        (
            ("history", 1, "kind"),
            "solution",
            "rows[0].history[1]: a solution without the digest of a solution",
        ),
        (("history", 1, "solution"), "s", "rows[0].history[1]: a bound with the digest of a solution"),
        (
            ("history", 1, "date"),
            "2026-11-19",
            "rows[0]: history[1]: the bound 7 is of 2026-11-19, before 2026-11-20",
        ),
        (
            ("history", 1, "date"),
            "2026-02-30",
            "rows[0].history[1].date: '2026-02-30' is no day of the calendar",
        ),
    ],
)
def test_a_faulty_row(place: tuple[str | int, ...], value: object, fault: str, tmp_path: Path) -> None:
    assert fault in best_known_faults(tmp_path, changed(ROW, place, value))


def test_all_faults_are_told(tmp_path: Path) -> None:
    """Those of the form of fields, else those between them."""
    faults = best_known_faults(tmp_path, without(ROW, "upper"), ROW, 5)
    assert faults == ("rows[0].upper: missing", "rows[2]: must be an object, not 5")
    faults = best_known_faults(tmp_path, {**ROW, "objective": 3, "digest": 1, "lower": "x"})
    assert [fault.partition(":")[0] for fault in faults] == [
        "rows[0].objective",
        "rows[0].digest",
        "rows[0].lower",
    ], "it has a history: what a row without one may have is not told"
    short = {"instance": "i", "objective": "makespan", "lower": 7}
    faults = best_known_faults(tmp_path, ROW, changed(ROW, ("lower",), 8), short)
    assert faults == (
        "rows[1]: makespan of i is also rows[0]",
        "rows[2]: makespan of i is also rows[0]",
        "rows[2].history: missing",
        "rows[1].lower: 8, but the history says 7",
    )


def test_a_row_that_is_right(tmp_path: Path) -> None:
    path = tmp_path / "best_known.json"
    path.write_text(json.dumps({"format": "allocsolve-best-known/1", "rows": [ROW]}))
    (row,) = read_best_known(path)
    assert (row.lower, row.upper, row.optimal) == (7, 9, False)
    assert row.solution is not None
    assert row.solution.solution == "s"
    met = row.with_entry(entry("bound", 9))
    assert met.optimal
    with pytest.raises(InvalidAnswer, match=r"i \(makespan\): history\[3\]: the bound 9 is no better"):
        met.with_entry(entry("bound", 9))
    with pytest.raises(InvalidAnswer, match=r"history\[3\]: the solution 8 is below the bound 9"):
        met.with_entry(entry("solution", 8))
    empty = BestKnown("i", "makespan", "d")
    assert (empty.lower, empty.upper, empty.optimal, empty.solution) == (-math.inf, math.inf, False, None)


@pytest.mark.parametrize(
    ("meta", "message"),
    [
        ({}, "generator None is not one of klein2011,"),
        ({"generator": "swf", "version": 1}, "generator 'swf' is not one of klein2011,"),
        ({**KLEIN[0].meta, "version": 99}, "generator klein2011 is of version 1, the problem of version 99"),
    ],
)
def test_what_cannot_be_made_again(meta: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        regenerate(meta, make_allocator)


@pytest.mark.parametrize(
    "made",
    [
        lambda rigid: elastic_workload(rigid, share=0.5, seed=[3, 1], tick=60),
        lambda rigid: lina_workload(rigid, share=0.7, seed=2, flexibility="full", holds="larger"),
    ],
)
def test_a_workload_made_of_another_is_made_again(
    made: Callable[[WorkloadProblem], WorkloadProblem],
) -> None:
    rigid = replace(lublin1999([5, 1], num_jobs=20), name="rigid jobs")
    problem = made(rigid)
    assert regenerate(problem.meta, make_allocator) == problem
    log = made(replace(rigid, meta={"log": "of a machine"}))
    with pytest.raises(InvalidOption, match="generator None is not one of klein2011,"):
        regenerate(log.meta, make_allocator)
