"""Readiness: kernels are compiled and backends loaded before any clock starts."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from typing import TYPE_CHECKING, Final

from allocsolve.families import family_of
from allocsolve.model import Budget, Limit
from allocsolve.registry.plugins import identity
from allocsolve.registry.resuming import unstarted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from allocsolve.families import AnySolver
    from allocsolve.model import Problem

__all__ = ["announce_once", "ready"]

#: Of each warm-up call: compiling may take up the time, then what comes after is for the next call.
_WARM_UP: Final = Budget(seconds=0.5, iterations=20)
#: Calls that may stop at the time limit although nothing was compiled in them, as of a backend that loads.
_PATIENCE: Final = 3
#: A warm-up that goes on for longer is ended after its call, in seconds.
_ENOUGH_S: Final = 240.0
#: Compiling for longer than that is announced, in seconds.
_MOMENT_S: Final = 1.0

#: Solvers, by class and identity, and tiny problems for which this process has compiled and loaded all.
_warmed_up: set[tuple[type, str, Problem]] = set()


def ready(solver: AnySolver, problem: Problem, *, announce: Callable[[str], None] | None = None) -> None:
    """Have a solver compile its kernels and load its backend for problems of this sort.

    It is called on tiny problems until nothing more is compiled; a process does that once for each solver and
    each sort of problems. Whoever calls a solver under a time limit calls this before.

    Parameters
    ----------
    solver
        The solver. What goes wrong in a warm-up is passed over: the call that counts will fail, too.
    problem
        That will be solved; see ``warm_up`` of `allocsolve.families.Family`.
    announce
        Called with a line, once in a process, when kernels are being compiled for longer than a moment; from
        another thread. It says which kernel is compiled, and how far it is.

    Raises
    ------
    KeyboardInterrupt
        When the user interrupts, also if the solver turned that into a result.
    """
    for warm_up_problem in family_of(problem).warm_up(problem):
        key = type(solver), identity(solver), warm_up_problem
        if key not in _warmed_up:
            with _watched(announce), contextlib.suppress(Exception, SystemExit):
                _warm_up(unstarted(solver), warm_up_problem)
            _warmed_up.add(key)


def _warm_up(solver: AnySolver, warm_up_problem: Problem) -> None:
    end = time.perf_counter() + _ENOUGH_S
    patience = _PATIENCE
    while patience and time.perf_counter() < end:
        before = _made()
        limit = getattr(solver(warm_up_problem, _WARM_UP), "limit", None)
        if limit is Limit.INTERRUPTED:
            raise KeyboardInterrupt
        if _made() == before:
            if limit is not Limit.TIME:
                return
            patience -= 1


def _made() -> tuple[int, int]:
    """Return how many compilations there were and how many kernels have been loaded so far."""
    if "numba" not in sys.modules:
        return -1, -1
    from allocsolve.kernels import compilations, loaded_kernels  # noqa: PLC0415 - imports numba

    return compilations(), loaded_kernels()


def announce_once(announce: Callable[[str], None] | None, line: str) -> None:
    """Announce that kernels are being compiled, unless that was announced before in this process."""
    if announce is not None and not _announced:
        _announced.append(line)
        announce(line)


#: What has been announced in this process.
_announced: list[str] = []


def _announcement() -> str:
    from allocsolve.kernels import compilation  # noqa: PLC0415 - imports numba

    now = compilation()
    which = f"{now.kernel}, {now.begun} of {now.functions} functions; " if now else ""
    return f"compiling kernels: {which}the first call of a solver takes a while"


@contextlib.contextmanager
def _watched(announce: Callable[[str], None] | None) -> Iterator[None]:
    """Watch for compilations, and announce them if they go on for longer than a moment."""
    if announce is None or _announced:
        yield
        return
    before, over = max(0, _made()[0]), threading.Event()

    def watch() -> None:
        while not over.wait(_MOMENT_S):
            if _made()[0] > before:
                announce_once(announce, _announcement())
                return

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
