"""The command `reproduce posner2024`: tables, JSON, CSV, picture, records that are kept."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

import pytest
from cli_tools import refused, run, run_json

from allocsolve.bench import RecordStore
from reproductions.posner2024 import READINGS

if TYPE_CHECKING:
    from pathlib import Path

    from cli_tools import Capture

COMMAND = ("reproduce", "posner2024", "--count", 1, "--shares", "0,100", "--seconds", 1)


def test_what_is_shown_is_what_the_records_say(tmp_path: Path, capsys: Capture) -> None:
    out, plot = tmp_path / "out", tmp_path / "x.svg"
    args = (*COMMAND, "--out", out)
    found = run_json(capsys, *args, "--plot", plot)
    with RecordStore(out / "records.sqlite", read_only=True) as store:
        kept = list(store)
    assert len(kept) == 4 + 4 + 9 + 2
    assert (found["batches"], found["failures"]) == (["evotree-s42"], [])
    published = [row for row in found["rows"] if row["reading"] == READINGS[0].name]
    figures = {(row["scheduler"], row["share"]): row["figures"] for row in published}
    assert figures["EasyBackfilling", 0] == figures["EvolvEasyBack", 0]
    assert figures["EvolvEasyBack", 1]["makespan"] == pytest.approx(921.6, abs=0.05)
    bounds = {(row["scheduler"], row["share"]): row for row in found["bounds"]}
    for (scheduler, share), figure in figures.items():
        bound = bounds["EvolvEasyBack" if scheduler == "static-price" else scheduler, share]
        assert bound["turnaround"] <= bound["claimed"] <= bound["best"] + 1e-9
        assert bound["best"] <= figure["turnaround"] + 1e-9
        assert bound["makespan"] <= figure["makespan"]
    assert bounds["EvolvEasyBack", 1]["turnaround"] > 150
    assert bounds["EvolvEasyBack", 1]["best"] < figures["static-price", 1]["turnaround"] * 0.95
    with (out / "runs.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 4 * len(READINGS) + 1
    assert plot.read_text().startswith("<svg")

    text = run(capsys, *args)
    with RecordStore(out / "records.sqlite", read_only=True) as store:
        assert list(store) == kept, "nothing was run again"
    assert "nan" not in text
    assert "35 sentences" in text
    lines = [line.split() for line in text.splitlines()]
    assert ["EvolvEasyBack", "921.6"] in [line[:2] for line in lines]
    assert ["rigid", "EasyBackfilling,", "paper", "1507"] in [line[:4] for line in lines]
    assert f"Records: {out / 'records.sqlite'}" in text


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        (("--shares", "0,120"), "is not in 0..1"),
        (("--shares", "20,20"), "a share twice"),
        (("--count", 0), "is below 1"),
        (("--batches", "gone.json"), "gone.json"),
        (("--batches", "gone.json", "--seed", 3), "one of the two"),
        (("--plot", "gone/x.svg"), "there is no directory"),
    ],
)
def test_what_cannot_be_done_is_refused(
    options: tuple[object, ...], fault: str, tmp_path: Path, capsys: Capture
) -> None:
    command = COMMAND[:2] if "--batches" in options else COMMAND
    assert fault in refused(capsys, *command, "--out", tmp_path / "out", *options)
