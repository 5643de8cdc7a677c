"""Runs that are made again, and what is said of runs that are not."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from cli_tools import refused, run, run_json

from allocsolve.bench import RecordStore
from allocsolve.cli import main
from allocsolve.instances import klein2011, write_problem

if TYPE_CHECKING:
    from pathlib import Path

    from allocsolve.bench import Record

Capture = pytest.CaptureFixture[str]

pytestmark = pytest.mark.usefixtures("in_process")

#: Fails on the first problem while the file `broken` is there.
SOMETIMES = """
import pathlib
from allocsolve import Budget, EvolutionProblem
from allocsolve.heuristics import ListScheduling

def solver(problem: EvolutionProblem, budget: Budget):
    if problem.name == "p0" and pathlib.Path("broken").exists():
        raise RuntimeError("no idea")
    return ListScheduling()(problem, budget)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An author's folder: two problems, a study, a solver that fails."""
    (tmp_path / "problems").mkdir()
    for idx in range(2):
        problem = replace(klein2011([6, idx], num_apps=(3, 3)), name=f"p{idx}")
        write_problem(problem, tmp_path / "problems" / f"p{idx}.json")
    (tmp_path / "study.toml").write_text('suites = ["problems"]\nsolvers = ["noX", "sometimes:solver"]\n')
    (tmp_path / "sometimes.py").write_text(SOMETIMES)
    (tmp_path / "broken").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def _rows(path: Path) -> list[Record]:
    with RecordStore(path, read_only=True) as store:
        return list(store)


def test_failed_runs_and_named_solvers_are_run_again(folder: Path, capsys: Capture) -> None:
    command, path = ("study", "run", "study.toml"), folder / "study.sqlite"
    first = run_json(capsys, *command, status=1)
    assert first["reused"] == {"runs": 0, "of": 4, "days": []}
    assert [failure["error"] for failure in first["failures"]] == ["RuntimeError: no idea"]
    (failed,) = (row for row in _rows(path) if row.error)
    others = [row for row in _rows(path) if not row.error]
    day = failed.when[:10]

    said = run(capsys, *command, status=1)
    assert f"4 of 4 runs from study.sqlite, {min(day, others[0].when[:10])}" in said
    (folder / "broken").unlink()
    assert run_json(capsys, *command, status=1)["reused"]["runs"] == 4, "a failed row is a row"

    retried = run_json(capsys, *command, "--rerun", "failed")
    assert (retried["reused"]["runs"], retried["failures"]) == (3, [])
    assert len(retried["reused"]["days"]) == 2
    (again,) = (row for row in _rows(path) if row.key == failed.key)
    assert (again.attempt, again.error, failed.attempt) == (2, "", 1)
    assert [row for row in _rows(path) if row.key != failed.key] == others
    assert run_json(capsys, *command, "--rerun", "failed")["reused"]["runs"] == 4

    rerun = run_json(capsys, *command, "--rerun", "noX")
    assert rerun["reused"]["runs"] == 2
    attempts = {(row.solver, row.instance): row.attempt for row in _rows(path)}
    made_again = {("noX", "p0"): 2, ("noX", "p1"): 2, ("sometimes:solver", "p0"): 2}
    assert attempts == {**made_again, ("sometimes:solver", "p1"): 1}
    assert "unknown solver of these runs 'infX'" in refused(capsys, *command, "--rerun", "infX")


def test_a_damaged_row_is_made_again(folder: Path, capsys: Capture) -> None:

    (folder / "broken").unlink()
    command = ("score", "problems", "--solvers", "sometimes:solver", "--baseline", "noX", "--out", "out")
    run(capsys, *command)
    path = folder / "out" / "records.sqlite"
    base = sqlite3.connect(path)
    base.execute("DROP TRIGGER no_change")
    base.execute("UPDATE records SET metrics = 'x' WHERE id = 2")
    base.commit()
    base.close()

    assert main([*command, "--json"]) == 0
    out, err = capsys.readouterr()
    assert "row 2: column metrics: 'x' " in err
    assert err.count("\n") == 1
    assert len(json.loads(out)["scores"]) == 2
    with RecordStore(path, tell=lambda _: None) as store:
        assert sorted(row.attempt for row in store) == [1, 1, 1, 2]
