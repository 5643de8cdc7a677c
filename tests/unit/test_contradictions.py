"""Rows that contradict each other, struck out and named; selections; suites that overlap."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from cli_tools import Capture, refused, run, run_json
from hypothesis import given, strategies as st
from study_tools import failed, row

from allocsolve.bench import Record, RecordStore, best, compare, plan
from allocsolve.bench.scores.catalogue import Catalogue, Reference, select
from allocsolve.bench.scores.gaps import consistent, contradictions
from allocsolve.cli import main
from allocsolve.instances import digest
from allocsolve.model import Budget, EvolutionProblem, EvolutionProfile, Status, terms
from allocsolve.report import examine, markdown

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


HONEST = [row("a", "x", 120), row("a", "y", 100, 100), row("b", "x", 90), row("b", "y", 80, 70)]
#: Its answer is no worse than others', its bound is false.
FALSE_BOUND = row("a", "liar", 115, 125)
FALSE_PROOF = replace(row("b", "other-liar", None), status=Status.INFEASIBLE)

_BOUNDS = st.sampled_from([-math.inf, 3, 5, 7])


@st.composite
def _rows(draw: st.DrawFn) -> list[Record]:
    """Runs of three solvers on two instances that claim what they like."""
    return [
        row(
            instance,
            solver,
            draw(st.none() | st.integers(3, 7)),
            draw(_BOUNDS),
            status=draw(st.sampled_from([Status.UNKNOWN, Status.INFEASIBLE])),
            certified_bound=draw(_BOUNDS),
        )
        for instance in "ab"
        for solver in draw(st.sets(st.sampled_from("xyz")))
    ]


@st.composite
def _references(draw: st.DrawFn) -> Catalogue:
    lower = draw(_BOUNDS)
    upper = draw(st.sampled_from([max(lower, 3), max(lower, 6), math.inf]))
    return Catalogue(references={("digest of a", "makespan"): Reference(lower, upper, "mine")})


@given(_rows(), st.just(Catalogue()) | _references())
def test_what_is_left_contradicts_nothing(rows: list[Record], catalogue: Catalogue) -> None:
    left, left_catalogue, found = consistent(rows, catalogue)
    struck = [one for each in found for one in each.struck]
    assert [one for one in rows if one not in struck] == list(left)
    best(left, left_catalogue)  # raises if something contradicts
    assert consistent(left, left_catalogue) == (left, left_catalogue, ())
    if not found:
        assert (list(left), left_catalogue) == (rows, catalogue)
    else:
        with pytest.raises(Exception, match="contradiction on"):
            best(rows, catalogue)


@given(_rows())
def test_a_judged_answer_is_struck_by_recomputed_bounds_only(rows: list[Record]) -> None:
    claimed = [replace(one, certified_bound=-math.inf) for one in rows]
    left, _, _ = consistent(claimed, Catalogue())
    for one in [one for one in claimed if one not in left]:
        same = [other.value for other in claimed if other.digest == one.digest]
        least = min(terms(value) for value in same if value is not None)
        assert terms(one.bound) > least or one.status is Status.INFEASIBLE


def test_who_contradicts_whom_by_what_numbers() -> None:
    (one,) = contradictions([*HONEST[:2], FALSE_BOUND])
    assert str(one) == "contradiction on a: liar claims the bound 125, y found 100"
    assert one.struck == (FALSE_BOUND,)
    certified = replace(FALSE_BOUND, certified_bound=125)
    (one,) = contradictions([*HONEST[:2], certified])
    assert str(one) == "contradiction on a: the certificate of liar claims the bound 125, y found 100"
    assert one.struck == (*HONEST[:2], certified)  # which of two computations is wrong is not known


def test_a_report_says_what_it_says_without_the_struck_rows() -> None:
    honest = examine(HONEST)
    found = examine([*HONEST[:2], FALSE_BOUND, *HONEST[2:], FALSE_PROOF])
    assert found.records == honest.records
    assert (found.sections, found.headlines) == (honest.sections, honest.headlines)
    lines = markdown(found).splitlines()
    assert "| a | makespan | liar | the bound 125 | y | 100 | 1 | liar |" in lines
    assert "| b | makespan | other-liar | it is infeasible | y | 80 | 1 | other-liar |" in lines
    assert any(line.startswith("2 records struck out") for line in lines)
    assert lines.index("## Contradictions") < lines.index("## Study")
    before, _, after = "\n".join(lines).partition("## Contradictions")
    assert before + after[after.index("## Study") :] == markdown(honest).rstrip("\n")


def _problem(name: str, nodes: int) -> EvolutionProblem:
    return EvolutionProblem(nodes, (EvolutionProfile([(10, 1)]),), name=name)


def _written(path: Path, rows: Iterable[Record]) -> Path:
    """A file of rows, each about the problem that its instance stands for."""
    with RecordStore(path) as store:
        for one in rows:
            problem = _problem(one.instance, ord(one.instance))
            store.append(replace(one, digest=digest(problem)), problem, None)
    return path


def test_the_page_comes_in_spite_of_a_false_bound(tmp_path: Path, capsys: Capture) -> None:
    study = _written(tmp_path / "s.sqlite", [*HONEST, FALSE_BOUND])
    page, table = tmp_path / "r.html", tmp_path / "r.md"
    out = run(capsys, "study", "report", study, "--out", page, "--markdown", table, status=1)
    assert "contradiction on a: liar claims the bound 125, y found 100; 1 record struck out\n" in out
    assert '<td class="text" data-key="the bound 125">' in page.read_text(encoding="utf-8")
    assert "## Contradictions" in table.read_text(encoding="utf-8")
    found = run_json(capsys, "study", "report", study, "--out", page, "--force", status=1)
    assert found["contradictions"] == ["contradiction on a: liar claims the bound 125, y found 100"]
    assert (found["records"], found["struck_out"]) == (4, 1)
    out = run(capsys, "study", "report", study, "--out", page, "--force", "--exclude", "liar")
    assert "contradiction" not in out
    assert '<h3 id="t0">Contradictions' not in page.read_text(encoding="utf-8")
    study = _written(tmp_path / "all.sqlite", [row("a", "x", 99, certified_bound=100)])
    run(capsys, "study", "report", study, "--out", page, "--force", status=1)
    assert "the certificate of x" in page.read_text(encoding="utf-8"), "all rows are struck out"


def test_a_report_of_some_solvers_knows_nothing_of_the_others(tmp_path: Path, capsys: Capture) -> None:
    study = _written(tmp_path / "s.sqlite", [*HONEST, failed(row("a", "z(b=1, c=2)", 1), "Boom: x")])
    table, page = tmp_path / "r.md", tmp_path / "r.html"
    run(capsys, "study", "report", study, "--out", page, "--markdown", table, "--solvers", "x,z(b=1, c=2)")
    text = table.read_text(encoding="utf-8")
    assert "| x | 2 | - |" in text  # the bounds were of y
    assert "| y |" not in text
    exported = tmp_path / "t.json"
    out = run(capsys, "study", "export", study, "--out", exported, "--exclude", "x,y")
    assert out == f"{exported}: 1 record\n"
    assert [one["solver"] for one in json.loads(exported.read_text())] == ["z(b=1, c=2)"]
    said = refused(capsys, "study", "report", study, "--out", page, "--force", "--solvers", "w")
    assert "unknown solver of the records 'w'" in said
    said = refused(capsys, "study", "export", study, "--out", exported, "--force", "--suites", "files")
    assert "unknown suite of the records 'files'" in said
    assert main(["study", "report", str(study), "--out", str(page), "--solvers", "x", "--exclude", "x"]) == 2


def test_an_instance_counts_in_every_suite_that_names_it(tmp_path: Path, capsys: Capture) -> None:
    ten = [_problem(f"p{nodes}", nodes) for nodes in range(1, 11)]
    named = [("small", one) for one in ten[:2]] + [("ten", one) for one in ten] + [("", ten[0])]
    tasks = plan(named, ["noX"], budgets=[Budget(seconds=9)])
    assert len(tasks) == 10
    path = tmp_path / "s.sqlite"
    with RecordStore(path) as store:
        store.add_catalogue(Catalogue({task.key.digest: task.suites for task in tasks}))
        for task in tasks:
            made = row(task.problem.name, "noX", 10, 10, suite=task.suite, digest=task.key.digest)
            store.append(made, task.problem, None)
        catalogue = store.catalogue()
        counts = {one.suite: len(one.best_by_digest) for one in compare(store, catalogue)}
        assert counts == {"small": 2, "ten": 10, "": 1}
        rows, chosen = select(store, catalogue, suites=["ten"])
        assert {one.suite: len(one.best_by_digest) for one in compare(rows, chosen)} == {"ten": 10}
        rows, chosen = select(store, catalogue, suites=["files", "small"])
        assert {one.suite: len(one.best_by_digest) for one in compare(rows, chosen)} == {"small": 2, "": 1}
    table = tmp_path / "r.md"
    out = run(capsys, "study", "report", path, "--out", tmp_path / "r.html", "--markdown", table)
    assert "Report of 10 records" in out
    lines = table.read_text(encoding="utf-8").splitlines()
    shown = [line.split(" | ")[3] for line in lines if line.startswith(("| small", "| ten", "| files"))]
    assert shown == ["2", "10", "1"]


def test_a_resumed_study_learns_of_new_suites_and_old_files_have_those_of_their_rows(tmp_path: Path) -> None:
    path = _written(tmp_path / "s.sqlite", [row("a", "x", 5, suite="old")])
    identity = digest(_problem("a", ord("a")))
    with RecordStore(path, read_only=True) as store:
        assert store.catalogue() == Catalogue({identity: ("old",)})
    with RecordStore(path) as store:
        store.add_catalogue(Catalogue({identity: ("new",)}))
        store.add_catalogue(Catalogue({identity: ("new", "newer")}))
        assert set(store.catalogue().suites[identity]) == {"old", "new", "newer"}
        assert len(store) == 1
