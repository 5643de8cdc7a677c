"""Two studies side by side: what each solver did before and after, run by run."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from statistics import fmean, median
from typing import TYPE_CHECKING, NamedTuple

from allocsolve.bench.scores.comparison import Entrant, entrant_names, instance_result
from allocsolve.bench.scores.gaps import best
from allocsolve.bench.scores.statistics import bootstrap_interval, holm, signed_rank
from allocsolve.bench.scores.summary import relative_difference

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from allocsolve.bench.runs.records import Record
    from allocsolve.bench.scores.catalogue import Catalogue
    from allocsolve.bench.scores.comparison import InstanceResult
    from allocsolve.bench.scores.gaps import Best
    from allocsolve.bench.scores.statistics import Interval

__all__ = ["PairedStudies", "SolverChange", "pair_studies"]


class _PairKey(NamedTuple):
    """What makes a run of one study the counterpart of one of another: all but code and version."""

    kind: str
    objective: str
    entrant: Entrant
    digest: str
    seed: int

    @classmethod
    def of(cls, row: Record) -> _PairKey:
        """Return the key of a row."""
        entrant = Entrant(row.solver, "", row.seconds, row.iterations, row.workers, "", "")
        return cls(row.kind, row.objective, entrant, row.digest, row.seed)


@dataclass(frozen=True, slots=True)
class SolverChange:
    """What changed for an entrant, over the instances that both studies have runs of it on.

    The seeds that both have are averaged on each instance first. Better, worse and the test are of all
    instances, no answer being worse than any; differences, gaps and times are of those answered in both.
    """

    entrant: str
    kind: str
    objective: str
    instances: int  #: `better` + `equal` + `worse`
    better: int
    equal: int
    worse: int
    newly_solved: int  #: no answer to every seed before
    newly_failed: int  #: no answer to every seed after
    proven_before: int  #: instances proven optimal by every run
    proven_after: int
    difference: float | None  #: mean of the differences relative to the larger value; below 0 is better
    difference_interval: Interval  #: of 95 %, by bootstrap over the instances, as are the others
    median_difference: float | None
    gap_before: float | None  #: mean, to the best bound of both studies; None without any bound
    gap_after: float | None
    gap_change: float | None  #: mean of the differences of the gaps
    gap_change_interval: Interval
    p: float  #: Wilcoxon's, of the first term being the same; see `signed_rank`
    p_holm: float  #: adjusted for all entrants; see `holm`
    time_ratio: float | None  #: geometric mean of time after / time before
    time_ratio_interval: Interval


@dataclass(frozen=True, slots=True)
class PairedStudies:
    """Two studies run by run."""

    changes: tuple[SolverChange, ...]
    pairs: int
    same_code: tuple[str, ...]  #: solvers of which every pair was made by the same code
    unpaired_before: Mapping[str, int]  #: runs by solver that have no counterpart
    unpaired_after: Mapping[str, int]
    #: Facts of machines that are not the same for the paired runs of both: all values before and after.
    machine_differences: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]]


def pair_studies(before: Iterable[Record], after: Iterable[Record], catalogue: Catalogue) -> PairedStudies:
    """Pair the runs of two studies that are of the same problem, solver, objective, budget and seed.

    Parameters
    ----------
    before, after
        Of any solvers and problems. If a study has several runs that differ in code or version only, the
        last one counts.
    catalogue
        Its references count as known bounds.

    Raises
    ------
    InvalidAnswer
        If records contradict each other; see `consistent`.
    """
    old, new = ({_PairKey.of(row): row for row in rows} for rows in (before, after))
    pairs = [(key, old[key], new[key]) for key in old if key in new]
    known = _best_of_all([*old.values(), *new.values()], catalogue)
    grouped: dict[_Place, dict[str, list[tuple[Record, Record]]]] = {}
    for key, one, other in pairs:
        place = _Place(key.kind, key.objective, key.entrant)
        grouped.setdefault(place, {}).setdefault(key.digest, []).append((one, other))
    results = {
        place: [_results(runs, known[place.objective, digest]) for digest, runs in by_digest.items()]
        for place, by_digest in grouped.items()
    }
    p_values = [
        signed_rank([relative_difference(b.order[0], a.order[0]) for a, b in rows])
        for rows in results.values()
    ]
    names = entrant_names(place.entrant for place in results)
    return PairedStudies(
        changes=tuple(
            _change(names[place.entrant], place, rows, p, p_holm)
            for (place, rows), p, p_holm in zip(results.items(), p_values, holm(p_values), strict=True)
        ),
        pairs=len(pairs),
        same_code=_same_code([(one, other) for _, one, other in pairs]),
        unpaired_before=Counter(row.solver for key, row in old.items() if key not in new),
        unpaired_after=Counter(row.solver for key, row in new.items() if key not in old),
        machine_differences=_machine_differences([(one, other) for _, one, other in pairs]),
    )


class _Place(NamedTuple):
    """Where a change is looked for."""

    kind: str
    objective: str
    entrant: Entrant


def _best_of_all(rows: Iterable[Record], catalogue: Catalogue) -> dict[tuple[str, str], Best]:
    """Return what is known of each instance by objective and digest."""
    by_objective: dict[str, list[Record]] = {}
    for row in rows:
        by_objective.setdefault(row.objective, []).append(row)
    return {
        (objective, digest): known
        for objective, same in by_objective.items()
        for digest, known in best(same, catalogue).items()
    }


def _results(runs: Sequence[tuple[Record, Record]], known: Best) -> tuple[InstanceResult, InstanceResult]:
    before, after = zip(*runs, strict=True)
    return instance_result(before, known), instance_result(after, known)


def _change(
    name: str, place: _Place, rows: Sequence[tuple[InstanceResult, InstanceResult]], p: float, p_holm: float
) -> SolverChange:
    orders = [(one.order, other.order) for one, other in rows]
    better, worse = sum(b < a for a, b in orders), sum(b > a for a, b in orders)
    answered = [(one, other) for one, other in rows if one.value is not None and other.value is not None]
    differences = [relative_difference(b.order[0], a.order[0]) for a, b in answered]
    gaps = [(a.gap, b.gap) for a, b in answered if a.gap is not None and b.gap is not None]
    gap_changes = [b - a for a, b in gaps if max(a, b) < math.inf]
    ratios = [math.log(b.runtime_s / a.runtime_s) for a, b in answered if min(a.runtime_s, b.runtime_s) > 0]
    ratio_interval = bootstrap_interval(ratios, "mean")
    return SolverChange(
        entrant=name,
        kind=place.kind,
        objective=place.objective,
        instances=len(rows),
        better=better,
        equal=len(rows) - better - worse,
        worse=worse,
        newly_solved=sum(one.value is None and other.value is not None for one, other in rows),
        newly_failed=sum(one.value is not None and other.value is None for one, other in rows),
        proven_before=sum(one.proven for one, _ in rows),
        proven_after=sum(other.proven for _, other in rows),
        difference=_mean(differences),
        difference_interval=bootstrap_interval(differences, "mean"),
        median_difference=median(differences) if differences else None,
        gap_before=_mean([a for a, _ in gaps]),
        gap_after=_mean([b for _, b in gaps]),
        gap_change=_mean(gap_changes),
        gap_change_interval=bootstrap_interval(gap_changes, "mean"),
        p=p,
        p_holm=p_holm,
        time_ratio=math.exp(fmean(ratios)) if ratios else None,
        time_ratio_interval=ratio_interval and (math.exp(ratio_interval[0]), math.exp(ratio_interval[1])),
    )


def _mean(values: Sequence[float]) -> float | None:
    return fmean(values) if values else None


def _same_code(pairs: Sequence[tuple[Record, Record]]) -> tuple[str, ...]:
    """Return the solvers whose code is known and has not changed."""
    changed = {one.solver for one, other in pairs if not one.code or one.code != other.code}
    return tuple(dict.fromkeys(one.solver for one, _ in pairs if one.solver not in changed))


def _machine_differences(
    pairs: Sequence[tuple[Record, Record]],
) -> dict[str, tuple[tuple[str, ...], tuple[str, ...]]]:
    sides = [Counter(tuple(row.machine.items()) for row in side) for side in zip(*pairs, strict=True)]
    if not sides:
        return {}
    facts = dict.fromkeys(name for side in sides for machine in side for name, _ in machine)
    values = {
        name: tuple(tuple(sorted({str(dict(machine).get(name)) for machine in side})) for side in sides)
        for name in facts
    }
    return {name: (before, after) for name, (before, after) in values.items() if before != after}
