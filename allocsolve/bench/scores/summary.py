"""Summaries of comparisons: each entrant by itself, each pair, all of them over time, and each run."""

from __future__ import annotations

import csv
import json
import math
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from itertools import combinations
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from allocsolve.bench.library.design import library_statements
from allocsolve.bench.scores.gaps import best, consistent, first_term, gap_of, relative_difference
from allocsolve.bench.scores.statistics import (
    STATISTICS,
    bootstrap_interval,
    holm,
    performance_profile,
    primal_gap,
    primal_integral,
    shifted_geometric_mean,
    signed_rank,
)
from allocsolve.errors import FormatError, SolverUnavailable, UnknownName
from allocsolve.judge.quantiles import quantile
from allocsolve.model import terms

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allocsolve.bench.runs.records import Record
    from allocsolve.bench.scores.catalogue import Catalogue, Reference
    from allocsolve.bench.scores.comparison import Comparison, InstanceResult
    from allocsolve.bench.scores.gaps import Best
    from allocsolve.bench.scores.statistics import Interval
    from allocsolve.model import Value

#: Shifts of the geometric means: seconds, and a gap of 1 %.
TIME_SHIFT: Final = 1.0
GAP_SHIFT: Final = 0.01


@dataclass(frozen=True, slots=True)
class Distribution:
    """Numbers over `count` >= 1 instances; some may be infinite."""

    count: int
    mean: float
    median: float
    p95: float
    max: float
    shifted_mean: float  #: geometric, by `GAP_SHIFT` or `TIME_SHIFT`


@dataclass(frozen=True, slots=True)
class Summary:
    """How an entrant did. `instances` = `gap.count` + `unbounded` + `incomplete`."""

    entrant: str
    instances: int
    runs: int
    failed: int  #: runs that raised or were refuted
    unanswered: int  #: runs that ended properly without an answer
    overruns: int  #: runs that took longer than their time limit
    incomplete: int  #: instances with such a run: no value, no gap
    unbounded: int  #: instances answered, without a bound: no gap
    infinite: int  #: instances with a gap above a reference of 0
    gap: Distribution | None  #: fractions; None if no instance has a gap
    gap_intervals: Mapping[str, Interval]  #: of 95 %, by bootstrap: mean, median, p95
    proven: int  #: instances proven optimal by every run
    optimal: int  #: instances on which every run meets the proven optimum
    best: int  #: instances on which every run meets the best known value
    runtime: Distribution  #: seconds, failed runs included


@dataclass(frozen=True, slots=True)
class Duel:
    """Two entrants on the instances that both were run on: `wins` + `ties` + `losses` of them.

    Nothing is better than no answer, and two times no answer is a tie. The test is Wilcoxon's, on the
    differences of the values relative to the larger one: -1 to 1, and -1 or 1 against no answer.
    """

    one: str
    other: str
    wins: int  #: instances on which `one` is better
    ties: int
    losses: int
    median_difference: float  #: below 0 where `one` is better
    p: float  #: of the first term being the same; see `signed_rank`
    p_holm: float  #: `p` adjusted for all tests of the comparison; see `holm`


@dataclass(frozen=True, slots=True)
class PrimalCurve:
    """The mean primal gap of an entrant over time, over the instances with a known value."""

    entrant: str
    steps: tuple[tuple[float, float], ...]  #: seconds and mean gap from then on; 1 before the first
    mean_gap: float  #: primal integral divided by its end, 0 to 1
    end: float  #: of the integral, in seconds: the longest run of all entrants


def _distribution(values: Sequence[float], shift: float) -> Distribution | None:
    if not values:
        return None
    return Distribution(
        count=len(values),
        mean=fmean(values),
        median=quantile(values, 0.5),
        p95=quantile(values, 0.95),
        max=max(values),
        shifted_mean=shifted_geometric_mean(values, shift),
    )


class Box(NamedTuple):
    """What a box plot shows of some numbers."""

    low: float  #: the lower quartile
    median: float
    high: float  #: the upper quartile
    mean: float
    whiskers: tuple[float, float]  #: the furthest numbers within 1.5 times `high` - `low` of the box
    beyond: tuple[float, ...]  #: those outside of the whiskers, in increasing order


