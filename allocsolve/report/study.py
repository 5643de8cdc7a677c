"""The contents of a report: the records of a study, and all that is computed from them once.

The headline is the sentence on all instances of a kind that all solvers were run on.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from statistics import fmean
from typing import TYPE_CHECKING, Any, Protocol

from allocsolve.bench import Comparison, Record, RecordKey, compare
from allocsolve.bench.library.design import library_statements
from allocsolve.bench.runs.records import objective_terms
from allocsolve.bench.scores.gaps import Contradiction, consistent, is_lost_share, stated_remark
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
from allocsolve.pictures.chart import counted, percent, visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from allocsolve.bench.scores.catalogue import Catalogue
    from allocsolve.bench.scores.comparison import InstanceResult
    from allocsolve.model import Answer, Problem


class StudyRecords(Protocol):
    """Records with the problems and answers that they are about."""

    def __iter__(self) -> Iterator[Record]:
        """Iterate over all records."""

    def problem(self, digest: str, /) -> Problem:
        """Return the problem of this digest; KeyError if it is not there, or is damaged."""

    def answer(self, key: RecordKey, /) -> Answer | None:
        """Return the answer of a record; None if it has none, or it was not recorded."""

    def certificate(self, key: RecordKey, /) -> Mapping[str, Any] | None:
        """Return the certificate of the bound of a record; None if it has none, or it is damaged."""


@dataclass(frozen=True, slots=True)
class Section:
    """One suite and objective, with everything that is said of it."""

    comparison: Comparison
    summaries: tuple[Summary, ...]  #: the least mean gap first
    duels: tuple[Duel, ...]
    profiles: Mapping[str, tuple[tuple[float, float], ...]]
    proof_profiles: Mapping[str, tuple[tuple[float, float], ...]]
    primal_curves: tuple[PrimalCurve, ...]

    @property
    def name(self) -> str:
        """What the section is called; another one has another name."""
        return f"{self.comparison.suite or f'{self.comparison.kind} files'}: {self.comparison.objective}"

    def leading(self, count: int) -> list[str]:
        """Return the entrants with most answers, then least shifted mean gap, in the order of `summaries`."""
        least = sorted(
            self.summaries,
            key=lambda summary: (
                summary.incomplete / summary.instances,
                summary.gap.shifted_mean if summary.gap else math.inf,
            ),
        )
        chosen = {summary.entrant for summary in least[:count]}
        return [summary.entrant for summary in self.summaries if summary.entrant in chosen]

    def gaps(self, entrant: str) -> list[float]:
        """Return the gaps of an entrant to the best known bounds, of the instances on which it has one."""
        cells = self.comparison.cells[entrant].values()
        return [cell.gap for cell in cells if cell.gap is not None]


@dataclass(frozen=True, slots=True)
class Findings:
    """All that a report says of a study, but for the pictures of instances."""

    title: str
    made: str  #: when and how the report was made, for people; empty if nobody says so
    records: tuple[Record, ...]  #: that count
    contradictions: tuple[Contradiction, ...]  #: their rows are struck out, and count nowhere
    sections: tuple[Section, ...]
    headlines: tuple[str, ...]  #: for each kind and objective
    machines: tuple[tuple[Mapping[str, str | int | None], int], ...]  #: each with its number of runs


def examine(
    records: Iterable[Record], *, title: str = "Study", catalogue: Catalogue | None = None, made: str = ""
) -> Findings:
    """Compute the statistics of a study, section by section.

    Rows that contradict a judged answer count nowhere: what is said of the others is as if they had never
    been made.

    Raises `InvalidOption` if there is no record.

    Parameters
    ----------
    records
        Of any suites, objectives, solvers, budgets and seeds; failed ones included.
    catalogue
        In which suites the instances count, and what files state of them; as for `compare`.
    """
    rows = tuple(records)
    catalogue = library_statements(rows) if catalogue is None else catalogue
    rows, catalogue, contradictions = consistent(rows, catalogue)
    if not rows and not contradictions:
        raise InvalidOption(f"{title}: there is no record to report on")
    one_suite = {row.digest: ("",) for row in rows}
    machines = Counter(tuple(row.machine.items()) for row in rows)
    return Findings(
        title=title,
        made=made,
        records=rows,
        contradictions=contradictions,
        sections=tuple(_section(comparison) for comparison in compare(rows, catalogue)),
        headlines=tuple(map(headline, compare(rows, replace(catalogue, suites=one_suite)))),
        machines=tuple((dict(facts), runs) for facts, runs in machines.items()),
    )


def _section(comparison: Comparison) -> Section:
    return Section(
        comparison,
        tuple(
            sorted(summaries(comparison), key=lambda summary: summary.gap.mean if summary.gap else math.inf)
        ),
        duels(comparison),
        profiles(comparison),
        proof_profiles(comparison),
        primal_curves(comparison),
    )


def headline(comparison: Comparison) -> str:
    """Return the sentence on all instances that all entrants were run on.

    Best is who answers most of them, of these who has the least mean gap to the best known bound, and of
    these who has the best known value most often.
    """
    common = comparison.common
    entrants = counted(len(comparison.cells), "solver")
    if not common:
        return f"No {comparison.kind} problem was run by all of {entrants} ({comparison.objective})."
    standings = {}
    for entrant, cells in comparison.cells.items():
        results = [cells[digest] for digest in common]
        met = sum(_meets(cells[digest], comparison, digest) for digest in common)
        gaps = [result.gap for result in results if result.gap is not None]
        unanswered = sum(result.value is None for result in results)
        standings[entrant] = (unanswered, fmean(gaps or [math.inf]), -met)
    first = min(standings.values())
    names = [visible(entrant) for entrant, standing in standings.items() if standing == first]
    unanswered, gap, met = first
    problems = counted(len(common), f"{comparison.kind} problem")
    if unanswered == len(common):
        return f"None of {entrants} has an answer to any of {problems} ({comparison.objective})."
    facts = [f"answers {len(common) - unanswered} of them"] if unanswered else []
    if gap < math.inf:
        facts.append(_distance(comparison, gap))
    facts.append(f"best known value on {-met} of {len(common)}")
    whose = f"Of {entrants} on {problems}, {_listed(names)} {'is' if len(names) == 1 else 'are'} best: "
    sentence = f"{whose if len(standings) > 1 else f'{names[0]} on {problems}: '}{', '.join(facts)}."
    stated = stated_remark([comparison.best_by_digest[digest] for digest in common])
    return f"{sentence} {stated}".rstrip()


def _distance(comparison: Comparison, gap: float) -> str:
    """Return a mean gap in words."""
    term = objective_terms(comparison.objective)[0]
    if is_lost_share(comparison.kind, comparison.objective):
        return f"{term}: {percent(gap)} of what the best known bound leaves is lost on average"
    return f"{term} {percent(gap)} above the best known bound on average"


def _meets(result: InstanceResult, comparison: Comparison, digest: str) -> bool:
    """Return whether every seed has the best known value."""
    best = comparison.best_by_digest[digest].value
    return best is not None and all(run.value == best for run in result.runs)


def _listed(names: Sequence[str], max_names: int = 3) -> str:
    """Return names as a sentence has them."""
    if len(names) > max_names:
        return f"{', '.join(names[:max_names])} and {len(names) - max_names} more"
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
