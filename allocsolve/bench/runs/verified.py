"""Bounds of records that the verified checker confirms: they are marked, and checked again."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

from allocsolve.backends.verified_checker import agrees, ask_checker, find_checker, require_checker
from allocsolve.bench.runs.records import objective_terms
from allocsolve.errors import FormatError, UnsupportedProblem
from allocsolve.judge import proof_text
from allocsolve.model import terms

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from allocsolve.bench.runs.records import Record
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
