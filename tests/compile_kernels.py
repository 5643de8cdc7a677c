"""Compile the kernels of all solvers once, before processes that run tests side by side would each do it.

The machine code is cached on disk; with a warm cache this takes seconds.
"""

from __future__ import annotations

import contextlib
import multiprocessing
from concurrent.futures import ProcessPoolExecutor

from allocsolve.errors import SolverUnavailable
from allocsolve.families import families, family_named
from allocsolve.registry import make_solver, ready, solver_names


def compile_family(kind: str) -> None:
    """Make every solver of a family ready for small and for large problems; families share no kernels."""
    family = family_named(kind)
    large = [make() for make in family.timing_problems.values()]
    for name in solver_names(family):
        for problem in (family.large_example(), *large[-1:]):
            with contextlib.suppress(SolverUnavailable):
                ready(make_solver(name, problem), problem)


def main() -> None:
    """Compile one family in each process."""
    fresh = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(mp_context=fresh) as processes:
        for _ in processes.map(compile_family, [family.kind for family in families()]):
            pass


if __name__ == "__main__":
    main()
