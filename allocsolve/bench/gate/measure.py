"""What the regression gate runs: every solver on every problem of its kind, then the stopwatches."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from allocsolve import judge
from allocsolve.bench.gate.baseline import GateProblem, GateResult, GateSolver
from allocsolve.bench.gate.timing import Stopwatch, ladder_problem, rung
from allocsolve.bench.runs.tasks import warm_up
from allocsolve.bench.scores.gaps import gap
from allocsolve.errors import InvalidOption
from allocsolve.families import AnySolver, family_of
from allocsolve.instances import digest
from allocsolve.model import Limit, Status, terms

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from allocsolve.bench.runs.runner import Progress
    from allocsolve.model import Budget, Problem

__all__ = ["Contestant", "Measured", "measure"]

#: Batches of samples: at least, and at most if the time is suspicious.
_BATCHES: Final = 3
_MOST_BATCHES: Final = 12


@dataclass(frozen=True, slots=True)
class Contestant:
    """A solver of one kind of problems, and how it is timed."""

    kind: str
    name: str
    solver: AnySolver
    timed: bool
    timed_on: str | None  #: the timing problem; None to choose one on which the solver does not fail
    most: float  #: a time above this is measured again before it is believed, in reference units


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
    known: Sequence[GateProblem] = (),
    finish: bool,
    progress: Progress | None = None,
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
    known
        Problems whose gaps are to the bounds given there; those of others are to the best bounds of this run.
    finish
        Whether to refuse a run that stops at the time limit: it would end otherwise on another machine.
    progress
        Told before each run, and once at the end.

    Raises
    ------
    InvalidOption
        If a run was to finish and did not.
    KeyboardInterrupt
        When the user interrupts, also if the solver turned that into a result.
    """
    kinds = {contestant.kind for contestant in contestants}
    problems = [problem for problem in problems if _kind(problem) in kinds]
    todo = [(c, problem) for c in contestants for problem in problems if _kind(problem) == c.kind]
    total = len(todo) + sum(contestant.timed for contestant in contestants)
    tell = progress or (lambda *_: None)
    results = []
    warm = set()
    for done, (contestant, problem) in enumerate(todo):
        tell(done, total, f"{contestant.name} on {problem.name}")
        tiny = family_of(problem).warm_up(problem)
        if (contestant.kind, contestant.name, tiny) not in warm:
            warm_up(contestant.solver, tiny)
            warm.add((contestant.kind, contestant.name, tiny))
        results.append(_result(contestant, problem, budget, finish=finish))
    bounds = {row.digest: row.bound for row in known}
    rows = [_problem(problem, bounds, results) for problem in problems]
    gaps = _mean_gaps(rows, results)
    times = dict(_times(contestants, results, budget, lambda at, what: tell(len(todo) + at, total, what)))
    tell(total, total, "done")
    solvers = [
        GateSolver(c.kind, c.name, gaps.get((c.kind, c.name)), *times.get((c.kind, c.name), (None, None)))
        for c in contestants
    ]
    return Measured(tuple(sorted(rows)), tuple(sorted(solvers)), tuple(sorted(results)))


def _kind(problem: Problem) -> str:
    return family_of(problem).kind


def _result(contestant: Contestant, problem: Problem, budget: Budget, *, finish: bool) -> GateResult:
    family = family_of(problem)
    where = problem.name, contestant.name
    try:
        result = contestant.solver(problem, budget)
        confirmed = judge.confirm(problem, result, family.objectives[:1])
    except Exception as error:  # noqa: BLE001 - anything at all is a failure of the solver
        text = " ".join(f"{type(error).__name__}: {error}".split())
        return GateResult(*where, Status.UNKNOWN, None, -math.inf, error=text)
    if result.limit is Limit.INTERRUPTED:
        raise KeyboardInterrupt
    if finish and confirmed.limit is Limit.TIME:
        msg = (
            f"{contestant.name} on {problem.name} stopped at the time limit of {budget.seconds:g} s, "
            f"which is not the same work on every machine: leave this solver out, or choose another suite"
        )
        raise InvalidOption(msg)
    value = None if confirmed.objective is None else _number(terms(confirmed.objective)[0])
    return GateResult(*where, confirmed.status, value, _number(terms(confirmed.bound)[0]))


def _number(term: float) -> float:
    """Return an integer where the number is integral: 5 and 5.0 are the same result."""
    return int(term) if math.isfinite(term) and term == int(term) else float(term)


def _problem(problem: Problem, known: Mapping[str, float], results: Sequence[GateResult]) -> GateProblem:
    """Return the row of a problem; its bound is the known one, or the best of this run."""
    family, identity = family_of(problem), digest(problem)
    if identity in known:
        bound = known[identity]
    else:
        claimed = (row.bound for row in results if row.problem == problem.name)
        bound = max([_number(family.bound(problem, family.objectives[0])), *claimed])
    return GateProblem(problem.name, family.kind, identity, bound)


def _mean_gaps(
    problems: Sequence[GateProblem], results: Sequence[GateResult]
) -> dict[tuple[str, str], float]:
    """Return the mean gap of each solver, to 6 digits."""
    by_name = {row.problem: row for row in problems}
    gaps: dict[tuple[str, str], list[float]] = {}
    for row in results:
        on = by_name[row.problem]
        if row.value is not None and math.isfinite(on.bound):
            found = gap(row.value, on.bound)
            if math.isfinite(found):
                gaps.setdefault((on.kind, row.solver), []).append(found)
    return {key: round(statistics.fmean(found), 6) for key, found in gaps.items()}


def _times(
    contestants: Sequence[Contestant],
    results: Sequence[GateResult],
    budget: Budget,
    tell: Callable[[int, str], None],
) -> Iterator[tuple[tuple[str, str], tuple[str, float]]]:
    """Yield where each contestant that is timed was timed, and its time in reference units, to 4 digits."""
    failed = {row.solver for row in results if row.error}
    timed = [c for c in contestants if c.timed and c.name not in failed]
    watches: list[tuple[Contestant, str, Stopwatch]] = []
    times: dict[tuple[str, str], tuple[str, float]] = {}
    for done, contestant in enumerate(timed):
        tell(done, f"timing {contestant.name}")
        try:
            watches += ((contestant, *chosen) for chosen in _stopwatch(contestant, budget))
        except Exception:  # noqa: BLE001 - a solver that fails where it did not is no longer fast
            times[contestant.kind, contestant.name] = contestant.timed_on or "", math.inf
    # Round after round, so that the batches of one solver are far apart: a disturbance seldom meets them all.
    for batch in range(_MOST_BATCHES):
        for contestant, name, watch in watches:
            key = contestant.kind, contestant.name
            if batch < _BATCHES or times[key][1] > contestant.most:
                times[key] = name, float(f"{watch.measure():.4g}")
    yield from times.items()


def _stopwatch(contestant: Contestant, budget: Budget) -> Iterator[tuple[str, Stopwatch]]:
    """Yield where a contestant is timed, and the stopwatch; nothing if it cannot be."""
    if contestant.timed_on is None:
        chosen = rung(contestant.kind, contestant.solver, budget)
        if chosen is not None:
            yield chosen
    else:
        problem = ladder_problem(contestant.kind, contestant.timed_on)
        yield contestant.timed_on, Stopwatch(contestant.solver, problem, budget)
