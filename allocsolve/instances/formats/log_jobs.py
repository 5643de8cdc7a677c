"""Logs that are tables of jobs, in CSV or Parquet files, by the columns that `log_tables` names."""

from __future__ import annotations

import csv
from itertools import compress
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from allocsolve.errors import FormatError, UnknownName
from allocsolve.instances.formats import json_text
from allocsolve.instances.formats.log_cleaning import LogColumns, cleaned
from allocsolve.instances.formats.log_lines import LOG_TABLES, read_lines, read_parquet
from allocsolve.instances.formats.log_rows import JobRows, columns_of
from allocsolve.instances.formats.log_times import Clock, zone
from allocsolve.instances.formats.logs import LogOptions, MachineSize

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from allocsolve.instances.formats.log_lines import LogTable
    from allocsolve.instances.formats.logs import JobLog
    from allocsolve.instances.formats.reading import PathLike
    from allocsolve.model import FloatArray

__all__ = ["read_table_log"]

#: What an encoding puts before a text; in the middle of a file where several were joined.
_BYTE_ORDER_MARK: Final = "\ufeff"
#: A file whose seconds begin after this one (September 2001) has those of Unix.
_UNIX: Final = 1_000_000_000


def read_table_log(
    path: PathLike,
    table: str,
    *,
    num_nodes: int | None = None,
    unit: str | None = None,
    limits: str = "at-least-run",
    timezone: str = "UTC",
) -> JobLog:
    """Read the jobs of a log that is a table: a CSV file, or a Parquet file.

    The columns are found by their names (`LogTable.columns`), in any order. Others are not looked at, and
    those of a Parquet file are not unpacked.

    Points in time are Unix seconds or ISO texts. Where clocks are set back a local time means two; the later
    one is taken where that makes End minus Start the run time.

    Parameters
    ----------
    path
        The file; text may be gzipped, if its name ends in ``.gz``.
    table
        The format, a name in `LOG_TABLES`: ``sacct``, ``nersc``, ``alcf``, ``pm100``, ``fdata``, ``hpcopt``.
    num_nodes
        Size of the machine, in the unit; by default in nodes that of the machine of the format, if it has
        one.
    unit
        Whether sizes are numbers of ``nodes`` or ``processors``; nodes by default, if the log has them.
    limits
        See `LogOptions`.
    timezone
        Of times without one, such as ``Europe/Berlin``.

    Raises
    ------
    FormatError
        If the file cannot be read, is too large, has no such columns, nothing tells the size of the
        machine, or what is written beside the file is of another one.
    InvalidOption
        If an option is out of range.
    UnknownName
        If there is no such format.
    SolverUnavailable
        If the file is Parquet and pyarrow is not installed.
    """
    if table not in LOG_TABLES:
        raise UnknownName("format of logs", table, LOG_TABLES)
    layout = LOG_TABLES[table]
    options = LogOptions(num_nodes, unit, limits)
    times = Clock(zone(timezone), knows_zero=layout.is_relative)
    headers = 0
    if layout.separators:
        (rows, headers), sha256 = read_lines(
            path, lambda lines: _read_text(lines, str(path), layout, unit, times), max_line=layout.max_line
        )
    else:
        rows, sha256 = _read_columns(path, layout, unit, times)
    header = _beside(path, sha256) if layout.name == "hpcopt" else {}
    numbers = rows.numbers()
    kept, joined = _joined(rows.names, numbers, layout)
    numbers = {field: column[kept] for field, column in numbers.items()}
    names, users = list(compress(rows.names, kept)), list(compress(rows.users, kept))
    columns = LogColumns(
        names=names,
        submits=numbers["submit"],
        starts=numbers["start"],
        ends=numbers["end"],
        runs=numbers["run"],
        limits=numbers["limit"],
        nodes=numbers["size"],
        users=users,
        cancelled=numbers["cancelled"] > 0,
        repeats=np.zeros(len(names), dtype=bool),
    )
    is_unix = not layout.is_relative or bool(np.nanmin(columns.submits, initial=np.inf) >= _UNIX)
    return cleaned(
        columns,
        _machine(layout, options, rows),
        options,
        path=path,
        sha256=sha256,
        header=header,
        epoch=0.0 if is_unix else None,
        timezone=timezone if times.is_local else "",
        faults=rows.faults,
        dropped={"headers": headers, "steps": rows.steps},
        changed={
            "requested_size": numbers["requested"] > 0,
            "part_of_a_node": _shares(columns.nodes, numbers["processors"]),
            "clock_set_back": numbers["moved"] > 0,
            **joined,
        },
    )


def _machine(layout: LogTable, options: LogOptions, rows: JobRows) -> MachineSize:
    sizes = f"sizes are those of {rows.size_column}"
    if options.num_nodes is None and layout.num_nodes and rows.unit == "nodes":
        return MachineSize(layout.num_nodes, rows.unit, f"all of {layout.machine}; {sizes}")
    return MachineSize(options.num_nodes, rows.unit, f"given; {sizes}")


def _shares(nodes: FloatArray, processors: FloatArray) -> NDArray[np.bool_]:
    """Tell which jobs have fewer processors on a node than jobs on several nodes have, by their median."""
    known = (nodes > 0) & (processors > 0)
    several = known & (nodes > 1)
    per_node = float(np.median(processors[several] / nodes[several])) if several.any() else 0.0
    shares: NDArray[np.bool_] = known & (processors < per_node * nodes)
    return shares


