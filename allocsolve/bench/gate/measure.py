"""What the regression gate runs: every solver on every problem of its kind, then the stopwatches."""

from __future__ import annotations

import contextlib
import math
import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from allocsolve.bench.gate.baseline import GateProblem, GateResult, GateSolver
from allocsolve.bench.gate.timing import (
    BATCHES_IF_DOUBTFUL,
    References,
    Stopwatch,
    Times,
    ladder_problem,
    ratios,
    rung,
)
from allocsolve.bench.runs.runner import outcomes
from allocsolve.bench.runs.tasks import plan
from allocsolve.bench.scores.gaps import gap
from allocsolve.errors import InvalidOption
from allocsolve.families import family_named, family_of
from allocsolve.model import Limit, terms
from allocsolve.registry import make_solver

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from concurrent.futures import Executor

    from allocsolve.bench.runs.records import Record
    from allocsolve.bench.runs.runner import Announce, Progress
    from allocsolve.bench.runs.tasks import SolverLike, Task
    from allocsolve.families import AnySolver
    from allocsolve.model import Budget, Problem

__all__ = ["Contestant", "Measured", "measure"]

_NO_REFERENCES: Final = References(*(1.0 for _ in References._fields))


@dataclass(frozen=True, slots=True)
class Contestant:
    """A solver of one kind of problems, and how it is timed."""

    kind: str
    name: str
    solver: SolverLike
    timed: bool
    timed_on: str | None = None  #: the timing problem; None to choose one on which the solver does not fail
    #: CPU and wall times above these are measured again before they are believed, in units of the walk, on a
    #: machine with these reference times.
    doubtful: tuple[float, float] = (math.inf, math.inf)
    references: References | None = None

    def doubts(self, times: Times) -> bool:
        """Whether times are to be measured again."""
        largest = ratios(self.references, times.references).largest
        return any(time > largest * limit for time, limit in zip(times[:2], self.doubtful, strict=True))

    def make(self) -> AnySolver:
        """Return the solver."""
        if not isinstance(self.solver, str):
            return self.solver
        return make_solver(self.solver, family_named(self.kind).problem)


@dataclass(frozen=True, slots=True)
class Measured:
    """All rows of a run, sorted."""

    problems: tuple[GateProblem, ...]
    solvers: tuple[GateSolver, ...]
    results: tuple[GateResult, ...]


def measure(
    problems: Sequence[Problem],
    contestants: Sequence[Contestant],
    budget: Budget,
    *,
    bounded: Sequence[GateProblem] = (),
    finish: bool,
    executor: Executor | None = None,
    progress: Progress | None = None,
    announce: Announce | None = None,
) -> Measured:
    """Run all contestants on all problems of their kinds and time those that are timed.

    Parameters
    ----------
    problems
        With unique names. Those of kinds without a contestant are left out.
    contestants
        With unique names by kind.
    budget
        Of each run.
    bounded
        Problems whose gaps are to the bounds given there; those of others are to the best bounds of this run.
    finish
        Whether to refuse a run that stops at the time limit: it would end otherwise on another machine.
    executor
        Where solvers that have names are run; times are measured in this process.
    progress
        Told before each run, and once at the end.
    announce
        Told of long compilations.

    Raises
    ------
    InvalidOption
        If a run was to finish and did not.
    KeyboardInterrupt
        When the user interrupts, also if the solver turned that into a result.
    """
    kinds = {contestant.kind for contestant in contestants}
    problems = [problem for problem in problems if _kind(problem) in kinds]
    tasks = [
        task  # two names may stand for the same solver: each is a contestant of its own
        for problem in problems
        for contestant in contestants
        if contestant.kind == _kind(problem)
        for task in plan([("", problem)], [contestant.solver], budgets=[budget])
    ]
    total = len(tasks) + sum(contestant.timed for contestant in contestants)
    tell = progress or (lambda *_: None)

    def announced() -> Iterator[Task]:
        for done, task in enumerate(tasks):
            tell(done, total, task.label)
            yield task

    if any(task.unnamed is not None for task in tasks):
        executor = None
    results: list[GateResult] = []
    bounds: dict[str, float] = {}
    for task, (record, *_) in outcomes(announced(), executor=executor, ahead=1, announce=announce):
        results.append(_result(task, record, finish=finish))
        known = bounds.get(record.digest, -math.inf)
        bounds[record.digest] = max(known, results[-1].bound, _number(terms(record.combinatorial_bound)[0]))
    bounds |= {row.digest: row.bound for row in bounded}
    keys = {task.problem.name: (_kind(task.problem), task.key.digest) for task in tasks}
    rows = [GateProblem(name, kind, digest, bounds[digest]) for name, (kind, digest) in keys.items()]
    gaps = _mean_gaps(rows, results)
    times = _times(contestants, results, budget, lambda at, what: tell(len(tasks) + at, total, what))
    tell(total, total, "done")
    solvers = [
        GateSolver(*key, gaps.get(key), *times.get(key, (None, None)))
        for key in [(contestant.kind, contestant.name) for contestant in contestants]
    ]
    return Measured(tuple(sorted(rows)), tuple(sorted(solvers)), tuple(sorted(results)))


