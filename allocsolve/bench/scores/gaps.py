"""Scores of solvers, from records only: best known values, gaps to the best known bounds.

A claim that a judged answer refutes, a *contradiction*, strikes its record out before anything is scored.
"""

from __future__ import annotations

import contextlib
import math
import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from allocsolve.bench.library.design import library_statements
from allocsolve.bench.runs.given import tolerance_of
from allocsolve.bench.runs.records import objective_terms
from allocsolve.bench.scores.catalogue import LIBRARY, Catalogue
from allocsolve.errors import InvalidAnswer, InvalidOption, PluginError, UnknownName
from allocsolve.families import family_named, relative_gap
from allocsolve.judge.quantiles import quantile
from allocsolve.model import Status, Value, terms

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from allocsolve.bench.runs.records import Record
    from allocsolve.bench.scores.catalogue import Reference
    from allocsolve.families import Term


#: Where bounds come from that are computed of the problem alone.
COMBINATORIAL: Final = "allocsolve.bounds"


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
    the instance is struck. A claim that contradicts a reference is struck, too; which of them is wrong is not
    known. Nor is it if two references contradict each other. The rows are all of one instance and objective;
    the reference is what files state of its first term.
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
    answered = [(row.value, row.solver) for row in rows if row.value is not None and not tolerance_of(row)]
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
        (row.combinatorial_bound, COMBINATORIAL),
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
    if lower > upper:
        yield _Conflict(source, f"the bound {lower}", source, upper), []
    for row in rows:
        if row.value is not None and not tolerance_of(row) and terms(row.value)[0] < lower:
            yield _Conflict(source, f"the bound {lower}", row.solver, row.value), []
        bound, bounded_by = _recomputed(row)
        if terms(bound)[0] > upper:
            yield _Conflict(bounded_by, f"the bound {bound}", source, upper), []
        elif upper < math.inf and (claim := _claim_above(row, (upper, math.inf))):  # of the first term
            yield _Conflict(row.solver, claim, source, upper), [row]


def consistent(
    records: Iterable[Record], catalogue: Catalogue
) -> tuple[tuple[Record, ...], Catalogue, tuple[Contradiction, ...]]:
    """Return the records and the catalogue without what contradicts, and the contradictions.

    A reference that contradicts a record is left out; one of the library is kept if only a claim contradicts
    it, since the judge has confirmed the solutions of the library.
    """
    rows = tuple(records)
    grouped: dict[tuple[str, str], list[Record]] = {}
    for row in rows:
        grouped.setdefault((row.digest, row.objective), []).append(row)
    references = dict(catalogue.references)
    conflicts: list[Contradiction] = []
    for (identity, objective), group in grouped.items():
        reference = catalogue.reference(identity, objective)
        conflicts += contradictions(group, reference)
        if reference is not None and any(
            not refuted or reference.source != LIBRARY for _, refuted in _with_reference(group, reference)
        ):
            references.pop((identity, objective_terms(objective)[0]), None)
    struck = {id(row) for contradiction in conflicts for row in contradiction.struck}
    kept = tuple(row for row in rows if id(row) not in struck)
    return kept, Catalogue(catalogue.suites, references), tuple(conflicts)


@dataclass(frozen=True, slots=True)
class Best:
    """What is known of an instance, over all its records."""

    instance: str
    #: Least value, judged exactly or stated by a reference; None if there is none.
    value: Value | None
    bound: Value  #: largest bound, claimed or recomputed
    recomputed_bound: Value  #: largest bound that no solver must be believed for: certified or combinatorial
    #: Largest certified bound that the verified checker has confirmed; minus infinity if there is none.
    verified_bound: Value = -math.inf
    #: Who states `bound`, and who states `value`; empty if a record has it.
    bound_stated_by: str = ""
    value_stated_by: str = ""
    #: Who has proven `bound`: a solver, `COMBINATORIAL`, or who states it; empty if nothing is known.
    bound_by: str = ""

    @property
    def proven(self) -> bool:
        """Whether `value` is the optimum."""
        return self.value is not None and terms(self.value) == terms(self.bound)

    @property
    def certified(self) -> bool:
        """Whether `bound` was recomputed."""
        return terms(self.bound) == terms(self.recomputed_bound)

    @property
    def verified(self) -> bool:
        """Whether the verified checker has confirmed `bound`."""
        return math.isfinite(terms(self.bound)[0]) and terms(self.bound) == terms(self.verified_bound)

    @property
    def standing(self) -> Literal["claimed", "stated", "certified", "verified"]:
        """Who has to be believed for `bound`: a solver, a file, the judge, a program that is proven right."""
        if self.bound_stated_by:
            return "stated"
        return "verified" if self.verified else "certified" if self.certified else "claimed"


