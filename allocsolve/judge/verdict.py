"""The last word on any result, whatever the family of its problem."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from allocsolve.errors import InvalidAnswer, InvalidOption, UnsupportedProblem
from allocsolve.families import family_of
from allocsolve.model import Result, Status, Value, terms
from allocsolve.model.checks import real, shown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from allocsolve.families import AnyFamily, CertificateKind, ProofText
    from allocsolve.model import Problem


def violations(problem: Problem, answer: object, *, tolerance: float = 0) -> tuple[str, ...]:
    """Return what is wrong with an answer, one line each; empty if it answers the problem.

    Its times may be off by `tolerance` seconds, for answers of other programs, which round them.
    `InvalidOption` if the tolerance is below 0, or answers of the family have no times that could be rounded.
    """
    family = family_of(problem)
    seconds = real("tolerance", tolerance, InvalidOption)
    if not 0 <= seconds < math.inf:
        raise InvalidOption(f"tolerance {shown(tolerance)} is not a number of seconds >= 0")
    if not seconds:
        return family.rules.violations(problem, answer)
    if family.rules.violations_within is None:
        msg = f"tolerance {seconds:g}: times of {family.kind} answers are whole, there is nothing to tolerate"
        raise InvalidOption(msg)
    return family.rules.violations_within(problem, answer, seconds)


def rounded(problem: Problem, answer: Any, *, tolerance: float) -> Any:  # noqa: ANN401 - any family's
    """Return the answer that is judged where times may be off by so many seconds, see `violations`.

    Where the problem says to which times an answer may come, times that are off by no more become these, so
    that the answer is worth what was meant; else it stays as it is.
    """
    meant = family_of(problem).rules.rounded
    return answer if meant is None or not tolerance else meant(problem, answer, tolerance)


def value(problem: Problem, answer: object, objective: tuple[str, ...]) -> Value:
    """Return the objective value of an answer."""
    family = family_of(problem)
    return family.value(family.rules.metrics(problem, answer), objective)


def metrics(problem: Problem, answer: object) -> Any:  # noqa: ANN401 - each family has its own type
    """Return the metrics of an answer, as a dataclass of the family."""
    return family_of(problem).rules.metrics(problem, answer)


def confirm(problem: Problem, result: Result[Any], objective: tuple[str, ...]) -> Result[Any]:
    """Return the result with the judged objective value, if every claim holds; see `assess`."""
    return assess(problem, result, objective).result


class Verdict(NamedTuple):
    """What the judge says of a result."""

    result: Result[Any]  #: with the judged objective value
    metrics: Any  #: of the answer, as a dataclass of the family; None without an answer
    certified_bound: Value  #: as `certify` returns it


def certify(problem: Problem, result: Result[Any], objective: tuple[str, ...]) -> Value:
    """Return the lower bound that follows from the certificate of a result, recomputed from it alone.

    A bound up to this one is *certified*; beyond it, it is *claimed* by the solver.

    The bound is on the first term of the objective; the others have none. It is minus infinity without a
    certificate, and a tuple for a lexicographic objective. `InvalidAnswer` if this is no certificate of the
    problem, or bounds of the family have none.
    """
    if result.certificate is None:
        return -math.inf
    bound = certified_bound(problem, result.certificate, objective)
    return (bound,) if len(objective) > 1 else bound


def certified_bound(
    problem: Problem, certificate: Mapping[str, Any], objective: tuple[str, ...] | None = None
) -> float:
    """Return the lower bound on the first term of an objective that the judge recomputes from a certificate.

    The objective is the default of the family if left out. `InvalidAnswer` if this is no certificate of the
    problem and the term. What each kind has is told in docs/formats.md, why it is a bound by the function
    that the kind names, see `allocsolve.families.CertificateKind`.
    """
    family = family_of(problem)
    kind = certificate_kind(family, certificate)
    term = family.term_names[0] if objective is None else objective[0]
    if kind.names_term and certificate.get("term") != term:
        raise InvalidAnswer(f"the certificate bounds {shown(certificate.get('term'))}, not {term}")
    such = f"certificates of the kind {kind.name}" if kind.name else "certificates"
    if term not in kind.terms:
        raise InvalidAnswer(f"{such} bound {', '.join(kind.terms)}, not {term}")
    if beyond := kind.beyond(problem):
        raise InvalidAnswer(f"the {family.kind} has {beyond}, of which {such} know nothing")
    return kind.check(problem, certificate, term)


def certificate_kind(family: AnyFamily, certificate: Mapping[str, Any]) -> CertificateKind[Any, Any]:
    """Return the kind of a certificate; `InvalidAnswer` if the family has none such."""
    kinds = family.rules.certificates
    if not kinds:
        raise InvalidAnswer(f"the result has a certificate, bounds of {family.kind} problems carry none")
    named = certificate.get("kind")
    for kind in kinds:
        if kind.name == named if kind.name else "kind" not in certificate:
            return kind
    names = [kind.name for kind in kinds if kind.name]
    if not names:
        msg = f"kind {shown(named)} of the certificate: those of {family.kind}s have none"
    elif len(names) == 1:
        msg = f"kind {shown(named)} of the certificate is not {names[0]}"
    else:
        msg = f"kind {shown(named)} of the certificate is none of {', '.join(names[:-1])} and {names[-1]}"
    raise InvalidAnswer(msg)


def proof_text(
    problem: Problem, certificate: Mapping[str, Any], term: str, bound: float, answer: object = None
) -> ProofText:
    """Return what the verified checker reads of a certificate from which the judge has recomputed a bound.

    `UnsupportedProblem` where the checker has no theorem.
    """
    family = family_of(problem)
    kind = certificate_kind(family, certificate)
    verified = [each.name for each in family.rules.certificates if each.proof_text is not None]
    if kind.proof_text is not None:
        return kind.proof_text(problem, certificate, term, bound, answer)
    if not verified:
        raise UnsupportedProblem(f"bounds of {family.kind} problems are not verified")
    msg = f"certificates of the kind {kind.name} are not verified: {', '.join(verified)} are"
    raise UnsupportedProblem(msg)


def check_types(problem: Problem, result: object) -> None:
    """Refuse anything but a `Result` whose answer has the type that belongs to the problem.

    `InvalidAnswer` has the name of the type.
    """
    if not isinstance(result, Result):
        raise InvalidAnswer(f"the solver returned {type(result).__name__}, not a Result")
    expected = family_of(problem).answer
    if not isinstance(result.answer, expected | None):
        raise InvalidAnswer(f"the answer is of type {type(result.answer).__name__}, not {expected.__name__}")


def _check_shapes(result: Result[Any], objective: tuple[str, ...]) -> None:
    """Refuse values that do not fit the objective; a bound may be on its first terms only."""
    count = len(objective)
    claims = [("bound", result.bound, range(1, count + 1))] if terms(result.bound) != (-math.inf,) else []
    claims += [("incumbent", met, range(count, count + 1)) for _, met in result.incumbents]
    for what, claim, lengths in claims:
        if isinstance(claim, tuple) != (count > 1) or len(terms(claim)) not in lengths:
            raise InvalidAnswer(f"the solver claims the {what} {claim} of {','.join(objective)}")


def assess(
    problem: Problem, result: Result[Any], objective: tuple[str, ...], *, tolerance: float = 0
) -> Verdict:
    """Return the result with the judged objective value, if every claim holds, and the metrics of its answer.

    A claim that there is no answer cannot be checked, nor a bound beyond its certificate; but a bound above
    the judged value is refuted. Times of the answer may be off by the tolerance, see `violations`.

    `InvalidAnswer` if the answer breaks a rule of the problem or is not worth what the solver claims; also if
    this is not a `Result`, its answer has another type than the problem, or its certificate is wrong.
    """
    check_types(problem, result)
    _check_shapes(result, objective)
    family = family_of(problem)
    certified_bound = certify(problem, result, objective)
    if result.answer is None:
        return Verdict(result, None, certified_bound)
    faults = violations(problem, result.answer, tolerance=tolerance)
    if faults:
        more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
        raise InvalidAnswer(f"the answer is not feasible: {faults[0]}{more}")
    measured = family.rules.metrics(problem, result.answer)
    judged = family.value(measured, objective)
    rounding = family.rules.tolerance
    if result.objective is not None and not _agree(result.objective, judged, rounding):
        msg = f"the solver claims {','.join(objective)} {result.objective}, the judge finds {judged}"
        raise InvalidAnswer(msg)
    if result.incumbents and _below(result.incumbents[-1][1], judged, rounding):
        msg = f"the solver claims to have met {result.incumbents[-1][1]}, its answer has {judged}"
        raise InvalidAnswer(msg)
    if _below(judged, result.bound, rounding):
        raise InvalidAnswer(f"the solver claims the bound {result.bound}, its own answer has {judged}")
    if _below(judged, certified_bound, rounding):
        raise InvalidAnswer(f"the certificate proves the bound {certified_bound}, the answer has {judged}")
    # A solver that claims no optimum may still have found an answer that meets its bound.
    closed = result.status is Status.OPTIMAL or terms(result.bound) >= terms(judged)
    confirmed = replace(
        result,
        objective=judged,
        bound=judged if closed else result.bound,
        incumbents=_not_below(result.incumbents, judged),
        status=Status.OPTIMAL if closed else result.status,
        limit=None if closed else result.limit,
    )
    return Verdict(confirmed, measured, min(certified_bound, judged, key=terms))


def _agree(claim: Value, judged: Value, tolerance: float) -> bool:
    """Return whether a claim is the judged value, within the tolerance of the family."""
    pairs = zip(terms(claim), terms(judged), strict=False)
    return len(terms(claim)) == len(terms(judged)) and all(
        left == right or abs(left - right) <= tolerance * max(abs(left), abs(right)) for left, right in pairs
    )


def _below(lower: Value, upper: Value, tolerance: float) -> bool:
    """Return whether a value is below another in the lexicographic order, by more than the tolerance."""
    count = min(len(terms(lower)), len(terms(upper)))
    if tolerance and _agree(terms(lower)[:count], terms(upper)[:count], tolerance):
        return False
    return terms(lower) < terms(upper)


def _not_below(incumbents: tuple[tuple[float, Value], ...], judged: Value) -> tuple[tuple[float, Value], ...]:
    """Return the incumbents; those that are below the judged value by a rounding error become that value."""
    if not incumbents or terms(incumbents[-1][1]) >= terms(judged):
        return incumbents
    above = (incumbent for incumbent in incumbents[:-1] if terms(incumbent[1]) > terms(judged))
    return (*above, (incumbents[-1][0], judged))
