"""Windows in which a part of a machine is closed, as texts: ``2022-11-08T08:00+8h,nodes=50``.

A window is ``START+DURATION`` or ``START/END``, and behind it, separated by commas, how much is closed of
each resource; everything if nothing is said. Points in time are ISO texts, or plain seconds as the log counts
them. ``/END`` begins with the log: so a machine is written that grows.
"""

from __future__ import annotations

import math
import re
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from allocsolve.errors import InvalidOption, InvalidProblem
from allocsolve.instances.formats.logs.times import Clock, zone
from allocsolve.model import MAX_INTEGER, ClosedWindow
from allocsolve.model.packed_machine import packed_machine

if TYPE_CHECKING:
    from allocsolve.instances.formats.logs.log import JobLog
    from allocsolve.model import WorkloadProblem, WorkloadSchedule

_DURATION: Final = re.compile(r"(?:\d{1,9}(?:\.\d{1,9})?[a-z]+)+", re.ASCII)
_PART: Final = re.compile(r"(\d+(?:\.\d+)?)([a-z]+)", re.ASCII)
_UNITS: Final = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86_400, "w": 604_800}
_AMOUNT: Final = re.compile(r"\d{1,15}", re.ASCII)
_NUMBER: Final = re.compile(r"\d{1,15}(?:\.\d{1,9})?", re.ASCII)
#: Of messages.
_FORM: Final = "such as 2022-11-08T08:00+8h, START/END or 86400+8h,nodes=50"


class TimeOrigin(NamedTuple):
    """How points in time become seconds of a workload that is made of a log; see `time_origin`."""

    epoch: float | None = None  #: Unix time of second 0 of the log; None if it does not tell that
    zero: float = 0.0  #: the second of the log that is second 0 of the workload
    timezone: str = "UTC"  #: of points in time without one

    def seconds(self, unix: float) -> float:
        """Return the second of the workload that a Unix time is; below 0 before it begins."""
        return unix - (self.epoch or 0.0) - self.zero


def time_origin(
    log: JobLog, *, timezone: str = "UTC", from_job: int = 1, origin: str = "first"
) -> TimeOrigin:
    """Return how points in time become seconds of the workload that `log_problem` makes of a log.

    Parameters
    ----------
    timezone
        Of points in time without one, as when the log was read.
    from_job, origin
        As `log_problem` takes them.
    """
    zero = float(log.submits[from_job - 1]) if origin == "first" and len(log.submits) >= from_job else 0.0
    return TimeOrigin(log.epoch, zero, timezone)


def closed_window(text: str, origin: TimeOrigin | None = None) -> ClosedWindow:
    """Read a window of time in which a part of the machine is closed.

    Parameters
    ----------
    text
        ``START+DURATION`` or ``START/END``, then perhaps ``,nodes=50,gpus=16``. START and END are ISO texts
        or plain seconds as the log counts them; a START that is left out is second 0 of the workload.
        A duration is a number of ``s``, ``m``, ``h``, ``d`` or ``w``, or several such as ``1d12h``.
    origin
        What second 0 of the workload is. Without it only plain seconds are read, those of the workload.

    Returns
    -------
    ClosedWindow
        In seconds of the workload. What lies before second 0 is cut off.

    Raises
    ------
    InvalidOption
        If it is no such text, ends before it begins or before second 0, or names a date although nothing
        tells which date second 0 is.

    Examples
    --------
    >>> closed_window("86400+8h,nodes=50")
    ClosedWindow(start=86400.0, end=115200.0, amounts=(('nodes', 50),))
    >>> closed_window("2022-11-08T08:00/2022-11-08T09:00", TimeOrigin(epoch=1667865600))
    ClosedWindow(start=28800.0, end=32400.0, amounts=())
    """
    origin = origin or TimeOrigin()
    try:
        return _window(text, origin)
    except (ValueError, InvalidProblem) as fault:
        shown = text if len(text) <= 60 else f"{text[:57]}..."
        raise InvalidOption(f"closed window {shown!r}: {fault}") from None


def _window(text: str, origin: TimeOrigin) -> ClosedWindow:
    span, *listed = (part.strip() for part in text.split(","))
    clock = Clock(zone(origin.timezone), knows_zero=True)
    if "/" in span:
        first, _, last = span.partition("/")
        start = _seconds(first, origin, clock) if first.strip() else 0.0
        end = _seconds(last, origin, clock)
        if end <= start:  # clocks that were set back in between
            end = _seconds(last, origin, clock, later=True)
    else:
        *firsts, lasts = span.split("+")  # that of a zone, too
        first = "+".join(firsts)
        if not first:
            raise ValueError(f"is no window {_FORM}")
        start = _seconds(first, origin, clock)
        end = start + _duration(lasts)
    if end <= start:
        raise ValueError("it ends before it begins")
    if end <= 0:
        raise ValueError(f"it ends before the first submission, {_first_submission(origin)}")
    return ClosedWindow(max(start, 0.0), end, _amounts(listed))


