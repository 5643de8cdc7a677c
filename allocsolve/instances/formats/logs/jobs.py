"""Logs that are tables of jobs, or are turned into such, by the columns that `LogTable` names.

In logs that Slurm's ``sacct`` writes, steps (``123.batch``) are left out, and tasks of arrays (``123_4``)
are jobs. A job that was resized stands on several lines, of which all but the last have the state RESIZING;
so may one that was queued again.
"""

from __future__ import annotations

import csv
import math
import re
from array import array
from itertools import compress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from allocsolve.errors import FormatError, UnknownName
from allocsolve.instances.formats.files import load
from allocsolve.instances.formats.logs.columns import columns_of, derivable
from allocsolve.instances.formats.logs.fields import PLAIN, FieldColumns, FieldTexts, LogFields, priority
from allocsolve.instances.formats.logs.held import place_columns
from allocsolve.instances.formats.logs.lines import (
    BYTE_ORDER_MARK,
    MAX_JOBS,
    Dropped,
    Faults,
    LogRows,
    read_parquet,
    read_text,
)
from allocsolve.instances.formats.logs.log import (
    PARTS,
    SWF_UNITS,
    WHOLES,
    LogColumns,
    LogOptions,
    MachineSize,
    cleaned,
)
from allocsolve.instances.formats.logs.swf import read_swf_log
from allocsolve.instances.formats.logs.tables import LOG_FORMATS, LOG_TABLES, refusal
from allocsolve.instances.formats.logs.times import (
    TIME_UNITS,
    Clock,
    check_swf_unit,
    check_times,
    duration,
    time_limit,
    zone,
)
from allocsolve.judge.quantiles import quantile
from allocsolve.model import MAX_INTEGER
from allocsolve.model.checks import choice

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from allocsolve.instances.formats.files import PathLike
    from allocsolve.instances.formats.logs.fields import PlaceColumns
    from allocsolve.instances.formats.logs.lines import LogText
    from allocsolve.instances.formats.logs.log import JobLog
    from allocsolve.instances.formats.logs.tables import LogTable
    from allocsolve.model import FloatArray

#: What is kept of a job, a number each; 1 and 0 for yes and no.
NUMBERS: Final = (
    *("submit", "start", "end", "run", "limit", "size"),
    "parts",  # the size in processors if it is in nodes, and the other way round; so for GPUs; 0 if unknown
    "cancelled",
    "resizing",
    "requested",  # whether the size is the requested one
    "moved",  # whether a local time is the later of two equal ones
)
#: Of these, and of jobs on several lines, those of the largest size.
_OF_THE_LARGEST: Final = ("needs", "held", "node_names")
#: What is kept beside these if it is asked for; of texts their places in `FieldTexts`.
ASKED: Final = ("needs", "partition", "eligible", "priority", "held", "node_names")
_SIZE: Final = re.compile(r"(\d{1,15})(?:\.0{1,9})?", re.ASCII)
_NO_SIZE: Final = frozenset({"", "unknown", "none", "nan", "null", "-1"})
#: The beginnings of states of jobs that have not ended.
_UNENDED: Final = ("RUNNING", "PENDING")


