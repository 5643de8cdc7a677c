"""The store: all records of a study in one SQLite file that only grows."""

from __future__ import annotations

import json
import os
import sqlite3
import zlib
from collections.abc import Mapping
from contextlib import contextmanager, suppress
from dataclasses import fields
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from allocsolve.bench.runs.records import Record, RecordKey
from allocsolve.errors import FormatError
from allocsolve.instances import parse_problem, parse_solution, problem_document, solution_document
from allocsolve.model import Limit, Status

if TYPE_CHECKING:
    from collections.abc import Iterator, KeysView

    from allocsolve.model import Answer, Problem, Value

__all__ = ["RecordStore"]

#: How SQLite files say what they are: "allo" in ASCII, and the format.
_APPLICATION: Final = 0x616C6C6F
_FORMAT: Final = 2

#: Of the compression: documents take a ninth more room than at level 6, and a third of the time.
_LEVEL: Final = 1

#: Fields of a record that are JSON in the file; of values, a lexicographic one only.
_JSON: Final = ("features", "metrics", "incumbents")
_VALUES: Final = ("value", "bound", "certified_bound", "combinatorial_bound")
_FIELDS: Final = tuple(field.name for field in fields(Record))
#: As the fields, but the facts of machines stand in a table of their own.
_COLUMNS: Final = tuple(f'"{name}"' for name in _FIELDS)

# Two nulls are never equal to SQLite, hence ifnull.
_KEY: Final = ", ".join(
    "ifnull(iterations, -1)" if name == "iterations" else name for name in RecordKey._fields
)
_SCHEMA: Final = f"""
PRAGMA application_id = {_APPLICATION};
PRAGMA user_version = {_FORMAT};
CREATE TABLE problems (digest TEXT PRIMARY KEY, document BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE machines (id INTEGER PRIMARY KEY, facts TEXT NOT NULL UNIQUE);
CREATE TABLE records (id INTEGER PRIMARY KEY, {", ".join(_COLUMNS)}, answer BLOB);
CREATE UNIQUE INDEX once ON records ({_KEY});
CREATE TRIGGER no_change BEFORE UPDATE ON records BEGIN SELECT raise(ABORT, 'records are never changed'); END;
CREATE TRIGGER no_loss BEFORE DELETE ON records BEGIN SELECT raise(ABORT, 'records are never deleted'); END;
"""


