"""The rows of a table of jobs: cells under column names become numbers, or a fault that names its place."""

from __future__ import annotations

import math
import re
from array import array
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from allocsolve.errors import FormatError
from allocsolve.instances.formats.log_lines import MAX_JOBS, Faults, plain_name
from allocsolve.instances.formats.log_times import duration, time_limit
from allocsolve.model import MAX_INTEGER

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from allocsolve.instances.formats.log_lines import LogTable
    from allocsolve.instances.formats.log_times import Clock
    from allocsolve.model import FloatArray

__all__ = ["Columns", "JobRows", "columns_of"]

#: What is kept of a job, a number each; 1 and 0 for yes and no.
NUMBERS: Final = (
    *("submit", "start", "end", "run", "limit", "size"),
    "processors",  # 0 if unknown, or if they are the size
    "cancelled",
    "resizing",
    "requested",  # whether the size is the requested one
    "moved",  # whether a local time is the later of two equal ones
)
_SIZE: Final = re.compile(r"(\d{1,15})(?:\.0{1,9})?", re.ASCII)
_NO_SIZE: Final = frozenset({"", "unknown", "none", "nan", "null", "-1"})
#: The beginnings of states of jobs that have not ended.
_UNENDED: Final = ("RUNNING", "PENDING")


class Columns(NamedTuple):
    """Where the columns of a format are in a file."""

    at: dict[str, int]  #: places by field, of those that are there
    sizes: tuple[int, ...]  #: columns that tell the size, the first known one is taken
    requested: frozenset[int]  #: those of them that tell the requested one
    processors: tuple[int, ...]  #: where sizes are nodes
    unit: str


def columns_of(table: LogTable, names: Sequence[str], unit: str | None, source: str) -> Columns:
    """Find the columns of a format among those of a file.

    Parameters
    ----------
    table
        The format.
    names
        Names of the columns of the file.
    unit
        What sizes shall count; by default nodes if there is such a column.
    source
        What messages call the file.

    Raises
    ------
    FormatError
        If a column is missing without which there are no jobs, or stands twice.
    """
    place: dict[str, list[int]] = {}
    for idx, name in enumerate(names):
        place.setdefault(plain_name(name), []).append(idx)
    found = {
        field: [place[key] for key in map(plain_name, choices) if key in place]
        for field, choices in table.columns.items()
    }
    at = {field: places[0][0] for field, places in found.items() if places}
    sizes = {
        one: [places[0] for field in (one, f"requested_{one}") for places in found.get(field, ())]
        for one in ("nodes", "processors")
    }
    unit = unit or ("nodes" if sizes["nodes"] or "processors" not in table.columns else "processors")
    missing = [f"no column {table.columns[field][0]}" for field in ("id", "submit") if field not in at]
    if "run" not in at and not {"start", "end"} <= at.keys():
        span = " and ".join(table.columns[field][0] for field in ("start", "end"))
        missing.append(f"neither a column {table.columns['run'][0]} nor both {span}")
    if not sizes[unit]:
        missing.append(f"no column {table.columns.get(unit, (unit,))[0]}")
    if missing:
        shown = ", ".join(name.strip()[:20] for name in names[:30])
        raise FormatError(source, [f"{', '.join(missing)}; its columns are {shown}"])
    used = {idx for places in found.values() for one in places[:1] for idx in one}
    twice = [
        names[places[0]].strip()[:20] for places in place.values() if len(places) > 1 and {*places} <= used
    ]
    if twice:
        raise FormatError(source, [f"the column {name} stands twice" for name in twice])
    requested = {places[0] for places in found.get(f"requested_{unit}", ())}
    processors = sizes["processors"] if unit == "nodes" else []
    return Columns(at, tuple(sizes[unit]), frozenset(requested), tuple(processors), unit)


class JobRows:
    """Takes up rows of cells, each a job.

    Parameters
    ----------
    table
        The format.
    names
        Names of the columns of the file.
    unit
        See `columns_of`.
    times
        Reads points in time.
    source
        What messages call the file.
    place
        What messages call a row, such as ``line``.
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
    ) -> None:
        columns = columns_of(table, names, unit, source)
        self.unit = columns.unit
        self.size_column = names[columns.sizes[0]].strip()
        self.names: list[str] = []
        self.users: list[str | None] = []
        self.steps = 0
        self.faults = Faults(place)
        self._numbers = array("d")
        self._columns = columns
        self._titles = [name.strip()[:40] for name in names]
        self._times = times
        self._table = table
        self._source = source
        self._known_users: dict[str, str] = {}

    def numbers(self) -> dict[str, FloatArray]:
        """Return a column for each of `NUMBERS`, a row per job."""
        rows = np.frombuffer(self._numbers, dtype=np.float64).reshape(-1, len(NUMBERS))
        return dict(zip(NUMBERS, np.array(rows.T), strict=True))

    def add(self, number: int, cells: Sequence[str]) -> None:
        """Take up a row: a job, a step of one, or a fault.

        Raises
        ------
        FormatError
            If there are too many jobs.
        """
        try:
            self._add(cells)
        except ValueError as fault:
            self.faults.add(number, fault)
        if len(self.names) > MAX_JOBS:
            raise FormatError(self._source, [f"has more than {MAX_JOBS} jobs: cut it before"])

    def _add(self, cells: Sequence[str]) -> None:
        if len(cells) != len(self._titles):
            msg = f"{len(cells)} cells for {len(self._titles)} columns"
            raise ValueError(msg)
        name = self._text(cells, "id")
        if not name:
            raise self._fault("id", "is empty")
        if "." in name and self._table.has_steps:
            self.steps += 1
            return
        state = self._text(cells, "state").upper()
        submit = self._time(cells, "submit")
        start, end, run, moved = self._span(cells, is_running=state.startswith(_UNENDED))
        cancelled = state.startswith(self._table.cancelled)
        if end < start and not cancelled:
            what = f"{self._text(cells, 'end')[:30]!r} is before {self._text(cells, 'start')[:30]!r}"
            raise self._fault("end", what)
        limit = self._seconds(cells, "limit", time_limit if self._table.limit == "minutes" else duration)
        size, is_requested = self._size(cells, self._columns.sizes)
        processors = self._size(cells, self._columns.processors)[0]
        user = self._text(cells, "user")
        resizing = state.startswith("RESIZING")
        self._numbers.extend((submit, start, end, run, limit or math.nan, size))
        self._numbers.extend((processors, cancelled, resizing, is_requested, moved))
        self.names.append(name)
        self.users.append(self._known_users.setdefault(user, user) if user else None)

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
            times = (
                self._time(cells, "start", later=start_later),
                self._time(cells, "end", later=end_later),
            )
            if times != (start, end) and abs(times[1] - times[0] - run) < 1:
                return True, *times
        return False, start, end

    def _text(self, cells: Sequence[str], field: str) -> str:
        idx = self._columns.at.get(field)
        return "" if idx is None else cells[idx].strip()

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
            text = cells[idx].strip()
            if match := _SIZE.fullmatch(text):
                if size := int(match[1]):
                    return size, idx in self._columns.requested
            elif text.lower() not in _NO_SIZE:
                msg = f"{self._titles[idx]} {text[:20]!r} is no number of nodes or processors"
                raise ValueError(msg)
        return 0, False