class JobRows:
    """Takes up rows of cells, each a job.

    The names are those of the columns of the file, the unit that of `columns_of`; messages call a row
    `place`.
    """

    def __init__(
        self,
        table: LogTable,
        names: Sequence[str],
        *,
        unit: str | None,
        times: Clock,
        source: str,
        place: str,
        fields: LogFields = PLAIN,
    ) -> None:
        derived = derivable(table, names)
        titles = [*names, *derived]
        columns = columns_of(table, titles, unit, source, fields)
        #: Whether each job is one chunk, on one node: nothing tells nodes.
        self._is_pod = bool(fields.site.types) and columns.unit != "nodes"
        self.unit = "nodes" if self._is_pod else columns.unit
        self.size_column = titles[columns.sizes[0]].strip()
        self.names: list[str] = []
        self.users: list[str | None] = []
        self.dropped = dict.fromkeys(("headers", "steps", "other_records"), 0)
        self.faults = Faults(place)
        self.machine = 0.0  #: its size as the log tells it; 0 if it does not
        self._numbers = array("d")
        self._columns = columns
        self._width = len(names)
        self._titles = [name.strip()[:40] for name in titles]
        self._derived = [*derived.values()]
        self._times = times
        self._table = table
        self._source = source
        self._known_users: dict[str, str] = {}
        self.fields = fields
        self.texts = FieldTexts()
        self._asked = tuple(name for name in ASKED if fields.asks(name))  #: further columns

    def numbers(self) -> dict[str, FloatArray]:
        """Return a column for each of `NUMBERS` and of what is asked for, a row per job."""
        titles = (*NUMBERS, *self._asked)
        rows = np.frombuffer(self._numbers, dtype=np.float64).reshape(-1, len(titles))
        return dict(zip(titles, np.array(rows.T), strict=True))

    def add(self, number: int, cells: Sequence[str] | Dropped) -> None:
        """Take up a row: a job, a step of one, a fault, or what is no job.

        Raises `FormatError` if there are too many jobs.
        """
        if isinstance(cells, Dropped):
            if cells.reason == "faulty":
                self.faults.add(number, cells.fault)
            else:
                self.dropped[cells.reason] += 1
            return
        try:
            self._add(cells)
        except ValueError as fault:
            self.faults.add(number, fault)
        if len(self.names) > MAX_JOBS:
            raise FormatError(self._source, [f"has more than {MAX_JOBS} jobs: cut it before"])

    def _add(self, cells: Sequence[str]) -> None:
        if len(cells) != self._width:
            raise ValueError(f"{len(cells)} cells for {self._width} columns")
        name = self._text(cells, "id")
        if not name:
            raise self._fault("id", "is empty")
        if "." in name and self._table.has_steps:
            self.dropped["steps"] += 1
            return
        state = self._text(cells, "state").upper()
        submit = self._time(cells, "submit")
        start, end, run, moved = self._span(cells, is_running=state.startswith(_UNENDED))
        cancelled = state.startswith(self._table.cancelled)
        if end < start and not cancelled:
            what = f"{self._text(cells, 'end')[:30]!r} is before {self._text(cells, 'start')[:30]!r}"
            raise self._fault("end", what)
        limit = self._seconds(cells, "limit", time_limit if self._table.limit == "minutes" else duration)
        size, is_requested = (1.0, False) if self._is_pod else self._size(cells, self._columns.sizes)
        parts = self._parts(cells)
        if (machine := self._columns.at.get("machine")) is not None:
            self.machine = max(self.machine, self._size(cells, (machine,))[0])
        user = self._text(cells, "user")
        resizing = state.startswith("RESIZING")
        asked = [self._asked_number(cells, field) for field in self._asked] if self._asked else ()
        self._numbers.extend((submit, start, end, run, limit or math.nan, size))
        self._numbers.extend((parts, cancelled, resizing, is_requested, moved, *asked))
        self.names.append(name)
        self.users.append(self._known_users.setdefault(user, user) if user else None)

    def _parts(self, cells: Sequence[str]) -> float:
        """Return the size in parts of the unit, or in what the unit is a part of; 0 if it is not known."""
        try:
            return self._size(cells, self._columns.parts)[0]
        except ValueError:
            if self.unit in PARTS:
                raise
            return 0.0

    def _asked_number(self, cells: Sequence[str], field: str) -> float:
        """Return what is kept of a field of `ASKED`."""
        if field == "eligible":
            return self._time(cells, field)
        texts = [self._text(cells, name) for name in (field, f"requested_{field}")]
        try:
            if field in {"needs", "held"}:
                return (self.texts.need if field == "needs" else self.texts.hold)(*texts)
            if field == "node_names":
                return self.texts.on_nodes(texts[0])
            return self.texts.partition(texts[0]) if field == "partition" else priority(texts[0])
        except ValueError as fault:
            raise self._fault(field if texts[0] else f"requested_{field}", fault) from None

    def _computed(self, cells: Sequence[str], idx: int) -> str:
        """Return the cell of a column that is computed of others."""
        one, places = self._derived[idx - self._width]
        try:
            return one.cell(*(cells[place].strip() for place in places))
        except ValueError as fault:
            raise ValueError(f"{self._titles[idx]}: {fault}") from None

    def _span(self, cells: Sequence[str], *, is_running: bool) -> tuple[float, float, float, bool]:
        """Return start, end and run time, and whether one of these times was moved by a clock set back."""
        start, end = self._time(cells, "start"), self._time(cells, "end")
        run = self._seconds(cells, "run", duration)
        tells_end = "end" in self._columns.at
        if is_running or (tells_end and math.isnan(end)):
            return start, end, math.nan, False
        if not tells_end:
            return start, start + run, run, False
        moved = False
        if not math.isnan(start):
            if math.isnan(run):
                if end < start:
                    moved, end = True, self._time(cells, "end", later=True)
                run = end - start
            elif abs(end - start - run) >= 1:
                moved, start, end = self._unfolded(cells, start, end, run)
        return start, end, run, moved

    def _unfolded(
        self, cells: Sequence[str], start: float, end: float, run: float
    ) -> tuple[bool, float, float]:
        """Return start and end such that they are the run time apart, if the clock leaves a choice."""
        for start_later, end_later in ((False, True), (True, True), (True, False)):
            times = (self._time(cells, "start", later=start_later), self._time(cells, "end", later=end_later))
            if times != (start, end) and abs(times[1] - times[0] - run) < 1:
                return True, *times
        return False, start, end

    def _text(self, cells: Sequence[str], field: str) -> str:
        idx = self._columns.at.get(field)
        if idx is None:
            return ""
        return cells[idx].strip() if idx < self._width else self._computed(cells, idx)

    def _time(self, cells: Sequence[str], field: str, *, later: bool = False) -> float:
        try:
            value = self._times.read(self._text(cells, field), later=later)
        except ValueError as fault:
            raise self._fault(field, fault) from None
        return math.nan if value is None else value

    def _seconds(self, cells: Sequence[str], field: str, read: Callable[[str], float | None]) -> float:
        text = self._text(cells, field)
        try:
            value = read(text)
        except ValueError as fault:
            raise self._fault(field, fault) from None
        if value is None:
            return math.nan
        if value > MAX_INTEGER:
            raise self._fault(field, f"{text[:20]!r} is beyond 2^53")
        return value

    def _fault(self, field: str, what: object) -> ValueError:
        return ValueError(f"{self._titles[self._columns.at[field]]} {what}")

    def _size(self, cells: Sequence[str], columns: Sequence[int]) -> tuple[float, bool]:
        """Return the first size that is known, and whether it is a requested one; 0 if none is."""
        for idx in columns:
            text = cells[idx].strip() if idx < self._width else self._computed(cells, idx)
            if match := _SIZE.fullmatch(text):
                if size := int(match[1]):
                    return size, idx in self._columns.requested
            elif text.lower() not in _NO_SIZE:
                raise ValueError(f"{self._titles[idx]} {text[:20]!r} is no number of {self.unit}")
        return 0, False


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
    time_unit: str | None = None,
    fields: LogFields = PLAIN,
) -> JobLog:
    """Read the jobs of a log that is a table or made one: text, JSON of sacct, or a Parquet file.

    The columns are found by their names (`LogTable.columns`), in any order. Others are not looked at, and
    those of a Parquet file are not unpacked.

    Points in time are Unix seconds or ISO texts. Where clocks are set back a local time means two; the later
    one is taken where that makes End minus Start the run time.

    Parameters
    ----------
    path
        The file; text may be gzipped.
    table
        The format, a name in `LOG_FORMATS`; see `read_swf_log` for ``swf``, which has no time zones.
    num_nodes
        Size of the machine, in the unit; by default what the log tells, or that of the machine of the
        format, if it has one.
    unit
        What sizes are numbers of: ``nodes``, ``processors``, ``gpus`` or ``milligpus``, thousandths of GPUs;
        by default the first of the format's units that the log has.
    limits
        See `LogOptions`.
    timezone
        Of times without one, such as ``Europe/Berlin``.
    time_unit
        Of points in time that are plain numbers: ``s``, ``ms``, ``us``, ``ns``, or ``days``, those of
        spreadsheets. Seconds if left out, and then days of a spreadsheet are refused.
    fields
        What is read beside plain jobs: resources, partitions, eligible times, priorities.

    Raises
    ------
    FormatError
        If the file cannot be read, is too large, is of another format, has no such columns, nothing tells
        the size of the machine, what is written beside the file is of another one, or its times are not in
        the unit.
    """
    if table == "swf":
        check_swf_unit(time_unit)
        return read_swf_log(path, num_nodes=num_nodes, unit=unit, limits=limits, fields=fields)
    if table not in LOG_TABLES:
        raise UnknownName("format of logs", table, LOG_FORMATS)
    layout = LOG_TABLES[table]
    options = LogOptions(num_nodes, unit, limits, fields)
    if time_unit is not None:
        choice("time_unit", time_unit, tuple(TIME_UNITS))

    def read(*, knows_zero: bool) -> tuple[JobRows, str, Clock]:
        times = Clock(zone(timezone), knows_zero=knows_zero, unit=time_unit or "s")
        if layout.separators:
            rows, sha256 = read_text(path, lambda text: _read_text(text, layout, options, times))
        else:
            rows, sha256 = _read_columns(path, layout, options, times)
        return rows, sha256, times

    rows, sha256, times = read(knows_zero=layout.is_relative)
    numbers = rows.numbers()
    if times.passed_zero and _points(numbers).max(initial=0.0) < _UNIX:
        # no time of this log is of this century: 0 is where its seconds begin
        rows, sha256, times = read(knows_zero=True)
        numbers = rows.numbers()
    check_times(_points(numbers), str(path), time_unit)
    header = _beside(path, sha256) if layout.name == "hpcopt" else {}
    kept, joined = _joined(rows.names, numbers, layout)
    numbers = {field: column[kept] for field, column in numbers.items()}
    names, users = list(compress(rows.names, kept)), list(compress(rows.users, kept))
    on_places = _on_places(fields, rows, numbers) if fields.site.types else None
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
        asked=FieldColumns(
            fields,
            rows.texts if fields != PLAIN else None,
            needs=numbers.get("needs"),
            partition=numbers.get("partition"),
            eligible=numbers.get("eligible"),
            priority=numbers.get("priority"),
            places=on_places,
        ),
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
        dropped=rows.dropped,
        changed={
            "requested_size": numbers["requested"] > 0,
            "part_of_a_node": _shares(
                columns.nodes, numbers["parts"], is_whole=rows.unit in PARTS and on_places is None
            ),
            "clock_set_back": numbers["moved"] > 0,
            **joined,
        },
        sharing=_shares(numbers["parts"], columns.nodes, is_whole=rows.unit in WHOLES),
        may_share=_may_share(numbers["parts"], columns.nodes, rows.unit),
        per_node=_processors_of_nodes(numbers, rows.unit),
    )


