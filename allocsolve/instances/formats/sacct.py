"""Logs that Slurm's ``sacct`` writes: one line a job, separated by ``|`` or by commas, under column names.

Steps (``123.batch``) are left out, tasks of arrays (``123_4``) are jobs. A job that was resized stands on
several lines, of which all but the last have the state RESIZING; so may one that was queued again.
"""

from __future__ import annotations

import csv
import math
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from allocsolve.errors import FormatError
from allocsolve.instances.formats.log_cleaning import LogColumns, cleaned
from allocsolve.instances.formats.log_lines import MAX_JOBS, MAX_LINE, Faults, read_lines
from allocsolve.instances.formats.log_times import Clock, duration, time_limit, zone
from allocsolve.instances.formats.logs import LogOptions, MachineSize

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from allocsolve.instances.formats.logs import JobLog
    from allocsolve.instances.formats.reading import PathLike
    from allocsolve.model import FloatArray

__all__ = ["read_sacct_log"]

#: Names of columns, in lower case without ``_`` and blanks; the first that is there is taken.
_NAMES: Final = {
    "id": ("jobid", "jobidraw", "job", "id"),
    "submit": ("submit", "submittime", "submitts"),
    "start": ("start", "starttime", "startts"),
    "end": ("end", "endtime", "endts"),
    "elapsed": ("elapsedraw", "elapsed", "runtime", "runtimeseconds"),
    "limit": ("timelimitraw", "timelimit"),
    "state": ("state", "jobstate"),
    "user": ("user", "uid", "userid"),
}
_ALLOCATED: Final = {
    "nodes": ("allocnodes", "nnodes", "numnodes", "nodes"),
    "processors": ("alloccpus", "ncpus", "numcpus", "cpus"),
}
_REQUESTED: Final = {"nodes": ("reqnodes",), "processors": ("reqcpus",)}
_SEPARATORS: Final = ("|", ",", "\t", ";")
_RESIZING: Final = "RESIZING"


class _Row(NamedTuple):
    name: str
    submit: float
    start: float
    end: float
    run: float
    limit: float
    size: float
    processors: float  #: 0 if unknown, or if they are the size
    user: str | None
    state: str
    is_requested: bool  #: whether the size is the requested one
    is_moved: bool  #: whether a local time is the later of two equal ones


class _Table(NamedTuple):
    rows: list[_Row]
    faults: Faults
    steps: int
    headers: int
    unit: str
    size_column: str


def read_sacct_log(
    path: PathLike,
    *,
    num_nodes: int | None = None,
    unit: str | None = None,
    limits: str = "at-least-run",
    timezone: str = "UTC",
) -> JobLog:
    """Read the jobs of a log of ``sacct -P`` (or ``-p``, or of a CSV file with such columns).

    The columns are found by their names, in any order: an id (JobID, JobIDRaw), Submit, the run time
    (ElapsedRaw, Elapsed, else End minus Start), the size (AllocNodes, NNodes, else ReqNodes; of processors
    AllocCPUS, NCPUS, else ReqCPUS), Timelimit or TimelimitRaw, User, State; others are not looked at.

    Points in time are Unix seconds or ISO texts. Where clocks are set back a local time means two; the later
    one is taken where that makes End minus Start the elapsed time.

    Parameters
    ----------
    path
        The file; gzipped if its name ends in ``.gz``.
    num_nodes
        Size of the machine, in the unit: the log does not tell it.
    unit
        Whether sizes are numbers of ``nodes`` or ``processors``; nodes by default, if the log has them.
    limits
        See `LogOptions`.
    timezone
        Of times without one, such as ``Europe/Berlin``.

    Raises
    ------
    FormatError
        If the file cannot be read, is too large, has no such columns, or nothing tells the size of the
        machine.
    InvalidOption
        If an option is out of range.
    """
    options = LogOptions(num_nodes, unit, limits)
    times = Clock(zone(timezone))
    table, sha256 = read_lines(path, lambda lines: _read(lines, str(path), unit, times))
    rows, resized = _joined(table.rows)
    columns = LogColumns(
        names=[row.name for row in rows],
        submits=np.array([row.submit for row in rows], dtype=np.float64),
        starts=np.array([row.start for row in rows], dtype=np.float64),
        ends=np.array([row.end for row in rows], dtype=np.float64),
        runs=np.array([row.run for row in rows], dtype=np.float64),
        limits=np.array([row.limit for row in rows], dtype=np.float64),
        nodes=np.array([row.size for row in rows], dtype=np.float64),
        users=[row.user for row in rows],
        cancelled=_mask([row.state.startswith("CANCELLED") for row in rows]),
        repeats=np.zeros(len(rows), dtype=bool),
    )
    return cleaned(
        columns,
        MachineSize(num_nodes, table.unit, f"given; sizes are those of {table.size_column}"),
        options,
        path=path,
        sha256=sha256,
        header={},
        epoch=0.0,
        timezone=timezone if times.is_local else "",
        faults=table.faults,
        dropped={"headers": table.headers, "steps": table.steps},
        changed={
            "requested_size": _mask([row.is_requested for row in rows]),
            "part_of_a_node": _shares(columns.nodes, np.array([row.processors for row in rows])),
            "clock_set_back": _mask([row.is_moved for row in rows]),
            "resized": resized,
        },
    )


