"""The call of a solver: timed, and watched for what a solver may not do."""

from __future__ import annotations

import dataclasses
import time
import traceback
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from allocsolve.errors import InvalidAnswer
from allocsolve.instances import digest
from allocsolve.model import Limit, Result

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator
    from types import TracebackType

    from allocsolve.families import AnySolver
    from allocsolve.model import Budget, Problem

__all__ = ["Call", "SolverInterrupted", "call_solver", "clock", "traceback_text"]

#: Taken before any solver is loaded: one that puts another function in its place does not stop this clock.
clock: Final = time.perf_counter

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

    Parameters
    ----------
    solver, problem, budget
        The solver, made and ready, and what it is called with.
    printed
        Returns what has been written to stdout since its last call: a solver prints nothing.
    begun
        Called right before the clock is started.
    done
        Called as soon as the solver has returned or raised.
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