def _on_places(fields: LogFields, rows: JobRows, numbers: Mapping[str, FloatArray]) -> PlaceColumns:
    """Return what jobs hold on nodes that are places."""

    def told(field: str, known: Iterable[Any]) -> list[Any]:
        listed = [*known, None]
        missing = np.full(len(numbers["size"]), -1.0)
        return [listed[place] for place in numbers.get(field, missing).astype(np.int64).tolist()]

    return place_columns(
        fields.site,
        numbers["size"],
        numbers["parts"],
        told("held", rows.texts.held),
        told("partition", rows.texts.partitions),
        told("node_names", rows.texts.node_names),
    )


def _processors_of_nodes(numbers: Mapping[str, FloatArray], unit: str) -> int:
    """Return how many processors a node has, as half of the jobs on several nodes tell; 0 if none does."""
    processors, nodes = numbers["parts"], numbers["size"]
    if unit == "processors":
        processors, nodes = nodes, processors
    several = (nodes > 1) & (processors > 0) & (unit in SWF_UNITS)
    return int(quantile(processors[several] / nodes[several], 0.5)) if several.any() else 0


def _points(numbers: Mapping[str, FloatArray]) -> FloatArray:
    """Return all points in time that are known, in seconds."""
    times = (numbers.get(field) for field in ("submit", "start", "end", "eligible"))
    points = np.concatenate([column for column in times if column is not None])
    known: FloatArray = points[np.isfinite(points)]
    return known


