"""Comparisons: the records of one suite and objective, with all seeds of a run as one cell."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from allocsolve.bench.library.design import library_statements
from allocsolve.bench.scores.gaps import Best, best, gap, relative_difference, stated_remark
from allocsolve.bench.scores.statistics import bootstrap_interval, holm, signed_rank
from allocsolve.judge.quantiles import quantile
from allocsolve.model import Status, terms

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from allocsolve.bench.runs.records import Record
    from allocsolve.bench.scores.catalogue import Catalogue
    from allocsolve.bench.scores.statistics import Interval


@dataclass(frozen=True, slots=True)
class InstanceResult:
    """What an entrant did on an instance: the mean over its seeds, which are no independent instances.

    An instance counts as answered when every run has answered it: who fails on some seeds is not compared
    on the others.
    """

    runs: tuple[Record, ...]  #: one per seed
    value: tuple[float, ...] | None  #: mean of each term; None unless all runs have an answer
    gap: float | None  #: of the value to the best bound; None without a value or a bound; see `gap`
    runtime_s: float  #: mean, failed runs included
    proven: bool  #: every run has proven its answer optimal

    @property
    def failed(self) -> int:
        """Runs that raised or were refuted."""
        return sum(bool(run.error) for run in self.runs)

    @property
    def unanswered(self) -> int:
        """Runs that ended properly without an answer, usually at a limit."""
        return sum(run.value is None and not run.error for run in self.runs)

    @property
    def order(self) -> tuple[float, ...]:
        """The value to compare by; infinite if there is none."""
        return (math.inf,) if self.value is None else self.value

    @property
    def best_run(self) -> Record | None:
        """The run of least value, the first of several; None if none has an answer."""
        answered = [run for run in self.runs if run.value is not None]
        return min(answered, key=lambda run: terms(run.value or ()), default=None)


@dataclass(frozen=True, slots=True)
class Comparison:
    """How some entrants did on the instances of one suite, for one objective.

    An entrant is a solver with its options, version, code and budget. Its name is that of the solver,
    followed by whatever tells it from another entrant of the same solver.
    """

    suite: str  #: empty for files
    kind: str
    objective: str
    #: By digest: over all records of the objective, in whatever suite, and references.
    best_by_digest: Mapping[str, Best]
    cells: Mapping[str, Mapping[str, InstanceResult]]  #: by entrant, then by digest; where it was run

    @property
    def entrants(self) -> tuple[str, ...]:
        """The names of the entrants, in the order of their first records."""
        return tuple(self.cells)

    @property
    def common(self) -> tuple[str, ...]:
        """The digests of the instances that all entrants were run on."""
        return tuple(
            digest for digest in self.best_by_digest if all(digest in rows for rows in self.cells.values())
        )


class Entrant(NamedTuple):
    """A solver with its options, budget, version and code."""

    solver: str
    solver_repr: str
    seconds: float
    iterations: int | None
    workers: int
    version: str
    code: str


#: How the fields of an entrant are written where they differ.
_WRITTEN: Final[Mapping[str, Callable[[Any], str]]] = {
    "solver_repr": str,
    "seconds": lambda seconds: f"{seconds:g} s" if math.isfinite(seconds) else "no time limit",
    "iterations": lambda count: "no iteration limit" if count is None else f"{count} iterations",
    "workers": lambda count: f"{count} workers",
    "version": lambda version: f"version {version}",
    "code": lambda code: f"code {_short_code(code)}",
}


def _short_code(code: str) -> str:
    """Return what `registry.code_of` says without the module, with the first digits of the digest."""
    place, _, digest = code.partition("#")
    return f"{place.split(':')[-1]}#{digest[:8]}" if digest else place or "unknown"


def entrant_names(entrants: Iterable[Entrant]) -> dict[Entrant, str]:
    """Return the name of each entrant: its solver, and what tells it from others of the same solver."""
    by_solver: dict[str, list[Entrant]] = {}
    for entrant in entrants:
        by_solver.setdefault(entrant.solver, []).append(entrant)
    names = {}
    for solver, same in by_solver.items():
        differing = [field for field in _WRITTEN if len({getattr(run, field) for run in same}) > 1]
        for run in same:
            details = (_WRITTEN[field](getattr(run, field)) for field in differing)
            names[run] = ", ".join([solver, *details])
    return names


def compare(records: Iterable[Record], catalogue: Catalogue | None = None) -> tuple[Comparison, ...]:
    """Return the comparisons that some records hold, in the order of their first records.

    Parameters
    ----------
    records
        Of any suites, objectives, budgets and seeds.
    catalogue
        A record counts in every suite that has its instance; in that of the record, if the catalogue does
        not know the instance. Its references count as known values and bounds. By default the library's
        on the suites that the records name.
    """
    rows = list(records)
    catalogue = library_statements(rows) if catalogue is None else catalogue
    by_objective: dict[tuple[str, str], list[Record]] = {}
    for row in rows:
        by_objective.setdefault((row.kind, row.objective), []).append(row)
    comparisons = []
    for same in by_objective.values():
        best_by_digest = best(same, catalogue)
        by_suite: dict[str, list[Record]] = {}
        for row in same:
            for suite in catalogue.suites.get(row.digest, (row.suite,)):
                by_suite.setdefault(suite, []).append(row)
        comparisons += [_comparison(suite, members, best_by_digest) for suite, members in by_suite.items()]
    return tuple(comparisons)


def _comparison(suite: str, rows: Sequence[Record], best_by_digest: Mapping[str, Best]) -> Comparison:
    grouped: dict[Entrant, dict[str, list[Record]]] = {}
    for row in rows:
        entrant = Entrant._make(getattr(row, name) for name in Entrant._fields)
        grouped.setdefault(entrant, {}).setdefault(row.digest, []).append(row)
    names = entrant_names(grouped)
    return Comparison(
        suite=suite,
        kind=rows[0].kind,
        objective=rows[0].objective,
        best_by_digest={row.digest: best_by_digest[row.digest] for row in rows},
        cells={
            names[entrant]: {
                digest: instance_result(runs, best_by_digest[digest]) for digest, runs in by_digest.items()
            }
            for entrant, by_digest in grouped.items()
        },
    )


def instance_result(runs: Sequence[Record], on: Best) -> InstanceResult:
    """Return what the runs of an entrant on an instance, one per seed, come to."""
    answers = [terms(run.value) for run in runs if run.value is not None]
    value = tuple(map(fmean, zip(*answers, strict=True))) if len(answers) == len(runs) else None
    bounded = terms(on.bound)[0] > -math.inf
    return InstanceResult(
        runs=tuple(runs),
        value=value,
        gap=gap(value, on.bound, kind=runs[0].kind, objective=runs[0].objective)
        if value is not None and bounded
        else None,
        runtime_s=fmean(run.runtime_s for run in runs),
        proven=all(run.status is Status.OPTIMAL for run in runs),
    )


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
    stated: str = ""  #: the sentence on what files state and no record of both has, see `stated_remark`


def pair_studies(before: Iterable[Record], after: Iterable[Record], catalogue: Catalogue) -> PairedStudies:
    """Pair the runs of two studies that are of the same problem, solver, objective, budget and seed.

    If a study has several runs that differ in code or version only, the last one counts. References of the
    catalogue count as known bounds.
    """
    old, new = ({_PairKey.of(row): row for row in rows} for rows in (before, after))
    pairs = [(key, old[key], new[key]) for key in old if key in new]
    known = _best_of_all([*old.values(), *new.values()], catalogue)
    grouped: dict[_Place, dict[str, list[tuple[Record, Record]]]] = {}
    for key, old_row, new_row in pairs:
        place = _Place(key.kind, key.objective, key.entrant)
        grouped.setdefault(place, {}).setdefault(key.digest, []).append((old_row, new_row))
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
        same_code=_same_code([(old_row, new_row) for _, old_row, new_row in pairs]),
        unpaired_before=Counter(row.solver for key, row in old.items() if key not in new),
        unpaired_after=Counter(row.solver for key, row in new.items() if key not in old),
        machine_differences=_machine_differences([(old_row, new_row) for _, old_row, new_row in pairs]),
        stated=stated_remark(known.values(), "these studies"),
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
    orders = [(before.order, after.order) for before, after in rows]
    better, worse = sum(b < a for a, b in orders), sum(b > a for a, b in orders)
    answered = [
        (before, after) for before, after in rows if before.value is not None and after.value is not None
    ]
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
        newly_solved=sum(before.value is None and after.value is not None for before, after in rows),
        newly_failed=sum(before.value is not None and after.value is None for before, after in rows),
        proven_before=sum(before.proven for before, _ in rows),
        proven_after=sum(after.proven for _, after in rows),
        difference=_mean(differences),
        difference_interval=bootstrap_interval(differences, "mean"),
        median_difference=quantile(differences, 0.5) if differences else None,
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
    changed = {before.solver for before, after in pairs if not before.code or before.code != after.code}
    return tuple(dict.fromkeys(before.solver for before, _ in pairs if before.solver not in changed))


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
