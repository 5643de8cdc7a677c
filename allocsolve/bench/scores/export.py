"""Tables of records for other programs: CSV, JSON and Parquet."""

from __future__ import annotations

import csv
import json
import math
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from allocsolve.errors import FormatError, SolverUnavailable, UnknownName

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allocsolve.bench.runs.records import Record

__all__ = ["EXPORTS", "export"]

_Rows: TypeAlias = "Sequence[Mapping[str, Any]]"


def export(records: Iterable[Record], path: str | os.PathLike[str]) -> None:
    """Write records as one table, in the format that the end of the file's name tells.

    One column per field, feature (``features.NAME``), metric (``metrics.NAME``) and machine fact
    (``machine.NAME``); the terms of a lexicographic value are separated by semicolons, incumbents are JSON.
    The file appears whole or not at all.

    Parameters
    ----------
    records
        The rows.
    path
        Ends with ``.csv``, ``.json`` (a list of objects, infinities as null) or ``.parquet``.

    Raises
    ------
    UnknownName
        If the file has another ending.
    SolverUnavailable
        If it is Parquet and pyarrow is not installed.
    FormatError
        If the file cannot be written.
    """
    target = Path(path)
    ending = target.suffix.lower()
    if ending not in EXPORTS:
        raise UnknownName("format", ending or target.name, EXPORTS)
    rows = [_cells(record) for record in records]
    draft = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        EXPORTS[ending](rows, draft)
        draft.replace(target)
    except OSError as error:
        raise FormatError(str(path), [f"cannot be written: {error.strerror}"]) from None
    finally:
        draft.unlink(missing_ok=True)


def _cells(record: Record) -> dict[str, Any]:
    cells: dict[str, Any] = {}
    for field in fields(record):
        value = getattr(record, field.name)
        if isinstance(value, Mapping):
            cells |= {f"{field.name}.{name}": term for name, term in value.items()}
        elif field.name == "incumbents":
            cells[field.name] = json.dumps(value)
        elif isinstance(value, tuple):
            cells[field.name] = ";".join(map(str, value))
        else:
            cells[field.name] = value
    return cells


def _columns(rows: _Rows) -> list[str]:
    return list(dict.fromkeys(name for row in rows for name in row))


def _write_csv(rows: _Rows, path: Path) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, _columns(rows), restval="")
        table.writeheader()
        table.writerows(rows)


def _write_json(rows: _Rows, path: Path) -> None:
    plain = [
        {name: None if isinstance(cell, float) and math.isinf(cell) else cell for name, cell in row.items()}
        for row in rows
    ]
    path.write_text("[" + ",\n ".join(json.dumps(row, allow_nan=False) for row in plain) + "]\n", "utf-8")


def _write_parquet(rows: _Rows, path: Path) -> None:
    try:
        import pyarrow as pa  # noqa: PLC0415 - an optional dependency
        import pyarrow.parquet as pq  # noqa: PLC0415 - an optional dependency
    except ImportError:
        msg = "Parquet needs pyarrow: pip install 'allocsolve[parquet]'"
        raise SolverUnavailable(msg) from None
    table = {name: _of_one_type([row.get(name) for row in rows]) for name in _columns(rows)}
    pq.write_table(pa.table(table), path)


def _of_one_type(column: list[Any]) -> list[Any]:
    """Return a column that Arrow can hold: all numbers as floats if some are, all as text if some are."""
    types = {type(cell) for cell in column if cell is not None}
    if types <= {int, float, bool}:
        return [None if cell is None else float(cell) for cell in column] if len(types) > 1 else column
    return [None if cell is None else str(cell) for cell in column]


#: Writers by the ending of the file.
EXPORTS: Final[Mapping[str, Callable[[_Rows, Path], None]]] = MappingProxyType(
    {".csv": _write_csv, ".json": _write_json, ".parquet": _write_parquet}
)
