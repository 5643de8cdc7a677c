"""Comparisons: the records of one suite and objective, with all seeds of a run as one cell."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from allocsolve.bench.scores.catalogue import Catalogue
from allocsolve.bench.scores.gaps import Best, best, gap
from allocsolve.model import Status, terms

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from allocsolve.bench.runs.records import Record

__all__ = ["Comparison", "Entrant", "InstanceResult", "compare", "entrant_names", "instance_result"]


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
    best_by_digest: Mapping[
        str, Best
    ]  #: by digest: over all records of the objective, in whatever suite, and references
    cells: Mapping[str, Mapping[str, InstanceResult]]  #: by entrant, then by digest; where it was run

    @property
    def entrants(self) -> tuple[str, ...]:
        """The names of the entrants, in the order of their first records."""
        return tuple(self.cells)

    @property
    def common(self) -> tuple[str, ...]:
        """The digests of the instances that all entrants were run on."""
        return tuple(one for one in self.best_by_digest if all(one in rows for rows in self.cells.values()))


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
        differing = [field for field in _WRITTEN if len({getattr(one, field) for one in same}) > 1]
        for one in same:
            details = (_WRITTEN[field](getattr(one, field)) for field in differing)
            names[one] = ", ".join([solver, *details])
    return names


def compare(records: Iterable[Record], catalogue: Catalogue | None = None) -> tuple[Comparison, ...]:
    """Return the comparisons that some records hold, in the order of their first records.

    Parameters
    ----------
    records
        Of any suites, objectives, budgets and seeds.
    catalogue
        A record counts in every suite that has its instance; in that of the record, if the catalogue does
        not know the instance. Its references count as known values and bounds.

    Raises
    ------
    InvalidAnswer
        If two records contradict each other; see `best`.
    """
    catalogue = catalogue or Catalogue()
    by_objective: dict[tuple[str, str], list[Record]] = {}
    for row in records:
        by_objective.setdefault((row.kind, row.objective), []).append(row)
    comparisons = []
    for rows in by_objective.values():
        best_by_digest = best(rows, catalogue)
        by_suite: dict[str, list[Record]] = {}
        for row in rows:
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
