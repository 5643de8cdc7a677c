"""Compile the kernels of all solvers once, before processes that run tests side by side would each do it.

The machine code is cached on disk; with a warm cache this takes seconds. It is `allocsolve warm`, with the
families side by side: they share no kernels.
"""

from __future__ import annotations

import contextlib
import multiprocessing
from concurrent.futures import ProcessPoolExecutor

from allocsolve.cli.warm import make_ready
from allocsolve.errors import SolverUnavailable
from allocsolve.families import families, family_named
from allocsolve.registry import solver_names


def compile_family(kind: str) -> None:
    """Make every solver of a family ready."""
    family = family_named(kind)
    for name in solver_names(family):
        with contextlib.suppress(SolverUnavailable):
            make_ready(family, name)


def main() -> None:
    """Compile one family in each process."""
    fresh = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(mp_context=fresh) as processes:
        for _ in processes.map(compile_family, [family.kind for family in families()]):
            pass


if __name__ == "__main__":
    main()