def box_of(values: Iterable[float]) -> Box:
    """Return the box of at least one number; some may be infinite. O(n log n)."""
    ordered = sorted(values)
    low, median, high = (quantile(ordered, share) for share in (0.25, 0.5, 0.75))
    reach = 1.5 * (high - low) if math.isfinite(high) else 0.0
    inside = [value for value in ordered if low - reach <= value <= high + reach]
    beyond = tuple(value for value in ordered if not low - reach <= value <= high + reach)
    return Box(low, median, high, fmean(ordered), (inside[0], inside[-1]), beyond)


def summaries(comparison: Comparison) -> tuple[Summary, ...]:
    """Return the summary of each entrant, over the instances that it was run on."""
    return tuple(_summary(entrant, results, comparison) for entrant, results in comparison.cells.items())


def _summary(entrant: str, results: Mapping[str, InstanceResult], comparison: Comparison) -> Summary:
    cells = [(cell, comparison.best_by_digest[digest]) for digest, cell in results.items()]
    gaps = [cell.gap for cell, _ in cells if cell.gap is not None]
    answered = [(cell.value, on) for cell, on in cells if cell.value is not None]
    best = [on for value, on in answered if on.value is not None and value == terms(on.value)]
    runtime = _distribution([cell.runtime_s for cell, _ in cells], TIME_SHIFT)
    assert runtime is not None, "an entrant has a record"
    return Summary(
        entrant=entrant,
        instances=len(cells),
        runs=sum(len(cell.runs) for cell, _ in cells),
        failed=sum(cell.failed for cell, _ in cells),
        unanswered=sum(cell.unanswered for cell, _ in cells),
        overruns=sum(run.overran for cell, _ in cells for run in cell.runs),
        incomplete=len(cells) - len(answered),
        unbounded=len(answered) - len(gaps),
        infinite=sum(map(math.isinf, gaps)),
        gap=_distribution(gaps, GAP_SHIFT),
        gap_intervals={name: bootstrap_interval(gaps, name) for name in STATISTICS},
        proven=sum(cell.proven for cell, _ in cells),
        optimal=sum(on.proven for on in best),
        best=len(best),
        runtime=runtime,
    )


def duels(comparison: Comparison) -> tuple[Duel, ...]:
    """Return a duel for each pair of entrants that have an instance in common, in the order of `entrants`."""
    compared = []
    for entrant, other in combinations(comparison.entrants, 2):
        results, other_results = comparison.cells[entrant], comparison.cells[other]
        pairs = [
            (results[digest].order, other_results[digest].order)
            for digest in results
            if digest in other_results
        ]
        if pairs:
            differences = [relative_difference(a[0], b[0]) for a, b in pairs]
            wins, losses = sum(a < b for a, b in pairs), sum(a > b for a, b in pairs)
            ties = len(pairs) - wins - losses
            compared.append(
                (entrant, other, wins, ties, losses, quantile(differences, 0.5), signed_rank(differences))
            )
    adjusted = holm([p for *_, p in compared])
    return tuple(Duel(*duel, p_holm) for duel, p_holm in zip(compared, adjusted, strict=True))


def profiles(comparison: Comparison) -> dict[str, tuple[tuple[float, float], ...]]:
    """Return the performance profiles of the first term of the values, on the common instances."""
    common = comparison.common
    costs = {
        entrant: [results[digest].order[0] for digest in common]
        for entrant, results in comparison.cells.items()
    }
    return performance_profile(costs) if common else {}


def proof_profiles(comparison: Comparison) -> dict[str, tuple[tuple[float, float], ...]]:
    """Return the performance profiles of the run time to a proven optimum, on the common instances.

    A run without a proof counts as infinitely long. None unless two entrants prove something.
    """
    common = comparison.common
    costs = {
        entrant: [results[digest].runtime_s if results[digest].proven else math.inf for digest in common]
        for entrant, results in comparison.cells.items()
    }
    proving = sum(any(map(math.isfinite, own_costs)) for own_costs in costs.values())
    return performance_profile(costs) if proving > 1 else {}


def primal_curves(comparison: Comparison) -> tuple[PrimalCurve, ...]:
    """Return the primal curves if some run says what it met on its way; none otherwise.

    Every run holds its last value from its end on; one that says nothing else has it from then only. Each
    instance counts once, its seeds equally; the reference is the best known value. All are integrated up to
    the end of the longest run.
    """
    runs = [run for results in comparison.cells.values() for cell in results.values() for run in cell.runs]
    if not any(run.incumbents for run in runs):
        return ()
    end = max(run.runtime_s for run in runs)
    return tuple(
        curve
        for entrant, results in comparison.cells.items()
        if (curve := _curve(entrant, results, comparison, end))
    )


