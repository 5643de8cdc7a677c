"""The store: what is written is read, whatever happened in between; tables of records for other programs."""

from __future__ import annotations

import csv
import json
import math
import sqlite3
import sys
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import psutil
import pyarrow.parquet as pq
import pytest
from old_records import write_old
from sample_records import ANSWER, PROBLEM, RECORD, VARIANTS

from allocsolve.bench import RecordStore, export
from allocsolve.errors import FormatError, SolverUnavailable, UnknownName
from allocsolve.model import Status

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "out" / "records.sqlite"


def _fill(path: Path) -> None:
    with RecordStore(path) as store:
        for record in VARIANTS:
            assert store.append(record, PROBLEM, ANSWER if record.value == 120 else None)


def test_every_row_is_read_as_it_was_written(path: Path) -> None:
    _fill(path)
    for read_only in (False, True):
        with RecordStore(path, read_only=read_only) as store:
            assert tuple(store) == VARIANTS
            assert list(store.keys()) == [record.key for record in VARIANTS]
            assert store[RECORD.key] == RECORD
            assert RECORD.key in store
            assert len(store) == len(VARIANTS)
            assert store.problem(RECORD.digest) == PROBLEM
            assert store.answer(RECORD.key) == ANSWER
            assert store.answer(VARIANTS[1].key) is None
            with pytest.raises(KeyError):
                store.problem("d1")
    assert list(path.parent.iterdir()) == [path], "one file"


def test_a_row_is_in_the_file_before_the_next_is_made(path: Path) -> None:
    store = RecordStore(path)
    for count, record in enumerate(VARIANTS, start=1):
        store.append(record, PROBLEM, None)
        # What a kill would leave: the file and its log as they are now.
        with RecordStore(path, read_only=True) as witness:
            assert tuple(witness) == VARIANTS[:count]


def test_no_key_is_stored_twice(path: Path) -> None:
    first, second = RecordStore(path), RecordStore(path)
    assert first.append(RECORD, PROBLEM, None)
    assert not first.append(replace(RECORD, value=7), PROBLEM, None)
    assert not second.append(replace(RECORD, value=7), PROBLEM, None), "from another process"
    assert second.append(VARIANTS[1], PROBLEM, None)
    assert tuple(first) == (RECORD, VARIANTS[1])
    unlimited = replace(RECORD, iterations=None, seed=9)
    assert first.append(unlimited, PROBLEM, None)
    assert not second.append(unlimited, PROBLEM, None), "although null is not equal to null"
    for code in ("mine:solver#1", "mine:solver#2"):
        assert first.append(replace(RECORD, code=code), PROBLEM, None), "other code has rows of its own"


def _execute(path: Path, *statements: str) -> list[Any]:
    with closing(sqlite3.connect(path)) as base, base:
        return [base.execute(statement).fetchone() for statement in statements]


def _refuses(path: Path, *changes: str) -> None:
    for change in changes:
        with pytest.raises(sqlite3.IntegrityError, match="never"):
            _execute(path, change)


CHANGES = ("UPDATE records SET value = 1", "DELETE FROM records")


def test_rows_are_never_changed_or_deleted(path: Path) -> None:
    _fill(path)
    _refuses(path, *CHANGES)


def test_values_beyond_the_words_of_a_machine_and_errors_that_are_no_text_are_kept() -> None:
    store = RecordStore()
    large = replace(RECORD, value=2**70, bound=2**64 + 1, metrics={"makespan": 2**70}, seed=1)
    store.append(replace(RECORD, error="half \ud800"), PROBLEM, None)
    store.append(large, PROBLEM, None)
    assert store[RECORD.key].error == "half \\ud800"
    assert store[large.key] == large