def _shares(nodes: FloatArray, processors: FloatArray) -> NDArray[np.bool_]:
    """Tell which jobs have fewer processors on a node than jobs on several nodes have, by their median."""
    known = (nodes > 0) & (processors > 0)
    several = known & (nodes > 1)
    per_node = float(np.median(processors[several] / nodes[several])) if several.any() else 0.0
    shares: NDArray[np.bool_] = known & (processors < per_node * nodes)
    return shares


def _mask(values: Sequence[bool]) -> NDArray[np.bool_]:
    return np.array(values, dtype=bool)


def _read(
    lines: Iterator[tuple[int, str]],
    source: str,
    unit: str | None,
    times: Clock,
) -> _Table:
    _, head = next(((number, text) for number, text in lines if text.strip()), (0, ""))
    separator = max(_SEPARATORS, key=head.count)
    if separator not in head:
        fault = "its first line has no column names with | or , between them: use sacct -P"
        raise FormatError(source, [fault])
    closed = head.endswith(separator)  # as sacct -p ends each line
    names = [_plain(name) for name in _cells(head, separator, closed=closed)]
    reader = _Reader(names, source, unit, times)
    rows: list[_Row] = []
    faults = Faults()
    steps = headers = 0
    for number, text in lines:
        if not text.strip():
            continue
        if text == head:  # several outputs in one file
            headers += 1
            continue
        cells = _cells(text, separator, closed=closed)
        try:
            if len(text) >= MAX_LINE:
                raise ValueError(f"{MAX_LINE} characters or more")
            row = reader.row(cells)
        except ValueError as fault:
            faults.add(number, fault)
            continue
        if row is None:
            steps += 1
        else:
            rows.append(row)
        if len(rows) > MAX_JOBS:
            raise FormatError(source, [f"has more than {MAX_JOBS} jobs: cut it before"])
    return _Table(rows, faults, steps, headers, reader.unit, reader.size_column)


def _plain(name: str) -> str:
    return name.strip().lower().replace("_", "").replace(" ", "")


def _cells(text: str, separator: str, *, closed: bool) -> list[str]:
    if '"' in text and separator != "|":
        cells = next(csv.reader([text], delimiter=separator), [])
    else:
        cells = text.split(separator)
    return cells[:-1] if closed and not cells[-1] else cells


