"""Records: one row per run of a solver on an instance, kept as JSON lines that survive a kill."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from math import inf, isinf
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from allocsolve.errors import FormatError
from allocsolve.model import Limit, Status, Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, KeysView

__all__ = ["Record", "RecordKey", "RecordStore", "write_csv"]

#: Stands in every row, so that files can be concatenated.
FORMAT: Final = "allocsolve-record/3"


class RecordKey(NamedTuple):
    """What makes two runs the same run: the second one is not made."""

    digest: str
    solver_repr: str
    objective: str
    seconds: float
    iterations: int | None
    workers: int
    seed: int
    version: str


@dataclass(frozen=True, slots=True)
class Record:
    """One run of one solver on one instance, as the judge and the clock of the harness saw it.

    A solver that raised, or whose claim the judge refuted, is a failed row: `error` says why in one line,
    and neither a value nor a bound is kept.
    """

    suite: str  #: that the problem is of; empty for a file
    instance: str  #: name of the problem, for people
    digest: str  #: of the problem
    kind: str  #: family of the problem
    features: Mapping[str, str | float | None]  #: of the problem, such as its size; see `registry.Family`
    solver: str  #: registered name
    solver_repr: str  #: the solver with its options
    objective: str  #: such as ``makespan,waste``
    seconds: float  #: of the budget, as are the next three
    iterations: int | None
    workers: int
    seed: int
    version: str  #: of allocsolve
    status: Status
    limit: Limit | None  #: why the solver stopped before it was done
    value: Value | None  #: as judged; None without an answer
    bound: Value  #: as claimed; minus infinity without a bound
    combinatorial_bound: Value  #: of `allocsolve.bounds`, whatever the solver
    runtime_s: float  #: wall time of the solver call, measured by the harness
    incumbents: tuple[tuple[float, Value], ...]  #: seconds and claimed value of each better answer
    error: str  #: empty unless the row failed
    metrics: Mapping[str, float]  #: every metric of the answer
    when: str  #: UTC, ISO 8601
    machine: Mapping[str, str | int | None]  #: platform, processors and versions

    @property
    def key(self) -> RecordKey:
        """What the row is found by."""
        return RecordKey._make(getattr(self, name) for name in RecordKey._fields)


#: JSON types of the fields that are no strings.
_TYPES: Final[Mapping[str, Any]] = {
    "features": dict,
    "seconds": float | int | None,
    "iterations": int | None,
    "workers": int,
    "seed": int,
    "limit": str | None,
    "value": float | int | list | None,
    "bound": float | int | list | None,
    "combinatorial_bound": float | int | list | None,
    "runtime_s": float | int,
    "incumbents": list,
    "metrics": dict,
    "machine": dict,
}

#: What null stands for; elsewhere it is None.
_NULLS: Final = {"seconds": inf, "bound": -inf, "combinatorial_bound": -inf}


def _encode(record: Record) -> bytes:
    """Return the row as one line; infinities become null."""
    document: dict[str, Any] = {"format": FORMAT}
    for field in fields(record):
        value = getattr(record, field.name)
        if field.name in {"value", "bound", "combinatorial_bound"} and isinstance(value, tuple):
            value = [None if isinf(term) else term for term in value]
        elif isinstance(value, float) and isinf(value):
            value = None
        document[field.name] = value
    return json.dumps(document, allow_nan=False).encode() + b"\n"


def _refuse(constant: str) -> float:
    msg = f"{constant} is not a JSON number"
    raise ValueError(msg)


def _decode(line: bytes) -> Record:
    """Return the row of a line; a ValueError says what is wrong with it."""
    document = json.loads(line, parse_constant=_refuse)
    if not isinstance(document, dict) or document.pop("format", None) != FORMAT:
        msg = f"not a row of format {FORMAT}"
        raise ValueError(msg)
    names = [field.name for field in fields(Record)]
    for name in sorted(document.keys() ^ set(names)):
        msg = f"{name}: {'unknown field' if name in document else 'missing'}"
        raise ValueError(msg)
    for name in names:
        if not isinstance(document[name], _TYPES.get(name, str)):
            msg = f"{name}: unexpected {json.dumps(document[name])[:50]}"
            raise ValueError(msg)
    for name, infinity in _NULLS.items():
        if document[name] is None:
            document[name] = infinity
    for name in ("value", "bound", "combinatorial_bound"):
        if isinstance(document[name], list):
            document[name] = tuple(-inf if term is None else term for term in document[name])
    document["incumbents"] = tuple(
        (seconds, tuple(value) if isinstance(value, list) else value)
        for seconds, value in document["incumbents"]
    )
    document["status"] = Status(document["status"])
    document["limit"] = document["limit"] and Limit(document["limit"])
    return Record(**document)


class RecordStore:
    """The rows of a file, which only grows; each row is on disk before `append` returns.

    A last line without an end (the process was killed while writing) is ignored, and cut off by the next
    `append`. One writer at a time.

    Parameters
    ----------
    path
        A file of JSON lines, created by the first `append`. None keeps the rows in memory only.

    Raises
    ------
    FormatError
        If a complete line is not a row of this format; the message names the file and the lines.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        self._path = None if path is None else Path(path)
        self._records: dict[RecordKey, Record] = {}
        # Where the torn last line begins; None if there is none.
        self._torn_at: int | None = None
        if self._path is not None and self._path.exists():
            self._load(self._path)

    def _load(self, path: Path) -> None:
        *lines, rest = path.read_bytes().split(b"\n")
        faults = []
        for number, line in enumerate(lines, start=1):
            try:
                record = _decode(line)
            except (ValueError, RecursionError) as error:
                faults.append(f"line {number}: {error}")
            else:
                self._records.setdefault(record.key, record)
        if faults:
            raise FormatError(str(path), faults)
        if rest:
            self._torn_at = sum(len(line) + 1 for line in lines)

    def append(self, record: Record) -> None:
        """Add a row: one write, flushed to disk.

        Raises
        ------
        ValueError
            If the store has a row of this key.
        """
        if record.key in self._records:
            msg = f"the store already has {record.key}"
            raise ValueError(msg)
        line = _encode(record)
        if self._path is not None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("ab") as file:
                if self._torn_at is not None:
                    file.truncate(self._torn_at)
                self._torn_at = file.seek(0, os.SEEK_END)
                file.write(line)
                file.flush()
                os.fsync(file.fileno())
            self._torn_at = None
        self._records[record.key] = record

    def keys(self) -> KeysView[RecordKey]:
        """Return the keys of all rows."""
        return self._records.keys()

    def __getitem__(self, key: RecordKey) -> Record:
        return self._records[key]

    def __contains__(self, key: object) -> bool:
        return key in self._records

    def __iter__(self) -> Iterator[Record]:
        """Iterate over the rows in the order of the file."""
        return iter(tuple(self._records.values()))

    def __len__(self) -> int:
        return len(self._records)


def _cells(record: Record) -> dict[str, object]:
    cells: dict[str, object] = {}
    for field in fields(record):
        value = getattr(record, field.name)
        if isinstance(value, Mapping):
            cells |= {f"{field.name}.{name}": term for name, term in value.items()}
        elif isinstance(value, tuple):
            cells[field.name] = ";".join(map(str, value))
        else:
            cells[field.name] = value
    return cells


def write_csv(records: Iterable[Record], path: str | os.PathLike[str]) -> None:
    """Write the rows as a table, atomically: the file is complete or as it was.

    One column per field, per feature and per metric; the terms of a lexicographic value are separated by
    semicolons.
    """
    rows = [_cells(record) for record in records]
    columns = list(dict.fromkeys(name for row in rows for name in row))
    target = Path(path)
    draft = target.with_name(f"{target.name}.{os.getpid()}.tmp")
    try:
        with draft.open("w", encoding="utf-8", newline="") as file:
            table = csv.DictWriter(file, columns, restval="")
            table.writeheader()
            table.writerows(rows)
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)
