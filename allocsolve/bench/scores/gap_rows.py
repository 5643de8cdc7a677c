"""The tidy table of runs: one row each, with its gap, the bound that the gap is to, and who proved that."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from allocsolve.bench.library.references import library_statements
from allocsolve.bench.scores.gaps import best, consistent, first_term, gap_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from allocsolve.bench.runs.records import Record
    from allocsolve.bench.scores.catalogue import Catalogue
    from allocsolve.bench.scores.gaps import Best
    from allocsolve.model import Value


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
