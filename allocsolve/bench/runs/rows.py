"""The SQLite file of records: its tables, older formats, and rows, each checked when it is read.

The catalogue of a study stands in tables of its own, whose rows are only added; references may be stated
anew.
"""

from __future__ import annotations

import json
import math
import os
import re
import sqlite3
import time
import zlib
from dataclasses import fields
from datetime import datetime
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn

from allocsolve.bench.runs.records import Record, RecordKey
from allocsolve.bench.scores.catalogue import Catalogue, Reference
from allocsolve.errors import AllocsolveError, FormatError
from allocsolve.families import family_named
from allocsolve.model import Limit, Status, Value, terms

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

FIELDS: Final = tuple(field.name for field in fields(Record))
#: What is found out of a row later, by the verified checker, each with how it is selected.
_LATER: Final[Mapping[str, str]] = {
    "verified_bound": "ifnull((SELECT bound FROM verified WHERE record = records.id), '')",
    "verified_digest": "ifnull((SELECT problem_lines FROM verified WHERE record = records.id), '')",
}
#: The columns of a row.
ROW_FIELDS: Final = tuple(name for name in FIELDS if name not in _LATER)
#: What a row is found by: the key, and which attempt it is.
KEY_FIELDS: Final = (*RecordKey._fields, "attempt")

#: Fields of a record that are JSON in the file; of values, a lexicographic one or a very large one only.
_JSON: Final = ("features", "metrics", "incumbents", "machine")
_VALUES: Final = ("value", "bound", "certified_bound", "combinatorial_bound")
#: Level of the compression: documents are a ninth larger than at level 6, and take a third of the time.
_LEVEL: Final = 1
#: Integers in SQLite are below this.
_WORD: Final = 2**63
_FRACTION: Final = re.compile(r"(-?[0-9]+(/[1-9][0-9]*)?)?")
_SHA256: Final = re.compile(r"([0-9a-f]{64})?")
#: Letters of a bad value that messages show.
_SHOWN: Final = 40


class BadCellError(ValueError):
    """A cell that no record can have."""

    def __init__(self, column: str, cell: object, reason: str) -> None:
        shown = ascii(cell[: 2 * _SHOWN] if isinstance(cell, str | bytes) else cell)
        shown = shown if len(shown) <= _SHOWN else f"{shown[: _SHOWN - 3]}..."
        super().__init__(f"column {column}: {shown} {' '.join(reason.split())[:120]}")


def json_text(document: object) -> str:
    """Return a document as JSON in the fewest letters."""
    return json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def packed(document: object) -> bytes:
    """Return a document as compressed JSON."""
    return zlib.compress(json_text(document).encode(), _LEVEL)


def unpacked(column: str, blob: object) -> dict[str, Any]:
    """Return the JSON object of a cell that `packed` has made."""
    if not isinstance(blob, bytes):
        raise BadCellError(column, blob, "is no compressed JSON object")
    try:
        document = _loaded(zlib.decompress(blob).decode())
        if not isinstance(document, dict):
            _refuse("is no object")
    except (zlib.error, ValueError) as error:
        raise BadCellError(column, blob, f"is no compressed JSON object: {error}") from None
    return document


def encoded(name: str, cell: Any) -> Any:  # noqa: ANN401 - the type of any field of a record
    """Return a cell as SQLite can hold it: numbers as they are, the rest as text."""
    if name in _JSON:
        return json_text(cell)
    if name in _VALUES and cell is not None:
        if isinstance(cell, tuple):
            return json_text([None if term == -math.inf else term for term in cell])
        return str(cell) if isinstance(cell, int) and abs(cell) >= _WORD else cell
    if name in ("error", "traceback"):  # may quote anything
        return cell.encode(errors="backslashreplace").decode()
    return cell


def decoded_key(cells: Sequence[object]) -> tuple[RecordKey, int]:
    """Return the key and the attempt of a row, from its cells in the order of `KEY_FIELDS`."""
    values = _values(KEY_FIELDS, _KEY_DECODERS, cells)
    return RecordKey._make(values[:-1]), values[-1]


