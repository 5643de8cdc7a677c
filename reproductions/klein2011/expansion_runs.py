"""The runs behind `examine_expansion`: the same applications within each expand limit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from allocsolve.bench.library.design import KLEIN, LIMITS, klein_problem
from allocsolve.bench.runs.tasks import plan
from allocsolve.errors import InvalidOption
from allocsolve.families import family_of
from allocsolve.model import Budget, EvolutionProblem
from allocsolve.registry import solver_names
from reproductions.klein2011.reproduction import ALGORITHMS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from allocsolve.bench.runs.tasks import Task

__all__ = [
    "HEURISTIC_SECONDS",
    "ExpansionDraw",
    "Heuristic",
    "expansion_draws",
    "expansion_tasks",
    "heuristics",
]

#: The longest time of a heuristic: a local search takes all that it is given.
HEURISTIC_SECONDS: Final = 3.0


#: The exact solver: it hands what has expansion to ``cpsat``.
_EXACT: Final = "conflict-search"


class Heuristic(NamedTuple):
    """A solver and the expand limit that it keeps."""

    solver: str
    limit: float


@dataclass(frozen=True, slots=True)
class ExpansionDraw:
    """The same applications within each expand limit."""

    apps: str  #: how many applications its suite has, such as 15-20
    name: str  #: as those of the problems, without the limit
    problems: Mapping[float, EvolutionProblem]  #: by expand limit, increasing

    @property
    def stem(self) -> str:
        """What the names of its suites begin with."""
        return self.name.rpartition("-")[0]


def expansion_draws(tests: int, stems: Iterable[str] = tuple(KLEIN)) -> tuple[ExpansionDraw, ...]:
    """Return the first draws of suites of the library; beyond its ten, draws from the seeds that follow.

    Parameters
    ----------
    tests
        How many of each suite, >= 1.
    stems
        Keys of `KLEIN`.

    Examples
    --------
    >>> draw = expansion_draws(12, ["klein-8"])[11]
    >>> draw.apps, draw.name, {limit: problem.name for limit, problem in draw.problems.items()}
    ('8', 'klein-8-11', {1.0: 'klein-8-l1-11', 2.0: 'klein-8-l2-11', inf: 'klein-8-inf-11'})
    """
    if tests < 1:
        msg = f"tests {tests} is below 1"
        raise InvalidOption(msg)
    return tuple(
        ExpansionDraw(
            KLEIN[stem].apps,
            f"{stem}-{idx:02}",
            {limit: klein_problem(stem, suffix, idx) for suffix, limit in LIMITS.items()},
        )
        for stem in stems
        for idx in range(tests)
    )


def heuristics() -> tuple[Heuristic, ...]:
    """Return the algorithms of the paper, each within its own limit, and all others within every limit.

    The others are what the registry has besides: local searches.
    """
    family = family_of(EvolutionProblem)
    others = [
        name
        for name, row in solver_names(family).items()
        if row.method == "heuristic" and name not in ALGORITHMS
    ]
    return (
        *(Heuristic(name, limit) for name, limit in ALGORITHMS.items()),
        *(Heuristic(name, limit) for name in others for limit in LIMITS.values()),
    )


def expansion_tasks(
    draws: Sequence[ExpansionDraw], *, seconds: float, workers: int = 1, seed: int = 0
) -> list[Task]:
    """Return the runs that `examine_expansion` needs: all heuristics, and an exact solver in every limit.

    Parameters
    ----------
    draws
        See `expansion_draws`.
    seconds
        Budget of each exact run; a heuristic has at most `HEURISTIC_SECONDS` of it.
    workers, seed
        Of each run.
    """
    budgets = [
        Budget(seconds=spent, workers=workers, seed=seed)
        for spent in (min(seconds, HEURISTIC_SECONDS), seconds)
    ]
    suffixes = {limit: suffix for suffix, limit in LIMITS.items()}
    tasks = []
    for draw in draws:
        for limit, problem in draw.problems.items():
            named = [(f"{draw.stem}-{suffixes[limit]}", problem)]
            names = [heuristic.solver for heuristic in heuristics() if heuristic.limit == limit]
            tasks += plan(named, names, objective="makespan", budgets=budgets[:1])
            tasks += plan(named, [_EXACT], objective="makespan", budgets=budgets[1:])
    return tasks