class _Reader:
    """Reads the cells of a line under these column names."""

    def __init__(
        self,
        names: list[str],
        source: str,
        unit: str | None,
        times: Clock,
    ) -> None:
        place = {name: idx for idx, name in reversed(list(enumerate(names)))}
        at = {
            what: next((place[name] for name in choices if name in place), None)
            for what, choices in _NAMES.items()
        }
        sizes = {
            one: [place[name] for name in (*_ALLOCATED[one], *_REQUESTED[one]) if name in place]
            for one in _ALLOCATED
        }
        self.unit = unit or ("nodes" if sizes["nodes"] else "processors")
        self._sizes = sizes[self.unit]
        self._processors = sizes["processors"] if self.unit == "nodes" else []
        missing = [f"no column {what}" for what in ("id", "submit") if at[what] is None]
        if at["elapsed"] is None and (at["start"] is None or at["end"] is None):
            missing.append("neither a column Elapsed nor both Start and End")
        if not self._sizes:
            missing.append(f"no column {'NNodes' if self.unit == 'nodes' else 'NCPUS'}")
        if missing:
            shown = ", ".join(name[:20] for name in names[:30])
            raise FormatError(source, [f"{', '.join(missing)}; its columns are {shown}"])
        self.size_column = names[self._sizes[0]]
        self._requested = {place[name] for name in _REQUESTED[self.unit] if name in place}
        self._at = at
        self._count = len(names)
        self._times = times

    def row(self, cells: list[str]) -> _Row | None:
        """Return a job, None for a step of one; raise ValueError with what is wrong with a line."""
        if len(cells) != self._count:
            msg = f"{len(cells)} cells for {self._count} columns"
            raise ValueError(msg)
        at = self._at
        name = cells[at["id"] or 0].strip()
        if not name:
            raise ValueError("no job id")
        if "." in name:
            return None
        state = self._text(cells, "state").upper()
        submit, start, end = (self._time(cells, what) for what in ("submit", "start", "end"))
        run = self._seconds(cells, "elapsed", duration)
        moved = False
        ended = at["end"] is None or not math.isnan(end)
        if not ended or state.startswith(("RUNNING", "PENDING")):
            run = math.nan
        elif not math.isnan(start) and not math.isnan(end):
            if math.isnan(run):
                if end < start:
                    moved, end = True, self._time(cells, "end", later=True)
                run = end - start
            elif abs(end - start - run) >= 1:
                moved, start, end = self._unfolded(cells, start, end, run)
        elif at["end"] is None and not math.isnan(run):
            end = start + run
        size, is_requested = self._size(cells, self._sizes)
        processors = self._size(cells, self._processors)[0]
        user = self._text(cells, "user") or None
        limit = self._seconds(cells, "limit", time_limit)
        return _Row(name, submit, start, end, run, limit, size, processors, user, state, is_requested, moved)

    def _text(self, cells: list[str], what: str) -> str:
        idx = self._at[what]
        return "" if idx is None else cells[idx].strip()

    def _time(self, cells: list[str], what: str, *, later: bool = False) -> float:
        try:
            value = self._times.read(self._text(cells, what), later=later)
        except ValueError as fault:
            msg = f"{what} {fault}"
            raise ValueError(msg) from None
        return math.nan if value is None else value

    def _seconds(self, cells: list[str], what: str, read: Callable[[str], float | None]) -> float:
        try:
            value = read(self._text(cells, what))
        except ValueError as fault:
            msg = f"{what} {fault}"
            raise ValueError(msg) from None
        return math.nan if value is None else value

    def _unfolded(self, cells: list[str], start: float, end: float, run: float) -> tuple[bool, float, float]:
        """Return start and end such that they are the run time apart, if the clock leaves a choice."""
        for start_later, end_later in ((False, True), (True, True), (True, False)):
            times = (
                self._time(cells, "start", later=start_later),
                self._time(cells, "end", later=end_later),
            )
            if times != (start, end) and abs(times[1] - times[0] - run) < 1:
                return True, *times
        return False, start, end

    def _size(self, cells: list[str], columns: list[int]) -> tuple[float, bool]:
        """Return the first size that is known, and whether it is a requested one; 0 if none is."""
        for idx in columns:
            text = cells[idx].strip()
            if text.isascii() and text.isdigit() and len(text) < 16:
                if int(text):
                    return int(text), idx in self._requested
            elif text.lower() not in ("", "unknown", "none", "-1"):
                msg = f"{text[:20]!r} is no number of nodes or processors"
                raise ValueError(msg)
        return 0, False


def _joined(rows: list[_Row]) -> tuple[list[_Row], int]:
    """Return the rows with those of a resized job made one, and how many were joined to another."""
    resized = {(row.name, row.submit) for row in rows if row.state.startswith(_RESIZING)}
    if not resized:
        return rows, 0
    first: dict[tuple[str, float], int] = {}
    joined: list[_Row] = []
    for row in rows:
        key = row.name, row.submit
        if key not in resized:
            joined.append(row)
        elif key in first:
            joined[first[key]] = _union(joined[first[key]], row)
        else:
            first[key] = len(joined)
            joined.append(row)
    return joined, len(rows) - len(joined)


def _union(one: _Row, other: _Row) -> _Row:
    """Return one job that holds the larger size over both lines."""
    early, late = sorted((one, other), key=lambda row: row.start)
    return early._replace(
        end=late.end,
        run=early.run + late.run,
        limit=late.limit,
        size=max(early.size, late.size),
        state=late.state,
        is_moved=early.is_moved or late.is_moved,
    )
