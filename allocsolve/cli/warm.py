"""The command that compiles what solvers need before anybody waits for it: warm."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from allocsolve.cli.output import say, write_json
from allocsolve.cli.progress import count_bar
from allocsolve.errors import SolverUnavailable
from allocsolve.pictures.text import counted, time_text

if TYPE_CHECKING:
    import argparse

    from allocsolve.families import AnyFamily

__all__ = ["make_ready", "warm"]


def warm(args: argparse.Namespace) -> int:
    """Have solvers compile their kernels into the cache on disk, and load their backends once."""
    from allocsolve.families import families  # noqa: PLC0415 - when the command runs
    from allocsolve.kernels import compilations  # noqa: PLC0415 - when the command runs
    from allocsolve.registry import families_named, solver_names  # noqa: PLC0415 - when the command runs

    if args.solvers is None:
        chosen = [(family, name) for family in families() for name in solver_names(family)]
    else:
        chosen = [(family, name) for name in args.solvers for family in families_named(name)]
    begin, before, ready = time.perf_counter(), compilations(), 0
    missing: dict[str, str] = {}
    with count_bar("starting") as progress:
        for done, (family, name) in enumerate(chosen):
            progress(done, len(chosen), name)
            try:
                make_ready(family, name)
                ready += 1
            except SolverUnavailable as error:
                missing[name] = str(error)
    seconds, compiled = time.perf_counter() - begin, compilations() - before
    if args.json:
        write_json({"ready": ready, "compiled": compiled, "seconds": seconds, "unavailable": missing})
        return 0
    say(*missing.values())
    say(f"{counted(ready, 'solver')} ready: {counted(compiled, 'kernel')} compiled, {time_text(seconds)}")
    return 0


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
