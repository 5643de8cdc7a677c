"""Files of records as older versions wrote them, made from a file of today."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Final

from allocsolve.bench import RecordStore

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from allocsolve.bench import Record
    from allocsolve.model import Answer, Problem

#: The schema of formats 1 and 2, word for word; the first had no certified bounds.
_OLD: Final = """
PRAGMA application_id = 1634495599;
PRAGMA user_version = {format};
CREATE TABLE problems (digest TEXT PRIMARY KEY, document BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE machines (id INTEGER PRIMARY KEY, facts TEXT NOT NULL UNIQUE);
CREATE TABLE records (id INTEGER PRIMARY KEY, {columns}, answer BLOB);
CREATE UNIQUE INDEX once ON records (digest, solver_repr, objective, seconds, ifnull(iterations, -1), workers,
    seed, version);
CREATE TRIGGER no_change BEFORE UPDATE ON records
    BEGIN SELECT raise(ABORT, 'records are never changed'); END;
CREATE TRIGGER no_loss BEFORE DELETE ON records
    BEGIN SELECT raise(ABORT, 'records are never deleted'); END;
"""
_FIRST: Final = (
    *("suite", "instance", "digest", "kind", "features", "solver", "solver_repr", "objective", "seconds"),
    *("iterations", "workers", "seed", "version", "status", "limit", "value", "bound", "combinatorial_bound"),
    *("runtime_s", "incumbents", "error", "metrics", "when", "machine"),
)
_COLUMNS: Final = {1: _FIRST, 2: (*_FIRST[:17], "certified_bound", *_FIRST[17:])}


def write_old(
    path: Path, version: int, rows: Sequence[tuple[Record, Answer | None]], problem: Problem
) -> None:
    """Write a file of format 1 or 2."""
    new = path.with_suffix(".new")
    with RecordStore(new) as store:
        for record, answer in rows:
            store.append(record, problem, answer)
    columns = ", ".join(f'"{name}"' for name in _COLUMNS[version])
    base = sqlite3.connect(path)
    base.executescript(_OLD.format(format=version, columns=columns))
    base.execute("ATTACH ? AS new", (str(new),))
    for table in ("problems", "machines"):
        base.execute(f"INSERT INTO {table} SELECT * FROM new.{table}")  # noqa: S608 - names of the schema
    columns = f"id, {columns}, answer"
    base.execute(f"INSERT INTO records ({columns}) SELECT {columns} FROM new.records")  # noqa: S608 - names of the schema
    base.commit()
    base.close()
    new.unlink()
