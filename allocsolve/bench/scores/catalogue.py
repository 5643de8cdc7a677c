"""The catalogue of a study: which suites name an instance, and what files state of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Catalogue", "Reference"]


class Reference(NamedTuple):
    """What a file states of an instance under an objective of one term; nothing here has recomputed it."""

    lower: float  #: bound; minus infinity if none is stated
    upper: float  #: value of a solution; infinite if none is stated
    source: str  #: the suite of the file


@dataclass(frozen=True, slots=True)
class Catalogue:
    """Suites and references of instances, which stand in no record."""

    #: By digest: the names of all suites with the instance, empty for a file.
    suites: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    #: By digest and objective.
    references: Mapping[tuple[str, str], Reference] = field(default_factory=dict)

    def merged(self, other: Catalogue) -> Catalogue:
        """Return what both say; where both have a reference of an instance, the other one counts."""
        suites = {
            digest: tuple(dict.fromkeys((*self.suites.get(digest, ()), *other.suites.get(digest, ()))))
            for digest in (*self.suites, *other.suites)
        }
        return Catalogue(suites, {**self.references, **other.references})