def decoded_facts(cell: object) -> dict[str, Any]:
    """Return the facts of a machine."""
    try:
        return _mapping(cell, _FACT)
    except ValueError as error:
        raise BadCellError("facts", cell, str(error)) from None


def decoded(cells: Sequence[object]) -> Record:
    """Return the record of a row, from its cells in the order of `FIELDS`, the facts of the machine in place.

    Raises `BadCellError` if a cell is none of a record, or does not go with the others.
    """
    record = Record(*_values(FIELDS, _FIELD_DECODERS, cells))
    count = _num_terms(record.kind, record.objective)
    if record.value is not None and len(terms(record.value)) != count:
        raise BadCellError("value", record.value, f"is no value of {record.objective}")
    if (record.value is None) != (record.status in (Status.UNKNOWN, Status.INFEASIBLE)):
        raise BadCellError("value", record.value, f"does not go with the status {record.status.value}")
    return record


def _values(
    names: Sequence[str], decoders: Sequence[Callable[[object], Any]], cells: Sequence[object]
) -> list[Any]:
    try:
        return [decode(cell) for decode, cell in zip(decoders, cells, strict=True)]
    except ValueError:  # which one it was is found out only now: nearly all rows are good ones
        for name, decode, cell in zip(names, decoders, cells, strict=True):
            try:
                decode(cell)
            except ValueError as error:
                raise BadCellError(name, cell, str(error)) from None
        raise


@lru_cache(maxsize=64)
def _num_terms(kind: str, objective: str) -> int:
    try:
        family = family_named(kind)
    except AllocsolveError as error:
        raise BadCellError("kind", kind, f"is no family: {error}") from None
    try:
        return len(family.parse_objective(objective))
    except AllocsolveError as error:
        raise BadCellError("objective", objective, f"is no objective: {error}") from None


def _refuse(reason: str) -> NoReturn:
    raise ValueError(reason)


#: Made once: `json.loads` makes one for each call that refuses NaN.
_JSON_DECODER: Final = json.JSONDecoder(parse_constant=lambda name: _refuse(f"holds {name}"))


def _loaded(text: object) -> Any:  # noqa: ANN401 - whatever JSON holds
    if not isinstance(text, str):
        _refuse("is no text")
    try:
        return _JSON_DECODER.decode(text)
    except RecursionError:
        _refuse("is nested too deeply")


def _text(cell: object) -> str:
    return cell if isinstance(cell, str) else _refuse("is no text")


def _when(cell: object) -> str:
    datetime.fromisoformat(_text(cell))
    return _text(cell)


def _count(cell: object, least: int) -> int:
    return cell if isinstance(cell, int) and cell >= least else _refuse(f"is no integer >= {least}")


def _number(cell: object) -> float:
    number = isinstance(cell, int | float) and not isinstance(cell, bool)
    # The last is false of what is no number, and of numbers too large for all that is computed from them.
    return cell if number and abs(cell) < 1e300 else _refuse("is no number")  # type: ignore[return-value,arg-type]  # it is a number


def _seconds(cell: object) -> float:
    return cell if isinstance(cell, int | float) and cell > 0 else _refuse("is no number above 0")


def _runtime(cell: object) -> float:
    return seconds if (seconds := _number(cell)) >= 0 else _refuse("is below 0")


def _value(cell: object) -> Value:
    """Return a value or a bound: a number, or JSON of a list of numbers, null for minus infinity."""
    if isinstance(cell, str):
        cell = _loaded(cell)
    if isinstance(cell, list) and cell:
        return tuple(_term(-math.inf if term is None else term) for term in cell)
    return _term(cell)


def _term(cell: object) -> float:
    return -math.inf if cell == -math.inf else _number(cell)


def _judged(cell: object) -> Value | None:
    if cell is None:
        return None
    value = _value(cell)
    return value if -math.inf not in terms(value) else _refuse("is no number")


