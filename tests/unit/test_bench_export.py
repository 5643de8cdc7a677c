"""Tables of records for other programs."""

from __future__ import annotations

import csv
import json
import sys
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest
from sample_records import VARIANTS

from allocsolve.bench import export
from allocsolve.errors import FormatError, SolverUnavailable, UnknownName

if TYPE_CHECKING:
    from pathlib import Path


def test_csv_has_one_column_per_field_and_metric(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("old")
    export(VARIANTS[:3], path)
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["instance"] for row in rows] == ["tiny-00"] * 3
    assert [row["value"] for row in rows] == ["120", "", "120;1152921504606846977"]
    assert [row["bound"] for row in rows] == ["-inf", "-inf", "100;-inf"]
    assert [row["error"] for row in rows] == ["", "Boom: no", ""]
    assert [row["metrics.waste"] for row in rows] == ["0.1", "", "0.1"]
    assert rows[0]["status"] == "feasible"
    assert rows[0]["machine.cpus"] == "2"
    assert (rows[0]["features.num_nodes"], rows[0]["features.expand_limit"]) == ("100", "")
    assert json.loads(rows[0]["incumbents"]) == [[0.1, 130], [0.25, 120]]
    assert list(tmp_path.iterdir()) == [path]


def test_json_and_parquet_have_the_same_rows(tmp_path: Path) -> None:
    export(VARIANTS, tmp_path / "t.json")
    export(VARIANTS, tmp_path / "t.parquet")
    rows = json.loads((tmp_path / "t.json").read_text())
    table = pq.read_table(tmp_path / "t.parquet").to_pylist()
    assert len(rows) == len(table) == len(VARIANTS)
    assert [row["instance"] for row in rows] == [row["instance"] for row in table]
    assert [row["seed"] for row in rows] == [row["seed"] for row in table] == [0, 1, 2, 3]
    assert rows[0]["bound"] is None, "JSON has no infinity"
    assert table[0]["bound"] == "-inf", "text, as other rows have two terms"
    assert table[2]["value"] == rows[2]["value"] == "120;1152921504606846977"
    assert [row.get("features.shape") for row in table] == [None, None, None, "4x2"]


def test_the_ending_says_the_format(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match=r"unknown format '.xlsx'; known: .csv, .json, .parquet"):
        export(VARIANTS, tmp_path / "t.xlsx")
    with pytest.raises(FormatError, match="cannot be written: No such file"):
        export(VARIANTS, tmp_path / "none" / "t.csv")


def test_parquet_says_what_it_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(SolverUnavailable, match=r"pip install 'allocsolve\[parquet\]'"):
        export(VARIANTS, tmp_path / "t.parquet")


def test_a_failed_export_leaves_the_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "table.csv"
    path.write_text("old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("csv.DictWriter.writerows", full)
    with pytest.raises(FormatError, match="No space left on device"):
        export(VARIANTS, path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
