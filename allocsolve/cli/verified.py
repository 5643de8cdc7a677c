"""Programs that confirm a bound beside the judge: the verified checker, and those of others."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from allocsolve.backends.pumpkin import require_pumpkin
from allocsolve.cli.cross_check import cross_check
from allocsolve.cli.files import check_outputs
from allocsolve.errors import FormatError, InvalidOption, SolverUnavailable
from allocsolve.families import family_of
from allocsolve.judge.certificates import lower_float
from allocsolve.model import terms

if TYPE_CHECKING:
    import argparse

    from allocsolve.families import ProofText
    from allocsolve.instances import Proof
    from allocsolve.model import Answer, Problem, Value

#: Names the checker, wherever it is.
VARIABLE: Final = "ALLOCSOLVE_VERIFIED"
_PROGRAM: Final = "allocsolve-verified"
#: Checks refutations of clauses, is proven right down to machine code, and was not written by us.
_FOREIGN: Final = "cake_lpr"
#: Where `make verify` builds it in a checkout.
_BUILT: Final = Path(__file__).resolve().parents[2] / "verified" / "build" / _PROGRAM

_ANSWER: Final = re.compile(r"problem ([0-9a-f]{64})\nverified (\w+) (>=|=) (-?\d+)(?: / (\d+))?\n")


class Verified(NamedTuple):
    """What the verified checker has proven."""

    bound: Fraction
    #: Whether the answer reaches the bound.
    is_least: bool
    #: The SHA-256 of the lines of the problem.
    digest: str
    #: Whether `cake_lpr` has confirmed the refutation, too.
    is_confirmed: bool

    @property
    def fields(self) -> dict[str, object]:
        """What is written for programs."""
        least = {"verified_optimal": True} if self.is_least else {}
        confirmed = {"refuted_by": _FOREIGN} if self.is_confirmed else {}
        return {"verified_bound": str(self.bound), **least, **confirmed, "problem_lines_sha256": self.digest}


def check_proof_options(args: argparse.Namespace, inputs: list[str | Path]) -> None:
    """Refuse an export that cannot be written, and a program that is not there, before anything is read."""
    check_outputs(args.export, inputs=inputs, force=args.force)
    if args.verified:
        _checker()
    if args.cross_check is not None:
        require_pumpkin()


def confirm(
    args: argparse.Namespace, problem: Problem, proof: Proof, bound: Value, answer: Answer | None
) -> tuple[dict[str, object], list[str]]:
    """Have a bound of the judge confirmed by other programs, as the options say.

    Parameters
    ----------
    bound
        What the judge has recomputed from the certificate.
    answer
        A feasible one; None without.

    Returns
    -------
    tuple
        What is written for programs, and the lines that say what was found.

    Raises
    ------
    UnsupportedProblem
        If the checker has no theorem for this certificate, or the other solver cannot be asked.
    FormatError
        If a program refuses the certificate, or finds another bound than the judge.
    """
    verified, lines = _write_proof(args, problem, proof, bound, answer)
    fields, more = cross_check(args, problem, proof, bound)
    return {**({} if verified is None else verified.fields), **fields}, [*lines, *more]


def _write_proof(
    args: argparse.Namespace, problem: Problem, proof: Proof, bound: Value, answer: Answer | None
) -> tuple[Verified | None, list[str]]:
    """Write what the verified checker reads, and ask it; return what it has verified, and lines on both."""
    if args.export is None and not args.verified:
        return None, []
    family, term = family_of(problem), proof.objective[0]
    if family.rules.proof_text is None:
        msg = f"{_option(args)}: bounds of {family.kind} problems are not verified"
        raise InvalidOption(msg)
    text = family.rules.proof_text(problem, proof.certificate, term, terms(bound)[0], answer)
    lines = []
    if args.export is not None:
        args.export.write_text(text.problem + text.proof, encoding="ascii")
        lines.append(f"proof written to {args.export}")
    if not args.verified:
        return None, lines
    source = str(args.proof or args.solution)
    verified = _ask(source, text, term, terms(bound)[0])
    unit = family.view.units[term]
    relation = "is" if verified.is_least else "is at least"
    foreign = [f"confirmed: {_FOREIGN} accepts the refutation, too"] if verified.is_confirmed else []
    said = f"verified: {term} {relation} {verified.bound} {unit} (problem {verified.digest[:16]})"
    return verified, [said, *foreign, *lines]


def refuse_proof(args: argparse.Namespace) -> None:
    """Refuse to export or confirm what is no certificate."""
    if args.export is not None or args.verified or args.cross_check is not None:
        msg = f"{_option(args)}: {args.solution} is no certificate; --proof names the one that belongs to it"
        raise InvalidOption(msg)


def _option(args: argparse.Namespace) -> str:
    if args.export is not None:
        return "--export"
    return "--verified" if args.verified else "--cross-check"


def _checker() -> str:
    """Return the path of the verified checker."""
    named = os.environ.get(VARIABLE)
    found = shutil.which(named or _PROGRAM) or (shutil.which(_BUILT) if not named else None)
    if found is None:
        where = f"{VARIABLE}={named} is no program" if named else f"there is no {_PROGRAM} on the path"
        msg = f"--verified: {where}; `make verify` builds it in a checkout of allocsolve (docs/trust.md)"
        raise SolverUnavailable(msg)
    return found


def _ask(source: str, text: ProofText, term: str, bound: Any) -> Verified:  # noqa: ANN401 - a number
    """Run the verified checker and hold its answer to the bound of the judge."""
    foreign = shutil.which(_FOREIGN)
    with tempfile.TemporaryDirectory() as folder:
        file, clauses, refutation = (Path(folder, f"proof{end}") for end in ("", ".cnf", ".lrat"))
        file.write_text(text.problem + text.proof, encoding="ascii")
        # Where it is given a second name, it writes the clauses that it has checked, if there are any.
        done = _run([_checker(), str(file), *([str(file)] if foreign else [])])
        answer = _ANSWER.fullmatch(done.stdout)
        if answer is None:
            msg = f"the judge accepts it, the verified checker does not: {_last_line(done)}"
            raise FormatError(source, [msg])
        is_confirmed = foreign is not None and clauses.exists()
        if foreign is not None and is_confirmed:
            done = _run([foreign, str(clauses), str(refutation)])
            if "s VERIFIED UNSAT" not in done.stdout.splitlines():
                msg = f"the verified checker accepts it, {_FOREIGN} does not: {_last_line(done)}"
                raise FormatError(source, [msg])
    digest, name, relation, numerator, denominator = answer.groups()
    proven = Fraction(int(numerator), int(denominator or 1))
    # The judge rounds its value down; where nothing is proven, some of its bounds are 0.
    rounded = lower_float(proven)
    is_same = bound == rounded or (rounded < bound == 0) or (text.is_rounded_by_judge and bound < rounded)
    if name != term or digest != text.digest or not is_same:
        said = f"{name} of problem {digest[:16]} is at least {proven}"
        ours = f"{term} of {text.digest[:16]} is at least {bound}"
        raise FormatError(source, [f"the verified checker proves that {said}, the judge that {ours}"])
    return Verified(proven, relation == "=", digest, is_confirmed)


def _run(command: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - no shell


def _last_line(done: subprocess.CompletedProcess[str]) -> str:
    lines = (done.stderr or done.stdout).strip().splitlines()
    return lines[-1] if lines else f"exit status {done.returncode}"
