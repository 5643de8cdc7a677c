"""Contradictions: what is claimed of an instance, and answers that cannot stand beside it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from allocsolve.bench.scores.catalogue import Catalogue
from allocsolve.model import Status, terms

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from allocsolve.bench.runs.records import Record
    from allocsolve.bench.scores.catalogue import Reference
    from allocsolve.model import Value

__all__ = ["Contradiction", "consistent", "contradictions"]


class _Conflict(NamedTuple):
    """Who claims what, and who found what."""

    claimed_by: str
    claim: str
    found_by: str
    value: Value


@dataclass(frozen=True, slots=True)
class Contradiction:
    """A claim on an instance, and an answer that refutes it."""

    instance: str
    objective: str
    claimed_by: str  #: a solver, the suite of a reference, or where a recomputed bound comes from
    claim: str
    found_by: str  #: the solver of the answer, or the suite of a reference
    value: Value  #: of the answer
    struck: tuple[Record, ...]  #: the rows that cannot count

    def __str__(self) -> str:
        return (
            f"contradiction on {self.instance}: {self.claimed_by} claims {self.claim}, "
            f"{self.found_by} found {self.value}"
        )


def contradictions(rows: Sequence[Record], reference: Reference | None = None) -> tuple[Contradiction, ...]:
    """Return what contradicts an answer to an instance.

    The judge has recomputed every value, but no claimed bound: the row of the claim is struck. If a bound
    that was recomputed is above a value, one of two computations of this package is wrong, and every row of
    the instance is struck. So is a claim that contradicts a reference; which of them is wrong is not known.

    Parameters
    ----------
    rows
        All of one instance and objective.
    reference
        What a file states of it.
    """
    struck: dict[_Conflict, list[Record]] = {}
    for conflict, refuted in (*_between(rows), *_with_reference(rows, reference)):
        struck.setdefault(conflict, []).extend(refuted)
    return tuple(
        Contradiction(rows[0].instance, rows[0].objective, *conflict, tuple(refuted))
        for conflict, refuted in struck.items()
    )


def _between(rows: Sequence[Record]) -> Iterator[tuple[_Conflict, Sequence[Record]]]:
    """Yield how rows contradict the least judged value, and which rows each conflict adds to those struck."""
    answered = [(row.value, row.solver) for row in rows if row.value is not None]
    if not answered:
        return
    value, found_by = min(answered, key=lambda pair: terms(pair[0]))
    bound, source = max(map(_recomputed, rows), key=lambda pair: terms(pair[0]))
    if terms(bound) > terms(value):
        yield _Conflict(source, f"the bound {bound}", found_by, value), rows
        return
    for row in rows:
        claim = _claim_above(row, value)
        if claim:
            yield _Conflict(row.solver, claim, found_by, value), [row]


def _recomputed(row: Record) -> tuple[Value, str]:
    """Return the larger bound of a row that no solver must be believed for, and where it comes from."""
    bounds = (
        (row.certified_bound, f"the certificate of {row.solver}"),
        (row.combinatorial_bound, "allocsolve.bounds"),
    )
    return max(bounds, key=lambda pair: terms(pair[0]))


def _claim_above(row: Record, value: Value) -> str:
    """Return what a row claims that an answer of this value refutes; nothing if it claims no such thing."""
    if terms(row.bound) > terms(value):
        return f"the bound {row.bound}"
    return "it is infeasible" if row.status is Status.INFEASIBLE else ""


def _with_reference(
    rows: Sequence[Record], reference: Reference | None
) -> Iterator[tuple[_Conflict, Sequence[Record]]]:
    """Yield how rows contradict a reference, and which rows each conflict adds to those struck."""
    if reference is None:
        return
    lower, upper, source = reference
    for row in rows:
        if row.value is not None and terms(row.value)[0] < lower:
            yield _Conflict(source, f"the bound {lower}", row.solver, row.value), []
        bound, bounded_by = _recomputed(row)
        if terms(bound)[0] > upper:
            yield _Conflict(bounded_by, f"the bound {bound}", source, upper), []
        elif upper < math.inf and (claim := _claim_above(row, upper)):
            yield _Conflict(row.solver, claim, source, upper), [row]


def consistent(
    records: Iterable[Record], catalogue: Catalogue
) -> tuple[tuple[Record, ...], Catalogue, tuple[Contradiction, ...]]:
    """Return the records and the catalogue without what contradicts, and the contradictions.

    Parameters
    ----------
    records
        Of any instances and objectives.
    catalogue
        Of their instances. A reference that contradicts a record is left out.
    """
    rows = tuple(records)
    grouped: dict[tuple[str, str], list[Record]] = {}
    for row in rows:
        grouped.setdefault((row.digest, row.objective), []).append(row)
    references = dict(catalogue.references)
    found: list[Contradiction] = []
    for place, group in grouped.items():
        found += contradictions(group, references.get(place))
        if any(True for _ in _with_reference(group, references.get(place))):
            del references[place]
    struck = {id(row) for one in found for row in one.struck}
    kept = tuple(row for row in rows if id(row) not in struck)
    return kept, Catalogue(catalogue.suites, references), tuple(found)
