"""Programs that confirm a bound beside the judge: the verified checker, and those of others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from allocsolve.backends.pumpkin import PACKAGE, require_pumpkin
from allocsolve.backends.verified_checker import FOREIGN, ask_checker, require_checker
from allocsolve.cli.files import check_outputs
from allocsolve.errors import FormatError, InvalidOption, UnsupportedProblem
from allocsolve.families import family_of
from allocsolve.judge import proof_text
from allocsolve.model import terms

if TYPE_CHECKING:
    import argparse
    from pathlib import Path

    from allocsolve.instances import Proof
    from allocsolve.model import Answer, Problem, Value


def check_proof_options(args: argparse.Namespace, inputs: list[str | Path]) -> None:
    """Refuse an export that cannot be written, and a program that is not there, before anything is read."""
    check_outputs(args.out, args.plot, inputs=inputs, force=args.force)
    if args.verified:
        require_checker()
    if args.cross_check is not None:
        require_pumpkin()


def confirm(
    args: argparse.Namespace, problem: Problem, proof: Proof, bound: Value, answer: Answer | None
) -> tuple[dict[str, object], list[str]]:
    """Have a bound of the judge confirmed by other programs, as the options say.

    Raises `UnsupportedProblem` if the checker has no theorem for this certificate, or the other solver cannot
    be asked; `FormatError` if a program refuses the certificate, or finds another bound than the judge. The
    bound is what the judge has recomputed from the certificate, the answer a feasible one. Returns what is
    written for programs, and the lines that say what was found. A bound that is 0 because nothing counts is
    not verified, and that is no failure.
    """
    verified, lines = _write_proof(args, problem, proof, bound, answer)
    fields, more = _cross_check(args, problem, proof, bound)
    return {**verified, **fields}, [*lines, *more]


def _write_proof(
    args: argparse.Namespace, problem: Problem, proof: Proof, bound: Value, answer: Answer | None
) -> tuple[dict[str, object], list[str]]:
    """Write what the verified checker reads, and ask it; return what it has verified, and lines on both."""
    if args.out is None and not args.verified:
        return {}, []
    term = proof.objective[0]
    text = proof_text(problem, proof.certificate, term, terms(bound)[0], answer)
    lines = []
    if text.nothing_counts:
        if args.out is not None:
            msg = f"--out: {text.nothing_counts}, so the bound is 0 and there is no proof"
            raise UnsupportedProblem(msg)
        said = f"nothing to verify: {text.nothing_counts}, so the bound is 0"
        return {"verified_bound": None, "nothing_counts": text.nothing_counts}, [said]
    if args.out is not None:
        args.out.write_text(text.problem + text.proof, encoding="ascii")
        lines.append(f"proof written to {args.out}")
    if not args.verified:
        return {}, lines
    source = str(args.certificate or args.solution)
    verified = ask_checker(source, text, term, terms(bound)[0])
    relation = "is" if verified.is_least else "is at least"
    foreign = [f"confirmed: {FOREIGN} accepts the refutation, too"] if verified.is_confirmed else []
    below = f", and no {term} is below 0" if verified.bound < 0 else ""
    least = family_of(problem).term(term).with_unit(str(verified.bound))
    said = f"verified: {term} {relation} {least}{below} (problem {verified.digest[:16]})"
    return verified.fields, [said, f"  by {verified.checker}", *foreign, *lines]


def _cross_check(
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
        raise FormatError(str(args.certificate or args.solution), [msg])
    fields: dict[str, object] = {"cross_checked": is_found is False}
    if is_found is None:
        return fields, [f"not cross-checked: {PACKAGE} has not finished within {args.cross_check:g} s"]
    return fields, [f"cross-checked: {PACKAGE} proves, too, that there is no {shown}"]


def refuse_proof(args: argparse.Namespace) -> None:
    """Refuse to export or confirm what is no certificate."""
    if args.out is not None or args.verified or args.cross_check is not None:
        msg = f"{_option(args)}: {args.solution} is not a certificate; --certificate names one"
        raise InvalidOption(msg)


def _option(args: argparse.Namespace) -> str:
    if args.out is not None:
        return "--out"
    return "--verified" if args.verified else "--cross-check"
