"""What expansion is worth: least makespans of problems after Klein & Perez 2011 within several limits."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import fmean
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from allocsolve.bench.library.design import LIMITS, SUITES
from allocsolve.bench.scores.gaps import best
from allocsolve.bench.scores.statistics import Bracket, Ratios, ratio, ratios, sharpened, signed_rank
from allocsolve.errors import InvalidAnswer
from allocsolve.instances import digest
from allocsolve.model import terms
from reproductions.klein2011.expansion_runs import Heuristic, heuristics

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from allocsolve.bench.runs.records import Record
    from allocsolve.bench.scores.gaps import Best
    from allocsolve.instances import BestKnown
    from reproductions.klein2011.expansion_runs import ExpansionDraw

__all__ = [
    "ExpansionGain",
    "ExpansionInstance",
    "ExpansionStudy",
    "HeuristicRow",
    "examine_expansion",
]

_OBJECTIVE: Final = "makespan"

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
    gap: (
        float | None
    )  #: mean remaining gap of the others, a fraction of the lower bound; None if all are proven
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
    """Return what records say of the worth of expansion.

    Parameters
    ----------
    draws
        See `expansion_draws`.
    records
        Of the tasks of these draws; failed ones count with their combinatorial bound only.
    library
        Whether the bounds and the judged values of the instance library count, too, where the problem is the
        same (has the same digest).

    Returns
    -------
    ExpansionStudy
        Sizes in the order of the draws. Where optima are not proven, ratios are brackets; nothing is
        extrapolated.

    Raises
    ------
    InvalidAnswer
        If bounds and values contradict each other, within a limit or across limits.
    """
    shipped = _shipped(draws) if library else {}
    best_by_digest = best(records)
    values: dict[str, dict[str, float]] = {}
    for record in records:
        if record.value is not None:
            values.setdefault(record.digest, {})[record.solver] = terms(record.value)[0]
    instances = []
    for draw in draws:
        digests = {limit: digest(problem) for limit, problem in draw.problems.items()}
        brackets = {limit: _bracket(best_by_digest[by], shipped.get(by)) for limit, by in digests.items()}
        answered = {
            one: values[digests[one.limit]][one.solver]
            for one in heuristics()
            if one.solver in values.get(digests[one.limit], ())
        }
        instances.append(_instance(draw, sharpened(brackets, draw.name), answered))
    sizes: dict[str, list[ExpansionInstance]] = {}
    for instance in instances:
        sizes.setdefault(instance.apps, []).append(instance)
    return ExpansionStudy(
        gains=tuple(_gain(limit, rows) for rows in sizes.values() for limit in rows[0].optimum),
        heuristics=tuple(_heuristic(one, rows) for rows in sizes.values() for one in heuristics()),
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
        if row.objective == _OBJECTIVE
    }


def _instance(
    draw: ExpansionDraw, optimum: Mapping[float, Bracket], makespans: Mapping[Heuristic, float]
) -> ExpansionInstance:
    gains = {
        # No optimum is above that of a tighter limit.
        limit: ratio(bracket, optimum[1], cap=1)
        for limit, bracket in optimum.items()
        if limit > 1
    }
    return ExpansionInstance(draw.apps, draw.name, optimum, gains, makespans)


def _gain(limit: float, rows: Sequence[ExpansionInstance]) -> ExpansionGain:
    gaps = [row.optimum[limit].gap for row in rows if not row.optimum[limit].exact]
    optimum = listed = p = None
    if limit > 1:
        optimum = ratios([row.gains[limit] for row in rows])
        pairs = [(row.gains[limit], gain) for row in rows if (gain := _listed(limit, row)) is not None]
        listed = ratios([gain for _, gain in pairs])
        if optimum.mean is not None:
            p = signed_rank([one.lower - gain.lower for one, gain in pairs if one.exact])
    return ExpansionGain(
        apps=rows[0].apps,
        limit=limit,
        instances=len(rows),
        proven=len(rows) - len(gaps),
        gap=fmean(gaps) if gaps else None,
        optimum=optimum,
        listed=listed,
        p=p,
    )


def _listed(limit: float, row: ExpansionInstance) -> Bracket | None:
    """Return what expansion is worth to list scheduling; None without the answers."""
    one, other = (
        row.heuristic_makespans.get(Heuristic(_LISTED[limit], limit)),
        row.heuristic_makespans.get(Heuristic(_UNEXPANDED, 1)),
    )
    return None if one is None or other is None else ratio(Bracket(one, one), Bracket(other, other))


def _heuristic(one: Heuristic, rows: Sequence[ExpansionInstance]) -> HeuristicRow:
    answered = [
        (Bracket(row.heuristic_makespans[one], row.heuristic_makespans[one]), row.optimum)
        for row in rows
        if one in row.heuristic_makespans
    ]
    return HeuristicRow(
        apps=rows[0].apps,
        solver=one.solver,
        limit=one.limit,
        rigid=ratios([ratio(value, optimum[1]) for value, optimum in answered]),
        own=ratios([ratio(value, optimum[one.limit]) for value, optimum in answered]),
    )
