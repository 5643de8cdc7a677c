"""The record file: what is written is read, whatever happened in between."""

from __future__ import annotations

import csv
import json
import math
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from allocsolve.bench import Record, RecordStore, write_csv
from allocsolve.errors import FormatError
from allocsolve.model import Limit, Status

if TYPE_CHECKING:
    from pathlib import Path

RECORD = Record(
    suite="",
    instance="tiny-00",
    digest="d0",
    kind="evolution",
    features={"num_nodes": 100, "expand_limit": None},
    solver="noX",
    solver_repr="ListScheduling()",
    objective="makespan",
    seconds=math.inf,
    iterations=None,
    workers=1,
    seed=0,
    version="0.1.0",
    status=Status.FEASIBLE,
    limit=Limit.TIME,
    value=120,
    bound=-math.inf,
    combinatorial_bound=100,
    runtime_s=0.25,
    incumbents=(),
    error="",
    metrics={"makespan": 120, "waste": 0.1},
    when="2024-01-01T00:00:00+00:00",
    machine={"platform": "Linux", "cpus": 2},
)

VARIANTS = (
    RECORD,
    replace(RECORD, seed=1, status=Status.UNKNOWN, limit=None, value=None, metrics={}, error="Boom: no"),
    replace(RECORD, seed=2, value=(120, 2**60 + 1), bound=(100, -math.inf), combinatorial_bound=(100,)),
    replace(
        RECORD,
        seed=3,
        value=1 / 3,
        bound=0.1,
        features={"expand_limit": 1.5, "shape": "4x2"},
        seconds=2,
        instance="ä\u2028 \ud800",
    ),
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "out" / "records.jsonl"


def _filled(path: Path) -> bytes:
    store = RecordStore(path)
    for record in VARIANTS:
        store.append(record)
    return path.read_bytes()


def test_every_row_is_read_as_it_was_written(path: Path) -> None:
    _filled(path)
    store = RecordStore(path)
    assert tuple(store) == VARIANTS
    assert list(store.keys()) == [record.key for record in VARIANTS]
    assert store[RECORD.key] == RECORD
    assert RECORD.key in store
    assert len(store) == len(VARIANTS)


def test_a_file_is_strict_json_without_infinities(path: Path) -> None:
    for line in _filled(path).decode().splitlines():
        assert "Infinity" not in line
        assert json.loads(line)["format"] == "allocsolve-record/3"
    assert json.loads(path.read_text().splitlines()[2])["bound"] == [100, None]


def test_a_kill_in_the_middle_of_a_line_costs_that_line_only(path: Path) -> None:
    whole = _filled(path)
    start = whole.rindex(b"\n", 0, -1) + 1
    for cut in (start, start + 1, *range(start + 2, len(whole), 37), len(whole) - 1):
        path.write_bytes(whole[:cut])
        store = RecordStore(path)
        assert tuple(store) == VARIANTS[:-1]
        assert path.read_bytes() == whole[:cut], "reading changes nothing"
        store.append(VARIANTS[-1])
        assert path.read_bytes() == whole


def test_a_kill_in_the_first_line(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b'{"format": "allocs')
    store = RecordStore(path)
    assert len(store) == 0
    store.append(RECORD)
    assert tuple(RecordStore(path)) == (RECORD,)


def test_a_failed_write_is_cut_off_by_the_next(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = RecordStore(path)
    store.append(RECORD)

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", full)
        with pytest.raises(OSError, match="No space"):
            store.append(VARIANTS[1])
    assert tuple(store) == (RECORD,)
    store.append(VARIANTS[2])
    assert tuple(RecordStore(path)) == (RECORD, VARIANTS[2])


def test_no_key_is_stored_twice(path: Path) -> None:
    whole = _filled(path)
    with pytest.raises(ValueError, match="already has"):
        RecordStore(path).append(replace(RECORD, value=7))
    path.write_bytes(whole + whole)  # two files put together
    assert tuple(RecordStore(path)) == VARIANTS


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ('{"format": "allocsolve-rec', "line 2: Unterminated string"),
        ("", "line 2: Expecting value"),
        ("[1]", "line 2: not a row of format allocsolve-record/3"),
        ('{"format": "allocsolve-record/1"}', "line 2: not a row of format"),
        ('{"format": "allocsolve-record/3"}', "line 2: bound: missing"),
        ({"extra": 1}, "line 2: extra: unknown field"),
        ({"seed": "x"}, 'line 2: seed: unexpected "x"'),
        ({"status": "great"}, "line 2: 'great' is not a valid Status"),
        ({"value": math.nan}, "line 2: NaN is not a JSON number"),
        ("[" * 100_000, "line 2: "),
    ],
)
def test_a_garbled_line_is_named(path: Path, line: str | dict[str, object], fault: str) -> None:
    whole = _filled(path).decode()
    if isinstance(line, dict):
        line = json.dumps(json.loads(whole.splitlines()[0]) | line)
    first, rest = whole.split("\n", 1)
    path.write_text(f"{first}\n{line}\n{rest}")
    with pytest.raises(FormatError) as caught:
        RecordStore(path)
    assert str(caught.value).startswith(f"{path}: {fault}")


def test_all_garbled_lines_are_named_at_once(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"a,b\n\xff\xfe\n{}\n")
    with pytest.raises(FormatError) as caught:
        RecordStore(path)
    assert [fault.split(":")[0] for fault in caught.value.faults] == ["line 1", "line 2", "line 3"]


def test_csv_has_one_column_per_field_and_metric(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("old")
    write_csv(VARIANTS[:3], path)
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
    assert list(tmp_path.iterdir()) == [path]


def test_a_failed_csv_leaves_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("old")
    with pytest.raises(UnicodeEncodeError):
        write_csv(VARIANTS, path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
