"""The command `reproduce linnert2024`: tables, JSON, CSV, picture, records that are kept."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

import pytest
from cli_tools import refused, run, run_json

from allocsolve.bench import RecordStore
from reproductions.linnert2024 import ADMISSIONS, PROGRAMS, STRATEGIES, TERMS

if TYPE_CHECKING:
    from pathlib import Path

    from cli_tools import Capture

COMMAND = ("reproduce", "linnert2024", "--loads", "heavy", "--seeds", 1, "--length", 30, "--seconds", 0.5)
#: Strategies and readings of one kind of programs, without what is asked for twice.
EXECUTED = 4 + 2 + 4 + 2 + 4


def test_what_is_shown_is_what_the_records_say(tmp_path: Path, capsys: Capture) -> None:
    out, plot = tmp_path / "out", tmp_path / "x.svg"
    args = (*COMMAND, "--out", out)
    found = run_json(capsys, *args, "--plot", plot)
    with RecordStore(out / "records.sqlite", read_only=True) as store:
        kept = list(store)
    assert len(kept) == EXECUTED * len(PROGRAMS) + len(ADMISSIONS) + len(TERMS)
    assert (found["loads"], found["jobs"], found["failures"]) == (["heavy"], 30, [])
    accepted = {row["allocator"]: row for row in found["accepted"]}
    bounds = {row["term"]: row for row in found["bounds"]}
    for row in accepted.values():
        assert row["jobs"]["mean"] / 30 <= bounds["rejected"]["most"]["mean"] + 1e-9
        assert row["area"]["mean"] <= bounds["rejected-area"]["most"]["mean"] + 1e-9
    for row in found["executed"]:
        if row["strategy"] in accepted:
            assert row["accepted"] == accepted[row["strategy"]]["jobs"]
        elif row["reading"] != "no queue":
            assert row["accepted"]["mean"] == 30
    assert {one["verdict"] for one in found["claims"]} >= {"not run"}
    with (out / "runs.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(PROGRAMS) * len(STRATEGIES) * 5 + len(ADMISSIONS)
    assert plot.read_text().startswith("<svg")

    text = run(capsys, *args)
    with RecordStore(out / "records.sqlite", read_only=True) as store:
        assert list(store) == kept, "nothing was run again"
    assert "nan" not in text
    assert "28 claims" in text
    assert f"Records: {out / 'records.sqlite'}" in text


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        (("--loads", "idle"), "'idle'"),
        (("--seeds", 0), "is below 1"),
        (("--length", 0), "is below 1"),
        (("--plot", "gone/x.svg"), "there is no directory"),
    ],
)
def test_what_cannot_be_done_is_refused(
    options: tuple[object, ...], fault: str, tmp_path: Path, capsys: Capture
) -> None:
    assert fault in refused(capsys, *COMMAND, "--out", tmp_path / "out", *options)