def _machine(layout: LogTable, options: LogOptions, rows: JobRows) -> MachineSize:
    if options.fields.site.types:
        return MachineSize.of_site(options.fields.site)
    sizes = f"sizes are those of {rows.size_column}"
    if options.num_nodes is None and rows.machine:
        told_by = layout.columns["machine"][0]
        return MachineSize(int(rows.machine), rows.unit, f"{told_by} of the log; {sizes}")
    if options.num_nodes is None and layout.num_nodes and rows.unit == layout.units[0]:
        return MachineSize(layout.num_nodes, rows.unit, f"all of {layout.machine}; {sizes}")
    return MachineSize(options.num_nodes, rows.unit, f"given; {sizes}")


def _shares(nodes: FloatArray, parts: FloatArray, *, is_whole: bool) -> NDArray[np.bool_]:
    """Tell which jobs have fewer parts of a node than jobs on several nodes have, by their median.

    None do if these are not the numbers of nodes and of their parts.
    """
    known = (nodes > 0) & (parts > 0) & is_whole
    several = known & (nodes > 1)
    per_node = quantile(parts[several] / nodes[several], 0.5) if several.any() else 0.0
    shares: NDArray[np.bool_] = known & (parts < per_node * nodes)
    return shares


def _may_share(nodes: FloatArray, sizes: FloatArray, unit: str) -> NDArray[np.bool_]:
    """Tell of which jobs nothing tells whether they had whole nodes.

    Logs do not tell how many GPUs a node has. How many processors it has, jobs on several nodes tell.
    """
    known = (nodes > 0) & (sizes > 0)
    if unit == "processors" and not (known & (nodes > 1)).any():
        return known
    may: NDArray[np.bool_] = (sizes > 0) & (unit in {"gpus", "milligpus"})
    return may


