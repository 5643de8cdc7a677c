"""The command `reproduce lina2022`: tables, JSON, CSV, records that are kept."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

import pytest
from cli_tools import refused, run, run_json

from allocsolve.bench import RecordStore
from allocsolve.instances import lublin1999
from reproductions import lina2022

if TYPE_CHECKING:
    from pathlib import Path

    from cli_tools import Capture

COMMAND = ("reproduce", "lina2022", "--shares", "10,100", "--seeds", 1, "--seconds", 0.3)


@pytest.fixture(autouse=True)
def small_logs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the command take small workloads."""
    problem = lublin1999(1, num_jobs=30)
    logs = lina2022.Log("KIT", problem, full=False), lina2022.Log("KIT_full", problem, full=True)
    taken = "reproductions.lina2022.command.paper_logs"
    monkeypatch.setattr(taken, lambda _, names: logs if "KIT" in names else logs[1:])


def test_what_is_shown_is_what_the_records_say(tmp_path: Path, capsys: Capture) -> None:
    args = (*COMMAND, "--out", tmp_path)
    found = run_json(capsys, *args)
    with RecordStore(tmp_path / "records.sqlite", read_only=True) as store:
        kept = list(store)
    # first-fit and easy of the one rigid problem once; 24 and 4 of each share; three bounds
    assert len(kept) == 2 + 2 * (24 + 4) + 3
    assert (found["seeds"], found["failures"], found["paper"]) == (1, [], "lina2022")
    values = {(cell["log"], cell["share"], cell["algorithm"], cell["rule"]): cell for cell in found["cells"]}
    assert len(values) == len(found["cells"]) == 2 * 2 + 2 * (24 + 4)
    with (tmp_path / "runs.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            cell = values[row["log"], float(row["share"]), row["algorithm"], row["rule"]]
            assert float(row["turnaround"]) == cell["figures"]["turnaround"]
    assert [(row["log"], row["share"]) for row in found["bounds"]] == [("KIT", 0), ("KIT", 0.1), ("KIT", 1)]
    assert all(row["bound"] <= row["best"] for row in found["bounds"])
    assert {row["metric"] for row in found["orders"]} == set(lina2022.METRICS)

    text = run(capsys, *args)
    with RecordStore(tmp_path / "records.sqlite", read_only=True) as store:
        assert list(store) == kept, "nothing was run again"
    assert "nan" not in text
    assert "19 claims: " in text
    assert "Gain / Random 5.7 % at 70 %" in text
    assert f"Records: {tmp_path / 'records.sqlite'}" in text


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        (("--shares", "0,10"), "not all are above 0"),
        (("--shares", "20,20"), "nothing, or some twice"),
        (("--seeds", 0), "is below 1"),
        (("--executor", "moon"), "executor 'moon' is not local"),
    ],
)
def test_what_cannot_be_done_is_refused(
    options: tuple[object, ...], fault: str, tmp_path: Path, capsys: Capture
) -> None:
    assert fault in refused(capsys, *COMMAND, "--out", tmp_path, *options)
