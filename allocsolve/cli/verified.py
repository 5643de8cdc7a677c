"""The verified checker: what it reads is written, and it is asked beside the judge."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

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

    @property
    def fields(self) -> dict[str, object]:
        """What is written for programs."""
        least = {"verified_optimal": True} if self.is_least else {}
        return {"verified_bound": str(self.bound), **least, "problem_lines_sha256": self.digest}


def check_proof_options(args: argparse.Namespace, inputs: list[str | Path]) -> None:
    """Refuse an export that cannot be written, and a checker that is not there, before anything is read."""
    check_outputs(args.export, inputs=inputs, force=args.force)
    if args.verified:
        _checker()


def write_proof(
    args: argparse.Namespace, problem: Problem, proof: Proof, bound: Value, answer: Answer | None
) -> tuple[Verified | None, list[str]]:
    """Write what the verified checker reads, and ask it, as the options say.

    Parameters
    ----------
    bound
        What the judge has recomputed from the certificate.
    answer
        A feasible one; None without.

    Returns
    -------
    tuple
        What was verified, None if that was not asked for, and the lines that say so.

    Raises
    ------
    UnsupportedProblem
        If the checker has no theorem for this certificate.
    FormatError
        If the checker refuses the certificate, or proves another bound than the judge.
    """
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
    lines.insert(0, f"verified: {term} {relation} {verified.bound} {unit} (problem {verified.digest[:16]})")
    return verified, lines


def refuse_proof(args: argparse.Namespace) -> None:
    """Refuse to export or verify what is no certificate."""
    if args.export is not None or args.verified:
        msg = f"{_option(args)}: {args.solution} is no certificate; --proof names the one that belongs to it"
        raise InvalidOption(msg)


def _option(args: argparse.Namespace) -> str:
    return "--verified" if args.export is None else "--export"


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
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "proof")
        file.write_text(text.problem + text.proof, encoding="ascii")
        command = [_checker(), str(file)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - ours
    answer = _ANSWER.fullmatch(done.stdout)
    if answer is None:
        last = (done.stderr or done.stdout).strip().splitlines()[-1:] or [f"exit status {done.returncode}"]
        raise FormatError(source, [f"the judge accepts it, the verified checker does not: {last[0]}"])
    digest, name, relation, numerator, denominator = answer.groups()
    proven = Fraction(int(numerator), int(denominator or 1))
    # The judge rounds its value down; where nothing is proven, some of its bounds are 0.
    rounded = lower_float(proven)
    is_same = bound == rounded or (rounded < bound == 0) or (text.is_rounded_by_judge and bound < rounded)
    if name != term or digest != text.digest or not is_same:
        said = f"{name} of problem {digest[:16]} is at least {proven}"
        ours = f"{term} of {text.digest[:16]} is at least {bound}"
        raise FormatError(source, [f"the verified checker proves that {said}, the judge that {ours}"])
    return Verified(proven, relation == "=", digest)