def _read_text(
    lines: Iterator[tuple[int, str]], source: str, layout: LogTable, unit: str | None, times: Clock
) -> tuple[JobRows, int]:
    """Return the jobs of lines, and how many times the names of columns were repeated."""
    _, head = next(((number, text) for number, text in lines if text.strip()), (0, ""))
    separator = max(layout.separators, key=head.count)
    csv.field_size_limit(max(csv.field_size_limit(), layout.max_line))
    if separator not in head:
        marks = " or ".join(repr(mark) for mark in layout.separators[:2])
        hint = ": use sacct -P" if layout.name == "sacct" else ""
        raise FormatError(source, [f"its first line has no column names with {marks} between them{hint}"])
    closed = head.endswith(separator)  # as sacct -p ends each line
    names = _cells(head, separator, closed=closed)
    rows = JobRows(layout, names, unit=unit, times=times, source=source, place="line")
    headers = 0
    for number, line in lines:
        text = line.removeprefix(_BYTE_ORDER_MARK)
        if not text.strip():
            continue
        if text == head:  # several outputs in one file
            headers += 1
        elif len(text) >= layout.max_line:
            rows.faults.add(number, f"{layout.max_line} characters or more")
        else:
            rows.add(number, _cells(text, separator, closed=closed))
    return rows, headers


def _cells(text: str, separator: str, *, closed: bool) -> list[str]:
    if '"' in text and separator != "|":
        cells = next(csv.reader([text], delimiter=separator), [])
    else:
        cells = text.split(separator)
    return cells[:-1] if closed and not cells[-1] else cells


def _read_columns(path: PathLike, layout: LogTable, unit: str | None, times: Clock) -> tuple[JobRows, str]:
    """Return the jobs of a Parquet file, and the SHA-256 of the file."""
    source = str(path)
    titles: list[str] = []

    def wanted(names: Sequence[str]) -> Sequence[int]:
        columns = columns_of(layout, names, unit, source)
        places = sorted({*columns.at.values(), *columns.sizes, *columns.processors})
        titles.extend(names[place] for place in places)
        return places

    def parse(cells: Iterator[tuple[int, Sequence[str]]]) -> JobRows:
        rows = JobRows(layout, titles, unit=unit, times=times, source=source, place="row")
        for number, row in cells:
            rows.add(number, row)
        return rows

    return read_parquet(path, wanted, parse)


def _beside(path: PathLike, sha256: str) -> dict[str, str]:
    """Return what the file of metadata beside a log tells, which must be of this log.

    Raises
    ------
    FormatError
        If it cannot be read, or names another SHA-256.
    """
    beside = Path(path).with_suffix(".metadata.json")
    if not beside.is_file():
        return {}
    told = json_text.load(beside)
    expected = told.get("dataset_sha256", sha256)
    if expected != sha256:
        fault = f"dataset_sha256: {str(expected)[:64]!r} is not that of {Path(path).name}, {sha256}"
        raise FormatError(str(beside), [fault])
    return {key: str(value) for key, value in told.items() if isinstance(value, str | int | float)}


def _joined(
    names: Sequence[str], numbers: dict[str, FloatArray], layout: LogTable
) -> tuple[NDArray[np.bool_], dict[str, int]]:
    """Make one row of those of a job that was resized, or that is cut at midnight, in place.

    Returns
    -------
    tuple
        Which rows are left, and how many others were joined to them, by reason.
    """
    left = np.ones(len(names), dtype=bool)
    reason = "continued" if layout.is_cut else "resized"
    if not layout.is_cut and not numbers["resizing"].any():
        return left, {reason: 0}
    keys = list(zip(names, numbers["submit"].tolist(), strict=True))
    concerned = set(keys) if layout.is_cut else {keys[row] for row in np.flatnonzero(numbers["resizing"])}
    groups: dict[tuple[str, float], list[int]] = {}
    for row, key in enumerate(keys):
        if key in concerned:
            groups.setdefault(key, []).append(row)
    starts, ends, runs = (numbers[field] for field in ("start", "end", "run"))
    for group in groups.values():
        if len(group) == 1:
            continue
        in_time = sorted(group, key=lambda row: (bool(np.isnan(starts[row])), starts[row]))
        for parts in _days(in_time, starts, ends) if layout.is_cut else [in_time]:
            row, first, last = min(parts), parts[0], parts[-1]
            # A cut between two days leaves out one second.
            run = ends[last] - starts[first] if layout.is_cut and len(parts) > 1 else runs[parts].sum()
            joined = {"start": starts[first], "end": ends[last], "run": run}
            joined |= {field: numbers[field][last] for field in ("limit", "cancelled")}
            joined |= {field: numbers[field][parts].max() for field in ("size", "processors", "moved")}
            for field, value in joined.items():
                numbers[field][row] = value
            left[[part for part in parts if part != row]] = False
    return left, {reason: int((~left).sum())}


def _days(in_time: Sequence[int], starts: FloatArray, ends: FloatArray) -> list[list[int]]:
    """Return rows of one job as lists of those in which each goes on where the one before ends."""
    runs: list[list[int]] = []
    for row in in_time:
        # A file of several exports may have each line twice: then there are two such lists.
        before = next((run for run in runs if 0 <= starts[row] - ends[run[-1]] <= 1), None)
        if before is None:
            runs.append([row])
        else:
            before.append(row)
    return runs
