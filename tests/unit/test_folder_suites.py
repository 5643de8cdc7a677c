"""Folders with best known values: suites of users, whose references count in scores, studies and reports."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from cli_tools import Capture, refused, run, run_json

from allocsolve.bench import RecordStore, problems_of
from allocsolve.bench.library.references import folder_references
from allocsolve.errors import FormatError
from allocsolve.instances import BestKnown, HistoryEntry, digest, klein2011, write_best_known, write_problem

if TYPE_CHECKING:
    from pathlib import Path


PROBLEMS = [replace(klein2011([7, seed], num_apps=(3, 4)), name=f"p{idx}") for idx, seed in enumerate((0, 2))]
FORMAT = "allocsolve-best-known/1"


def _folder(path: Path, *rows: dict[str, Any], form: str = FORMAT) -> Path:
    path.mkdir(parents=True)
    for problem in PROBLEMS:
        write_problem(problem, path / f"{problem.name}.json")
    (path / "best_known.json").write_text(json.dumps({"format": form, "rows": rows}), encoding="utf-8")
    return path


def _row(instance: str = "p0", objective: str = "makespan", **fields: Any) -> dict[str, Any]:
    return {"instance": instance, "objective": objective, **fields}


def test_rows_are_short_or_have_a_history(tmp_path: Path) -> None:
    folder = _folder(tmp_path / "mine", _row(lower=25, upper=30), _row(objective="waste", upper=7))
    identity = digest(PROBLEMS[0])
    stated = folder_references(folder)
    assert stated[identity, "makespan"] == (25, 30, "mine")
    assert stated[identity, "waste"] == (-math.inf, 7, "mine")
    assert {suite for suite, _, _ in problems_of(str(folder))} == {"mine"}
    entry = HistoryEntry("bound", 28, "2026-11-20", "CpSat()", {}, 1.0)
    (folder / "best_known.json").unlink()
    assert folder_references(folder) == {}
    assert {suite for suite, _, _ in problems_of(str(folder))} == {""}
    write_best_known(folder / "best_known.json", [BestKnown("p0", "makespan", identity, (entry,))])
    assert folder_references(folder) == {(identity, "makespan"): (28, math.inf, "mine")}


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        (_row("p7", lower=1), "p7: there is no file p7.json"),
        (_row(digest="0" * 64, lower=1), "p0 is another problem, "),
        (_row(objective="pairwise", lower=1), "p0: pairwise is not one of makespan, completion, waste"),
        (_row(), "rows[0]: states neither lower nor upper"),
        (_row(lower=9, upper=3), "rows[0]: the bound 9 is above the solution 3"),
        (_row(lower="9"), "rows[0].lower: must be a number or null, not '9'"),
        (_row(lower=9, proof="mine"), "rows[0]: unknown field 'proof'"),
        (_row(history=[]), "rows[0].digest: missing"),
    ],
)
def test_what_cannot_be_is_refused(tmp_path: Path, row: dict[str, Any], fault: str) -> None:
    folder = _folder(tmp_path / "mine", row)
    with pytest.raises(FormatError) as refusal:
        folder_references(folder)
    assert str(refusal.value).startswith(f"{folder / 'best_known.json'}: ")
    assert fault in str(refusal.value)


def test_a_row_stands_once_and_no_suite_of_the_package_is_meant(tmp_path: Path, capsys: Capture) -> None:
    folder = _folder(tmp_path / "mine", _row(lower=1), _row(upper=30))
    assert "makespan of p0 is also rows[0]" in refused(capsys, "score", folder, "--solvers", "noX")
    folder = _folder(tmp_path / "tiny", _row(lower=1))
    assert "a suite of the package is called tiny" in refused(capsys, "score", folder, "--solvers", "noX")


def test_score_measures_against_what_is_stated(tmp_path: Path, capsys: Capture) -> None:
    folder = _folder(tmp_path / "mine", _row(lower=30000, upper=32000), _row("p1", lower=11126))
    args = ("score", folder, "--solvers", "noX", "--baseline", "rigid", "--out", tmp_path / "out")
    found = run_json(capsys, *args)
    nox = next(one for one in found["scores"] if one["solver"] == "noX")
    assert nox["gap"]["max"] == pytest.approx(32696 / 30000 - 1)
    assert (nox["optimal"], found["optima_proven"]) == (1, 1)
    assert "or stated by a suite" in run(capsys, *args)
    page, table = tmp_path / "r.html", tmp_path / "r.md"
    run(capsys, "study", "report", tmp_path / "out" / "records.sqlite", "--out", page, "--markdown", table)
    text = table.read_text(encoding="utf-8")
    assert "## mine: makespan" in text
    assert f"| noX | 2 | {50 * (32696 / 30000 - 1):.2f} " in text


def test_a_study_keeps_what_is_stated_and_a_false_statement_is_named(tmp_path: Path, capsys: Capture) -> None:
    _folder(tmp_path / "mine", _row(lower=24000), _row("p1", lower=11127))
    study = tmp_path / "study.toml"
    study.write_text('suites = ["mine"]\nsolvers = ["noX"]\n', encoding="utf-8")
    run(capsys, "study", "run", study)
    with RecordStore(tmp_path / "study.sqlite", read_only=True) as store:
        stated = set(store.catalogue().references.values())
        assert stated == {(24000, math.inf, "mine"), (11127, math.inf, "mine")}
    report = ("study", "report", tmp_path / "study.sqlite", "--out", tmp_path / "r.html")
    out = run(capsys, *report, status=1)
    assert "contradiction on p1: mine claims the bound 11127, noX found 11126; 0 records struck out" in out
    score = ("score", tmp_path / "mine", "--solvers", "noX", "--baseline", "rigid")
    out = run(capsys, *score, "--out", tmp_path / "out", status=1)
    assert "contradiction on p1: mine claims the bound 11127, noX found 11126; 0 records struck out" in out
    assert "noX" in out
