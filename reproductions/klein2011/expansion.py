"""What expansion is worth: least makespans of the same applications within several expand limits."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import fmean
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

from allocsolve.bench.library.design import KLEIN, LIMITS, SUITES, klein_problem
from allocsolve.bench.runs.tasks import plan
from allocsolve.bench.scores.catalogue import Catalogue
from allocsolve.bench.scores.gaps import best
from allocsolve.bench.scores.statistics import Bracket, Ratios, ratio, ratios, sharpened, signed_rank
from allocsolve.errors import InvalidAnswer, InvalidOption
from allocsolve.families import family_of
from allocsolve.instances import digest
from allocsolve.model import Budget, EvolutionProblem, terms
from allocsolve.registry import solver_names
from reproductions.klein2011.reproduction import ALGORITHMS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from allocsolve.bench.runs.records import Record
    from allocsolve.bench.runs.tasks import Task
    from allocsolve.bench.scores.gaps import Best
    from allocsolve.instances import BestKnown

#: The longest time of a heuristic: a local search takes all that it is given.
HEURISTIC_SECONDS: Final = 3.0

#: The exact solver.
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

    There are as many tests, >= 1, of each suite; the stems are keys of `KLEIN`.

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

    An exact run has the seconds as its budget, a heuristic at most `HEURISTIC_SECONDS` of them.
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


#: List scheduling with and without expansion, by the limit: what the paper measured the worth by.
_LISTED: Final[Mapping[float, str]] = MappingProxyType({2: "2X+c", math.inf: "infX+c"})
_UNEXPANDED: Final = "noX"


@dataclass(frozen=True, slots=True)
class ExpansionInstance:
    """What is known of a draw; makespans in seconds."""

    apps: str
    name: str
    optimum: Mapping[float, Bracket]  #: least makespan, by expand limit; sharpened
    gains: Mapping[float, Bracket]  #: least makespan / that of limit 1, by expand limit above 1; at most 1
    heuristic_makespans: Mapping[Heuristic, float]  #: makespans of the heuristics that answered


@dataclass(frozen=True, slots=True)
class ExpansionGain:
    """What one expand limit is worth on the instances of one size."""

    apps: str
    limit: float
    instances: int
    proven: int  #: instances of which the least makespan is proven
    gap: float | None  #: mean remaining gap of the others, a part of the lower bound; None if all are proven
    optimum: Ratios | None  #: least makespan / that of limit 1; None for limit 1
    listed: Ratios | None  #: that ratio by list scheduling: `2X+c` or `infX+c` / `noX`; None for limit 1
    #: P value of `optimum` and `listed` being equal, over the exact ones of `optimum`, by `signed_rank`; None
    #: if `optimum` has no mean.
    p: float | None


@dataclass(frozen=True, slots=True)
class HeuristicRow:
    """How far a heuristic is from the optimum on the instances of one size that it answered."""

    apps: str
    solver: str
    limit: float  #: that it keeps
    rigid: Ratios  #: makespan / least makespan of limit 1; below 1 where expansion beats that
    own: Ratios  #: makespan / least makespan of its own limit


@dataclass(frozen=True, slots=True)
class ExpansionStudy:
    """All that is found, size by size."""

    gains: tuple[ExpansionGain, ...]
    heuristics: tuple[HeuristicRow, ...]
    instances: tuple[ExpansionInstance, ...]


def examine_expansion(
    draws: Sequence[ExpansionDraw], records: Sequence[Record], *, library: bool = True
) -> ExpansionStudy:
    """Return what records say of the worth of expansion, sizes in the order of the draws.

    Failed runs count with their combinatorial bound only. With the library, its bounds and judged values
    count, too, where the problem is the same (has the same digest). Where optima are not proven, ratios are
    brackets; nothing is extrapolated. `InvalidAnswer` is raised if bounds and values contradict each other,
    within a limit or across limits.
    """
    shipped = _shipped(draws) if library else {}
    best_by_digest = best(records, Catalogue())  # `shipped` is the library
    values: dict[str, dict[str, float]] = {}
    for record in records:
        if record.value is not None:
            values.setdefault(record.digest, {})[record.solver] = terms(record.value)[0]
    instances = []
    for draw in draws:
        digests = {limit: digest(problem) for limit, problem in draw.problems.items()}
        brackets = {limit: _bracket(best_by_digest[by], shipped.get(by)) for limit, by in digests.items()}
        answered = {
            heuristic: values[digests[heuristic.limit]][heuristic.solver]
            for heuristic in heuristics()
            if heuristic.solver in values.get(digests[heuristic.limit], ())
        }
        optimum = sharpened(brackets, draw.name)
        # No optimum is above that of a tighter limit.
        gains = {limit: ratio(optimum[limit], optimum[1], cap=1) for limit in optimum if limit > 1}
        instances.append(ExpansionInstance(draw.apps, draw.name, optimum, gains, answered))
    sizes: dict[str, list[ExpansionInstance]] = {}
    for instance in instances:
        sizes.setdefault(instance.apps, []).append(instance)
    return ExpansionStudy(
        gains=tuple(_gain(limit, rows) for rows in sizes.values() for limit in rows[0].optimum),
        heuristics=tuple(
            _heuristic(heuristic, rows) for rows in sizes.values() for heuristic in heuristics()
        ),
        instances=tuple(instances),
    )


def _bracket(recorded: Best, row: BestKnown | None) -> Bracket:
    """Return what records and the library know of a least makespan."""
    lower = max(0.0, terms(recorded.bound)[0])
    upper = math.inf if recorded.value is None else terms(recorded.value)[0]
    if row is not None:
        lower, upper = max(lower, row.lower), min(upper, row.upper)
    if lower > upper:
        msg = f"contradiction on {recorded.instance}: a bound of {lower:.10g}, yet {upper:.10g} was found"
        raise InvalidAnswer(msg)
    return Bracket(lower, upper)


def _shipped(draws: Sequence[ExpansionDraw]) -> dict[str, BestKnown]:
    """Return what the library knows of the makespan within each limit, by digest."""
    stems = dict.fromkeys(draw.stem for draw in draws)
    return {
        row.digest: row
        for stem in stems
        for suffix in LIMITS
        for row in SUITES[f"{stem}-{suffix}"].best_known()
        if row.objective == "makespan"
    }


def _gain(limit: float, rows: Sequence[ExpansionInstance]) -> ExpansionGain:
    gaps = [row.optimum[limit].gap for row in rows if not row.optimum[limit].exact]
    optimum = listed = p = None
    if limit > 1:
        optimum = ratios([row.gains[limit] for row in rows])
        pairs = [(row.gains[limit], gain) for row in rows if (gain := _listed(limit, row)) is not None]
        listed = ratios([gain for _, gain in pairs])
        if optimum.mean is not None:
            p = signed_rank([own.lower - gain.lower for own, gain in pairs if own.exact])
    proven, gap = len(rows) - len(gaps), fmean(gaps) if gaps else None
    return ExpansionGain(rows[0].apps, limit, len(rows), proven, gap, optimum, listed, p)


def _listed(limit: float, row: ExpansionInstance) -> Bracket | None:
    """Return what expansion is worth to list scheduling; None without the answers."""
    makespans = row.heuristic_makespans
    expanded, rigid = Heuristic(_LISTED[limit], limit), Heuristic(_UNEXPANDED, 1)
    if expanded not in makespans or rigid not in makespans:
        return None
    return ratio(_known(makespans[expanded]), _known(makespans[rigid]))


def _known(makespan: float) -> Bracket:
    return Bracket(makespan, makespan)


def _heuristic(heuristic: Heuristic, rows: Sequence[ExpansionInstance]) -> HeuristicRow:
    answered = [row for row in rows if heuristic in row.heuristic_makespans]
    rigid, own = (
        ratios([ratio(_known(row.heuristic_makespans[heuristic]), row.optimum[limit]) for row in answered])
        for limit in (1, heuristic.limit)
    )
    return HeuristicRow(rows[0].apps, heuristic.solver, heuristic.limit, rigid, own)