@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b'{"format": "allocsolve-record/2"}\n' * 100, "file is not a database"),
        ("CREATE TABLE other (x)", "is a database, but none of allocsolve's records"),
        (
            "PRAGMA user_version = 99",
            "holds records of format 99, this version of allocsolve reads formats 1 to 4",
        ),
    ],
)
def test_what_is_no_file_of_records_is_refused_and_not_left_open(
    path: Path, content: bytes | str, fault: str, read_only: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    path.parent.mkdir()
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        if "version" in content:
            _fill(path)
        _execute(path, content)
    before = path.read_bytes()
    opened: list[sqlite3.Connection] = []
    connect = sqlite3.connect

    def watched(*args: Any, **options: Any) -> sqlite3.Connection:
        opened.append(connect(*args, **options))
        return opened[-1]

    monkeypatch.setattr(sqlite3, "connect", watched)
    with pytest.raises(FormatError) as caught:
        RecordStore(path, read_only=read_only)
    assert str(caught.value) == f"{path}: {fault}"
    assert path.read_bytes() == before
    (base,) = opened
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        base.execute("SELECT 1")


def test_places_where_nothing_can_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path, fault in (
        (tmp_path, "is a directory"),
        (tmp_path / "file" / "records.sqlite", "cannot be written: .*file is not a directory"),
    ):
        with pytest.raises(FormatError, match=fault):
            RecordStore(path)
    with pytest.raises(FormatError, match="there is no such file"):
        RecordStore(tmp_path / "none.sqlite", read_only=True)
    assert not (tmp_path / "none.sqlite").exists()


def test_a_full_disk_costs_the_row_that_does_not_fit(path: Path) -> None:
    store = RecordStore(path)
    store.append(RECORD, PROBLEM, None)
    pages = store._base.execute("PRAGMA page_count").fetchone()[0]
    store._base.execute(f"PRAGMA max_page_count = {pages}")  # SQLite says the same of a full disk
    long = replace(VARIANTS[1], error="x" * 50_000)
    with pytest.raises(FormatError, match=r"records\.sqlite: database or disk is full"):
        store.append(long, PROBLEM, None)
    store._base.execute("PRAGMA max_page_count = 1000000")
    assert tuple(store) == (RECORD,)
    store.append(long, PROBLEM, None)
    assert tuple(RecordStore(path)) == (RECORD, long)


def test_a_further_attempt_counts_and_takes_nothing_away(path: Path) -> None:
    first = replace(RECORD, error="Boom: no", value=None, status=Status.UNKNOWN)
    again = replace(RECORD, attempt=2, traceback="Traceback: ...", when="2024-01-02T00:00:00+00:00")
    with RecordStore(path) as store, RecordStore(path) as other:
        assert store.append(first, PROBLEM, None)
        assert store.append(VARIANTS[1], PROBLEM, None)
        assert store.append(again, PROBLEM, ANSWER)
        assert not store.append(replace(again, value=1), PROBLEM, None), "the second attempt is there"
        assert not store.append(replace(first, value=1), PROBLEM, None)
        other.refresh()
        for one in (store, other):
            assert list(one) == [VARIANTS[1], again]
            assert one[RECORD.key] == again
            assert (len(one), one.attempts(RECORD.key), one.attempts(VARIANTS[1].key)) == (2, 2, 1)
            assert one.answer(RECORD.key) == ANSWER
            assert one.days([RECORD.key, VARIANTS[1].key]) == ("2024-01-01", "2024-01-02")
    assert _execute(path, "SELECT count(*) FROM records") == [(3,)]


def test_what_is_verified_is_kept_once(path: Path) -> None:
    proven = replace(RECORD, verified_bound="271/3", verified_digest="5" * 64)
    with RecordStore(path) as store:
        for record in VARIANTS:
            store.append(record, PROBLEM, None)
        store.add_verified(RECORD.key, "271/3", "5" * 64)
        store.add_verified(RECORD.key, "300", "6" * 64)
        assert list(store) == [proven, *VARIANTS[1:]]
        assert store.append(replace(proven, seed=9), PROBLEM, None)
    with RecordStore(path, read_only=True) as store:
        assert [row.verified_bound for row in store] == ["271/3", *[""] * (len(VARIANTS) - 1), "271/3"]
    _refuses(path, "UPDATE verified SET bound = '1'", "DELETE FROM verified")
    _execute(path, "INSERT INTO verified VALUES (2, 'much', '')")
    told = "row 2: column verified_bound: 'much' is no fraction; it is left out"
    with pytest.warns(UserWarning, match=told):
        assert len(list(RecordStore(path, read_only=True))) == len(VARIANTS)


def test_files_without_verified_bounds_are_read_and_get_them(path: Path) -> None:
    _fill(path)
    _execute(path, "DROP TABLE verified", "PRAGMA user_version = 3")
    before = path.read_bytes()
    with RecordStore(path, read_only=True) as store:
        assert tuple(store) == VARIANTS
    assert path.read_bytes() == before
    with RecordStore(path) as store:
        store.add_verified(RECORD.key, "100", "5" * 64)
        assert store[RECORD.key].verified_bound == "100"
        assert tuple(store)[1:] == VARIANTS[1:]


@pytest.mark.parametrize("version", [1, 2])
def test_older_formats_are_read_and_brought_to_this_one(path: Path, version: int) -> None:
    path.parent.mkdir()
    certified = -math.inf if version == 1 else 90
    rows = [replace(record, certified_bound=certified) for record in VARIANTS]
    write_old(path, version, [(row, ANSWER if row.value == 120 else None) for row in rows], PROBLEM)
    before = path.read_bytes()
    with RecordStore(path, read_only=True) as store:
        assert list(store) == rows
        assert store.answer(RECORD.key) == ANSWER
        assert store.certificate(RECORD.key) is None
    assert path.read_bytes() == before, "reading does not touch it"
    with RecordStore(path) as store:
        assert list(store) == rows
        assert not store.append(rows[0], PROBLEM, None)
        assert store.append(replace(rows[0], attempt=2), PROBLEM, None)
        assert store.append(replace(rows[0], code="mine:solver#1"), PROBLEM, None, {"scale": 3})
    with RecordStore(path, read_only=True) as store:
        new = replace(rows[0], code="mine:solver#1")
        assert list(store) == [*rows[1:], replace(rows[0], attempt=2), new]
        assert store.certificate(new.key) == {"scale": 3}
    assert _execute(path, "PRAGMA user_version") == [(4,)]
    _refuses(path, *CHANGES)


@pytest.mark.parametrize(
    ("kind", "mode"),
    [("ext4", "wal"), ("nfs4", "delete"), ("lustre", "delete"), ("fuse.sshfs", "delete"), ("cifs", "delete")],
)
def test_no_log_in_shared_memory_on_file_systems_of_networks(
    path: Path, kind: str, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = psutil.disk_partitions(all=True)[0]._replace(mountpoint="/", fstype="ext4")
    mounts = [root, root._replace(mountpoint=str(path.parent.resolve()), fstype=kind)]
    monkeypatch.setattr("psutil.disk_partitions", lambda **_: mounts)
    with RecordStore(path) as store:
        assert store._base.execute("PRAGMA journal_mode").fetchone() == (mode,)
        store.append(RECORD, PROBLEM, ANSWER)
        assert list(RecordStore(path, read_only=True)) == [RECORD]


def test_a_corrupt_page_is_one_line(path: Path) -> None:
    with RecordStore(path) as store:
        for seed in range(300):
            store.append(replace(RECORD, seed=seed), PROBLEM, ANSWER)
    whole = path.read_bytes()
    path.write_bytes(whole[:8192] + b"\xa5" * (len(whole) - 12288) + whole[-4096:])
    with pytest.raises(FormatError, match=r"records\.sqlite: database disk image is malformed") as caught:
        list(RecordStore(path, read_only=True))
    assert "\n" not in str(caught.value)


# --- Exports ------------------------------------------------------------------------------------------


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