def _curve(
    entrant: str, results: Mapping[str, InstanceResult], comparison: Comparison, end: float
) -> PrimalCurve | None:
    drops: dict[float, float] = {}
    integrals = []
    valued = [
        (cell, on.value)
        for digest, cell in results.items()
        if (on := comparison.best_by_digest[digest]).value is not None
    ]
    for cell, value in valued:
        weight = 1 / (len(valued) * len(cell.runs))
        for run in cell.runs:
            gaps = _gaps(run, terms(value)[0])
            integrals.append(weight * primal_integral(gaps, end))
            before = 1.0
            for time, gap in gaps:
                drops[time] = drops.get(time, 0.0) + weight * (before - gap)
                before = gap
    if not valued:
        return None
    steps, level = [], 1.0
    for time in sorted(drops):
        level -= drops[time]
        steps.append((time, level if level > 1e-12 else 0.0))  # else rounding
    return PrimalCurve(entrant, tuple(steps), math.fsum(integrals) / end if end else 0.0, end)


def _gaps(run: Record, reference: float) -> tuple[tuple[float, float], ...]:
    met = [(time, terms(value)[0]) for time, value in run.incumbents]
    if run.value is not None:
        last = terms(run.value)[0]
        if not met or met[-1][1] != last:
            met.append((max([run.runtime_s, *(time for time, _ in met[-1:])]), last))
    else:
        met = []  # what was met is not what is had: the run has failed
    return tuple((time, primal_gap(value, reference)) for time, value in met)


_Rows: TypeAlias = "Sequence[Mapping[str, Any]]"


def export(
    records: Iterable[Record], path: str | os.PathLike[str], catalogue: Catalogue | None = None
) -> None:
    """Write records as one table, in the format that the end of the file's name tells.

    The columns of `GapRow` first, then one per further field, feature (``features.NAME``), metric
    (``metrics.NAME``) and machine fact (``machine.NAME``), and what is stated of the instance
    (``stated.bound``, ``stated.value``, ``stated.by``); the terms of a lexicographic value are separated by
    semicolons, incumbents are JSON.
    The file appears whole or not at all.

    Parameters
    ----------
    path
        Ends with ``.csv``, ``.json`` (a list of objects, infinities as null) or ``.parquet``.
    catalogue
        What is stated of the first terms of objectives; by default what the library states of the suites that
        the records name.
    """
    target = Path(path)
    ending = target.suffix.lower()
    if ending not in EXPORTS:
        raise UnknownName("format", ending or target.name, EXPORTS)
    listed = list(records)
    known = library_statements(listed) if catalogue is None else catalogue
    rows = [
        _cells(tidy) | _cells(row) | _cells(tidy) | _stated(known.reference(row.digest, row.objective))
        for row, tidy in zip(listed, gap_rows(listed, known), strict=True)
    ]
    draft = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        EXPORTS[ending](rows, draft)
        draft.replace(target)
    except OSError as error:
        raise FormatError(str(path), [f"cannot be written: {error.strerror}"]) from None
    finally:
        draft.unlink(missing_ok=True)


def _cells(row: Record | GapRow) -> dict[str, Any]:
    cells: dict[str, Any] = {}
    for field in fields(row):
        value = getattr(row, field.name)
        if isinstance(value, Mapping):
            cells |= {f"{field.name}.{name}": term for name, term in value.items()}
        elif field.name == "incumbents":
            cells[field.name] = json.dumps(value)
        elif isinstance(value, tuple):
            cells[field.name] = ";".join(map(str, value))
        else:
            cells[field.name] = value
    return cells


def _stated(reference: Reference | None) -> dict[str, Any]:
    """Return what files state of an instance; no run has found or proven it."""
    lower, upper, source = reference or (None, None, None)
    return {"stated.bound": lower, "stated.value": upper, "stated.by": source}


def _columns(rows: _Rows) -> list[str]:
    return list(dict.fromkeys(name for row in rows for name in row))


def _write_csv(rows: _Rows, path: Path) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, _columns(rows), restval="")
        table.writeheader()
        table.writerows(rows)


