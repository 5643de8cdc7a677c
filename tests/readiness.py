"""What solvers compile or load after they were made ready: a process for each, whatever the cache holds.

``python readiness.py KIND`` writes a JSON object: for each registered solver of the kind, the kernels that
were first needed in a run.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from numba.core.dispatcher import Dispatcher

from allocsolve.bench import suite
from allocsolve.families import AnyFamily, family_named
from allocsolve.model import Budget
from allocsolve.registry import make_solver, ready, solver_names

if TYPE_CHECKING:
    from allocsolve.model import Problem

#: Short: what a solver may need, it needs at the start or not at all; a search goes through all of its parts.
BUDGET = Budget(seconds=0.4, iterations=40)


def problems(kind: str) -> list[Problem]:
    """Return problems of all sorts, those from which most is to be done first."""
    family = family_named(kind)
    if kind == "evolution":
        first = [suite(name)[0] for name in ("klein-8-l1", "klein-8-inf", "klein-8-l2")]
    else:
        first = [suite("mesh-16x8")[0], suite("mesh-8x8x8")[3], suite("torus-16x16")[0]]
        first.append(replace(first[0], contiguous=True))
    return [*first, *tuple(family.examples())[::-1]]


def kernels() -> set[str]:
    """Return the kernels of this package that have machine code, with the types of their arguments."""
    return {
        f"{thing.py_func.__module__}.{thing.py_func.__name__}{signature}"
        for thing in gc.get_objects()
        if isinstance(thing, Dispatcher) and thing.py_func.__module__.startswith("allocsolve.")
        for signature in thing.overloads
    }


def unready(family: AnyFamily, name: str) -> list[str]:
    """Return the kernels that a solver needs in runs although it was ready."""
    late: set[str] = set()
    for problem in problems(family.kind):
        solver = make_solver(name, problem)
        ready(solver, problem)
        before = kernels()
        for workers in (1, 3):
            with contextlib.suppress(Exception):
                solver(problem, replace(BUDGET, workers=workers))
        late |= kernels() - before
    return sorted(late)


def main(kind: str) -> None:
    """Look at all solvers of a kind, each in a process of its own."""
    family = family_named(kind)
    late = {}
    for name in solver_names(family):
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            with os.fdopen(writing, "w") as pipe:
                json.dump(unready(family, name), pipe)
            os._exit(0)
        os.close(writing)
        with os.fdopen(reading) as pipe:
            late[name] = json.load(pipe)
        os.waitpid(child, 0)
    sys.stdout.write(json.dumps(late))


if __name__ == "__main__":
    main(sys.argv[1])
