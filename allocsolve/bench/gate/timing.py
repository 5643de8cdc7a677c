"""Times that another machine can be held to: CPU time of a solver in units of a reference kernel.

Both are run in turn within the same process, and the least times are compared: a slower or busy machine slows
down both. Only the calls themselves count, after the kernels were compiled; time spent waiting does not.

Another type of processor favours other instructions: hold each type to a baseline of its own, or raise the
``time_factor`` in the file.
"""

from __future__ import annotations

import functools
import math
import time
from typing import TYPE_CHECKING, Final

from allocsolve.families import families
from allocsolve.model import Limit
from allocsolve.registry import ready

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from allocsolve.families import AnySolver
    from allocsolve.model import Budget, Problem

__all__ = ["Stopwatch", "ladder_problem", "rung", "timing_problems"]

#: A call that takes less is not timed if there is a larger problem: its kernel would not be most of it.
_LEAST_S: Final = 0.5e-3
#: A solver that takes longer than that on the smallest problem is not timed.
_LIMIT_S: Final = 0.25
#: Least length of one sample: short enough that some escape every disturbance.
_SAMPLE_S: Final = 1e-3
_SAMPLES: Final = 10


class Stopwatch:
    """Times one solver on one problem, sample by sample.

    Parameters
    ----------
    solver, problem, budget
        What is called.
    """

    def __init__(self, solver: AnySolver, problem: Problem, budget: Budget) -> None:
        from allocsolve.bench.gate._kernels_reference import reference_work  # noqa: PLC0415 - loads numba

        self._reference = reference_work
        self._solver, self._problem, self._budget = solver, problem, budget
        ready(solver, problem)
        self.limit = self._call()
        #: Seconds of CPU time of one call, roughly.
        self.rough = min(self._seconds(self._call) for _ in range(3))
        self._calls = math.ceil(_SAMPLE_S / max(self.rough, 1e-6))
        self._least = self._least_reference = math.inf

    def _call(self) -> Limit | None:
        return self._solver(self._problem, self._budget).limit

    @staticmethod
    def _seconds(call: Callable[[], object], times: int = 1) -> float:
        started = time.thread_time()
        for _ in range(times):
            call()
        return (time.thread_time() - started) / times

    def measure(self) -> float:
        """Take some more samples; return the least time of a call over all of them, in reference units."""
        self._reference()
        for _ in range(_SAMPLES):
            self._least_reference = min(self._least_reference, self._seconds(self._reference))
            self._least = min(self._least, self._seconds(self._call, self._calls))
        return self._least / self._least_reference


def timing_problems(kind: str) -> Mapping[str, Callable[[], Problem]]:
    """Return the problems on which solvers of this kind are timed, by name, from small to large."""
    return next((family.timing_problems for family in families() if family.kind == kind), {})


@functools.cache
def ladder_problem(kind: str, name: str) -> Problem:
    """Return the timing problem of this kind and name."""
    problem: Problem = timing_problems(kind)[name]()
    return problem


def rung(kind: str, solver: AnySolver, budget: Budget) -> tuple[str, Stopwatch] | None:
    """Return the problem of this kind on which the solver is timed, by name, and a stopwatch on it.

    It is the smallest one on which a call takes long enough, or the largest one that the solver can do; None
    if it takes too long on all of them, stops at a time limit or fails.
    """
    chosen = None
    for name in timing_problems(kind):
        try:
            watch = Stopwatch(solver, ladder_problem(kind, name), budget)
        except Exception:  # noqa: BLE001 - it may be made for smaller problems
            break
        if watch.limit is Limit.TIME or watch.rough > _LIMIT_S:
            break
        chosen = name, watch
        if watch.rough >= _LEAST_S:
            break
    return chosen
