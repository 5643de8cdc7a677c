"""The process of a cell: solvers are made, readied and called, and what they return is sent out as data."""

from __future__ import annotations

import contextlib
import os
import pickle
import queue
import sys
import tempfile
import threading
from typing import TYPE_CHECKING, NamedTuple

from allocsolve import registry
from allocsolve.bench.runs.reply import Call, call_solver, encoded_reply, traceback_text
from allocsolve.bench.runs.tasks import check_code
from allocsolve.bench.runs.watch import COMPILING, DONE, POLICY, READY, REPLY, listen, tell

if TYPE_CHECKING:
    from typing import BinaryIO

    from allocsolve.families import AnySolver
    from allocsolve.model import Budget, Problem


class Order(NamedTuple):
    """What is to be called: a problem goes only once to a process that gets several orders on it."""

    solver: str  #: its name
    objective: str
    budget: Budget
    code: str  #: of the solver, see `registry.code_of`
    digest: str  #: of the problem
    problem: bytes | None  #: pickled; None for that of the order before
    folder: str  #: where plug-ins are looked for first


class _Worker:
    """What a process keeps between its orders: the last problem, and the solvers that it has made."""

    def __init__(self) -> None:
        self._pickled = b""
        self.problem: Problem
        self._solvers: dict[tuple[str, type, str], AnySolver] = {}

    def take(self, order: Order) -> None:
        """Take the problem and the folder of an order."""
        if order.folder not in sys.path:
            sys.path.insert(0, order.folder)
        if order.problem is not None:
            self._pickled = order.problem
            self.restore()

    def restore(self) -> None:
        """Have the problem as it came."""
        self.problem = pickle.loads(self._pickled)  # noqa: S301 - from the owner

    def solver(self, order: Order) -> AnySolver:
        """Return the solver of an order."""
        what = order.solver, type(self.problem), order.objective
        if what not in self._solvers:
            solver = registry.make_solver(order.solver, self.problem, order.objective)
            check_code(solver, order.solver, order.code)
            self._solvers[what] = solver
        return self._solvers[what]


def main() -> None:
    """Carry out the orders that come in on stdin until it ends; then so does this process, at once."""
    inward, outward = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    with tempfile.TemporaryFile() as scratch, open(os.devnull, "rb") as nothing:  # noqa: PTH123 - the null device is no path to keep
        os.dup2(nothing.fileno(), 0)
        os.dup2(scratch.fileno(), 1)
    orders: queue.SimpleQueue[Order] = queue.SimpleQueue()

    def receive() -> None:
        with contextlib.suppress(BaseException):
            listen(inward, orders.put)
        os._exit(0)

    # A thread of its own takes the orders: it sees the end of the runner even if a solver hangs.
    threading.Thread(target=receive, daemon=True).start()
    worker = _Worker()
    while True:
        order = orders.get()
        worker.take(order)
        call = _carried_out(order, worker, outward)
        tell(outward, REPLY, encoded_reply(worker.problem, order.digest, call))
        if call.changed:
            worker.restore()


def _carried_out(order: Order, worker: _Worker, outward: BinaryIO) -> Call:
    try:
        solver = worker.solver(order)
        registry.ready(solver, worker.problem, announce=_Announcement(outward))
    except BaseException as error:  # noqa: BLE001 - this process is there for nothing else
        tell(outward, READY + DONE)
        worker.restore()  # whatever the solver has done to it
        return Call(None, 0.0, error, traceback=traceback_text(error))
    begun = POLICY if getattr(solver, "runs_to_end", False) else READY
    return call_solver(
        solver,
        worker.problem,
        order.budget,
        printed=_printed,
        begun=lambda: tell(outward, begun),
        done=lambda: tell(outward, DONE),
    )


class _Announcement:
    """Sends out how far kernels are that are being compiled."""

    def __init__(self, outward: BinaryIO) -> None:
        self._outward = outward

    def __call__(self, line: str) -> None:
        """Do nothing: what follows says the same."""

    def follow(self, line: str) -> None:
        """Send a line."""
        tell(self._outward, COMPILING, line.encode())


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
