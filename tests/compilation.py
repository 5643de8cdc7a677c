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

from allocsolve.families import family_of
from allocsolve.model import Budget, Limit
from allocsolve.registry import make_solver

if TYPE_CHECKING:
    from allocsolve.families import AnySolver
    from allocsolve.model import Problem

__all__ = ["ColdStart", "cold_start"]

#: Of each call on the tiny problem, which is called until nothing more is compiled.
_WARM_UP = Budget(seconds=0.5, iterations=20)


class ColdStart(NamedTuple):
    """What happened in a fresh process."""

    #: CPU seconds of making the solver ready, and of the solve after that.
    ready_s: float
    solve_s: float
    #: Functions that the solve still compiled.
    compiled: list[str]


class _Compilations(event.Listener):
    """Notes what numba compiles; reading machine code from the cache is no compilation."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def on_start(self, compilation: Any) -> None:
        """Note the function."""
        function = compilation.data["dispatcher"].py_func
        self.names.append(f"{function.__module__}.{function.__qualname__}")

    def on_end(self, _: Any) -> None:
        """Do nothing: the function was noted when its compilation began."""


def cold_start(name: str, problem: Problem, budget: Budget, objective: str | None = None) -> ColdStart:
    """Make a solver ready for a problem on an empty cache, then solve the problem."""
    with tempfile.TemporaryDirectory() as cache:
        child = subprocess.run(
            [sys.executable, str(Path(__file__))],
            input=pickle.dumps((name, problem, budget, objective)),
            stdout=subprocess.PIPE,
            env={
                **os.environ,
                "NUMBA_CACHE_DIR": cache,
                "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
            },
            check=True,
        )
    return ColdStart(*json.loads(child.stdout))


def _make_ready(solver: AnySolver, problem: Problem, compilations: _Compilations) -> None:
    tiny = family_of(problem).warm_up(problem)
    for _ in range(20):
        before = len(compilations.names)
        limit = solver(tiny, _WARM_UP).limit
        if len(compilations.names) == before and limit is not Limit.TIME:
            return


def _main() -> None:
    name, problem, budget, objective = pickle.loads(sys.stdin.buffer.read())  # noqa: S301 - what the parent sent
    compilations = _Compilations()
    event.register("numba:compile", compilations)  # type: ignore[no-untyped-call]  # numba has no types
    begun = time.process_time()
    solver = make_solver(name, problem, objective)
    _make_ready(solver, problem, compilations)
    ready = time.process_time()
    before = len(compilations.names)
    solver(problem, budget)
    json.dump((ready - begun, time.process_time() - ready, compilations.names[before:]), sys.stdout)


if __name__ == "__main__":
    _main()
