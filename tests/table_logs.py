"""Small logs of every format that is a table with nodes: five jobs, written as machines' own files are."""

from __future__ import annotations

import csv
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from allocsolve.instances import LOG_TABLES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from allocsolve.instances import JobLog, LogTable

JOBS = 5
#: Submission of the first job, in Unix seconds: 1 January 2024.
EPOCH = 1_704_067_200
#: Formats whose files have a line of names of columns, some of them of nodes and some of processors.
TABLES = tuple(
    name
    for name, table in LOG_TABLES.items()
    if {"nodes", "processors"} <= {*table.columns} and (name == "sacct" or table.rows is None)
)
PARQUET = tuple(name for name in TABLES if not LOG_TABLES[name].separators)
TEXT = tuple(name for name in TABLES if LOG_TABLES[name].separators)

Columns = dict[str, list[object]]


def good(name: str) -> Columns:
    """Cells by field: jobs of 600 s on 4 nodes of 16 processors, one every 100 s, that waited 50 s."""
    table = LOG_TABLES[name]
    submits = [EPOCH + 100 * idx for idx in range(JOBS)]
    cells: Columns = {
        "id": [str(idx + 1) for idx in range(JOBS)],
        "submit": [_time(table, second) for second in submits],
        "start": [_time(table, second + 50) for second in submits],
        "end": [_time(table, second + 650) for second in submits],
        "run": [600] * JOBS,
        "limit": [20 if table.limit == "minutes" else 1200] * JOBS,
        "nodes": [4] * JOBS,
        "requested_nodes": [4] * JOBS,
        "processors": [64] * JOBS,
        "requested_processors": [64] * JOBS,
        "state": ["COMPLETED"] * JOBS,
        "user": ["u", "v, w", "u", "u", "u"],
    }
    return {field: cells[field] for field in table.columns if field in cells}


def _time(table: LogTable, second: int) -> object:
    return second if table.is_relative else datetime.fromtimestamp(second, UTC)


def title(name: str, field: str) -> str:
    """Return what the format calls a field."""
    return LOG_TABLES[name].columns[field][0]


def titled(name: str, cells: Mapping[str, Sequence[object]]) -> list[tuple[str, Sequence[object]]]:
    """Return cells under the names of their columns."""
    return [(title(name, field), column) for field, column in cells.items()]


def write(name: str, path: Path, columns: Sequence[tuple[str, Sequence[object]]]) -> Path:
    """Write columns as a file of the format."""
    if name in PARQUET:
        arrays = [pa.array(_of_one_type(column)) for _, column in columns]
        pq.write_table(pa.Table.from_arrays(arrays, names=[one for one, _ in columns]), path)
        return path
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n", delimiter=LOG_TABLES[name].separators[0])
        rows.writerow([one for one, _ in columns])
        rows.writerows([_cell(cell) for cell in row] for row in zip(*(c for _, c in columns), strict=True))
    return path


def _cell(cell: object) -> object:
    return cell.strftime("%Y-%m-%d %H:%M:%S") if isinstance(cell, datetime) else cell


def _of_one_type(column: Sequence[object]) -> Sequence[object]:
    texts = [isinstance(cell, str) for cell in column]
    return [cell and str(cell) for cell in column] if any(texts) and not all(texts) else column


def counted(log: JobLog) -> dict[str, int]:
    """Return what was counted while a log was read, less what did not occur."""
    return {reason: count for reason, count in log.report.counts().items() if count}
