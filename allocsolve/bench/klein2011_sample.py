"""What Klein & Perez 2011 could not print: their algorithms beside the optimum, on small problems."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from allocsolve.bench.klein2011 import ALGORITHMS
from allocsolve.bench.klein2011_tables import Spread
from allocsolve.bench.runner import run
from allocsolve.bench.scores import best
from allocsolve.bench.suites import suite
from allocsolve.bench.tasks import plan
from allocsolve.errors import InvalidAnswer, InvalidOption
from allocsolve.instances import digest
from allocsolve.model import Budget, EvolutionProblem, terms

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from allocsolve.bench.records import Record
    from allocsolve.bench.runner import Progress

__all__ = ["SampleTable", "sample"]


@dataclass(frozen=True, slots=True)
class SampleTable:
    """Makespans on a suite, relative to what is proven about the makespan within one expand limit."""

    suite: str
    expand_limit: float  #: of the optimum and the bound; each algorithm keeps its own limit
    tests: int
    proven: int  #: tests of which the optimum is proven
    runtime_s: Spread  #: of the exact solver
    optimum: Mapping[str, Spread]  #: makespan / optimum where it is proven, by algorithm; NaN if nowhere
    bound: Mapping[str, Spread]  #: makespan / best bound, by algorithm, the exact solver among them


def sample(
    suites: Sequence[str] = ("klein-5-inf", "klein-8-inf"),
    expand_limits: Sequence[float] = (1, math.inf),
    *,
    tests: int = 5,
    seconds: float = 20.0,
    workers: int = 2,
    solver: str = "cpsat",
    progress: Progress | None = None,
) -> tuple[SampleTable, ...]:
    """Compare the algorithms of the paper with the optimal makespan.

    Parameters
    ----------
    suites
        Names in `SUITES`, of problems without an expand limit.
    expand_limits
        Limits within which the optimum is sought. An algorithm that expands further may be below it.
    tests
        How many problems of each suite, from the first on.
    seconds, workers
        Budget of the exact solver for each problem and limit.
    solver
        Registered name of the exact solver.
    progress
        Told before each run of the exact solver, and once at the end.

    Returns
    -------
    tuple of SampleTable
        Suite by suite, limit by limit.

    Raises
    ------
    InvalidAnswer
        If a run failed, or bounds and answers contradict each other.
    InvalidOption
        If a suite has problems of another kind.
    """
    problems = {name: _problems(name, tests) for name in suites}
    drawn = [(name, problem) for name, chosen in problems.items() for problem in chosen]
    heuristic = run(plan(drawn, list(ALGORITHMS), budgets=[Budget()]))
    limited = {
        (name, limit): [replace(problem, expand_limit=limit) for problem in chosen]
        for name, chosen in problems.items()
        for limit in expand_limits
    }
    named = [(name, problem) for (name, _), chosen in limited.items() for problem in chosen]
    budget = Budget(seconds=seconds, workers=workers)
    exact = run(plan(named, [solver], budgets=[budget]), progress=progress)
    for record in (*heuristic, *exact):
        if record.error:
            msg = f"{record.solver} on {record.instance}: {record.error}"
            raise InvalidAnswer(msg)
    found = {(record.instance, record.solver): _makespan(record) for record in heuristic}
    by_digest = {record.digest: record for record in exact}
    return tuple(
        _table(name, limit, [by_digest[digest(problem)] for problem in chosen], found)
        for (name, limit), chosen in limited.items()
    )


def _problems(name: str, tests: int) -> list[EvolutionProblem]:
    chosen = suite(name)[:tests]
    problems = [problem for problem in chosen if isinstance(problem, EvolutionProblem)]
    if len(problems) < len(chosen):
        msg = f"suite {name} is not one of evolution problems"
        raise InvalidOption(msg)
    return problems


def _makespan(record: Record) -> float:
    """Return the makespan of a record, NaN without an answer."""
    return math.nan if record.value is None else terms(record.value)[0]


def _table(
    name: str, limit: float, exact: Sequence[Record], found: Mapping[tuple[str, str], float]
) -> SampleTable:
    known = [(record, known) for record in exact for known in best([record]).values()]
    ratios: dict[str, list[tuple[float, bool]]] = {}
    for record, on in known:
        bound = terms(on.bound)[0]
        makespans = {algorithm: found[record.instance, algorithm] for algorithm in ALGORITHMS}
        for algorithm, makespan in (makespans | {record.solver: _makespan(record)}).items():
            ratios.setdefault(algorithm, []).append((makespan / bound, on.proven))
    return SampleTable(
        suite=name,
        expand_limit=limit,
        tests=len(exact),
        proven=sum(on.proven for _, on in known),
        runtime_s=Spread.of([record.runtime_s for record in exact]),
        optimum={
            algorithm: Spread.of([ratio for ratio, proven in row if proven])
            for algorithm, row in ratios.items()
        },
        bound={algorithm: Spread.of([ratio for ratio, _ in row]) for algorithm, row in ratios.items()},
    )
