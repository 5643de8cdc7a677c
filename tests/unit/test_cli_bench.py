"""The commands score and reproduce by calling `main`: what it prints, writes and returns."""

from __future__ import annotations

import csv
import itertools
from typing import TYPE_CHECKING, Any

import pytest
from cli_tools import Capture, run, run_json

from allocsolve.bench import RecordStore, suite
from allocsolve.cli import main
from allocsolve.instances import klein2011, write_problem
from allocsolve.model import EvolutionProblem, PartitionProblem

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three small problems."""
    path = tmp_path / "problems"
    path.mkdir()
    for seed in range(3):
        write_problem(klein2011([7, seed], num_apps=(3, 4)), path / f"{seed}.json")
    return path


def test_score_counts_gaps_and_keeps_records(folder: Path, tmp_path: Path, capsys: Capture) -> None:
    out = tmp_path / "scores"
    args = ("score", folder, "--solvers", "rigid,noX", "--baseline", "infX", "--seconds", 5, "--out", out)
    found = run_json(capsys, *args)
    assert [row["solver"] for row in found["scores"]] == ["rigid", "noX", "infX"]
    assert (found["problems"], found["baseline"], found["failures"]) == (3, "infX", [])
    records = out / "records.sqlite"
    assert found["records"] == str(records)
    kept = list(RecordStore(records))
    assert len(kept) == 9
    with (out / "scores.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 9
    for row in rows:
        assert float(row["value"]) == float(row["metrics.makespan"])
    text = run(capsys, *args)  # finds everything done
    assert list(RecordStore(records)) == kept
    assert "Baseline infX" in text
    for row in found["scores"]:
        gaps = row["gap"]
        shown = next(line.split() for line in text.splitlines() if line.startswith(row["solver"]))
        assert shown[1:4] == [f"{100 * gaps[name]:.1f}" for name in ("mean", "median", "max")]


def test_score_table_fits_80_columns(
    folder: Path, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    args = ("score", folder, "--solvers", "rigid,2X+c,infX+c", "--baseline", "noX", "--seconds", 5)
    shown = {}
    for width in (20, 80, 120):
        monkeypatch.setenv("COLUMNS", str(width))
        lines = run(capsys, *args, "--out", tmp_path).splitlines()
        shown[width] = lines[" runs from " in lines[0] :]  # a second run says so
    table = shown[80][:9]
    assert max(map(len, table)) <= 80
    for lines in shown.values():
        assert "…" not in "".join(lines)
        assert [line.split() for line in lines[4:8]] == [line.split() for line in shown[80][4:8]]


def test_score_of_a_suite(tmp_path: Path, capsys: Capture) -> None:
    args = ("score", "tiny", "--solvers", "noX", "--baseline", "noX", "--seconds", 5, "--out", tmp_path)
    found = run_json(capsys, *args, "--set", "expand_limit=1", "--objective", "completion,makespan")
    evolving = [problem for problem in suite("tiny") if isinstance(problem, EvolutionProblem)]
    assert 1 < found["problems"] <= len(evolving) < len(suite("tiny"))  # tightened, some are the same
    rows = list(RecordStore(tmp_path / "records.sqlite"))
    assert {(row.objective, row.features["expand_limit"]) for row in rows} == {("completion,makespan", 1)}


def test_score_takes_the_problems_of_its_solvers_out_of_a_suite(tmp_path: Path, capsys: Capture) -> None:
    args = ("score", "tiny", "--seconds", 1, "--out", tmp_path, "--solvers")
    partitions = [problem for problem in suite("tiny") if isinstance(problem, PartitionProblem)]
    pairwise = ("--baseline", "cpsat", "--objective", "pairwise")
    for more in (["growth"], ["cpsat", "--baseline", "growth"], ["cpsat", *pairwise]):
        found = run_json(capsys, *args, *more)
        assert (found["objective_name"], found["problems"]) == ("pairwise", len(partitions))
    assert main([str(arg) for arg in (*args, "cpsat")]) == 2
    assert "problems of several kinds" in capsys.readouterr().err


def test_score_has_an_exact_baseline_by_default(tmp_path: Path, capsys: Capture) -> None:
    args = ("score", "klein-5-l1", "--solvers", "noX", "--seconds", 20, "--out", tmp_path)
    found = run_json(capsys, *args)
    heuristic, exact = found["scores"]
    assert (heuristic["solver"], exact["solver"], found["baseline"]) == ("noX", "cpsat", "cpsat")
    assert found["optima_proven"] == exact["proven"] == exact["optimal"] == 10
    assert heuristic["gap"] == heuristic["optimum_gap"]
    assert "10 of 10 optima proven" in run(capsys, *args)


def test_score_interrupted_keeps_records_and_resumes(
    folder: Path, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    args = ["score", str(folder), "--solvers", "noX", "--baseline", "noX", "--seconds", "5"]
    args += ["--out", str(tmp_path)]
    original, count = RecordStore.append, itertools.count()

    def interrupted(self: RecordStore, *row: Any) -> bool:
        if next(count) == 2:
            raise KeyboardInterrupt
        return original(self, *row)

    records = tmp_path / "records.sqlite"
    with monkeypatch.context() as patch:
        patch.setattr(RecordStore, "append", interrupted)
        assert main(args) == 130
    out, err = capsys.readouterr()
    assert out == ""
    assert err == f"allocsolve: interrupted; 2 records in {records}, the same command goes on from there\n"
    kept = list(RecordStore(records))
    assert len(kept) == 2
    run(capsys, *args)
    assert list(RecordStore(records))[:2] == kept
    assert len(RecordStore(records)) == 3


def test_score_with_failed_and_unanswered_rows(folder: Path, tmp_path: Path, capsys: Capture) -> None:
    fails, gives_up = "bad_solvers:overlaps", "bad_solvers:gives_up"
    args = ("score", folder, "--solvers", f"{fails},{gives_up}", "--baseline", "rigid", "--seconds", 5)
    text = run(capsys, *args, "--out", tmp_path, status=1)
    assert text.count(f"{fails} failed on klein2011-s7-") == 3
    assert f"{gives_up}: no answer to 3 of 3" in text
    found = run_json(capsys, *args, "--out", tmp_path, status=1)
    assert [row["failed"] for row in found["scores"]] == [3, 0, 0]
    assert found["scores"][0]["gap"] is None
    assert len(found["failures"]) == 3
