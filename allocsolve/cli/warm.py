"""The command that compiles what solvers need before anybody waits for it: warm."""

from __future__ import annotations

import multiprocessing
import signal
import time
from contextlib import ExitStack, contextmanager
from os import cpu_count
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from allocsolve.cli.output import say, write_json
from allocsolve.cli.progress import count_bar
from allocsolve.errors import SolverUnavailable
from allocsolve.pictures.chart import counted, time_text

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from allocsolve.families import AnyFamily

__all__ = ["make_ready", "warm"]


def warm(args: argparse.Namespace) -> int:
    """Have solvers compile their kernels into the cache on disk, and load their backends once."""
    from allocsolve.families import families  # noqa: PLC0415 - when the command runs
    from allocsolve.kernels import clear_kernels  # noqa: PLC0415 - when the command runs
    from allocsolve.registry import families_named, solver_names  # noqa: PLC0415 - when the command runs

    removed = clear_kernels() if args.clear else 0
    if args.solvers is not None:
        chosen = [(family.kind, name) for name in args.solvers for family in families_named(name)]
    elif args.clear:
        chosen = []
    else:
        chosen = [(family.kind, name) for family in families() for name in solver_names(family)]
    begin, ready, compiled = time.perf_counter(), 0, 0
    missing: dict[str, str] = {}
    with count_bar("starting") as progress, _side_by_side(chosen) as warmed:
        for done, (name, compilations, reason) in enumerate(warmed):
            progress(done, len(chosen), name)
            compiled += compilations
            ready += not reason
            if reason:
                missing[name] = reason
    seconds = time.perf_counter() - begin
    if args.json:
        told = {"ready": ready, "compiled": compiled, "seconds": seconds, "unavailable": missing}
        write_json({**told, "removed": removed} if args.clear else told)
        return 0
    say(*missing.values())
    if args.clear:
        say(f"{counted(removed, 'compiled kernel')} removed")
    if chosen:
        say(f"{counted(ready, 'solver')} ready: {counted(compiled, 'kernel')} compiled, {time_text(seconds)}")
    return 0


@contextmanager
def _side_by_side(chosen: Sequence[tuple[str, str]]) -> Iterator[Iterator[tuple[str, int, str]]]:
    """Make solvers ready, each family in a process of its own: most kernels are those of one family.

    Yields what `_made_ready` returns, as it comes. After that the processes are ended.
    """
    kinds = {kind for kind, _ in chosen}
    if len(kinds) < 2 or cpu_count() == 1:
        yield map(_made_ready, chosen)
        return
    context, made = multiprocessing.get_context("spawn"), SimpleQueue[Any]()
    with ExitStack() as stack:
        for kind in kinds:
            pool = stack.enter_context(context.Pool(1, signal.signal, (signal.SIGINT, signal.SIG_IGN)))
            for solver in chosen:
                if solver[0] == kind:
                    pool.apply_async(_made_ready, (solver,), callback=made.put, error_callback=made.put)
        yield (_result(made.get()) for _ in chosen)


def _result(made: Any) -> tuple[str, int, str]:  # noqa: ANN401 - as it came from another process
    if isinstance(made, BaseException):
        raise made
    name, compiled, reason = made
    return name, compiled, reason


def _made_ready(solver: tuple[str, str]) -> tuple[str, int, str]:
    """Make a solver ready; return its name, how much was compiled, and why it could not be done.

    What goes wrong comes back as text: not every error survives the way from another process.
    """
    from allocsolve.families import family_named  # noqa: PLC0415 - when the command runs
    from allocsolve.kernels import compilations  # noqa: PLC0415 - when the command runs

    kind, name = solver
    before = compilations()
    try:
        make_ready(family_named(kind), name)
    except SolverUnavailable as error:
        return name, compilations() - before, str(error)
    except Exception as error:  # noqa: BLE001 - the other solvers can be made ready
        return name, compilations() - before, f"{name}: {type(error).__name__}: {error}"
    return name, compilations() - before, ""


def make_ready(family: AnyFamily, name: str) -> None:
    """Make a solver ready for small and for large problems of a family, of all sorts.

    Raises
    ------
    SolverUnavailable
        If the solver needs a package that is not installed.
    """
    from allocsolve.registry import make_solver, ready  # noqa: PLC0415 - when the command runs

    large = [make() for make in (family.large_example, *[*family.timing_problems.values()][-1:])]
    for problem in (*large, *family.examples()):
        ready(make_solver(name, problem), problem)
