"""The command `reproduce klein2011 --optimal`: tables, JSON, picture, records that are kept."""

from __future__ import annotations

import functools
import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING, Any

import pytest
from cli_tools import Capture, refused, run, run_json

from allocsolve import bench
from allocsolve.bench import RecordKey, RecordStore
from allocsolve.bench.runs.execution import failed_outcome
from reproductions.klein2011 import expansion_draws, heuristics

if TYPE_CHECKING:
    from pathlib import Path

SVG = "{http://www.w3.org/2000/svg}"
SEARCH_SECONDS = 0.2
COMMAND = ("reproduce", "klein2011", "--optimal")


@pytest.fixture(autouse=True)
def only_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the command run the smallest of its sizes only, and local searches not for long."""
    small = functools.partial(expansion_draws, stems=["klein-5"])
    monkeypatch.setattr("reproductions.klein2011.command.expansion_draws", small)
    monkeypatch.setattr("reproductions.klein2011.expansion.HEURISTIC_SECONDS", SEARCH_SECONDS)


def test_what_is_shown_is_what_the_records_say(tmp_path: Path, capsys: Capture) -> None:
    out, plot = tmp_path / "out", tmp_path / "x.svg"
    args = (*COMMAND, "--tests", 2, "--seconds", 20, "--seed", 3, "--workers", 2, "--out", out)
    found = run_json(capsys, *args, "--plot", plot)
    records = out / "records.sqlite"
    with RecordStore(records, read_only=True) as store:
        kept = list(store)
    assert found["records"] == str(records)
    assert len(kept) == 2 * (len(heuristics()) + 3)
    assert {(record.key.seed, record.key.workers) for record in kept} == {(3, 2)}
    assert found["machines"] == [dict(kept[0].machine)]
    assert (found["tests"], found["seconds"], found["seed"], found["failures"]) == (2, 20, 3, [])
    assert [one["name"] for one in found["instances"]] == ["klein-5-00", "klein-5-01"]
    values = {(record.instance, record.solver): record.value for record in kept}
    for one in found["instances"]:
        (low, high), (least, most) = one["optimum"]["1"], one["worth"]["inf"]
        assert low <= high <= values[one["name"].replace("5-", "5-l1-"), "conflict-search"]
        assert least <= one["optimum"]["inf"][1] / high <= most
        for by in one["heuristics"]:
            suffix = {"1": "l1"}.get(by["limit"], by["limit"].replace("2", "l2"))
            assert by["makespan"] == values[one["name"].replace("5-", f"5-{suffix}-"), by["solver"]]
    assert [(row["apps"], row["limit"]) for row in found["worth"]] == [("5", "1"), ("5", "2"), ("5", "inf")]
    assert ET.fromstring(plot.read_text(encoding="utf-8")).tag == f"{SVG}svg"  # noqa: S314 - our own

    text = run(capsys, *args)
    assert "nan" not in text
    with RecordStore(records, read_only=True) as store:
        assert list(store) == kept, "nothing was run again"
    lines = [line.split() for line in text.splitlines()]
    for row in found["worth"]:
        start = [row["limit"], str(row["proven"]), "of", "2"]
        (shown,) = (line for line in lines if start in (line[:4], line[1:5]))
        if row["limit"] != "1" and row["optimum"]["mean"] is not None:
            assert f"{row['optimum']['mean']:.3f}" in shown
            assert f"{row['listed']['mean']:.3f}" in shown
    for row in found["heuristics"]:
        assert any(row["solver"] in line and row["limit"] in line for line in lines)
    assert f"Records: {records}" in text


def test_a_failed_row_is_told_and_the_rest_is_shown(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every row has failed; the library still knows the optima."""
    monkeypatch.setattr(bench, "run", _failing)
    text = run(capsys, *COMMAND, "--tests", 5, "--seconds", 5, "--out", tmp_path, status=1)
    assert "noX failed on klein-5-l1-04: RuntimeError: boom" in text
    assert "nan" not in text
    lines = [line.split() for line in text.splitlines()]
    assert any(line[:6] == ["5", "1", "5", "of", "5", "-"] for line in lines), "proven by the library"
    found = run_json(capsys, *COMMAND, "--tests", 5, "--seconds", 5, "--out", tmp_path, status=1)
    assert len(found["failures"]) == 5 * (len(heuristics()) + 3)
    assert found["failures"][0]["error"] == "RuntimeError: boom"
    assert all(row["own"]["count"] == 0 for row in found["heuristics"])


def _failing(tasks: list[bench.Task], **_: Any) -> list[bench.Record]:
    return [failed_outcome(task, "RuntimeError: boom", 0.1).record for task in tasks]


@pytest.mark.parametrize(
    ("place", "parts"), [("gone/x.svg", ["gone/x.svg", "there is no directory"]), (".", ["is a directory"])]
)
def test_a_plot_that_cannot_be_written_is_refused_before_anything_runs(
    place: str, parts: list[str], tmp_path: Path, capsys: Capture
) -> None:
    out = tmp_path / "out"
    err = refused(capsys, *COMMAND, "--plot", tmp_path / place, "--out", out)
    assert all(part in err for part in parts)
    assert not out.exists()


def test_a_folder_that_is_a_file_is_refused(tmp_path: Path, capsys: Capture) -> None:
    place = tmp_path / "out"
    place.write_text("no folder")
    assert f"{place}: is not a directory" in refused(capsys, *COMMAND, "--out", place)


def test_the_command_defaults_to_ten_tests_and_a_minute(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[RecordKey] = []

    def listen(tasks: list[bench.Task], **_: Any) -> list[bench.Record]:
        asked.extend(task.key for task in tasks)
        return _failing(tasks)

    monkeypatch.setattr(bench, "run", listen)
    monkeypatch.chdir(tmp_path)
    found = run_json(capsys, *COMMAND, status=1)
    assert (found["tests"], found["seconds"], found["records"]) == (10, 60, "out/records.sqlite")
    assert {key.seconds for key in asked} == {60, SEARCH_SECONDS}