def _read_text(text: LogText, layout: LogTable, options: LogOptions, times: Clock) -> JobRows:
    if (fault := refusal(text.head, layout.name)) is not None:
        raise FormatError(text.source, [fault])
    table = layout.rows(text) if layout.rows is not None else None
    titles, numbered, place = table or _delimited(text, layout)
    rows = JobRows(
        layout, titles, unit=options.unit, times=times, source=text.source, place=place, fields=options.fields
    )
    for number, cells in numbered:
        rows.add(number, cells)
    return rows


def _delimited(text: LogText, layout: LogTable) -> LogRows:
    """Return the rows of lines of cells, of which the first has the names of the columns."""
    lines = text.lines(layout.max_line)
    _, head = next(((number, text) for number, text in lines if text.strip()), (0, ""))
    separator = max(layout.separators, key=head.count)
    csv.field_size_limit(max(csv.field_size_limit(), layout.max_line))
    if separator not in head:
        marks = " or ".join(repr(mark) for mark in layout.separators[:2])
        hint = ": use sacct -P" if layout.name == "sacct" else ""
        raise FormatError(
            text.source, [f"its first line has no column names with {marks} between them{hint}"]
        )
    closed = head.endswith(separator)  # as sacct -p ends each line

    def rows() -> Iterator[tuple[int, Sequence[str] | Dropped]]:
        for number, marked in lines:
            line = marked.removeprefix(BYTE_ORDER_MARK)
            if not line.strip():
                continue
            if line == head:  # several outputs in one file
                yield number, Dropped("headers")
            elif len(line) >= layout.max_line:
                yield number, Dropped("faulty", f"{layout.max_line} characters or more")
            else:
                yield number, _cells(line, separator, closed=closed)

    return LogRows(_cells(head, separator, closed=closed), rows())


def _cells(text: str, separator: str, *, closed: bool) -> list[str]:
    if '"' in text and separator != "|":
        cells = next(csv.reader([text], delimiter=separator), [])
    else:
        cells = text.split(separator)
    return cells[:-1] if closed and not cells[-1] else cells