def _kind(problem: Problem) -> str:
    return family_of(problem).kind


def _result(task: Task, record: Record, *, finish: bool) -> GateResult:
    if finish and record.limit is Limit.TIME:
        msg = (
            f"{task.label} stopped at the time limit of {record.seconds:g} s, "
            f"which is not the same work on every machine: leave this solver out, or choose another suite"
        )
        raise InvalidOption(msg)
    value = None if record.value is None else _number(terms(record.value)[0])
    bound = _number(terms(record.bound)[0])
    return GateResult(task.problem.name, task.solver, record.status, value, bound, record.error)


def _number(term: float) -> float:
    """Return an integer where the number is integral: 5 and 5.0 are the same result."""
    return int(term) if math.isfinite(term) and term == int(term) else float(term)


def _mean_gaps(
    problems: Sequence[GateProblem], results: Sequence[GateResult]
) -> dict[tuple[str, str], float]:
    """Return the mean gap of each solver, to 6 digits."""
    by_name = {row.problem: row for row in problems}
    gaps: dict[tuple[str, str], list[float]] = {}
    for row in results:
        on = by_name[row.problem]
        if row.value is not None and math.isfinite(on.bound):
            term = family_named(on.kind).objectives[0]
            distance = gap(row.value, on.bound, kind=on.kind, objective=term)
            if math.isfinite(distance):
                gaps.setdefault((on.kind, row.solver), []).append(distance)
    return {key: round(statistics.fmean(distances), 6) for key, distances in gaps.items()}


def _times(
    contestants: Sequence[Contestant],
    results: Sequence[GateResult],
    budget: Budget,
    tell: Callable[[int, str], None],
) -> dict[tuple[str, str], tuple[str, float, float | None, References | None]]:
    """Return where each contestant that is timed was timed, and its times in units of the walk."""
    failed = {row.solver for row in results if row.error}
    timed = [c for c in contestants if c.timed and c.name not in failed]
    watches: list[tuple[Contestant, str, Stopwatch]] = []
    # A solver that fails where it did not, be it in some calls only, is no longer fast.
    failure = Times(math.inf, math.inf, _NO_REFERENCES)
    times: dict[tuple[str, str], tuple[str, Times]] = {}
    for done, contestant in enumerate(timed):
        tell(done, f"timing {contestant.name}")
        times[contestant.kind, contestant.name] = contestant.timed_on or "", failure
        with contextlib.suppress(Exception):
            watches += ((contestant, *chosen) for chosen in _stopwatch(contestant, budget))
    # Round after round, so that the batches of one solver are far apart: a disturbance seldom meets them all.
    for batch in range(BATCHES_IF_DOUBTFUL):
        for contestant, name, watch in watches:
            key = contestant.kind, contestant.name
            if batch < watch.batches or contestant.doubts(times[key][1]):
                times[key] = name, failure
                with contextlib.suppress(Exception):
                    times[key] = name, watch.measure()
    return {
        key: (
            name,
            _digits(found.cpu),
            _digits(found.wall) if math.isfinite(found.wall) else None,
            None if found is failure else found.references,
        )
        for key, (name, found) in times.items()
        if name  # a solver that is timed nowhere yet cannot become slower
    }


def _digits(time: float) -> float:
    return float(f"{time:.4g}")


def _stopwatch(contestant: Contestant, budget: Budget) -> Iterator[tuple[str, Stopwatch]]:
    """Yield where a contestant is timed, and the stopwatch; nothing if it cannot be."""
    solver = contestant.make()
    if contestant.timed_on is None:
        chosen = rung(contestant.kind, solver, budget)
        if chosen is not None:
            yield chosen
    else:
        problem = ladder_problem(contestant.kind, contestant.timed_on)
        yield contestant.timed_on, Stopwatch(solver, problem, budget)