def _incumbents(cell: object) -> tuple[tuple[float, Value], ...]:
    document = _loaded(cell)
    if not (
        isinstance(document, list) and all(isinstance(pair, list) and len(pair) == 2 for pair in document)
    ):
        _refuse("is no list of seconds and values")
    return tuple((_number(seconds), _value(value)) for seconds, value in document)


def _matching(cell: object, pattern: re.Pattern[str], what: str) -> str:
    return _text(cell) if pattern.fullmatch(_text(cell)) else _refuse(f"is no {what}")


def _mapping(cell: object, types: Any) -> dict[str, Any]:  # noqa: ANN401 - a type or a union
    document = _loaded(cell)
    if not isinstance(document, dict):
        _refuse("is no object")
    for value in document.values():
        if not isinstance(value, types) or (isinstance(value, int | float) and not abs(value) < 1e300):
            _refuse("holds what it may not")
    return document


_NUMBER: Final = int | float
_FACT: Final = str | int | float | None

#: How the cells of each column are read; each raises ValueError with what is wrong.
_DECODERS: Final[Mapping[str, Callable[[object], Any]]] = {
    **dict.fromkeys(FIELDS, _text),
    "features": partial(_mapping, types=_FACT),
    "seconds": _seconds,
    "iterations": lambda cell: None if cell is None else _count(cell, 0),
    "workers": partial(_count, least=1),
    "seed": partial(_count, least=0),
    "status": lambda cell: Status(_text(cell)),
    "limit": lambda cell: None if cell is None else Limit(_text(cell)),
    "value": _judged,
    "bound": _value,
    "certified_bound": lambda cell: -math.inf if cell is None else _value(cell),  # in files of format 1
    "combinatorial_bound": _value,
    "runtime_s": _runtime,
    "incumbents": _incumbents,
    "metrics": partial(_mapping, types=_NUMBER),
    "when": _when,
    "machine": lambda cell: cell,  # its facts, which have been checked
    "attempt": partial(_count, least=1),
    "verified_bound": partial(_matching, pattern=_FRACTION, what="fraction"),
    "verified_digest": partial(_matching, pattern=_SHA256, what="SHA-256"),
}
_FIELD_DECODERS: Final = tuple(_DECODERS[name] for name in FIELDS)
_KEY_DECODERS: Final = tuple(_DECODERS[name] for name in KEY_FIELDS)


#: A SQLite file names its application, "allo" in ASCII, and its format.
_APPLICATION: Final = 0x616C6C6F
_FORMAT: Final = 4

#: Columns of records that older formats lack, and what their rows have instead.
_ADDED: Final[Mapping[int, Mapping[str, str]]] = {
    1: {"certified_bound": "NULL", "code": "''", "attempt": "1", "traceback": "''", "certificate": "NULL"},
    2: {"code": "''", "attempt": "1", "traceback": "''", "certificate": "NULL"},
    3: {},
    _FORMAT: {},
}

# Two nulls are never equal to SQLite, hence ifnull.
_KEY: Final = ", ".join("ifnull(iterations, -1)" if name == "iterations" else name for name in KEY_FIELDS)
_COLUMNS: Final = ", ".join(f'"{name}"' for name in ROW_FIELDS)
_ONCE: Final = f"CREATE UNIQUE INDEX once ON records ({_KEY})"
#: The runner that makes a run, while it does; see `allocsolve.bench.runs.tasks.Claims`.
_CLAIMS: Final = "CREATE TABLE claims (task TEXT PRIMARY KEY, runner TEXT NOT NULL, until REAL NOT NULL)"
#: What the verified checker has proven of a record, and of which lines of its problem.
_VERIFIED: Final = (
    "CREATE TABLE verified (record INTEGER PRIMARY KEY, bound TEXT NOT NULL, problem_lines TEXT NOT NULL)",
    """CREATE TRIGGER verified_no_change BEFORE UPDATE ON verified
    BEGIN SELECT raise(ABORT, 'verified bounds are never changed'); END""",
    """CREATE TRIGGER verified_no_loss BEFORE DELETE ON verified
    BEGIN SELECT raise(ABORT, 'verified bounds are never deleted'); END""",
)
_SCHEMA: Final = (
    f"PRAGMA application_id = {_APPLICATION}",
    f"PRAGMA user_version = {_FORMAT}",
    "CREATE TABLE problems (digest TEXT PRIMARY KEY, document BLOB NOT NULL) WITHOUT ROWID",
    "CREATE TABLE machines (id INTEGER PRIMARY KEY, facts TEXT NOT NULL UNIQUE)",
    f"CREATE TABLE records (id INTEGER PRIMARY KEY, {_COLUMNS}, answer BLOB, certificate BLOB)",
    _ONCE,
    _CLAIMS,
    """CREATE TRIGGER no_change BEFORE UPDATE ON records
    BEGIN SELECT raise(ABORT, 'records are never changed'); END""",
    """CREATE TRIGGER no_loss BEFORE DELETE ON records
    BEGIN SELECT raise(ABORT, 'records are never deleted'); END""",
    *_VERIFIED,
)

