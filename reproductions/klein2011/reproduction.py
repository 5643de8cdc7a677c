"""Tables 1 and 2 of Klein & Perez 2011, computed again."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from allocsolve import judge
from allocsolve.bench.runs.runner import outcomes
from allocsolve.bench.runs.tasks import plan
from allocsolve.errors import InvalidAnswer, InvalidOption
from allocsolve.instances import klein2011
from allocsolve.model import Budget, EvolutionProblem
from allocsolve.registry import ready
from reproductions.klein2011.tables import COLUMNS, Spread

if TYPE_CHECKING:
    from collections.abc import Mapping

    from allocsolve.bench.runs.execution import Outcome
    from allocsolve.bench.runs.runner import Progress
    from allocsolve.bench.runs.tasks import Task
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
        test, base = self.test, rigid.test
        return {
            "waste": [100 * test.waste],
            "utilisation": [test.allocated_area / base.allocated_area],
            "effective_utilisation": [100 * test.effective_utilisation],
            "makespan": [test.makespan / base.makespan],
            "schedule_time": [self.milliseconds],
            "completion": [test.mean_completion / base.mean_completion],
            # Where nobody waits there is nothing to compare with.
            "waiting": [test.mean_waiting / base.mean_waiting] if base.mean_waiting else [],
            "expanded": [100 * test.expanded],
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
    for task in _tasks(klein2011([seed, 0])):
        ready(task.make_solver(), task.problem)
    started = time.perf_counter()
    cells: dict[str, dict[str, list[float]]] = {
        name: {column.name: [] for column in COLUMNS} for name in ALGORITHMS
    }
    for idx in range(tests):
        problem = klein2011([seed, idx])
        runs = {
            task.solver: _measured(problem, task.solver, outcome)
            for task, outcome in outcomes(_tasks(problem))
        }
        for name, run in runs.items():
            for column, values in run.columns(runs["rigid"]).items():
                cells[name][column] += values
        if progress:
            progress(idx + 1, tests, f"test {idx + 1}")
    rows = {
        name: {column: Spread.of(values) for column, values in row.items()} for name, row in cells.items()
    }
    return Reproduction(tests, seed, time.perf_counter() - started, rows)


def _tasks(problem: EvolutionProblem) -> list[Task]:
    """Return the runs of all algorithms on a problem without an expand limit, each within its own limit."""
    tasks = []
    for limit in dict.fromkeys(ALGORITHMS.values()):
        limited = problem if limit == math.inf else replace(problem, expand_limit=limit)
        names = [name for name in ALGORITHMS if ALGORITHMS[name] == limit]
        tasks += plan([("", limited)], names, objective="makespan", budgets=[Budget()])
    return tasks


def _measured(problem: EvolutionProblem, name: str, outcome: Outcome) -> _Run:
    """Return what a run comes to, measured without an expand limit."""
    if outcome.answer is None:
        msg = f"{name} on {problem.name}: {outcome.record.error or 'no answer'}"
        raise InvalidAnswer(msg)
    rigid = name == "rigid"
    return _Run(
        judge.evolution_metrics(problem, outcome.answer, rigid=rigid),
        judge.application_metrics(problem, outcome.answer, rigid=rigid),
        1000 * outcome.record.runtime_s,
    )
