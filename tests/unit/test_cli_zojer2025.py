"""The command `reproduce zojer2025`: tables, JSON, CSV, picture, records that are kept."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from cli_tools import refused, run, run_json

from allocsolve import bench
from allocsolve.bench import RecordStore
from allocsolve.bench.runs.execution import failed_outcome
from allocsolve.model import Job, WorkloadProblem
from reproductions import zojer2025

if TYPE_CHECKING:
    from pathlib import Path

    from cli_tools import Capture

COMMAND = ("reproduce", "zojer2025", "--shares", "0", "--policies", "first-fit", "--seconds", 0.5)


def take_small_log(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the command take a small log."""
    rng = np.random.default_rng(5)
    drawn = zip(rng.integers(1, 33, 144).tolist(), rng.integers(60, 20_000, 144).tolist(), strict=True)
    jobs = [Job(1800 * idx, nodes, seconds) for idx, (nodes, seconds) in enumerate(drawn)]
    log = WorkloadProblem(32, jobs, name="small", meta={"lines": 144})
    monkeypatch.setattr("reproductions.zojer2025.command.cori_knl", lambda _: log)


@pytest.fixture(autouse=True)
def small_log(monkeypatch: pytest.MonkeyPatch) -> None:
    take_small_log(monkeypatch)


def test_what_is_shown_is_what_the_records_say(tmp_path: Path, capsys: Capture) -> None:
    out, plot = tmp_path / "out", tmp_path / "x.svg"
    args = (*COMMAND, "--out", out)
    found = run_json(capsys, *args, "--plot", plot)
    with RecordStore(out / "records.sqlite", read_only=True) as store:
        kept = list(store)
    assert found["records"] == str(out / "records.sqlite")
    assert [record.solver for record in kept] == ["first-fit", "easy", "prices"]
    values = {record.solver: record.value for record in kept}
    for row in found["policies"]:
        assert row["figures"]["all_turnaround"]["mean"] == values[row["policy"]]
        assert row["thesis"]["turnaround"] == "4551"
    (bound,) = found["bounds"]
    assert bound["bound"]["mean"] == max(record.certified_bound for record in kept)
    assert (found["seeds"], found["failures"], found["log"]["lines"]) == (10, [], 144)
    assert {one["verdict"] for one in found["sentences"]} >= {"does not hold", "cannot be tested", "not run"}
    with (out / "runs.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["policy"], float(row["all_turnaround"])) for row in rows] == [
        (name, values[name]) for name in ("first-fit", "easy")
    ]
    assert plot.read_text().startswith("<svg")

    text = run(capsys, *args)
    with RecordStore(out / "records.sqlite", read_only=True) as store:
        assert list(store) == kept, "nothing was run again"
    assert "nan" not in text
    lines = [line.split() for line in text.splitlines()]
    assert ["0", "%", "thesis", "4551", "85", "%"] in lines
    assert any(line[:1] == ["easy"] and f"{values['easy']:.1f}" in line for line in lines)
    assert f"Records: {out / 'records.sqlite'}" in text


def test_a_failed_run_is_told_and_the_rest_is_shown(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(tasks: list[bench.Task], *, store: RecordStore, **_: Any) -> list[bench.Record]:
        for task in tasks:
            store.append(failed_outcome(task, "RuntimeError: boom", 0.1).record, task.problem, None)
        return [store[task.key] for task in tasks]

    monkeypatch.setattr(bench, "run", failing)
    text = run(capsys, *COMMAND, "--out", tmp_path, status=1)
    assert "easy failed on small-elastic0-s1: RuntimeError: boom" in text
    assert "nan" not in text
    monkeypatch.undo()
    take_small_log(monkeypatch)
    told = run_json(capsys, *COMMAND, "--out", tmp_path, "--retry-failed")
    assert told["failures"] == []
    assert "unknown solver of these runs" in refused(capsys, *COMMAND, "--out", tmp_path, "--rerun", "fcfs")


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        (("--shares", "0,120"), "is not in 0..1"),
        (("--shares", "a"), "'a' is not a number"),
        (("--shares", "20,20"), "nothing, or some twice"),
        (("--policies", "malleable-maximal"), "unknown solver"),
        (("--seeds", 0), "is below 1"),
        (("--executor", "moon"), "executor 'moon' is not local"),
        (("--plot", "gone/x.svg"), "there is no directory"),
    ],
)
def test_what_cannot_be_done_is_refused(
    options: tuple[object, ...], fault: str, tmp_path: Path, capsys: Capture
) -> None:
    assert fault in refused(capsys, *COMMAND, "--out", tmp_path / "out", *options)


def test_without_the_log_the_message_says_where_it_is(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reproductions.zojer2025.command.cori_knl", zojer2025.cori_knl)
    err = refused(capsys, *COMMAND, "--traces", tmp_path, "--out", tmp_path / "out")
    assert "elastic-sim" in err
    assert not (tmp_path / "out").exists()