#: For how long one process waits for another to let go of a file, in seconds.
_TIMEOUT_S: Final = 30.0

#: Prefixes of names of network file systems: processes on several machines share no memory there.
_NETWORK: Final = (
    *("nfs", "cifs", "smb", "9p", "afs", "ceph", "lustre", "gpfs", "beegfs", "pvfs2", "panfs", "orangefs"),
    *("glusterfs", "davfs", "fuse.sshfs", "fuse.gluster", "fuse.ceph", "fuse.s3fs", "fuse.rclone"),
)


def check_place(path: Path, *, read_only: bool) -> None:
    """Refuse what SQLite would only call "unable to open database file"."""
    fault = ""
    if path.is_dir():
        fault = "is a directory"
    elif path.exists() and not path.is_file():
        fault = "is a device or a pipe, not a file"
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


def open_base(source: str, *, read_only: bool) -> sqlite3.Connection:
    """Open a file of records; one of an older format is brought to this one if it may be written.

    Raises `FormatError` if it is no file of records, or one of a later format; `sqlite3.Error` if SQLite
    cannot open it. The file is made if there is none; ``:memory:`` stands for none.
    """
    if read_only:
        uri = f"{Path(source).absolute().as_uri()}?mode=ro"
        base = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=_TIMEOUT_S)
    else:
        base = sqlite3.connect(source, isolation_level=None, timeout=_TIMEOUT_S)
    try:
        if read_only:
            selection_of(base, source)
        else:
            _prepare(base, source)
    except BaseException:
        base.close()
        raise
    base.text_factory = _text_or_bytes
    return base


def _prepare(base: sqlite3.Connection, source: str) -> None:
    """Make the tables of a new file, bring an older one to this format, and choose how it is written."""
    base.execute("BEGIN IMMEDIATE")
    with base:
        if not base.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            for statement in _SCHEMA:
                base.execute(statement)
        _migrate(base, source)
    if source != ":memory:" and _is_on_network(Path(source)):
        _set_mode(base, "DELETE")
    else:
        # A write-ahead log: a commit is one write, and readers are never in the way.
        _set_mode(base, "WAL")
        base.execute("PRAGMA synchronous = NORMAL")


def _set_mode(base: sqlite3.Connection, mode: str) -> None:
    """Choose how a file is written; while others open it SQLite refuses that at once, unlike all else."""
    end = time.monotonic() + _TIMEOUT_S
    while True:
        try:
            base.execute(f"PRAGMA journal_mode = {mode}")
        except sqlite3.OperationalError:
            if time.monotonic() > end:
                raise
            time.sleep(0.01)
        else:
            return