class RecordStore:
    """The records of a study, with the problems and the answers that they are about.

    Each row is in the file before `append` returns: a killed process loses none. Several processes may
    read a file while one writes it; if two write, a row that both have made is kept once. A file of format 1
    is brought to format 2 when it is opened for writing.

    Parameters
    ----------
    path
        A SQLite file, created with the folders above it if there is none. None keeps the rows in memory.
    read_only
        Whether nothing will be added: the file must exist, and is not touched.

    Raises
    ------
    FormatError
        If the file cannot be opened, or is not a file of records of this format.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None, *, read_only: bool = False) -> None:
        self._source = ":memory:" if path is None else os.fspath(path)
        self._read_only = read_only
        self._columns = _COLUMNS
        if path is not None:
            _check_place(Path(path), read_only=read_only)
        with self._one_line_errors():
            self._base = self._connected()
            self._check_format()
            if not read_only:
                # A write-ahead log: a commit is one write, and readers are never in the way.
                self._base.execute("PRAGMA journal_mode = WAL")
                self._base.execute("PRAGMA synchronous = NORMAL")
            self._ids: dict[RecordKey, int] = {}
            query = f"SELECT id, {', '.join(RecordKey._fields)} FROM records ORDER BY id"  # noqa: S608 - names of fields
            for idx, *key in self._base.execute(query):
                self._ids[RecordKey._make(key)] = idx
            self._digests = {row[0] for row in self._base.execute("SELECT digest FROM problems")}
            self._machines: dict[str, int] = {
                row[1]: row[0] for row in self._base.execute("SELECT id, facts FROM machines")
            }

    def _connected(self) -> sqlite3.Connection:
        if self._read_only:
            uri = f"{Path(self._source).absolute().as_uri()}?mode=ro"
            return sqlite3.connect(uri, uri=True, isolation_level=None, timeout=30)
        base = sqlite3.connect(self._source, isolation_level=None, timeout=30)
        base.execute("BEGIN IMMEDIATE")
        if not base.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            for statement in _SCHEMA.strip().split(";\n"):
                base.execute(statement)
        base.execute("COMMIT")
        return base

    def _check_format(self) -> None:
        application = self._base.execute("PRAGMA application_id").fetchone()[0]
        version = self._base.execute("PRAGMA user_version").fetchone()[0]
        if application != _APPLICATION:
            raise FormatError(self._source, ["is a database, but none of allocsolve's records"])
        if version == 1:  # rows of format 1 have no certified bound
            if self._read_only:
                self._columns = tuple("NULL" if name == '"certified_bound"' else name for name in _COLUMNS)
            else:
                self._base.execute("BEGIN IMMEDIATE")
                self._base.execute("ALTER TABLE records ADD COLUMN certified_bound")
                self._base.execute(f"PRAGMA user_version = {_FORMAT}")
                self._base.execute("COMMIT")
        elif version != _FORMAT:
            fault = f"holds records of format {version}, this version of allocsolve reads format {_FORMAT}"
            raise FormatError(self._source, [fault])

    @contextmanager
    def _one_line_errors(self) -> Iterator[None]:
        """Turn what SQLite says into one line that names the file."""
        try:
            yield
        except sqlite3.Error as error:
            raise FormatError(self._source, [str(error)]) from None

    def append(self, record: Record, problem: Problem, answer: Answer | None) -> bool:
        """Add a row.

        Parameters
        ----------
        record
            The row.
        problem
            That it is about; kept once.
        answer
            That the judge has confirmed, if any.

        Returns
        -------
        bool
            False if the file has a row of this key; that one stays.

        Raises
        ------
        FormatError
            If it cannot be written, as on a full disk; all rows before it are safe.
        """
        cells = [_encoded(name, getattr(record, name)) for name in _FIELDS]
        blob = None
        if answer is not None:
            blob = _packed(solution_document(problem, answer, {}, problem_digest=record.digest))
        with self._one_line_errors():
            self._base.execute("BEGIN IMMEDIATE")
            try:
                if record.digest not in self._digests:
                    document = _packed(problem_document(problem))
                    self._base.execute(
                        "INSERT OR IGNORE INTO problems VALUES (?, ?)", (record.digest, document)
                    )
                cells[_FIELDS.index("machine")] = machine = self._machine(record.machine)
                marks = ", ".join("?" * (len(cells) + 1))
                insert = f"INSERT OR IGNORE INTO records ({', '.join(_COLUMNS)}, answer) VALUES ({marks})"  # noqa: S608 - names of fields
                insertion = self._base.execute(insert, (*cells, blob))
                self._base.execute("COMMIT")
            except BaseException:
                if self._base.in_transaction:
                    self._base.execute("ROLLBACK")
                raise
        self._digests.add(record.digest)
        self._machines[_text(record.machine)] = machine
        if not insertion.rowcount:
            return False
        assert insertion.lastrowid is not None, "it has been inserted"
        self._ids[record.key] = insertion.lastrowid
        return True

    def _machine(self, facts: Mapping[str, Any]) -> int:
        text = _text(facts)
        if text not in self._machines:
            self._base.execute("INSERT OR IGNORE INTO machines (facts) VALUES (?)", (text,))
            row = self._base.execute("SELECT id FROM machines WHERE facts = ?", (text,)).fetchone()
            return int(row[0])
        return self._machines[text]

    def keys(self) -> KeysView[RecordKey]:
        """Return the keys of all rows that were there at the start, or that this store has added."""
        return self._ids.keys()

    def problem(self, digest: str) -> Problem:
        """Return the problem of this digest; KeyError if no row is about it."""
        with self._one_line_errors():
            row = self._base.execute("SELECT document FROM problems WHERE digest = ?", (digest,)).fetchone()
        if row is None:
            raise KeyError(digest)
        return parse_problem(_unpacked(row[0]), self._source)

    def answer(self, key: RecordKey) -> Answer | None:
        """Return the answer of a row, None if it has none."""
        with self._one_line_errors():
            row = self._base.execute("SELECT answer FROM records WHERE id = ?", (self._ids[key],)).fetchone()
        return (
            None
            if row[0] is None
            else parse_solution(_unpacked(row[0]), self._source, self.problem(key.digest))
        )

    def __getitem__(self, key: RecordKey) -> Record:
        (record,) = self._select("WHERE records.id = ?", (self._ids[key],))
        return record

    def __contains__(self, key: object) -> bool:
        return key in self._ids

    def __iter__(self) -> Iterator[Record]:
        """Iterate over the rows in the order in which they were added."""
        return self._select("ORDER BY records.id")

    def unanswered(self) -> Iterator[Record]:
        """Iterate over the rows without a value, failed or not."""
        return self._select("WHERE value IS NULL ORDER BY records.id")

    def __len__(self) -> int:
        return len(self._ids)

    def _select(self, where: str, parameters: tuple[int, ...] = ()) -> Iterator[Record]:
        columns = ", ".join("facts" if name == '"machine"' else name for name in self._columns)
        query = f"SELECT {columns} FROM records JOIN machines ON machines.id = machine {where}"  # noqa: S608 - names of fields
        machines: dict[str, Mapping[str, Any]] = {}
        with self._one_line_errors():
            for row in self._base.execute(query, parameters):
                cells = dict(zip(_FIELDS, row, strict=True))
                facts = cells["machine"]
                cells["machine"] = machines.setdefault(facts, json.loads(facts))
                yield _decoded(cells)

    def close(self) -> None:
        """Leave one complete file behind; the store cannot be used any more."""
        with self._one_line_errors():
            if not self._read_only:
                with suppress(sqlite3.OperationalError):  # somebody is reading: the log beside it stays
                    self._base.execute("PRAGMA journal_mode = DELETE")
            self._base.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _check_place(path: Path, *, read_only: bool) -> None:
    """Refuse what SQLite would only call "unable to open database file"."""
    fault = ""
    if path.is_dir():
        fault = "is a directory"
    elif read_only and not path.exists():
        fault = "there is no such file"
    elif not read_only:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError):
            fault = f"cannot be written: {path.parent} is not a directory"
        except OSError as error:
            fault = f"cannot be written: {error.strerror}"
        else:
            if not os.access(path.parent, os.W_OK) or (path.exists() and not os.access(path, os.W_OK)):
                fault = "cannot be written: permission denied"
    if fault:
        raise FormatError(str(path), [fault])


def _text(document: object) -> str:
    return json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _packed(document: object) -> bytes:
    return zlib.compress(_text(document).encode(), _LEVEL)


def _unpacked(blob: bytes) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(zlib.decompress(blob))
    return document


def _encoded(name: str, cell: Any) -> Any:  # noqa: ANN401 - the type of any field of a record
    """Return a cell as SQLite can hold it: numbers as they are, the rest as text."""
    if name in _JSON:
        return _text(cell)
    if name in _VALUES and isinstance(cell, tuple):
        return _text([None if term == -inf else term for term in cell])
    if name == "error":  # may quote anything
        return cell.encode(errors="backslashreplace").decode()
    return None if isinstance(cell, Mapping) else cell


def _decoded(cells: dict[str, Any]) -> Record:
    for name in _JSON:
        cells[name] = json.loads(cells[name])
    if cells["certified_bound"] is None:
        cells["certified_bound"] = -inf
    for name in _VALUES:
        if isinstance(cells[name], str):
            cells[name] = _tuple(json.loads(cells[name]))
    cells["incumbents"] = tuple((seconds, _tuple(value)) for seconds, value in cells["incumbents"])
    cells["status"] = Status(cells["status"])
    cells["limit"] = cells["limit"] and Limit(cells["limit"])
    return Record(**cells)


def _tuple(value: Any) -> Value:  # noqa: ANN401 - whatever JSON holds
    return tuple(-inf if term is None else term for term in value) if isinstance(value, list) else value