def _write_json(rows: _Rows, path: Path) -> None:
    plain = [
        {name: None if isinstance(cell, float) and math.isinf(cell) else cell for name, cell in row.items()}
        for row in rows
    ]
    path.write_text("[" + ",\n ".join(json.dumps(row, allow_nan=False) for row in plain) + "]\n", "utf-8")


def _write_parquet(rows: _Rows, path: Path) -> None:
    try:
        import pyarrow as pa  # noqa: PLC0415 - an optional dependency
        import pyarrow.parquet as pq  # noqa: PLC0415 - an optional dependency
    except ImportError:
        raise SolverUnavailable("Parquet needs pyarrow: pip install 'allocsolve[parquet]'") from None
    table = {name: _of_one_type([row.get(name) for row in rows]) for name in _columns(rows)}
    pq.write_table(pa.table(table), path)


def _of_one_type(column: list[Any]) -> list[Any]:
    """Return a column that Arrow can hold: all numbers as floats if some are, all as text if some are."""
    types = {type(cell) for cell in column if cell is not None}
    if types <= {int, float, bool}:
        return [None if cell is None else float(cell) for cell in column] if len(types) > 1 else column
    return [None if cell is None else str(cell) for cell in column]


#: Writers by the ending of the file.
EXPORTS: Final[Mapping[str, Callable[[_Rows, Path], None]]] = {
    ".csv": _write_csv,
    ".json": _write_json,
    ".parquet": _write_parquet,
}


@dataclass(frozen=True, slots=True)
class GapRow:
    """A run of a solver on an instance, and how far its answer is from the best that is known."""

    suite: str  #: of the instance, several separated by semicolons; empty for a file
    instance: str
    solver: str
    seed: int
    objective: str  #: such as ``makespan,waste``
    unit: str  #: of the first term; empty for plain numbers
    value: Value | None  #: as judged; None without an answer
    best_bound: (
        Value  #: largest bound of all records and of what files state; minus infinity if there is none
    )
    #: Who has proven `best_bound`: a solver, ``allocsolve.bounds``, or the suite or library that states it.
    bound_by: str
    #: Who has to be believed for `best_bound`, see `Best.standing`; empty without a bound.
    standing: str
    optimal: bool  #: `value` is proven to be the optimum, whoever has proven it
    #: Of the first term to `best_bound`, a fraction; None without an answer or a bound, or if the record is
    #: struck out since it contradicts others.
    gap: float | None
    runtime_s: float  #: seconds of the solver call


def gap_rows(records: Iterable[Record], catalogue: Catalogue | None = None) -> tuple[GapRow, ...]:
    """Return the tidy table of some runs: a row for each record, in their order.

    ``pandas.DataFrame(gap_rows(records))`` is a data frame with a column for each field. Whatever is told of
    gaps, by scores, reports and tables for LaTeX, is a statistic of its column ``gap``.

    Parameters
    ----------
    records
        Of any suites, objectives, solvers, budgets and seeds; failed ones included.
    catalogue
        In which suites the instances count, and what files state of them; as for `best`.
    """
    rows = list(records)
    known = library_statements(rows) if catalogue is None else catalogue
    counting, known, _ = consistent(rows, known)
    kept = {id(row) for row in counting}
    by_objective: dict[tuple[str, str], list[Record]] = {}
    for row in counting:
        by_objective.setdefault((row.kind, row.objective), []).append(row)
    bests = {objective: best(same, known) for objective, same in by_objective.items()}

    def tidy(row: Record) -> GapRow:
        on: Best | None = bests.get((row.kind, row.objective), {}).get(row.digest)
        term = first_term(row.kind, row.objective)
        return GapRow(
            suite=";".join(known.suites.get(row.digest, (row.suite,))),
            instance=row.instance,
            solver=row.solver,
            seed=row.seed,
            objective=row.objective,
            unit=term.unit if term else "",
            value=row.value,
            best_bound=on.bound if on else -math.inf,
            bound_by=on.bound_by if on else "",
            standing=on.standing if on and on.bound_by else "",
            optimal=on is not None and id(row) in kept and on.proven and row.value == on.value,
            gap=gap_of(row, on) if on and id(row) in kept else None,
            runtime_s=row.runtime_s,
        )

    return tuple(map(tidy, rows))
