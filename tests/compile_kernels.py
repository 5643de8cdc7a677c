"""Compile the kernels of all solvers once, before processes that run tests side by side would each do it.

The machine code is cached on disk; with a warm cache this takes seconds.
"""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ProcessPoolExecutor

from allocsolve.errors import SolverUnavailable
from allocsolve.families import families, family_named
from allocsolve.model import Budget
from allocsolve.registry import make_solver


def compile_family(kind: str) -> None:
    """Have every solver of a family solve a tiny problem; families share no kernels."""
    family = family_named(kind)
    tiny = family.warm_up(family.large_example())
    for row in family.solvers:
        try:
            solver = make_solver(row.name, family.problem)
        except SolverUnavailable:
            continue
        solver(tiny, Budget(iterations=1))


def main() -> None:
    """Compile one family in each process."""
    fresh = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(mp_context=fresh) as processes:
        for _ in processes.map(compile_family, [family.kind for family in families()]):
            pass


if __name__ == "__main__":
    main()
