"""A file of records checked by the judge: everything that can be recomputed is.

Bounds that the verified checker confirms are marked, and checked again.
"""

from __future__ import annotations

import importlib.metadata
import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

from allocsolve import judge
from allocsolve.backends.checkers import agrees, ask_checker, find_checker, require_checker
from allocsolve.bench.runs.execution import metric_numbers
from allocsolve.bench.runs.given import tolerance_of
from allocsolve.bench.runs.records import objective_terms
from allocsolve.errors import AllocsolveError, FormatError, UnsupportedProblem
from allocsolve.families import family_of
from allocsolve.judge import proof_text
from allocsolve.model import Result, Status, Value, terms

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from allocsolve.bench.runs.records import Record, RecordKey
    from allocsolve.bench.runs.runner import Progress
    from allocsolve.bench.runs.store import RecordStore
    from allocsolve.model import Problem


class Marked(NamedTuple):
    """What `mark_verified` has found."""

    #: Records whose bound is verified, whenever that was.
    verified: int
    #: Records with a certificate.
    certified: int
    #: Why the others are not verified, with their number.
    reasons: Mapping[str, int]


def mark_verified(store: RecordStore, *, progress: Progress | None = None) -> Marked:
    """Have the verified checker confirm the certified bounds of a file of records, and keep what it says.

    Records that are verified already are not asked about again. A bound that the checker refuses, or of which
    it proves something else than the judge, is not marked; the reason says so. Progress is told after each
    record, and at the start.
    """
    require_checker()
    records = [*store]
    verified, certified = 0, 0
    reasons: Counter[str] = Counter()
    for done, record in enumerate(records):
        if progress:
            progress(done, len(records), f"{record.solver} on {record.instance}")
        certificate = store.certificate(record.key)
        if certificate is None:
            continue
        certified += 1
        if not record.verified_bound:
            try:
                text = proof_text(store.problem(record.digest), certificate, *_claim(record))
                if text.nothing_counts:
                    reasons[f"{text.nothing_counts}, so the bound is 0"] += 1
                    continue
                found = ask_checker(f"{record.solver} on {record.instance}", text, *_claim(record))
            except (KeyError, UnsupportedProblem, FormatError) as error:
                reasons["its problem is missing" if isinstance(error, KeyError) else str(error)] += 1
                continue
            store.add_verified(record.key, str(found.bound), found.digest)
        verified += 1
    if progress:
        progress(len(records), len(records), "done")
    return Marked(verified, certified, reasons)


def verified_faults(record: Record, problem: Problem, certificate: Mapping[str, Any] | None) -> Iterator[str]:
    """Yield what is wrong with the verified bound of a record, which has one.

    The digest of the problem's lines is computed anew, and the checker is asked again where there is one.
    """
    if certificate is None:
        yield "its bound is called verified, and there is no certificate"
        return
    term, bound = _claim(record)
    try:
        text = proof_text(problem, certificate, term, bound)
        if record.verified_digest != text.digest:
            other = record.verified_digest[:16]
            yield f"it is verified for the problem {other}, its own is {text.digest[:16]}"
        elif not agrees(Fraction(record.verified_bound), bound, is_rounded_by_judge=text.is_rounded_by_judge):
            yield f"{record.verified_bound} is called verified, the certified bound is {bound}"
        elif find_checker():
            found = ask_checker(record.instance, text, term, bound)
            if str(found.bound) != record.verified_bound:
                yield f"the checker proves {found.bound}, the record has {record.verified_bound}"
    except (UnsupportedProblem, FormatError) as error:
        yield str(error)


def _claim(record: Record) -> tuple[str, Any]:
    return objective_terms(record.objective)[0], terms(record.certified_bound)[0]


def verify_records(store: RecordStore, *, progress: Progress | None = None) -> Iterator[str]:
    """Yield what is wrong with the records of a file, a line for each fault, with the number of its row.

    The judge recomputes each answer: it must be feasible, with the value and the metrics of its record. The
    bound of a certificate and the combinatorial bound are recomputed, too. No bound of any record of a
    problem may be above the value of another, and what is infeasible has no answer. That a claimed bound is
    proven cannot be recomputed, nor the bound of a certificate that an older format did not keep. A verified
    bound has to be the certified one and about the problem of the record; the verified checker is asked again
    where there is one.

    Parameters
    ----------
    store
        The records. Rows that cannot be read are left out, as always; see `RecordStore`.
    progress
        Told after each record, and at the start.
    """
    total = len(store)
    floors: dict[tuple[str, str], Value] = {}
    claims: dict[tuple[str, str], list[Record]] = {}
    for done, record in enumerate(store):
        if progress:
            progress(done, total, f"{record.solver} on {record.instance}")
        place = _place(store, record)
        try:
            problem = store.problem(record.digest)
        except KeyError:
            yield f"{place}: its problem is missing"
            continue
        faults = [*_answer_faults(store, record, problem), *_bound_faults(store, record, problem, floors)]
        yield from (f"{place}: {fault}" for fault in faults)
        if not faults:
            claims.setdefault((record.digest, record.objective), []).append(record)
    for records in claims.values():
        yield from _contradictions(store, records)
    if progress:
        progress(total, total, "done")


