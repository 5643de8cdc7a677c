"""The process of a cell: solvers are made, readied and called, and what they return is sent out as data.

A reply is a JSON object, which the owner of the process reads and has judged. Nothing in it is believed:
the answer goes through the decoder of its family, the claims through the checks of `Result`.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import math
import numbers
import os
import pickle
import queue
import sys
import tempfile
import threading
import traceback
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from allocsolve import registry
from allocsolve.bench.runs.tasks import check_code
from allocsolve.bench.runs.watch import COMPILING, DONE, POLICY, READY, REPLY, clock, listen, tell
from allocsolve.errors import FormatError, InvalidAnswer
from allocsolve.instances import digest, parse_solution, solution_document
from allocsolve.instances.formats import Document, show
from allocsolve.instances.formats.schema import cells, choice, listing, read_fields, record, text
from allocsolve.judge import check_types
from allocsolve.model import Limit, Result, Status

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator
    from types import TracebackType
    from typing import BinaryIO

    from allocsolve.bench.runs.tasks import Task
    from allocsolve.families import AnySolver
    from allocsolve.model import Budget, Problem

#: What a message of a solver may have, in characters; the traceback holds the rest.
_LONGEST: Final = 2_000
#: Numbers beyond 64 bits have no place in a file of records.
_LARGEST: Final = {"maximum": 2**63 - 1}
_NUMBER: Final[Document] = {"type": "number", "minimum": -(2**63), **_LARGEST}
_VALUES: Final = (_NUMBER, listing(_NUMBER, minItems=1))
#: Minus infinity is there where a number or null may be.
_BOUND: Final[Document] = {"type": ["number", "null"], **_LARGEST}
_CLAIMS: Final[Mapping[str, Document]] = {
    "status": choice([*Status], "as the solver claims"),
    "limit": {"enum": [*Limit, None]},
    "objective": {"anyOf": [*_VALUES, {"type": "null"}]},
    "bound": {"anyOf": [_BOUND, listing(_BOUND, minItems=1)]},
    "incumbents": listing(cells(_NUMBER, {"anyOf": [*_VALUES]})),
    "certificate": {"type": ["object", "null"]},
    "answer": {"type": ["object", "null"]},
}
_REPLY: Final = record(
    {"runtime": _NUMBER, "result": record(_CLAIMS, _CLAIMS), "error": text(), "traceback": text(default="")},
    ("runtime",),
)


class Reply(NamedTuple):
    """What came of a call, as the process of the solver says."""

    runtime: float  #: seconds
    result: Result[Any] | None  #: None if the call is a failure
    error: str = ""  #: why it is one
    traceback: str = ""


def encoded_reply(problem: Problem, problem_digest: str, call: Call) -> bytes:
    """Return the reply about a call, as JSON; a result that cannot be said in data is a failure."""
    cause = call.cause
    if cause is None:
        try:
            return _json({"runtime": call.runtime, "result": _claims(problem, problem_digest, call.result)})
        except Exception as fault:  # noqa: BLE001 - what a solver returns may fail in any way
            cause = fault
    try:
        said = f"{type(cause).__name__}: {cause}"
    except Exception:  # noqa: BLE001 - an error of a third party may not even have a text
        said = type(cause).__name__
    return _json({"runtime": call.runtime, "error": said[:_LONGEST], "traceback": call.traceback})


def _claims(problem: Problem, problem_digest: str, result: Any) -> Document:  # noqa: ANN401 - whatever was returned
    check_types(problem, result)
    answer = result.answer
    if answer is not None:
        answer = solution_document(problem, answer, {}, problem_digest=problem_digest)
    return {**{name: getattr(result, name) for name in _CLAIMS}, "answer": answer}


def _json(document: Document) -> bytes:
    return json.dumps(document, default=_plain, separators=(",", ":")).encode()


def _plain(value: object) -> object:
    """Return what `json` does not know as data: numbers of other types, mappings."""
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        return float(value)
    if isinstance(value, Mapping):
        return dict(value)
    raise InvalidAnswer(f"the result holds a {type(value).__name__}, which is no data")


def decoded_reply(data: bytes, task: Task) -> Reply:
    """Return what the process of the solver says of a task.

    Raises `FormatError` if it is no reply: every fault is named; `InvalidAnswer` if the answer is none of the
    problem, or the claims contradict each other.
    """
    source = "reply"
    try:
        document = json.loads(data)
    except RecursionError:
        raise FormatError(source, ["lists and objects are nested too deeply"]) from None
    except ValueError as fault:  # no JSON, or an integer of thousands of digits
        raise FormatError(source, [str(fault)]) from None
    fields = read_fields(document, _REPLY, source)
    if ("result" in fields) == ("error" in fields):
        raise FormatError(source, ["there must be a result or an error"])
    result = _result(fields["result"], task, source, fields["runtime"]) if "result" in fields else None
    return Reply(fields["runtime"], result, fields.get("error", ""), fields["traceback"])


def _result(claims: Document, task: Task, source: str, runtime: float) -> Result[Any]:
    bound = _value(claims["bound"])
    if not all(term is not None and term < math.inf for term in (bound if type(bound) is tuple else [bound])):
        raise FormatError(source, [f"bound: {show(claims['bound'])} is none"])
    answer = claims["answer"]
    if answer is not None:
        try:
            answer = parse_solution(answer, "answer", task.problem, problem_digest=task.key.digest)
        except FormatError as error:
            msg = f"the answer is malformed: {'; '.join(error.faults[: FormatError.SHOWN])}"
            raise InvalidAnswer(msg) from None
    return Result(
        Status(claims["status"]),
        answer,
        _value(claims["objective"]),
        bound,
        None if claims["limit"] is None else Limit(claims["limit"]),
        runtime,
        tuple((seconds, _value(value)) for seconds, value in claims["incumbents"]),
        claims["certificate"],
    )


def _value(value: Any) -> Any:  # noqa: ANN401 - a number, some, or None
    return tuple(value) if isinstance(value, list) else value


#: What is kept of a traceback, in characters: its end.
_KEPT: Final = 20_000


class SolverInterrupted(KeyboardInterrupt):
    """A solver has turned an interrupt into a result."""


class Call(NamedTuple):
    """What became of the call of a solver."""

    result: Any  #: as it was returned
    runtime: float  #: seconds
    cause: BaseException | None  #: why the call is a failure, whatever it has returned
    changed: bool = False  #: whether the problem is no longer what it was
    traceback: str = ""  #: of what the solver raised; empty if it returned


def call_solver(
    solver: AnySolver,
    problem: Problem,
    budget: Budget,
    *,
    printed: Callable[[], str] = str,
    begun: Callable[[], object] = bool,
    done: Callable[[], object] = bool,
) -> Call:
    """Call a solver; whatever it raises is caught.

    `printed` returns what has been written to stdout since its last call: a solver prints nothing. `begun` is
    called right before the clock is started, `done` as soon as the solver has returned or raised.
    """
    before = _fingerprint(problem)
    printed()  # whatever the warm-up has said
    result: Any = None
    cause: BaseException | None = None
    begun()
    start = clock()
    try:
        result = solver(problem, budget)
    except BaseException as error:  # noqa: BLE001 - the caller says which ones go further
        cause = error
    runtime = clock() - start
    done()
    text = "" if cause is None else traceback_text(cause, own_frames=1)
    changed = _changed(problem, before)
    if cause is None and isinstance(result, Result) and result.limit is Limit.INTERRUPTED:
        cause = SolverInterrupted()
    if cause is None and changed:
        cause = InvalidAnswer("the solver changed the problem that it was given")
    if cause is None and (said := printed()):
        cause = InvalidAnswer(f"the solver printed to stdout: {said[:80]!r}")
    return Call(result, runtime, cause, changed, text)


def traceback_text(error: BaseException, *, own_frames: int = 0) -> str:
    """Return the traceback of an error as Python prints it, without the first frames; a long one is cut."""
    frames: TracebackType | None = error.__traceback__
    for _ in range(own_frames):
        frames = frames and frames.tb_next
    try:
        text = "".join(traceback.format_exception(type(error), error, frames))
    except Exception as fault:  # noqa: BLE001 - an error of a third party may not even have a text
        text = f"{type(error).__name__}, which cannot be shown: {type(fault).__name__}"
    return text if len(text) <= _KEPT else f"...{text[-_KEPT:]}"


def _changed(problem: Problem, before: Hashable) -> bool:
    try:
        return _fingerprint(problem) != before
    except Exception:  # noqa: BLE001 - what is left of it may fail in any way
        return True


def _fingerprint(problem: Problem) -> Hashable:
    """Return what shows whether a problem was changed, arrays included that do not count for its equality."""
    arrays = [
        array.tobytes()
        for field in dataclasses.fields(problem)
        for array in _arrays(getattr(problem, field.name))
    ]
    try:
        return hash(problem), hash(tuple(arrays))
    except TypeError:  # a family whose problems have no hash
        return digest(problem), hash(tuple(arrays))


def _arrays(value: object) -> Iterator[np.ndarray[Any, Any]]:
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, tuple) and hasattr(value, "_fields"):  # arrays that belong together
        yield from (item for item in value if isinstance(item, np.ndarray))


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