@dataclass(frozen=True, slots=True)
class Gaps:
    """Gaps over `count` >= 1 instances, as fractions (0.05 is 5 %); infinite above a reference of 0."""

    count: int
    mean: float
    median: float
    max: float


@dataclass(frozen=True, slots=True)
class SolverScore:
    """How a solver did on all instances of its records."""

    solver: str
    instances: int
    failed: int  #: raised, or refuted by the judge
    unanswered: int  #: ended properly without an answer, usually at a limit
    unbounded: int  #: answered, but no bound is known: left out of `gap`
    gap: Gaps | None  #: to the best known bound; None if there is no such instance
    optimum_gap: Gaps | None  #: to the optimum, where it is proven; None if it nowhere is
    mean_value: float | None  #: of the first term, where it has an answer; None if it nowhere has
    proven: int  #: the solver itself has proven its answer optimal
    optimal: int  #: the answer has the proven optimum as its value
    best: int  #: no solver has a better answer
    mean_runtime_s: float  #: failed runs included
    max_runtime_s: float


def gap(value: Value, reference: Value, *, kind: str = "", objective: str = "") -> float:
    """Return how far the first term of a value is above that of a reference.

    It is relative to the reference; of objectives that are lost shares, to what is not lost, see
    `allocsolve.families.relative_gap`. Kinds that are no longer known count as if they had none.

    Examples
    --------
    >>> gap(120, 100), gap((5, 7), (5, 2)), gap(0, 0), gap(1, 0)
    (0.2, 0.0, 0.0, inf)
    """
    first, ref = terms(value)[0], terms(reference)[0]
    return relative_gap(first, ref, is_lost_share=is_lost_share(kind, objective))


def relative_difference(first: float, second: float) -> float:
    """Return (first - second) / the larger of two values >= 0, of which infinity is one."""
    if first == second:
        return 0.0
    if math.isinf(first) or math.isinf(second):
        return math.copysign(1.0, first - second)
    return (first - second) / max(first, second)


def is_lost_share(kind: str, objective: str) -> bool:
    """Return whether the first term of an objective is a lost share, as far as the kind is known."""
    term = first_term(kind, objective)
    return term is not None and term.is_lost_share


def first_term(kind: str, objective: str) -> Term[Any] | None:
    """Return the first term of an objective; None if the kind or the term is no longer known."""
    with contextlib.suppress(UnknownName, PluginError):
        return family_named(kind).term(objective_terms(objective)[0])
    return None


def _checked(records: Iterable[Record]) -> list[Record]:
    rows = list(records)
    objectives = sorted({row.objective for row in rows})
    if len(objectives) > 1:
        raise InvalidOption(f"records of several objectives cannot be compared: {'; '.join(objectives)}")
    return rows


def best(records: Iterable[Record], catalogue: Catalogue | None = None) -> dict[str, Best]:
    """Return what is known of each instance, by digest.

    Raises `InvalidAnswer` if two records contradict each other, or one a reference; see `contradictions`;
    `InvalidOption` if the records are of several objectives.

    Parameters
    ----------
    records
        All of one objective. Failed ones count with their combinatorial bound only.
    catalogue
        Its references count, too. By default those of the library to the suites that the records name.
    """
    by_digest: dict[str, list[Record]] = {}
    checked = _checked(records)
    for row in checked:
        by_digest.setdefault(row.digest, []).append(row)
    known = library_statements(checked) if catalogue is None else catalogue
    return {
        digest: _best(rows, known.reference(digest, rows[0].objective)) for digest, rows in by_digest.items()
    }


