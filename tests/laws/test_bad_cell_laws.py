"""Files of records with bad values: the bad row is named in a line, all others live on."""

from __future__ import annotations

import random
import shutil
import sqlite3
import zlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from cli_tools import without_compiling
from sample_records import ANSWER, PROBLEM, RECORD, VARIANTS
from tiers import draws

from allocsolve.bench import RecordStore
from allocsolve.cli import main

if TYPE_CHECKING:
    from pathlib import Path

#: What may stand in any cell of a file that somebody has edited, or a disk has spoilt.
BAD: tuple[Any, ...] = (
    *(None, -1, 0, 2**63 - 1, -(2**63), 0.5, float("inf"), float("-inf"), 1e308, 1e-320),
    *("", "x", "nan", "NaN", "-Infinity", "null", "[]", "{}", "[null]", "[[]]", "[[1, 2, 3]]", '{"a": NaN}'),
    *(
        '{"a": {}}',
        '{"a": "b"}',
        '{"": null}',
        "[1, 2]",
        "[1e999]",
        "9" * 5000,
        "[" * 100_000,
        "\x1b[31m\u202e",
    ),
    *("2024-13-01", "evolutoin", "wast", "makespan,makespan", "optimal", "infeasible", "time", "\x00"),
    *(b"", b"\xff\xfe", b"blob", zlib.compress(b"[]"), zlib.compress(b"{}"), zlib.compress(b"\xff")),
    *(zlib.compress(b"[" * 100_000), zlib.compress(b'{"kind": "partition"}'), zlib.compress(b"9" * 5000)),
)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small file with a bit of everything."""
    path = tmp_path_factory.mktemp("whole") / "study.sqlite"
    with RecordStore(path) as store:
        for record in (*VARIANTS, replace(RECORD, seed=7, machine={"cpus": 3})):
            store.append(record, PROBLEM, ANSWER if record.value == 120 else None)
        store.append(replace(RECORD, seed=0, attempt=2), PROBLEM, ANSWER)
    return path


def _spoil(path: Path, rng: random.Random) -> tuple[str, str, Any]:
    """Put a bad value into a random cell of a random table."""
    base = sqlite3.connect(path)
    base.execute("DROP TRIGGER no_change")
    table = rng.choice(["records", "records", "records", "problems", "machines"])
    columns = [row[1] for row in base.execute(f"PRAGMA table_info({table})")]
    column, bad = rng.choice(columns), rng.choice(BAD)
    place = "digest" if table == "problems" else "id"
    rows = [row[0] for row in base.execute(f"SELECT {place} FROM {table}")]  # noqa: S608 - names of the schema
    try:
        update = f'UPDATE {table} SET "{column}" = ? WHERE {place} = ?'  # noqa: S608 - names of the schema
        base.execute(update, (bad, rng.choice(rows)))
        base.commit()
    except (sqlite3.IntegrityError, sqlite3.OperationalError):  # SQLite itself refuses it
        base.rollback()
    base.close()
    return table, column, bad


def _commands(path: Path, folder: Path) -> list[list[str]]:
    return [
        ["study", "export", str(path), "--out", str(folder / "table.csv")],
        ["study", "verify", str(path)],
        ["study", "merge", str(folder / "merged.sqlite"), str(path)],
        ["study", "report", str(path), "--out", str(folder / "page.html")],
    ]


def test_one_bad_value_costs_its_row_and_one_line(
    whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with RecordStore(whole, read_only=True) as store:
        rows = list(store)
    rng = random.Random(300)
    left_out = 0
    seeds = draws(300)
    for idx in seeds:
        path = tmp_path / f"{idx}.sqlite"
        shutil.copy(whole, path)
        spoilt = _spoil(path, rng)
        told: list[str] = []
        with RecordStore(path, read_only=True, tell=told.append) as store:
            living = list(store)
            for record in living:
                store.answer(record.key)
        assert len(told) <= 1 or spoilt[0] == "problems"
        spared = sum(record in rows for record in living)
        # Without the facts of a machine, the rows of that machine are others, but there.
        assert spared >= len(rows) - 1 or spoilt[0] == "machines", spoilt
        assert len(living) >= len(rows) - (spoilt[0] == "records"), spoilt
        left_out += bool(told)
        for line in told:
            assert line.startswith(f"{path}: ")
            assert len(line) < 300 + len(str(path))
            assert line.isprintable()
        for argv in [rng.choice(_commands(path, tmp_path))]:
            status = main(argv)
            _, err = capsys.readouterr()
            assert status in (0, 1, 2), (spoilt, argv)
            for line in without_compiling(err).splitlines():
                assert line.startswith("allocsolve: "), (spoilt, argv, line)
        path.unlink()
    assert left_out > len(seeds) / 3, "most of these values are bad ones"


def test_a_bad_newest_attempt_has_the_one_before_count(whole: Path, tmp_path: Path) -> None:
    path = tmp_path / "study.sqlite"
    shutil.copy(whole, path)
    base = sqlite3.connect(path)
    base.execute("DROP TRIGGER no_change")
    base.execute("UPDATE records SET metrics = '[]' WHERE attempt = 2")
    base.commit()
    base.close()
    told: list[str] = []
    for read in (list, lambda store: [store[RECORD.key]]):
        with RecordStore(path, tell=told.append) as store:
            assert RECORD in read(store)
            assert store.answer(RECORD.key) == ANSWER
            assert store.attempts(RECORD.key) == 2, "the next one is the third"
    assert told == [f"{path}: row 6: column metrics: '[]' is no object; it is left out"] * 2