def selection_of(base: sqlite3.Connection, source: str) -> Mapping[str, str]:
    """Return how some fields are selected that are no columns of a file of whatever format.

    Raises `FormatError` if it is no file of records, or one of a later format.
    """
    application = base.execute("PRAGMA application_id").fetchone()[0]
    version = base.execute("PRAGMA user_version").fetchone()[0]
    if application != _APPLICATION:
        raise FormatError(source, ["is a database, but none of allocsolve's records"])
    if version not in _ADDED:
        fault = f"holds records of format {version}, this version of allocsolve reads formats 1 to {_FORMAT}"
        raise FormatError(source, [fault])
    later = _LATER if version == _FORMAT else dict.fromkeys(_LATER, "''")
    return {**_ADDED[version], **later}


def _migrate(base: sqlite3.Connection, source: str) -> None:
    selection_of(base, source)  # refuses what is no file of records
    version = base.execute("PRAGMA user_version").fetchone()[0]
    lacking = _ADDED[version]
    if lacking:
        for column, instead in lacking.items():
            base.execute(f"ALTER TABLE records ADD COLUMN {column} DEFAULT {instead}")
        base.execute("DROP INDEX once")
        base.execute(_ONCE)
        base.execute(_CLAIMS)
    if version != _FORMAT:
        for statement in _VERIFIED:
            base.execute(statement)
        base.execute(f"PRAGMA user_version = {_FORMAT}")


def _is_on_network(path: Path) -> bool:
    """Tell whether a file lies on a file system that several machines share, as far as the system says."""
    import psutil  # noqa: PLC0415 - only files that are written need it

    place = path.resolve()
    above = {str(folder) for folder in (place, *place.parents)}
    mounts = [mount for mount in psutil.disk_partitions(all=True) if mount.mountpoint in above]
    nearest = max(mounts, key=lambda mount: len(mount.mountpoint), default=None)
    return nearest is not None and nearest.fstype.lower().startswith(_NETWORK)


def _text_or_bytes(raw: bytes) -> str | bytes:
    """Return a text of the file; bytes that are none stay bytes, which the check of the cell refuses."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw


_CATALOGUE_SCHEMA: Final = (
    """CREATE TABLE IF NOT EXISTS suites (digest TEXT, suite TEXT, PRIMARY KEY (digest, suite))""",
    """CREATE TABLE IF NOT EXISTS "references"
    (digest TEXT, objective TEXT, lower, upper, source TEXT, PRIMARY KEY (digest, objective, source))""",
)


def write_catalogue(base: sqlite3.Connection, catalogue: Catalogue) -> None:
    """Add a catalogue to that of the file, within a transaction."""
    for statement in _CATALOGUE_SCHEMA:
        base.execute(statement)
    suites = [(digest, name) for digest, names in catalogue.suites.items() for name in names]
    base.executemany("INSERT OR IGNORE INTO suites VALUES (?, ?)", suites)
    base.executemany(
        'INSERT OR REPLACE INTO "references" VALUES (?, ?, ?, ?, ?)',
        [(*place, *reference) for place, reference in catalogue.references.items()],
    )


def read_catalogue(base: sqlite3.Connection) -> Catalogue:
    """Return the catalogue of a file; the suites of records count, too, whatever it says.

    Rows that can be none are left out.
    """
    tables = {name for (name,) in base.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    named = [*base.execute("SELECT digest, suite FROM records GROUP BY 1, 2 ORDER BY min(id)")]
    if "suites" in tables:
        named = [*base.execute("SELECT digest, suite FROM suites"), *named]
    suites: dict[str, dict[str, None]] = {}
    for digest, suite in named:
        if isinstance(digest, str) and isinstance(suite, str):
            suites.setdefault(digest, {})[suite] = None
    references: dict[tuple[str, str], Reference] = {}
    stated = [*base.execute('SELECT * FROM "references"')] if "references" in tables else []
    for digest, objective, lower, upper, source in stated:
        numbers = all(isinstance(value, int | float) for value in (lower, upper))
        if numbers and all(isinstance(text, str) for text in (digest, objective, source)):
            before = references.get((digest, objective), Reference(-math.inf, math.inf, ""))
            references[digest, objective] = before.merged(Reference(lower, upper, source))
    return Catalogue({digest: tuple(names) for digest, names in suites.items()}, references)