def _best(rows: Sequence[Record], reference: Reference | None) -> Best:
    for contradiction in contradictions(rows, reference):
        raise InvalidAnswer(str(contradiction))
    values = [row.value for row in rows if row.value is not None and not tolerance_of(row)]
    recomputed = [
        *((row.certified_bound, row.solver) for row in rows),
        *((row.combinatorial_bound, COMBINATORIAL) for row in rows),
    ]
    value = min(values, key=terms, default=None)
    # Of equal ones that which nobody has to be believed for.
    bound, solver = max([*recomputed, *((row.bound, row.solver) for row in rows)], key=_bound_terms)
    bounded_by = valued_by = ""
    if reference is not None:
        lower, upper, source = reference
        if lower > terms(bound)[0]:
            bound, bounded_by = lower, source
        single = len(objective_terms(rows[0].objective)) == 1  # of several terms the first is no value
        if single and upper < (math.inf if value is None else terms(value)[0]):
            value, valued_by = upper, source
    return Best(
        instance=rows[0].instance,
        value=value,
        bound=bound,
        recomputed_bound=max(recomputed, key=_bound_terms)[0],
        verified_bound=max(
            (row.certified_bound for row in rows if row.verified_bound), key=terms, default=-math.inf
        ),
        bound_stated_by=bounded_by,
        value_stated_by=valued_by,
        bound_by=(bounded_by or solver) if terms(bound)[0] > -math.inf else "",
    )


def _bound_terms(proven: tuple[Value, str]) -> tuple[float, ...]:
    return terms(proven[0])


def stated_remark(known: Collection[Best], whom: str = "this study") -> str:
    """Return the sentence on bounds and values that no record has but a file states; empty without any."""
    bounds = [on.bound_stated_by for on in known if on.bound_stated_by]
    values = [on.value_stated_by for on in known if on.value_stated_by]
    if not (bounds or values):
        return ""
    counts = {"bounds": len(bounds), "values": len(values)}
    if len(bounds) == len(values):
        counts = {"bounds and values": len(bounds)}
    listed = " and ".join(
        f"{count} of {len(known)} best known {what}" for what, count in counts.items() if count
    )
    sources = dict.fromkeys(name for stated in (*bounds, *values) for name in stated.split(", "))
    named = " and ".join(name if name == LIBRARY else f"the suite {name}" for name in sources)
    return f"{listed} are stated by {named}, not by {whom}."


def solver_scores(records: Iterable[Record], catalogue: Catalogue | None = None) -> tuple[SolverScore, ...]:
    """Return the score of each solver, in the order of their first records.

    Raises `InvalidOption` if the records are of several objectives, or a solver has two for one instance.

    Parameters
    ----------
    records
        All of one objective, at most one per solver and instance. Gaps of a lexicographic objective are
        those of its first term; all comparisons are of the whole tuple.
    catalogue
        As for `best`.
    """
    rows = _checked(records)
    best_by_digest = best(rows, catalogue)
    by_solver: dict[str, dict[str, Record]] = {}
    for row in rows:
        if by_solver.setdefault(row.solver, {}).setdefault(row.digest, row) is not row:
            raise InvalidOption(f"{row.solver} has several records of {row.instance}")
    return tuple(
        _score(solver, list(by_digest.values()), best_by_digest) for solver, by_digest in by_solver.items()
    )


def _score(solver: str, rows: Sequence[Record], best_by_digest: dict[str, Best]) -> SolverScore:
    answered = [(row, row.value, best_by_digest[row.digest]) for row in rows if row.value is not None]
    gaps = [own for row in rows if (own := gap_of(row, best_by_digest[row.digest])) is not None]
    proven = [(row, value, on) for row, value, on in answered if on.proven]
    failed = sum(bool(row.error) for row in rows)
    return SolverScore(
        solver=solver,
        instances=len(rows),
        failed=failed,
        unanswered=len(rows) - failed - len(answered),
        unbounded=len(answered) - len(gaps),
        gap=_gaps(gaps),
        optimum_gap=_gaps([own for row, _, on in proven if (own := gap_of(row, on)) is not None]),
        mean_value=statistics.fmean(terms(value)[0] for _, value, _ in answered) if answered else None,
        proven=sum(row.status is Status.OPTIMAL for row in rows),
        optimal=sum(value == on.value for _, value, on in proven),
        best=sum(value == on.value for _, value, on in answered),
        mean_runtime_s=statistics.fmean(row.runtime_s for row in rows),
        max_runtime_s=max(row.runtime_s for row in rows),
    )


def gap_of(row: Record, on: Best) -> float | None:
    """Return the gap of a run to the best bound, which is the optimum where that is proven.

    None without an answer or a bound.
    """
    if row.value is None or terms(on.bound)[0] == -math.inf:
        return None
    return gap(row.value, on.bound, kind=row.kind, objective=row.objective)


def _gaps(gaps: Sequence[float]) -> Gaps | None:
    if not gaps:
        return None
    return Gaps(len(gaps), statistics.fmean(gaps), quantile(gaps, 0.5), max(gaps))
