"""How long a process takes, and how much of that is the machine's doing.

A busy machine lets a solver wait for a processor, and its watcher, too. Linux says how long each thread has
waited; where nothing does, a fixed time is allowed instead.
"""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from allocsolve.bench.runs.calls import clock
from allocsolve.bench.runs.processes import family_of_processes

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["GRACE_S", "LOOK_S", "Timing", "Watch", "kept_waiting"]

#: How often a process is looked at, in seconds.
LOOK_S: Final = 0.05
#: Of each thread by process and id: seconds on a processor, and seconds in the queue for one.
Schedule: TypeAlias = "Mapping[str, tuple[float, float]]"

_PROC: Final = Path("/proc")
_MEASURED: Final = (_PROC / "self/schedstat").exists()
#: What is allowed beyond a limit besides what is measured: to see the clock, to hand over, to be looked at.
GRACE_S: Final = 1.0 if _MEASURED else 5.0
#: How far two clocks may be apart besides what is measured.
_APART_S: Final = 0.1 if _MEASURED else 5.0


class Timing(NamedTuple):
    """A time measured from outside: the process is seen late, and may have been kept waiting in between."""

    seconds: float
    apart: float  #: seconds by which the process itself may have measured more or less


class Watch:
    """Of a process, a limit on what it does now; see `begin`."""

    def __init__(self, pid: int, limit: float) -> None:
        self._pid = pid
        self._seen = clock()
        #: Seconds by which the last look came too late, and the one before it.
        self._too_late = self._too_late_before = 0.0
        self.begin(limit)

    def begin(self, limit: float, beyond: float = 0.0, workers: int = 1) -> None:
        """Start the clock, at the last look.

        Parameters
        ----------
        limit
            Seconds that the process may take.
        beyond
            Seconds that it may take longer, besides what the machine keeps it waiting after the limit.
        workers
            Processors that it may use.
        """
        self._limit, self._beyond, self._workers = limit, beyond, workers
        self._start = self._seen
        #: Seconds by which looks came too late, all and those after the limit.
        # What is seen now may have come while the look before was late: the pipe is read first.
        self._late, self._late_after = self._too_late_before + self._too_late, 0.0
        self._main_wait = _main_wait(self._pid)
        #: When the limit had passed, and the schedule then.
        self._passed: tuple[float, Schedule] | None = None

    @property
    def elapsed(self) -> float:
        """Seconds from the begin to the last look."""
        return self._seen - self._start

    def look(self) -> None:
        """Note the time."""
        before, self._seen = self._seen, clock()
        end = self._start + self._limit
        self._too_late_before, self._too_late = self._too_late, max(0.0, self._seen - before - LOOK_S)
        self._late += self._too_late
        self._late_after += max(0.0, self._seen - max(before, end) - LOOK_S)
        if self._seen > end and self._passed is None:
            self._passed = self._seen, _schedule(self._pid)

    @property
    def overdue(self) -> bool:
        """Whether, at the last look, the process was over its limit by more than the machine's doing."""
        over = self._seen - self._start - self._limit - self._beyond - self._late_after
        return over > 0 and over > self._waited()

    def _waited(self) -> float:
        assert self._passed is not None, "the limit has passed"
        moment, before = self._passed
        return kept_waiting(before, _schedule(self._pid), self._seen - moment, self._workers)

    def timing(self) -> Timing:
        """Return the time from the begin to the last look, and how exact it is."""
        return Timing(self.elapsed, _APART_S + self._late + _main_wait(self._pid) - self._main_wait)


def kept_waiting(before: Schedule, after: Schedule, seconds: float, workers: int) -> float:
    """Return for how many seconds a machine kept a process waiting that may use some processors.

    Parameters
    ----------
    before, after
        Of all its threads, at the begin and at the end.
    seconds
        From begin to end.
    workers
        Processors that it may use: threads beyond that wait for one another, not for the machine.
    """
    ran = waited = 0.0
    for thread, (running, queueing) in after.items():
        ran_before, queued_before = before.get(thread, (0.0, 0.0))
        ran += max(0.0, running - ran_before)
        waited = max(waited, queueing - queued_before)
    return max(0.0, min(waited, seconds - ran / workers))


def _schedule(pid: int) -> Schedule:
    """Return the schedule of all threads of a process and of those that it has started."""
    schedule: dict[str, tuple[float, float]] = {}
    for one in family_of_processes(pid) if _MEASURED else ():
        for path in (_PROC / str(one) / "task").glob("*/schedstat"):
            with contextlib.suppress(OSError, ValueError):
                running, queueing, *_ = path.read_text().split()
                schedule[str(path)] = int(running) / 1e9, int(queueing) / 1e9
    return schedule


def _main_wait(pid: int) -> float:
    """Return for how many seconds the main thread of a process has waited so far; 0 if nothing says so."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        return int((_PROC / str(pid) / "schedstat").read_text().split()[1]) / 1e9
    return 0.0
