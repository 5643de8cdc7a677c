"""Solvers of third parties on the command line."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from cli_tools import refused, run, run_json
from plugin_tools import Site, site

from allocsolve.bench import RecordStore
from allocsolve.cli import main
from allocsolve.instances import klein2011, write_problem
from allocsolve.registry import solver_rows

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def third(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """Where third parties put their code."""
    with site(tmp_path, monkeypatch) as made:
        yield made


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A small problem."""
    path = tmp_path / "problem.json"
    write_problem(klein2011(1, num_apps=(3, 3)), path)
    return path


def test_modules_in_the_current_directory(third: Site, file: Path) -> None:
    third.module("acme")
    code = "from allocsolve.cli import entry; entry()"  # as the installed program starts
    argv = [sys.executable, "-P", "-c", code, "solve", file.name, "--solver", "acme:greedy", "--json"]
    done = subprocess.run(argv, cwd=third.folder, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["solver"] == "acme:greedy"


def test_score_keeps_and_finds_the_records_of_plugins(third: Site, file: Path, capsys: Capture) -> None:
    third.module("acme")
    third.distribution("acme-solvers", longest="acme:greedy")
    out = third.folder / "out"
    argv = ("score", file, "--solvers", "noX,acme:greedy", "--baseline", "longest", "--out", out)
    scores = run_json(capsys, *argv)
    assert [score["solver"] for score in scores["scores"]] == ["noX", "acme:greedy"]
    rows = list(RecordStore(out / "records.sqlite"))
    assert [row.solver_repr for row in rows][1:] == ["acme.greedy"], "two names of one solver, run once"
    again = run_json(capsys, *argv)
    assert again["scores"] == scores["scores"]
    assert list(RecordStore(out / "records.sqlite")) == rows


def test_an_allocator_for_churn(third: Site, capsys: Capture) -> None:
    third.module(
        "acme",
        "def place(problem: PartitionProblem, budget: Budget) -> Result: return Growth()(problem, budget)",
    )
    argv = ["generate", "churn", "--shape", "6x4", "--busy", "0.5", "--size", "3", "--jobs", "1-4"]
    argv += ["--steps", "5", "--count", "2", "--seed", "1"]
    run(capsys, *argv, "--out", third.folder / "p", "--allocator", "acme:place")
    assert len(list((third.folder / "p").glob("*.json"))) == 2
    said = refused(capsys, *argv, "--out", third.folder / "q", "--allocator", "acme:greedy")
    assert said.endswith("plug-in 'acme:greedy': it solves evolution problems, not partition problems\n")
    assert not (third.folder / "q").exists()


def test_bad_plugins_are_bad_input(third: Site, file: Path, capsys: Capture) -> None:
    third.module(
        "acme",
        "def f(problem, budget): ...\ndef leave(problem: EvolutionProblem, budget): raise SystemExit(0)",
    )
    third.distribution("acme-solvers", mine="acme:f", rigid="acme:greedy")
    assert "plug-in 'acme:f': annotate" in refused(capsys, "solve", file, "--solver", "acme:f")
    assert "plug-in 'mine': annotate" in refused(capsys, "solve", file, "--solver", "mine")
    assert "allocsolve itself and acme-solvers 1.5" in refused(capsys, "solve", file, "--solver", "rigid")
    out = third.folder / "out"
    assert "there is no module 'acne'" in refused(capsys, "score", file, "--solvers", "acne:f", "--out", out)
    said = refused(capsys, "score", file, "--solvers", "noX", "--baseline", "acme:g", "--out", out)
    assert "module 'acme' has no attribute 'g'" in said
    assert not out.exists()
    assert main(["solve", str(file), "--solver", "acme:leave"]) == 1
    assert capsys.readouterr().err == "allocsolve: error: acme:leave failed: SystemExit: 0\n"


def test_listed_with_their_distribution(third: Site, capsys: Capture) -> None:
    third.module("acme", "def both(problem: EvolutionProblem | PartitionProblem, budget): ...")
    third.module("broken", "raise RuntimeError('not today')")
    third.distribution("acme-solvers", both="acme:both", longest="acme:greedy", noX="acme:greedy")
    third.distribution("broken-solvers", broken="broken:f", longest="broken:f")
    rows = run_json(capsys, "solvers")["solvers"]
    ours, theirs = rows[: len(solver_rows())], rows[len(solver_rows()) :]
    assert {row["distribution"] for row in ours} == {""}
    assert [(row["name"], row["kind"], row["distribution"]) for row in theirs] == [
        ("both", "evolution", "acme-solvers 1.5"),
        ("both", "partition", "acme-solvers 1.5"),
        ("broken", "-", "broken-solvers 1.5"),
        ("longest", "-", "acme-solvers 1.5 and broken-solvers 1.5"),
        ("noX", "-", "acme-solvers 1.5"),
    ]
    text = run(capsys, "solvers")
    assert "acme-solvers 1.5: acme.both" in text
    assert "unusable, plug-in 'broken': importing broken raised RuntimeError: not today" in text
    assert "unusable, plug-in 'noX': allocsolve itself and acme-solvers 1.5" in text


def test_the_first_line_of_the_docstring_is_shown(third: Site, capsys: Capture) -> None:
    third.module("acme")
    third.distribution("acme-solvers", longest="acme:greedy")
    last = run(capsys, "solvers").splitlines()[-1].split(maxsplit=3)
    assert last == ["longest", "evolution", "plug-in", "acme-solvers 1.5: Place the longest first."]


def test_plugins_are_imported_only_when_asked_for(third: Site, file: Path, capsys: Capture) -> None:
    third.module("acme", "raise RuntimeError('imported')")
    third.distribution("acme-solvers", longest="acme:greedy")
    run(capsys, "solve", file, "--solver", "noX")
    run(capsys, "score", file, "--solvers", "noX", "--baseline", "infX", "--out", third.folder / "out")
    assert "acme" not in sys.modules
    assert "imported" in refused(capsys, "solve", file, "--solver", "longest")
