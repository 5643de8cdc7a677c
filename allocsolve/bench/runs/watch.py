"""How long a process takes, and for how much of that a busy machine is to blame.

A busy machine lets a solver wait for a processor, and its watcher, too. Linux says how long each thread has
waited; where nothing does, a fixed time is allowed instead.

Owner and process talk through pipes. Orders go in, pickled by the owner, who is trusted. What comes out is
never unpickled: marks of one byte in a fixed order, and a reply that is text.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path
from pickle import HIGHEST_PROTOCOL, dumps, loads
from typing import IO, TYPE_CHECKING, Any, BinaryIO, Final, NamedTuple, TypeAlias

from allocsolve.errors import FormatError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

#: Taken before any solver is loaded: one that puts another function in its place does not stop this clock.
clock: Final = time.perf_counter


def start(function: str, stderr: IO[bytes]) -> subprocess.Popen[bytes]:
    """Start a process that calls a function, with pipes to it.

    The function is named as ``package.module:function``.
    """
    module, _, name = function.partition(":")
    return subprocess.Popen(  # noqa: S603 - this interpreter, and a function of this package
        [sys.executable, "-c", f"from {module} import {name}; {name}()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=stderr,
        bufsize=0,
        start_new_session=True,  # Ctrl-C is for the runner: it knows what is to be kept
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )


def kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and all that it has started, as far as that can be known."""
    import psutil  # noqa: PLC0415 - loaded only in processes that start others

    if process.poll() is None:
        for pid in family_of_processes(process.pid):
            with contextlib.suppress(psutil.Error):
                psutil.Process(pid).kill()
    with contextlib.suppress(OSError):  # those whose parents have died are in its group
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def exit_reason(process: subprocess.Popen[bytes], stderr: IO[bytes]) -> str:
    """Say how a process ended, with the last line that it wrote to stderr."""
    code = process.poll()
    cause = "it closed its end" if code is None else cause_of(code)
    tail = _stderr_tail(stderr)
    return f"{cause}; {tail}" if tail else cause


def cause_of(code: int) -> str:
    """Return in words how a process ended whose exit status, or signal if it is negative, is given."""
    with contextlib.suppress(ValueError):
        return signal.Signals(-code).name
    return f"exit status {code}"


def _stderr_tail(stderr: IO[bytes]) -> str:
    """Return the last line that a process has written to stderr, at most 200 characters of it."""
    stderr.seek(max(0, stderr.seek(0, os.SEEK_END) - 2000))
    lines = [line for line in stderr.read().decode(errors="replace").splitlines() if line.strip()]
    return lines[-1].strip()[:200] if lines else ""


def family_of_processes(pid: int) -> Iterable[int]:
    """Return a process and all that it has started, by id."""
    import psutil  # noqa: PLC0415 - loaded only in processes that start others

    family = [pid]
    with contextlib.suppress(psutil.Error):
        family += [child.pid for child in psutil.Process(pid).children(recursive=True)]
    return family


def held_mb(pid: int) -> float:
    """Return the memory of a process and of those that it has started, in MB."""
    import psutil  # noqa: PLC0415 - loaded only in processes that start others

    held = 0
    for process in family_of_processes(pid):
        with contextlib.suppress(psutil.Error):
            held += psutil.Process(process).memory_info().rss
    return held / 1e6


#: How often a process is looked at, in seconds.
LOOK_S: Final = 0.05
#: Of each thread by process and id: seconds on a processor, and seconds in the queue for one.
Schedule: TypeAlias = "Mapping[str, tuple[float, float]]"

_PROC: Final = Path("/proc")
_MEASURED: Final = (_PROC / "self/schedstat").exists()
#: Seconds beyond a limit that are always allowed: to read the clock, to hand over, to be looked at.
GRACE_S: Final = 1.0 if _MEASURED else 5.0
#: The most that a busy machine can lengthen a time: what takes so many times as long is held against it.
WALL_FACTOR: Final = 20.0
#: Seconds by which two clocks may differ besides what is measured.
_APART_S: Final = 0.1 if _MEASURED else 5.0


class Timing(NamedTuple):
    """A time measured from outside: the process is seen late, and may have been kept waiting in between."""

    seconds: float
    apart: float  #: seconds by which the process itself may have measured more or less


class Watch:
    """Of a process, a limit on what it does now; see `begin`.

    *Guarantee*: a process that does not end is overdue at the latest when looks have watched it for `beyond`
    since the limit, and it has run for `beyond` on each of its processors meanwhile; whatever it runs, when
    looks have watched it for `WALL_FACTOR` + 1 times the limit and `beyond` together. From one look to the
    next, no more than `LOOK_S` is watched: while the watcher is stopped, no time passes.
    """

    def __init__(self, pid: int, limit: float) -> None:
        self._pid = pid
        self._seen = clock()
        #: Seconds by which the last look came too late, and the one before it.
        self._too_late = self._too_late_before = 0.0
        self.begin(limit)

    def begin(self, limit: float, beyond: float = 0.0, workers: int = 1) -> None:
        """Start the clock, at the last look.

        The process may take `limit` seconds, and `beyond` more besides what the machine keeps it waiting
        after the limit, on so many processors.
        """
        self._limit, self._beyond, self._workers = limit, beyond, workers
        self._start = self._seen
        #: Seconds by which looks came too late, all and those after the limit.
        # What is seen now may have come while the look before was late: the pipe is read first.
        self._late, self._late_after = self._too_late_before + self._too_late, 0.0
        self._main_wait = scheduled(self._pid)[1]
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
        if self._passed is None or over <= 0:
            return False
        moment, before = self._passed
        after = _schedule(self._pid)
        return (
            over > kept_waiting(before, after, self._seen - moment, self._workers)
            # On a busy machine both come late, the watcher and the process: partly at the same time.
            or seconds_run(before, after) > self._workers * self._beyond
            or over > WALL_FACTOR * (self._limit + self._beyond)
        )

    def timing(self) -> Timing:
        """Return the time from the begin to the last look, and how exact it is."""
        return Timing(self.elapsed, _APART_S + self._late + scheduled(self._pid)[1] - self._main_wait)