def _first_submission(origin: TimeOrigin) -> str:
    """Return when second 0 of a workload is: a date if the log has dates."""
    with suppress(OverflowError, ValueError, OSError):  # beyond what calendars know
        if origin.epoch is not None:
            moment = datetime.fromtimestamp(origin.epoch + origin.zero, zone(origin.timezone))
            return f"{moment:%Y-%m-%dT%H:%M:%S}"
    return f"second {origin.zero:.10g} of the log"


def _seconds(text: str, origin: TimeOrigin, clock: Clock, *, later: bool = False) -> float:
    text = text.strip()
    if _NUMBER.fullmatch(text):
        return float(text) - origin.zero
    unix = clock.read(text, later=later)
    if unix is None:
        raise ValueError(f"{text[:30]!r} is no time")
    if origin.epoch is None:
        msg = f"nothing tells on which date the log begins: say seconds as it has them, not {text[:30]!r}"
        raise ValueError(msg)
    return origin.seconds(unix)


def _duration(text: str) -> float:
    if not _DURATION.fullmatch(text):
        raise ValueError(f"{text[:30]!r} is no duration such as 8h or 1d12h")
    total = 0.0
    for number, unit in _PART.findall(text):
        if unit not in _UNITS:
            raise ValueError(f"{text[:30]!r} is no duration: units are {', '.join(_UNITS)}")
        total += float(number) * _UNITS[unit]
    if not 0 < total <= MAX_INTEGER or not math.isfinite(total):
        raise ValueError(f"the duration {text[:30]!r} is not above 0 and at most 2^53 s")
    return total


def _amounts(listed: list[str]) -> dict[str, int]:
    amounts: dict[str, int] = {}
    for part in listed:
        name, equals, number = (piece.strip() for piece in part.partition("="))
        if not (name and equals and _AMOUNT.fullmatch(number)):
            raise ValueError(f"{part[:30]!r} is no amount such as nodes=50")
        if name in amounts:
            raise ValueError(f"{name} stands there twice")
        amounts[name] = int(number)
    return amounts


def ran_while_closed(problem: WorkloadProblem, schedule: WorkloadSchedule) -> int:
    """Return how many jobs of a schedule run when more is in use than closed windows leave.

    Where nodes are places, they are those that run on a closed node; 0 if the schedule names no nodes. A job
    that only meets such a time in a resource which it does not need is not one of them. A schedule that a log
    records has some if a part was not closed when it is said to be. O(resources x (n log n)) for n jobs and
    windows.

    Parameters
    ----------
    schedule
        Of rigid jobs; those without a piece do not run.
    """
    if not problem.closed:
        return 0
    if problem.node_types:
        return _on_closed_nodes(problem, schedule)
    machine = packed_machine(problem)
    job = np.repeat(np.arange(len(problem.jobs)), np.diff(schedule.offsets))
    owner = np.repeat(np.arange(len(problem.jobs)), np.diff(machine.offsets))
    whole = [problem.num_nodes, *(number for _, number in problem.resources)]
    met = np.zeros(len(problem.jobs), dtype=bool)
    for kind, there in enumerate(whole):
        needs = np.zeros(len(problem.jobs), dtype=np.int64)
        mine = machine.resource == kind
        needs[owner[mine]] = machine.amount[mine]
        held = needs[job] > 0
        starts, ends, amounts = schedule.starts[held], schedule.ends[held], needs[job[held]]
        times = np.unique(np.concatenate([starts, ends, machine.times]))
        change = np.zeros(len(times), dtype=np.int64)
        np.add.at(change, np.searchsorted(times, starts), amounts)
        np.subtract.at(change, np.searchsorted(times, ends), amounts)
        left = machine.capacity[np.searchsorted(machine.times, times, side="right") - 1, kind]
        over = (np.cumsum(change) > left) & (left < there)
        before = np.concatenate([[0], np.cumsum(over)])  # spans of too much use that begin before a time
        spans = before[np.searchsorted(times, ends)] - before[np.searchsorted(times, starts)]
        met[job[held][spans > 0]] = True
    return int(met.sum())


def _on_closed_nodes(problem: WorkloadProblem, schedule: WorkloadSchedule) -> int:
    """Return how many jobs are on a node while it is closed."""
    if schedule.place_offsets is None or schedule.place_nodes is None:
        return 0
    job = np.repeat(np.arange(len(problem.jobs)), np.diff(schedule.offsets))
    piece = np.repeat(np.arange(len(job)), np.diff(schedule.place_offsets))
    starts, ends, met = schedule.starts[piece], schedule.ends[piece], np.zeros(len(piece), dtype=bool)
    for window in problem.closed:
        here = np.isin(schedule.place_nodes, window.node_ids) if window.node_ids else True
        met |= here & (starts < window.end) & (ends > window.start)
    return len(np.unique(job[piece[met]]))
