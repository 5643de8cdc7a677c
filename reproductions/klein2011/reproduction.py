"""Tables 1 and 2 of Klein & Perez 2011: what is printed in them, and computed again."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

import numpy as np

from allocsolve import judge
from allocsolve.bench.runs.runner import outcomes
from allocsolve.bench.runs.tasks import plan
from allocsolve.errors import InvalidAnswer, InvalidOption
from allocsolve.instances import klein2011
from allocsolve.model import Budget, EvolutionProblem
from allocsolve.registry import ready

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike

    from allocsolve.bench.runs.execution import Outcome
    from allocsolve.bench.runs.runner import Progress
    from allocsolve.bench.runs.tasks import Task
    from allocsolve.judge import ApplicationMetrics, EvolutionMetrics


class Spread(NamedTuple):
    """Least, mean and largest value of a column."""

    min: float
    avg: float
    max: float

    @classmethod
    def of(cls, values: ArrayLike) -> Spread:
        """Return the spread of the values that are not NaN; NaN if there are none."""
        numbers = np.asarray(values, dtype=np.float64)
        numbers = numbers[~np.isnan(numbers)]
        if not numbers.size:
            return cls(math.nan, math.nan, math.nan)
        return cls(float(numbers.min()), float(numbers.mean()), float(numbers.max()))


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the tables."""

    name: str  #: key of the column in every row
    title: str  #: as printed
    unit: Literal["%", "relative", "ms"]  #: relative to the rigid schedule of the same test
    table: Literal[1, 2]


#: The columns as printed, from left to right. The last two are over all applications, the others over tests.
COLUMNS: Final = (
    Column("waste", "Waste", "%", 1),
    Column("utilisation", "Utilisation", "relative", 1),
    Column("effective_utilisation", "Eff. Util.", "%", 1),
    Column("makespan", "Makespan", "relative", 1),
    Column("schedule_time", "Sch. Time", "ms", 1),
    Column("completion", "Avg. ACT", "relative", 2),
    Column("waiting", "Avg. AWT", "relative", 2),
    Column("expanded", "Num. expanded", "%", 2),
    Column("expansion", "App expansion", "%", 2),
    Column("application_waste", "Per-app. waste", "%", 2),
)

#: Stands for the printed letter: above 0, but too small to print.
EPSILON: Final = 1e-9

_NO = (0, 0, 0)
_ONE = (1, 1, 1)

# One line per table.
_PRINTED: Final = {
    "rigid": (
        *((43, 70, 116), _ONE, (30, 40, 51), _ONE, (4.64, 6.2, 9.41)),
        *(_ONE, _ONE, _NO, _NO, (0, 67, 681)),
    ),
    "noX": (
        *(_NO, (0.46, 0.58, 0.69), (49, 61, 73), (0.49, 0.65, 0.82), (11.4, 24.7, 55.8)),
        *((0.42, 0.61, 0.84), (0.36, 0.55, 0.81), _NO, _NO, _NO),
    ),
    "2X": (
        *((0, 2, 11), (0.47, 0.60, 0.71), (50, 63, 75), (0.48, 0.64, 0.82), (11.4, 24.4, 45.4)),
        *((0.45, 0.61, 0.84), (0.36, 0.54, 0.80), (0, 22, 56), (0, 4, 76), (0, 2, 75)),
    ),
    "2X+c": (
        *((0, EPSILON, 4), (0.46, 0.59, 0.70), (53, 63, 75), (0.48, 0.63, 0.82), (17.1, 36.7, 88.6)),
        *((0.44, 0.60, 0.84), (0.37, 0.54, 0.81), (0, 7, 40), (0, EPSILON, 60), (0, EPSILON, 41)),
    ),
    "infX": (
        *((0, 7, 22), (0.49, 0.63, 0.78), (52, 64, 73), (0.49, 0.63, 0.78), (11.4, 23.4, 49.2)),
        *((0.43, 0.62, 0.81), (0.27, 0.53, 0.76), (0, 26, 62), (0, 19, 884), (0, 6, 360)),
    ),
    "infX+c": (
        *((0, 1, 11), (0.46, 0.59, 0.71), (55, 64, 74), (0.47, 0.62, 0.78), (17.6, 36, 124)),
        *((0.44, 0.60, 0.81), (0.35, 0.53, 0.76), (0, 13, 47), (0, 5, 1354), (0, 1, 119)),
    ),
}

#: What the paper prints, by algorithm and column name. Its averages are truncated, not rounded.
PAPER: Final[Mapping[str, Mapping[str, Spread]]] = MappingProxyType(
    {
        algorithm: MappingProxyType(
            {column.name: Spread(*spread) for column, spread in zip(COLUMNS, row, strict=True)}
        )
        for algorithm, row in _PRINTED.items()
    }
)

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

    Test ``i`` is ``klein2011([seed, i])``; the progress is called after each. Where nobody waits in the
    rigid schedule, a test is left out of the waiting column. As the paper has it, waste is relative to the
    useful area, utilisation is the allocated area relative to that of rigid, and rigid is accounted for as
    reservations of the peak (`evolution_metrics` with ``rigid=True``). All schedules are judged, each with
    the expand limit of its algorithm: `InvalidAnswer` is raised if one is infeasible.

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
