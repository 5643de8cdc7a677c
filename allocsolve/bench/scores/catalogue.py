"""The catalogue of a study: the suites of each instance, what files state of it, and selections by suite."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from allocsolve.bench.runs.records import objective_terms
from allocsolve.errors import UnknownName

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from allocsolve.bench.runs.records import Record

#: The source of what the instance library states.
LIBRARY: Final = "the library"


class Reference(NamedTuple):
    """What a file states of an instance under an objective of one term; nothing here has recomputed it."""

    lower: float  #: bound; minus infinity if none is stated
    upper: float  #: value of a solution; infinite if none is stated
    source: str  #: the suite of the file, or `LIBRARY`; several are separated by commas

    def merged(self, other: Reference) -> Reference:
        """Return what two sources state of the same."""
        sources = dict.fromkeys((*self.source.split(", "), *other.source.split(", ")))
        return Reference(
            max(self.lower, other.lower), min(self.upper, other.upper), ", ".join(filter(None, sources))
        )


@dataclass(frozen=True, slots=True)
class Catalogue:
    """Suites and references of instances, which stand in no record."""

    #: By digest: the names of all suites with the instance, empty for a file.
    suites: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    #: By digest and objective.
    references: Mapping[tuple[str, str], Reference] = field(default_factory=dict)

    def reference(self, digest: str, objective: str) -> Reference | None:
        """Return what is stated of the first term of an objective, if anything is."""
        return self.references.get((digest, objective_terms(objective)[0]))

    def merged(self, other: Catalogue) -> Catalogue:
        """Return what both say; where both have a reference of an instance, the other one counts."""
        suites = {
            digest: tuple(dict.fromkeys((*self.suites.get(digest, ()), *other.suites.get(digest, ()))))
            for digest in (*self.suites, *other.suites)
        }
        return Catalogue(suites, {**self.references, **other.references})


#: What problems that are of no suite are called.
FILES: Final = "files"


def select(
    records: Iterable[Record],
    catalogue: Catalogue,
    *,
    solvers: Collection[str] = (),
    exclude: Collection[str] = (),
    suites: Collection[str] = (),
) -> tuple[list[Record], Catalogue]:
    """Return the records of some solvers and suites, as if the others had never been made.

    Raises `UnknownName` if no record is of a solver or suite that is named. All are kept of which no solvers
    or suites are named, by the names that records have; `FILES` stands for problems of no suite.
    """
    rows = list(records)
    known = dict.fromkeys(row.solver for row in rows)
    for name in (*solvers, *exclude):
        if name not in known:
            raise UnknownName("solver of the records", name, known)
    by_digest = {row.digest: catalogue.suites.get(row.digest, (row.suite,)) for row in rows}
    named = dict.fromkeys(suite or FILES for names in by_digest.values() for suite in names)
    for name in suites:
        if name not in named:
            raise UnknownName("suite of the records", name, named)
    kept = {
        digest: tuple(suite for suite in names if not suites or (suite or FILES) in suites)
        for digest, names in by_digest.items()
    }
    chosen = [
        row
        for row in rows
        if (not solvers or row.solver in solvers) and row.solver not in exclude and kept[row.digest]
    ]
    return chosen, Catalogue(kept, catalogue.references)
