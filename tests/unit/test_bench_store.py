"""The store: what is written is read, whatever happened in between."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from sample_records import ANSWER, PROBLEM, RECORD, VARIANTS

from allocsolve.bench import RecordStore
from allocsolve.errors import FormatError
from allocsolve.instances import digest, uniform_occupancy
from allocsolve.model import Budget, Mesh

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


def test_partitions_are_kept_too() -> None:
    problem = uniform_occupancy(Mesh((4, 3)), 0.3, 3, 1)
    from allocsolve.heuristics import ManhattanMedian  # noqa: PLC0415 - no other test needs it

    answer = ManhattanMedian()(problem, Budget()).answer
    store = RecordStore()
    record = replace(RECORD, digest=digest(problem))
    store.append(record, problem, answer)
    assert store.problem(record.digest) == problem
    assert store.answer(record.key) == answer


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


def test_rows_are_never_changed_or_deleted(path: Path) -> None:
    _fill(path)
    base = sqlite3.connect(path)
    for statement in ("UPDATE records SET value = 1", "DELETE FROM records"):
        with pytest.raises(sqlite3.IntegrityError, match="never"):
            base.execute(statement)
    base.close()


def test_errors_that_are_no_text_can_be_kept() -> None:
    store = RecordStore()
    store.append(replace(RECORD, error="half \ud800"), PROBLEM, None)
    assert store[RECORD.key].error == "half \\ud800"


@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b'{"format": "allocsolve-record/2"}\n' * 100, "file is not a database"),
        ("CREATE TABLE other (x)", "is a database, but none of allocsolve's records"),
        (
            "PRAGMA user_version = 99",
            "holds records of format 99, this version of allocsolve reads formats 1 to 3",
        ),
    ],
)
def test_what_is_no_file_of_records_is_refused(
    path: Path, content: bytes | str, fault: str, read_only: bool
) -> None:
    path.parent.mkdir()
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        if "version" in content:
            _fill(path)
        base = sqlite3.connect(path)
        base.execute(content)
        base.close()
    before = path.read_bytes()
    with pytest.raises(FormatError) as caught:
        RecordStore(path, read_only=read_only)
    assert str(caught.value) == f"{path}: {fault}"
    assert path.read_bytes() == before


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
