"""A second opinion on a bound, by a solver of others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from allocsolve.backends.pumpkin import PACKAGE
from allocsolve.errors import FormatError, InvalidOption
from allocsolve.families import family_of
from allocsolve.model import terms

if TYPE_CHECKING:
    import argparse

    from allocsolve.instances import Proof
    from allocsolve.model import Problem, Value


def cross_check(
    args: argparse.Namespace, problem: Problem, proof: Proof, bound: Value
) -> tuple[dict[str, object], list[str]]:
    """Have a solver of others search for what the judge says there is not.

    The bound is what the judge has recomputed from the certificate. Returns what is written for programs, and
    the line that says what was found; nothing if it was not asked for.
    """
    if args.cross_check is None:
        return {}, []
    family, term = family_of(problem), proof.objective[0]
    if family.rules.finds_below is None:
        raise InvalidOption(f"--cross-check: bounds of {family.kind} problems are not cross-checked")
    least = terms(bound)[0]
    shown = f"{term} below {family.term(term).with_unit(str(least))}"
    is_found = family.rules.finds_below(problem, term, least, args.cross_check)
    if is_found:
        msg = f"the judge accepts it, {PACKAGE} finds an answer with a {shown}"
        raise FormatError(str(args.proof or args.solution), [msg])
    fields: dict[str, object] = {"cross_checked": is_found is False}
    if is_found is None:
        return fields, [f"not cross-checked: {PACKAGE} has not finished within {args.cross_check:g} s"]
    return fields, [f"cross-checked: {PACKAGE} proves, too, that there is no {shown}"]
