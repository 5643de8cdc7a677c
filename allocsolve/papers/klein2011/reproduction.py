"""Tables 1 and 2 of Klein & Perez 2011, computed again."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from allocsolve import judge, registry
from allocsolve.bench.runs.tasks import warm_up
from allocsolve.errors import InvalidAnswer, InvalidOption
from allocsolve.families import AnySolver, family_of
from allocsolve.instances import klein2011
from allocsolve.model import Budget, EvolutionProblem
from allocsolve.papers.klein2011.tables import COLUMNS, Spread

if TYPE_CHECKING:
    from collections.abc import Mapping

    from allocsolve.bench.runs.runner import Progress
    from allocsolve.judge import ApplicationMetrics, EvolutionMetrics

__all__ = ["ALGORITHMS", "Reproduction", "reproduce"]

#: The algorithms of the paper in its order, with the expand limit that each one keeps.
ALGORITHMS: Final[Mapping[str, float]] = {
    "rigid": 1,
    "noX": 1,
    "2X": 2,
    "2X+c": 2,
    "infX": math.inf,
    "infX+c": math.inf,
}


@dataclass(frozen=True, slots=True)
class Reproduction:
    """Both tables, computed again."""

    tests: int
    seed: int
    seconds: float  #: for everything after the kernels were compiled: drawing, scheduling, judging
    rows: Mapping[str, Mapping[str, Spread]]  #: by algorithm and column name, in the units of the paper


@dataclass(frozen=True, slots=True)
class _Run:
    """One algorithm on one test."""

    test: EvolutionMetrics
    apps: ApplicationMetrics
    milliseconds: float

    def columns(self, rigid: _Run) -> dict[str, list[float]]:
        """Return what the test adds to each column."""
        mine, base = self.test, rigid.test
        return {
            "waste": [100 * mine.waste],
            "utilisation": [mine.allocated_area / base.allocated_area],
            "effective_utilisation": [100 * mine.effective_utilisation],
            "makespan": [mine.makespan / base.makespan],
            "schedule_time": [self.milliseconds],
            "completion": [mine.mean_completion / base.mean_completion],
            # Where nobody waits there is nothing to compare with.
            "waiting": [mine.mean_waiting / base.mean_waiting] if base.mean_waiting else [],
            "expanded": [100 * mine.expanded],
            "expansion": (100 * self.apps.expansion).tolist(),
            "application_waste": (100 * self.apps.waste).tolist(),
        }


def reproduce(tests: int = 1000, seed: int = 2011, *, progress: Progress | None = None) -> Reproduction:
    """Run the six algorithms of the paper on random tests and aggregate both of its tables.

    Parameters
    ----------
    tests
        How many, >= 1. Test ``i`` is ``klein2011([seed, i])``.
    seed
        An integer >= 0.
    progress
        Told after each test.

    Returns
    -------
    Reproduction
        Least, mean and largest value of every column, in the units of `PAPER`. Where nobody waits in the
        rigid schedule, a test is left out of the waiting column.

    Raises
    ------
    InvalidAnswer
        If the judge finds a schedule infeasible: all of them are judged, each with the expand limit of its
        algorithm.

    Notes
    -----
    As the paper has it, waste is relative to the useful area, utilisation is the allocated area relative to
    that of rigid, and rigid is accounted for as reservations of the peak (`evolution_metrics` with
    ``rigid=True``).

    References
    ----------
    Klein & Perez, "Towards scheduling evolving applications", CoreGRID/ERCIM workshop 2011, section 5.
    """
    if tests < 1:
        msg = f"tests {tests} is below 1"
        raise InvalidOption(msg)
    solvers = {name: registry.make_solver(name, EvolutionProblem) for name in ALGORITHMS}
    family = family_of(EvolutionProblem)
    for name, limit in ALGORITHMS.items():
        warm_up(solvers[name], family.warm_up(EvolutionProblem(1, (), expand_limit=limit)))
    started = time.perf_counter()
    cells: dict[str, dict[str, list[float]]] = {
        name: {column.name: [] for column in COLUMNS} for name in ALGORITHMS
    }
    for idx in range(tests):
        runs = _test(klein2011([seed, idx]), solvers)
        for name, run in runs.items():
            for column, values in run.columns(runs["rigid"]).items():
                cells[name][column] += values
        if progress:
            progress(idx + 1, tests, f"test {idx + 1}")
    rows = {
        name: {column: Spread.of(values) for column, values in row.items()} for name, row in cells.items()
    }
    return Reproduction(tests, seed, time.perf_counter() - started, rows)


def _test(problem: EvolutionProblem, solvers: Mapping[str, AnySolver]) -> dict[str, _Run]:
    """Run, time and judge all algorithms on one problem without an expand limit."""
    finite = {*ALGORITHMS.values()} - {math.inf}
    limited = {math.inf: problem} | {limit: replace(problem, expand_limit=limit) for limit in finite}
    runs = {}
    for name, limit in ALGORITHMS.items():
        started = time.perf_counter()
        schedule = solvers[name](limited[limit], Budget()).answer
        milliseconds = 1000 * (time.perf_counter() - started)
        if schedule is None:
            msg = f"{name} on {problem.name}: no answer"
            raise InvalidAnswer(msg)
        faults = judge.violations(limited[limit], schedule)
        if faults:
            msg = f"{name} on {problem.name}: {faults[0]}"
            raise InvalidAnswer(msg)
        rigid = name == "rigid"
        runs[name] = _Run(
            judge.evolution_metrics(problem, schedule, rigid=rigid),
            judge.application_metrics(problem, schedule, rigid=rigid),
            milliseconds,
        )
    return runs
