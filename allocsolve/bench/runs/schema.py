"""The file of records: how it is laid out, opened, and brought from older formats to this one."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING, Final

from allocsolve.bench.runs.rows import FIELDS, KEY_FIELDS
from allocsolve.errors import FormatError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["check_place", "columns_of", "open_base"]

#: How SQLite files say what they are: "allo" in ASCII, and the format.
_APPLICATION: Final = 0x616C6C6F
_FORMAT: Final = 3

#: Columns of records that older formats lack, and what their rows have instead.
_ADDED: Final[Mapping[int, Mapping[str, str]]] = {
    1: {"certified_bound": "NULL", "code": "''", "attempt": "1", "traceback": "''", "certificate": "NULL"},
    2: {"code": "''", "attempt": "1", "traceback": "''", "certificate": "NULL"},
    _FORMAT: {},
}

# Two nulls are never equal to SQLite, hence ifnull.
_KEY: Final = ", ".join("ifnull(iterations, -1)" if name == "iterations" else name for name in KEY_FIELDS)
_COLUMNS: Final = ", ".join(f'"{name}"' for name in FIELDS)
_ONCE: Final = f"CREATE UNIQUE INDEX once ON records ({_KEY})"
#: Which runner makes which run, while it does; see `claims`.
_CLAIMS: Final = "CREATE TABLE claims (task TEXT PRIMARY KEY, runner TEXT NOT NULL, until REAL NOT NULL)"
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
)

#: File systems of networks, on which processes of several machines share no memory, as names of them begin.
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

    Parameters
    ----------
    source
        The file, made if there is none; ``:memory:`` for none.
    read_only
        Whether the file stays as it is.

    Raises
    ------
    FormatError
        If it is no file of records, or one of a later format.
    sqlite3.Error
        If SQLite cannot open it.
    """
    if read_only:
        uri = f"{Path(source).absolute().as_uri()}?mode=ro"
        base = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=30)
        columns_of(base, source)
    else:
        base = sqlite3.connect(source, isolation_level=None, timeout=30)
        base.execute("BEGIN IMMEDIATE")
        with base:
            if not base.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                for statement in _SCHEMA:
                    base.execute(statement)
            _migrate(base, columns_of(base, source))
        if source != ":memory:" and _is_on_network(Path(source)):
            base.execute("PRAGMA journal_mode = DELETE")
        else:
            # A write-ahead log: a commit is one write, and readers are never in the way.
            base.execute("PRAGMA journal_mode = WAL")
            base.execute("PRAGMA synchronous = NORMAL")
    base.text_factory = _text
    return base


def columns_of(base: sqlite3.Connection, source: str) -> Mapping[str, str]:
    """Return the columns of records that a file lacks, each with what its rows have instead.

    Raises
    ------
    FormatError
        If it is no file of records, or one of a later format.
    """
    application = base.execute("PRAGMA application_id").fetchone()[0]
    version = base.execute("PRAGMA user_version").fetchone()[0]
    if application != _APPLICATION:
        raise FormatError(source, ["is a database, but none of allocsolve's records"])
    if version not in _ADDED:
        fault = f"holds records of format {version}, this version of allocsolve reads formats 1 to {_FORMAT}"
        raise FormatError(source, [fault])
    return _ADDED[version]


def _migrate(base: sqlite3.Connection, lacking: Mapping[str, str]) -> None:
    if lacking:
        for column, instead in lacking.items():
            base.execute(f"ALTER TABLE records ADD COLUMN {column} DEFAULT {instead}")
        base.execute("DROP INDEX once")
        base.execute(_ONCE)
        base.execute(_CLAIMS)
        base.execute(f"PRAGMA user_version = {_FORMAT}")


def _is_on_network(path: Path) -> bool:
    """Tell whether a file lies on a file system that several machines share, as far as the system says."""
    import psutil  # noqa: PLC0415 - only files that are written need it

    place = path.resolve()
    above = {str(one) for one in (place, *place.parents)}
    mounts = [one for one in psutil.disk_partitions(all=True) if one.mountpoint in above]
    nearest = max(mounts, key=lambda one: len(one.mountpoint), default=None)
    return nearest is not None and nearest.fstype.lower().startswith(_NETWORK)


def _text(raw: bytes) -> str | bytes:
    """Return a text of the file; bytes that are none stay what they are, for whoever checks the cell."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw
