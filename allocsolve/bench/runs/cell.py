"""Cells: solvers run in a process of their own, so that whatever they do costs their own row only.

The process is kept between tasks. Whoever owns it watches the clock and the memory, and starts a new one when
it has to kill it. `multiprocessing` is of no use here: its processes may not have children of their own,
and workers of a cluster are such processes.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import queue
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from typing import IO, TYPE_CHECKING, Any, Final, NamedTuple

from allocsolve.bench.runs.execution import Outcome, execute, failed_outcome
from allocsolve.bench.runs.tasks import Task
from allocsolve.registry import announce_once, ready

if TYPE_CHECKING:
    from collections.abc import Callable

    from allocsolve.bench.runs.records import RecordKey
    from allocsolve.families import AnySolver
    from allocsolve.model import Problem

__all__ = ["Cell", "close_all", "live", "run_isolated"]

#: How long a solver may compile and load, in seconds: no part of its time limit.
WARM_UP_S: Final = 300.0
#: A time limit may be overrun by 10 % and this: what the contract of a solver allows, and a busy machine.
GRACE_S: Final = 5.0
#: How often the memory of a running solver is looked at, in seconds.
_LOOK_S: Final = 0.05

#: What a process says of a task besides its outcome: the clock starts, and kernels are being compiled.
_READY: Final = "ready"
_COMPILING: Final = "compiling"

_LENGTH: Final = struct.Struct("<Q")


class _Order(NamedTuple):
    """A task as it is sent: a problem goes only once to a process that gets several tasks on it."""

    suite: str
    solver: str
    key: RecordKey
    problem: bytes | None  #: pickled; None for that of the order before
    folder: str  #: where plug-ins are looked for first


def run_isolated(
    task: Task, memory_mb: float, folder: str, announce: Callable[[str], None] | None = None
) -> Outcome:
    """Execute a task in the cell of this thread.

    Parameters
    ----------
    task
        What is to be run.
    memory_mb
        What the process and those that it starts may hold, in MB.
    folder
        Where plug-ins are looked for first, as Python does with the folder of a script.
    announce
        Called with a line, once in this process, when kernels are being compiled for longer than a moment.
    """
    if not hasattr(_local, "cell"):
        _local.cell = Cell()
    cell: Cell = _local.cell
    return cell.run(task, memory_mb, folder, announce)


_local = threading.local()
#: All cells with a living process, for `close_all`.
_alive: weakref.WeakSet[Cell] = weakref.WeakSet()


def close_all() -> None:
    """Kill all cells of this process; their threads see their tasks fail."""
    for cell in tuple(_alive):
        cell.close()


class Cell:
    """A process that executes tasks, one at a time; it is started by the first and again after a death."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._replies: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._stderr: IO[bytes] | None = None
        #: Digest and name of the problem that the process has.
        self._sent = "", ""

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        """Kill the process, if there is one."""
        process, self._process = self._process, None
        _alive.discard(self)
        if process is not None:
            _kill(process)
        if self._stderr is not None:
            self._stderr.close()
            self._stderr = None

    def run(
        self, task: Task, memory_mb: float, folder: str, announce: Callable[[str], None] | None = None
    ) -> Outcome:
        """Execute a task; a solver that dies, hangs or takes too much memory is a failed row."""
        process = self._started()
        assert process.stdin is not None, "it is a pipe"
        identity = task.key.digest, task.problem.name
        problem = None if identity == self._sent else _pickled(task.problem)
        with contextlib.suppress(OSError):  # it has died since, which the end of its replies will say
            _send(process.stdin, _Order(task.suite, task.solver, task.key, problem, folder))
        self._sent = identity
        start, deadline, state = time.perf_counter(), WARM_UP_S, "not ready"
        while True:
            try:
                reply = self._replies.get(timeout=_LOOK_S)
            except queue.Empty:
                spent = time.perf_counter() - start
                fault = ""
                if spent > deadline:
                    fault = f"killed: {state} after {spent:.1f} s"
                elif (held := _held_mb(process)) > memory_mb:
                    fault = f"killed: held {held:.0f} MB, more than {memory_mb:.0f} MB"
                if fault:
                    self.close()
                    return failed_outcome(task, fault, spent)
                continue
            if isinstance(reply, Outcome):
                return reply
            if reply is None:  # the end of the pipe
                spent = time.perf_counter() - start
                return failed_outcome(task, self._obituary(process), spent)
            if reply == _COMPILING:
                announce_once(announce)
            else:
                start, deadline, state = (
                    time.perf_counter(),
                    1.1 * task.key.seconds + GRACE_S,
                    "still running",
                )

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is not None and self._process.poll() is None:
            return self._process
        self.close()
        self._sent = "", ""
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the cell
        self._process = process = subprocess.Popen(
            [sys.executable, "-c", "from allocsolve.bench.runs.cell import live; live()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            start_new_session=True,  # Ctrl-C is for the runner: it knows what is to be kept
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        assert process.stdout is not None, "it is a pipe"
        self._replies = queue.SimpleQueue()
        listen = threading.Thread(target=_listen, args=(process.stdout, self._replies.put), daemon=True)
        listen.start()
        _alive.add(self)
        return process

    def _obituary(self, process: subprocess.Popen[bytes]) -> str:
        """Say how the process ended, and its last words."""
        code = process.wait()
        cause = f"exit status {code}"
        if code < 0:
            with contextlib.suppress(ValueError):
                cause = signal.Signals(-code).name
        words = b""
        if self._stderr is not None:
            self._stderr.seek(0)
            words = self._stderr.read()[-2000:]
        lines = [line for line in words.decode(errors="replace").splitlines() if line.strip()]
        self.close()
        return f"the process of the solver died: {cause}" + (f"; {lines[-1].strip()[:200]}" if lines else "")


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and all that it has started."""
    import psutil  # noqa: PLC0415 - loaded only in processes that run cells

    with contextlib.suppress(psutil.Error):
        for child in psutil.Process(process.pid).children(recursive=True):
            with contextlib.suppress(psutil.Error):
                child.kill()
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        with contextlib.suppress(OSError):
            if pipe is not None:
                pipe.close()


def _held_mb(process: subprocess.Popen[bytes]) -> float:
    import psutil  # noqa: PLC0415 - loaded only in processes that run cells

    held = 0
    with contextlib.suppress(psutil.Error):
        family = psutil.Process(process.pid)
        held = family.memory_info().rss
        for child in family.children(recursive=True):
            with contextlib.suppress(psutil.Error):
                held += child.memory_info().rss
    return held / 1e6


def _pickled(thing: object) -> bytes:
    return pickle.dumps(thing, pickle.HIGHEST_PROTOCOL)


def _send(pipe: IO[bytes], message: object) -> None:
    data = _pickled(message)
    pipe.write(_LENGTH.pack(len(data)) + data)
    pipe.flush()


def _listen(pipe: IO[bytes], tell: Callable[[Any], None]) -> None:
    """Pass on messages until the pipe ends, which is passed on as None."""
    with contextlib.suppress(OSError, ValueError, EOFError, pickle.UnpicklingError):
        while len(head := pipe.read(_LENGTH.size)) == _LENGTH.size:
            tell(pickle.loads(pipe.read(_LENGTH.unpack(head)[0])))  # noqa: S301 - from our own process
    tell(None)


class _Inmate:
    """What a process keeps between its tasks: the last problem, and the solvers that it has made."""

    def __init__(self) -> None:
        self._pickled = b""
        self._problem: Problem
        self._solvers: dict[tuple[str, type, str], AnySolver] = {}

    def task(self, order: _Order) -> Task:
        """Return the task of an order."""
        if order.problem is not None:
            self._pickled = order.problem
            self.restore()
        return Task(order.suite, self._problem, order.solver, order.key)

    def restore(self) -> Problem:
        """Return the problem as it came."""
        problem: Problem = pickle.loads(self._pickled)  # noqa: S301 - from our own process
        self._problem = problem
        return problem

    def solver(self, task: Task) -> AnySolver:
        """Return the solver of a task."""
        what = task.solver, type(task.problem), task.key.objective
        if what not in self._solvers:
            self._solvers[what] = task.make_solver()
        return self._solvers[what]


def live() -> None:
    """Execute the tasks that come in on stdin, until it ends; then so does this process, whatever it does."""
    inward, outward = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    with tempfile.TemporaryFile() as scratch, open(os.devnull, "rb") as nothing:  # noqa: PTH123 - the null device is no path to keep
        os.dup2(nothing.fileno(), 0)
        os.dup2(scratch.fileno(), 1)
    orders: queue.SimpleQueue[_Order] = queue.SimpleQueue()

    def take(message: Any) -> None:  # noqa: ANN401 - an order, or None
        if message is None:
            os._exit(0)
        orders.put(message)

    # A thread of its own takes the orders: it sees the end of the runner even if a solver hangs.
    threading.Thread(target=_listen, args=(inward, take), daemon=True).start()
    inmate = _Inmate()
    while True:
        order = orders.get()
        if order.folder not in sys.path:
            sys.path.insert(0, order.folder)
        task = inmate.task(order)
        start = time.perf_counter()
        try:
            solver = inmate.solver(task)
            ready(solver, task.problem, announce=lambda _: _send(outward, _COMPILING))
            _send(outward, _READY)
            start = time.perf_counter()
            outcome = execute(task, solver, restore=inmate.restore, printed=_printed)
        except BaseException as error:  # noqa: BLE001 - this process is there for nothing else
            outcome = failed_outcome(task, f"{type(error).__name__}: {error}", time.perf_counter() - start)
            inmate.restore()  # whatever the solver has done to it
        _send(outward, outcome._replace(cause=None))


def _printed() -> str:
    """Return what was written to stdout since the last call, shortened."""
    sys.stdout.flush()
    if not os.lseek(1, 0, os.SEEK_CUR):
        return ""
    os.lseek(1, 0, os.SEEK_SET)
    text = os.read(1, 400).decode(errors="replace")
    os.lseek(1, 0, os.SEEK_SET)
    os.ftruncate(1, 0)
    return text