def kept_waiting(before: Schedule, after: Schedule, seconds: float, workers: int) -> float:
    """Return for how many seconds a machine kept a process waiting that may use some processors.

    The schedules are those of all its threads, at the begin and at the end, which lie so many seconds apart;
    threads beyond its `workers` wait for one another, not for the machine.
    """
    waited = 0.0
    for thread, (_, queueing) in after.items():
        waited = max(waited, queueing - before.get(thread, (0.0, 0.0))[1])
    return max(0.0, min(waited, seconds - seconds_run(before, after) / workers))


def seconds_run(before: Schedule, after: Schedule) -> float:
    """Return for how many seconds all threads of a process together have run between two schedules."""
    return sum(max(0.0, ran - before.get(thread, (0.0, 0.0))[0]) for thread, (ran, _) in after.items())


def _schedule(pid: int) -> Schedule:
    """Return the schedule of all threads of a process and of those that it has started."""
    schedule: dict[str, tuple[float, float]] = {}
    for process in family_of_processes(pid) if _MEASURED else ():
        for path in (_PROC / str(process) / "task").glob("*/schedstat"):
            with contextlib.suppress(OSError, ValueError):
                running, queueing, *_ = path.read_text().split()
                schedule[str(path)] = int(running) / 1e9, int(queueing) / 1e9
    return schedule


def scheduled(pid: int) -> tuple[float, float]:
    """Return for how many seconds the main thread of a process has run and waited; 0 if nothing says so."""
    with contextlib.suppress(OSError, ValueError):
        running, queueing, *_ = (_PROC / str(pid) / "schedstat").read_text().split()
        return int(running) / 1e9, int(queueing) / 1e9
    return 0.0, 0.0


#: What a process says of an order, in this order: kernels are being compiled (any number of times; a line
#: that says which follows, after its length); the clock starts, of a solver or of a policy; the solver has
#: returned; a reply follows likewise.
COMPILING: Final = b"c"
READY: Final = b"r"
POLICY: Final = b"p"
DONE: Final = b"d"
REPLY: Final = b"a"

_LENGTH: Final = struct.Struct("<Q")
_AT_ONCE: Final = 1 << 20


class Channel:
    """The owner's end: nothing that the process does or leaves undone makes the owner wait."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None, "it is a pipe"
        assert process.stdout is not None, "it is a pipe"
        self._inward, self._outward = process.stdin.fileno(), process.stdout.fileno()
        os.set_blocking(self._inward, False)
        self._poll = select.poll()
        self._poll.register(self._outward, select.POLLIN)
        self._unsent = memoryview(b"")
        self._received = bytearray()
        self.ended = False  #: whether the process has closed its end

    def send(self, data: bytes) -> None:
        """Have something sent by the following calls of `exchange`."""
        self._unsent = memoryview(data)
        self._poll.register(self._inward, select.POLLOUT)

    def exchange(self, seconds: float) -> None:
        """Send and receive what goes; wait for that at most so long."""
        for descriptor, event in self._poll.poll(1000 * seconds):
            if descriptor == self._outward:
                data = os.read(descriptor, _AT_ONCE)
                self._received += data
                self.ended = not data
            elif event & select.POLLOUT:
                self._push()
            else:  # nobody reads any more, which the end of the replies will say
                self._poll.unregister(descriptor)

    def _push(self) -> None:
        try:
            self._unsent = self._unsent[os.write(self._inward, self._unsent[:_AT_ONCE]) :]
        except BlockingIOError:
            return
        except OSError:
            self._unsent = memoryview(b"")
        if not self._unsent:
            self._poll.unregister(self._inward)

    @property
    def silent(self) -> bool:
        """Whether everything that has come was taken."""
        return not self._received

    def message(self, largest: int) -> tuple[bytes, bytes] | None:
        """Take the next mark, with the line or reply that follows it; None as long as it is not complete.

        Raises `FormatError` if a reply is announced with more bytes than `largest`.
        """
        mark = bytes(self._received[:1])
        end = begin = 1
        if mark in (COMPILING, REPLY):
            begin += _LENGTH.size
            if len(self._received) < begin:
                return None
            length = _LENGTH.unpack_from(self._received, 1)[0]
            if length > largest:
                raise FormatError("reply", [f"has {length} bytes, more than {largest}"])
            end = begin + length
        if len(self._received) < end:
            return None
        data = bytes(self._received[begin:end])
        del self._received[:end]
        return mark, data


def packed(order: object) -> bytes:
    """Return an order as it is sent."""
    data = dumps(order, HIGHEST_PROTOCOL)
    return _LENGTH.pack(len(data)) + data


def listen(pipe: BinaryIO, take: Callable[[Any], None]) -> None:
    """Pass on orders, in the process, until the pipe ends or breaks."""
    while len(head := pipe.read(_LENGTH.size)) == _LENGTH.size:
        take(loads(pipe.read(_LENGTH.unpack(head)[0])))  # noqa: S301 - from the owner


def tell(pipe: BinaryIO, mark: bytes, reply: bytes | None = None) -> None:
    """Say something of an order, in the process: marks, of which the last may have a line or reply."""
    pipe.write(mark if reply is None else mark + _LENGTH.pack(len(reply)) + reply)
    pipe.flush()
