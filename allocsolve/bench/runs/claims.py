"""Claims: several runners share one file of records, and each run is made by one of them.

Before a runner makes a run, it writes down that it does, and until when nobody else may; while it lives, it
moves that time on. A claim is void when its time is over, or at once if it is that of a process of this
machine that lives no more. Two runners that make the same run in spite of all this cost time, but no row:
the first one is kept.
"""

from __future__ import annotations

import itertools
import json
import os
import platform
import sqlite3
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from allocsolve.bench.runs.records import RecordKey

__all__ = ["Claims", "task_text"]

#: How long a claim holds that nobody renews, in seconds; the clocks of the machines may differ by less.
LEASE_S: Final = 90.0
#: How often claims are renewed, in seconds.
_BEAT_S: Final = 15.0
#: Processes that were started within that time of each other, with the same number, are the same one.
_SAME_START_S: Final = 5.0

_numbers = itertools.count()


class Claims:
    """The claims of one runner on one file.

    Parameters
    ----------
    base
        The open file; claims are made in transactions of whoever has opened it.
    source
        The file: claims are renewed by a thread with a connection of its own.
    """

    def __init__(self, base: sqlite3.Connection, source: str) -> None:
        import psutil  # noqa: PLC0415 - only runners need it

        self._base, self._source = base, source
        self._host = _host()
        started = psutil.Process().create_time()
        self._runner = json.dumps([self._host, os.getpid(), started, next(_numbers)])
        self._over = threading.Event()
        self._heart = threading.Thread(target=self._beat, daemon=True)
        self._heart.start()

    def make(self, task: str) -> bool:
        """Claim a task, inside a transaction; False if another runner has it."""
        row = self._base.execute("SELECT runner, until FROM claims WHERE task = ?", (task,)).fetchone()
        if row is not None and row[0] != self._runner and self._holds(*row):
            return False
        claim = task, self._runner, time.time() + LEASE_S
        self._base.execute("INSERT OR REPLACE INTO claims VALUES (?, ?, ?)", claim)
        return True

    def holders(self, tasks: Iterable[str]) -> set[str]:
        """Return who has claimed tasks, as people call a process."""
        wanted = {*tasks}
        rows = self._base.execute("SELECT task, runner FROM claims").fetchall()
        return {_shown(runner) for task, runner in rows if task in wanted}

    def release(self) -> None:
        """Give back what is claimed; the claims are of no use any more."""
        self._over.set()
        self._heart.join()
        with suppress(sqlite3.Error):  # then their time will be over some day
            self._base.execute("DELETE FROM claims WHERE runner = ?", (self._runner,))

    def _holds(self, runner: object, until: object) -> bool:
        """Tell whether a claim is one that its maker may still keep."""
        if not isinstance(until, float) or not 0 < until - time.time() < 2 * LEASE_S:
            return False
        host, pid, started = _parsed(runner)
        return host != self._host or _lives(pid, started)

    def _beat(self) -> None:
        base: sqlite3.Connection | None = None
        while not self._over.wait(_BEAT_S):
            with suppress(sqlite3.Error):  # the next beat comes long before the time is over
                base = base or sqlite3.connect(self._source, isolation_level=None, timeout=_BEAT_S)
                until = time.time() + LEASE_S
                base.execute("UPDATE claims SET until = ? WHERE runner = ?", (until, self._runner))
        if base is not None:
            base.close()


def task_text(key: RecordKey, attempt: int) -> str:
    """Return what a task is called in the table of claims."""
    return json.dumps([*key, attempt])


def _host() -> str:
    """Return what tells this machine, and this space of process numbers, from others."""
    space = 0
    with suppress(OSError):
        space = os.stat("/proc/self/ns/pid").st_ino  # noqa: PTH116 - no path that anybody keeps
    return f"{platform.node()}/{space}"


def _parsed(runner: object) -> tuple[str, int, float]:
    """Return host, process and its start; of what is no runner, those of none."""
    with suppress(ValueError, TypeError, RecursionError):
        host, pid, started, _ = json.loads(str(runner))
        return str(host), int(pid), float(started)
    return "", 0, 0.0


def _shown(runner: object) -> str:
    host, pid, _ = _parsed(runner)
    return f"process {pid} on {host.rsplit('/', 1)[0]}"


def _lives(pid: int, started: float) -> bool:
    import psutil  # noqa: PLC0415 - only runners need it

    try:
        process = psutil.Process(pid)
        dead = process.status() == psutil.STATUS_ZOMBIE
        return not dead and abs(process.create_time() - started) < _SAME_START_S
    except (psutil.NoSuchProcess, ValueError, OverflowError):
        return False
    except psutil.Error:  # it lives, but may not be asked
        return True
