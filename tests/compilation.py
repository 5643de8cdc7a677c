"""What a solver costs on an empty cache of machine code, in a process of its own."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from numba.core import event

from allocsolve.registry import make_solver, ready

if TYPE_CHECKING:
    from allocsolve.model import Budget, Problem


class ColdStart(NamedTuple):
    """What happened in a fresh process."""

    #: CPU seconds of making the solver ready, and of the solve after that.
    ready_s: float
    solve_s: float
    #: Functions that the solve still compiled.
    compiled: list[str]
    #: Wall time of the solve, and what it claims.
    wall_s: float
    status: str


class _Compilations(event.Listener):  # type: ignore[misc]  # numba has no types
    """Notes what numba compiles; reading machine code from the cache is no compilation."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def on_start(self, compilation: Any) -> None:
        """Note the function."""
        function = compilation.data["dispatcher"].py_func
        self.names.append(f"{function.__module__}.{function.__qualname__}")

    def on_end(self, _: Any) -> None:
        """Do nothing: the function was noted when its compilation began."""


def cold_start(
    name: str, problem: Problem, budget: Budget, objective: str | None = None, *, cache: Path | None = None
) -> ColdStart:
    """Make a solver ready in a process of its own, by default on an empty cache, then solve a problem."""
    with tempfile.TemporaryDirectory() as empty:
        child = subprocess.run(
            [sys.executable, str(Path(__file__))],
            input=pickle.dumps((name, problem, budget, objective)),
            stdout=subprocess.PIPE,
            env={
                **os.environ,
                "ALLOCSOLVE_KERNELS": str(cache or empty),
                "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
            },
            check=True,
        )
    return ColdStart(*json.loads(child.stdout))


def _main() -> None:
    name, problem, budget, objective = pickle.loads(sys.stdin.buffer.read())  # noqa: S301 - what the parent sent
    compilations = _Compilations()
    event.register("numba:compile", compilations)
    begun = time.process_time()
    solver = make_solver(name, problem, objective)
    ready(solver, problem)
    begun_to_solve = time.process_time()
    before = len(compilations.names)
    start = time.perf_counter()
    result = solver(problem, budget)
    wall_s = time.perf_counter() - start
    solve_s = time.process_time() - begun_to_solve
    compiled = compilations.names[before:]
    json.dump((begun_to_solve - begun, solve_s, compiled, wall_s, result.status), sys.stdout)


if __name__ == "__main__":
    _main()