def _place(store: RecordStore, record: Record) -> str:
    return f"row {store.row(record.key)}, {record.solver} on {record.instance}"


def _answer_faults(store: RecordStore, record: Record, problem: Problem) -> Iterator[str]:
    answer = store.answer(record.key)
    if (answer is None) != (record.value is None):
        yield "there is no answer to its value" if answer is None else "there is an answer, but no value"
    if answer is None or record.value is None:
        return
    try:
        faults = judge.violations(problem, answer, tolerance=tolerance_of(record))
        if faults:
            yield f"the answer is not feasible: {faults[0]}"
            return
        objective = objective_terms(record.objective)
        value = judge.value(problem, answer, objective)
        if value != record.value:
            yield f"the judge finds {record.objective} {value}, the record has {record.value}"
        metrics = metric_numbers(judge.metrics(problem, answer))
    except AllocsolveError as error:
        yield str(error)
        return
    for name in sorted(metrics.keys() | record.metrics.keys()):
        judged, recorded = metrics.get(name, math.nan), record.metrics.get(name, math.nan)
        if not math.isclose(judged, recorded, rel_tol=1e-9):  # sums in another order on another machine
            yield f"the judge finds {name} {judged}, the record has {recorded}"
    if record.status is Status.OPTIMAL and terms(record.bound) != terms(record.value):
        yield f"it is called optimal, with the value {record.value} and the bound {record.bound}"


def _bound_faults(
    store: RecordStore, record: Record, problem: Problem, floors: dict[tuple[str, str], Value]
) -> Iterator[str]:
    objective = objective_terms(record.objective)
    certificate = store.certificate(record.key)
    certified: Value = -math.inf
    if certificate is not None:
        try:
            certified = judge.certify(problem, Result(Status.UNKNOWN, certificate=certificate), objective)
        except AllocsolveError as error:
            yield str(error)
            return
    same_version = record.version == importlib.metadata.version("allocsolve")
    # The judge of another version may have recomputed less, never more. Files of older formats hold no
    # certificates, nor the code of their solvers.
    is_less = terms(certified) < terms(record.certified_bound)
    wrong = is_less or (same_version and certified != record.certified_bound)
    if wrong and (certificate is not None or record.code):
        yield f"the certified bound is {certified}, the record has {record.certified_bound}"
    if record.verified_bound:
        yield from verified_faults(record, problem, certificate)
    place = record.digest, record.objective
    if place not in floors:
        floor = family_of(problem).bound(problem, objective[0])
        floors[place] = (floor,) if len(objective) > 1 else floor
    if same_version and terms(record.combinatorial_bound) != terms(floors[place]):
        yield f"the combinatorial bound is {floors[place]}, the record has {record.combinatorial_bound}"


def _contradictions(store: RecordStore, records: list[Record]) -> Iterator[str]:
    """Yield the bounds of records of one problem that are above the least value of all of them."""
    answered = [record for record in records if record.value is not None and not tolerance_of(record)]
    if not answered:
        return
    best = min(answered, key=lambda record: terms(record.value or 0))
    assert best.value is not None, "it is answered"
    for record in records:
        bound = max(record.bound, record.certified_bound, record.combinatorial_bound, key=terms)
        if record.status is Status.INFEASIBLE:
            yield f"{_place(store, record)}: it is called infeasible, row {store.row(best.key)} has an answer"
        elif terms(bound) > terms(best.value):
            yield f"{_place(store, record)}: the bound is {bound}, row {store.row(best.key)} has {best.value}"


def merge_records(
    into: RecordStore, stores: Sequence[RecordStore], *, progress: Progress | None = None
) -> int:
    """Add the records of some stores to another, with their problems, answers, certificates and suites.

    Of several records of a key the newest is taken, by its time. Nothing is doubled: what `into` has, or has
    something newer for, is not added. A record whose problem or answer is damaged is left out.

    Returns
    -------
    int
        How many were added.
    """
    newest: dict[RecordKey, tuple[Record, RecordStore]] = {}
    for store in stores:
        into.add_catalogue(store.kept_catalogue())
        for record in store:
            known = newest.get(record.key)
            if known is None or _age(known[0]) < _age(record):
                newest[record.key] = record, store
    added = 0
    for done, (key, (record, store)) in enumerate(newest.items()):
        if progress:
            progress(done, len(newest), f"{record.solver} on {record.instance}")
        if key in into:
            if into[key].when >= record.when:
                if (
                    record.verified_bound
                    and replace(record, verified_bound="", verified_digest="") == into[key]
                ):
                    into.add_verified(key, record.verified_bound, record.verified_digest)
                continue
            record = replace(record, attempt=max(record.attempt, into.attempts(key) + 1))  # noqa: PLW2901 - the row that is added
        try:
            problem = store.problem(record.digest)
        except KeyError:  # the store has said why
            continue
        answer = store.answer(key)
        if (answer is None) == (record.value is None):
            added += into.append(record, problem, answer, store.certificate(key))
    if progress:
        progress(len(newest), len(newest), "done")
    return added


def _age(record: Record) -> tuple[str, int]:
    return record.when, record.attempt