def _read_columns(path: PathLike, layout: LogTable, options: LogOptions, times: Clock) -> tuple[JobRows, str]:
    """Return the jobs of a Parquet file, and the SHA-256 of the file."""
    source, unit = str(path), options.unit
    titles: list[str] = []

    def wanted(names: Sequence[str]) -> Sequence[int]:
        derived = derivable(layout, names)
        used = columns_of(layout, [*names, *derived], unit, source, options.fields).used
        sources = [*((place,) for place in range(len(names))), *(places for _, places in derived.values())]
        places = sorted({place for one in used for place in sources[one]})
        titles.extend(names[place] for place in places)
        return places

    def parse(cells: Iterator[tuple[int, Sequence[str]]]) -> JobRows:
        rows = JobRows(
            layout, titles, unit=unit, times=times, source=source, place="row", fields=options.fields
        )
        for number, row in cells:
            rows.add(number, row)
        return rows

    return read_parquet(path, wanted, parse)


def _beside(path: PathLike, sha256: str) -> dict[str, str]:
    """Return what the file of metadata beside a log tells, which must be of this log."""
    beside = Path(path).with_suffix(".metadata.json")
    if not beside.is_file():
        return {}
    document = load(beside)
    expected = document.get("dataset_sha256", sha256)
    if expected != sha256:
        fault = f"dataset_sha256: {str(expected)[:64]!r} is not that of {Path(path).name}, {sha256}"
        raise FormatError(str(beside), [fault])
    return {key: str(value) for key, value in document.items() if isinstance(value, str | int | float)}


def _joined(
    names: Sequence[str], numbers: dict[str, FloatArray], layout: LogTable
) -> tuple[NDArray[np.bool_], dict[str, int]]:
    """Make one row of those of a job that was resized, retried, or is cut at midnight, in place.

    Returns which rows are left, and how many others were joined to them, by reason.
    """
    left = np.ones(len(names), dtype=bool)
    reason = "continued" if layout.is_cut else "retried" if layout.has_attempts else "resized"
    is_any = layout.is_cut or layout.has_attempts
    if not is_any and not numbers["resizing"].any():
        return left, {reason: 0}
    keys = list(zip(names, numbers["submit"].tolist(), strict=True))
    concerned = set(keys) if is_any else {keys[row] for row in np.flatnonzero(numbers["resizing"])}
    groups: dict[tuple[str, float], list[int]] = {}
    for row, key in enumerate(keys):
        if key in concerned:
            groups.setdefault(key, []).append(row)
    starts, ends, runs = (numbers[field] for field in ("start", "end", "run"))
    for group in groups.values():
        if len(group) == 1:
            continue
        in_time = sorted(group, key=lambda row: (bool(np.isnan(starts[row])), starts[row]))
        gap = 1 if layout.is_cut else math.inf
        for parts in _chains(in_time, starts, ends, gap) if is_any else [in_time]:
            row, first, last = min(parts), parts[0], parts[-1]
            # A cut between two days leaves out one second.
            run = ends[last] - starts[first] if layout.is_cut and len(parts) > 1 else runs[parts].sum()
            joined = {"start": starts[first], "end": ends[last], "run": run}
            joined |= {field: numbers[field][last] for field in ("limit", "cancelled")}
            joined |= {field: numbers[field][parts].max() for field in ("size", "parts", "moved")}
            largest = max(parts, key=lambda part: numbers["size"][part])
            joined |= {field: numbers[field][largest] for field in _OF_THE_LARGEST if field in numbers}
            for field, value in joined.items():
                numbers[field][row] = value
            left[[part for part in parts if part != row]] = False
    return left, {reason: int((~left).sum())}


def _chains(in_time: Sequence[int], starts: FloatArray, ends: FloatArray, gap: float) -> list[list[int]]:
    """Return rows of one job as lists of those in which each begins at most so long after the one before."""
    runs: list[list[int]] = []
    for row in in_time:
        # A file of several exports may have each line twice: then there are two such lists.
        before = next((run for run in runs if 0 <= starts[row] - ends[run[-1]] <= gap), None)
        if before is None:
            runs.append([row])
        else:
            before.append(row)
    return runs
