"""What a report is made from: the records of a study, and all that is computed from them once."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from allocsolve.bench import Comparison, Record, RecordKey, compare
from allocsolve.bench.scores.summary import (
    Duel,
    PrimalCurve,
    Summary,
    duels,
    primal_curves,
    profiles,
    proof_profiles,
    summaries,
)
from allocsolve.errors import InvalidOption

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from allocsolve.model import Answer, Problem

__all__ = ["Findings", "Section", "StudyRecords", "examine"]


class StudyRecords(Protocol):
    """Records with the problems and answers that they are about."""

    def __iter__(self) -> Iterator[Record]:
        """Iterate over all records."""

    def problem(self, digest: str, /) -> Problem:
        """Return the problem of this digest; KeyError if it is damaged."""

    def answer(self, key: RecordKey, /) -> Answer | None:
        """Return the answer of a record; None if it has none, or it was not recorded."""


@dataclass(frozen=True, slots=True)
class Section:
    """One suite and objective, with everything that is said of it."""

    comparison: Comparison
    summaries: tuple[Summary, ...]
    duels: tuple[Duel, ...]
    profiles: Mapping[str, tuple[tuple[float, float], ...]]
    proof_profiles: Mapping[str, tuple[tuple[float, float], ...]]
    primal_curves: tuple[PrimalCurve, ...]

    @property
    def name(self) -> str:
        """What the section is called; another one has another name."""
        return f"{self.comparison.suite or f'{self.comparison.kind} files'}: {self.comparison.objective}"


@dataclass(frozen=True, slots=True)
class Findings:
    """All that a report says of a study, but for the pictures of instances."""

    title: str
    records: tuple[Record, ...]
    sections: tuple[Section, ...]
    machines: tuple[tuple[Mapping[str, str | int | None], int], ...]  #: each with its number of runs


def examine(records: Iterable[Record], *, title: str = "Study") -> Findings:
    """Compute the statistics of a study, section by section.

    Parameters
    ----------
    records
        Of any suites, objectives, solvers, budgets and seeds; failed ones included.
    title
        For people.

    Raises
    ------
    InvalidAnswer
        If two records contradict each other: there is no sense in a report then.
    InvalidOption
        If there is no record.
    """
    rows = tuple(records)
    if not rows:
        msg = f"{title}: there is no record to report on"
        raise InvalidOption(msg)
    machines = Counter(tuple(row.machine.items()) for row in rows)
    return Findings(
        title=title,
        records=rows,
        sections=tuple(_section(comparison) for comparison in compare(rows)),
        machines=tuple((dict(facts), runs) for facts, runs in machines.items()),
    )


def _section(comparison: Comparison) -> Section:
    return Section(
        comparison,
        summaries(comparison),
        duels(comparison),
        profiles(comparison),
        proof_profiles(comparison),
        primal_curves(comparison),
    )
