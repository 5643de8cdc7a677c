"""Programs that confirm a bound beside the judge: the verified checker, and Pumpkin (PyPI: pumpkin-solver).

The checker is asked whether a certificate proves what the judge has recomputed from it; Pumpkin, a solver of
others, whether applications have a shorter schedule.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from allocsolve.errors import FormatError, SolverUnavailable, UnsupportedProblem
from allocsolve.judge.certificates import lower_float

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allocsolve.families import ProofText

#: Names the checker, wherever it is.
VARIABLE: Final = "ALLOCSOLVE_VERIFIED"
_PROGRAM: Final = "allocsolve-verified"
#: Checks refutations of clauses, is proven right down to machine code, and was not written by us.
FOREIGN: Final = "cake_lpr"
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
    #: The path of the program that says so.
    checker: str

    @property
    def fields(self) -> dict[str, object]:
        """What is written for programs."""
        least = {"verified_optimal": True} if self.is_least else {}
        confirmed = {"refuted_by": FOREIGN} if self.is_confirmed else {}
        proven = {"verified_bound": str(self.bound), "verified_by": self.checker}
        return {**proven, **least, **confirmed, "problem_lines_sha256": self.digest}


def find_checker() -> str | None:
    """Return the path of the verified checker; None where there is none."""
    named = os.environ.get(VARIABLE)
    return shutil.which(named or _PROGRAM) or (shutil.which(_BUILT) if not named else None)


def require_checker() -> str:
    """Return the path of the verified checker; raise `SolverUnavailable` where there is none."""
    found = find_checker()
    if found is None:
        named = os.environ.get(VARIABLE)
        where = f"{VARIABLE}={named} is no program" if named else f"there is no {_PROGRAM} on the path"
        msg = f"--verified: {where}; `make verify` builds it in a checkout of allocsolve (docs/trust.md)"
        raise SolverUnavailable(msg)
    return found


def agrees(proven: Fraction, bound: Any, *, is_rounded_by_judge: bool = False) -> bool:  # noqa: ANN401 - a number
    """Return whether the bound of the judge is what the checker has proven, rounded down.

    The judge says 0 where some certificates prove nothing; with `is_rounded_by_judge` it may be below, see
    `allocsolve.families.ProofText`.
    """
    rounded = lower_float(proven)
    return bool(bound == rounded or (rounded < bound == 0) or (is_rounded_by_judge and bound < rounded))


def ask_checker(source: str, text: ProofText, term: str, bound: Any) -> Verified:  # noqa: ANN401 - a number
    """Run the verified checker and hold its answer to the bound of the judge.

    Messages name the source. `FormatError` if it refuses the certificate, or proves something else than the
    judge.
    """
    checker, foreign = require_checker(), shutil.which(FOREIGN)
    with tempfile.TemporaryDirectory() as folder:
        file, clauses, refutation = (Path(folder, f"proof{end}") for end in ("", ".cnf", ".lrat"))
        file.write_text(text.problem + text.proof, encoding="ascii")
        # Where it is given a second name, it writes the clauses that it has checked, if there are any.
        done = _run([checker, str(file), *([str(file)] if foreign else [])])
        answer = _ANSWER.fullmatch(done.stdout)
        if answer is None:
            msg = f"the judge accepts it, the verified checker does not: {_last_line(done)}"
            raise FormatError(source, [msg])
        is_confirmed = foreign is not None and clauses.exists()
        if foreign is not None and is_confirmed:
            done = _run([foreign, str(clauses), str(refutation)])
            if "s VERIFIED UNSAT" not in done.stdout.splitlines():
                msg = f"the verified checker accepts it, {FOREIGN} does not: {_last_line(done)}"
                raise FormatError(source, [msg])
    digest, name, relation, numerator, denominator = answer.groups()
    proven = Fraction(int(numerator), int(denominator or 1))
    is_same = agrees(proven, bound, is_rounded_by_judge=text.is_rounded_by_judge)
    if name != term or digest != text.digest or not is_same:
        said = f"{name} of problem {digest[:16]} is at least {proven}"
        ours = f"{term} of {text.digest[:16]} is at least {bound}"
        raise FormatError(source, [f"the verified checker proves that {said}, the judge that {ours}"])
    return Verified(proven, relation == "=", digest, is_confirmed, checker)


def _run(command: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - no shell


def _last_line(done: subprocess.CompletedProcess[str]) -> str:
    lines = (done.stderr or done.stdout).strip().splitlines()
    return lines[-1] if lines else f"exit status {done.returncode}"


#: As pip knows it.
PACKAGE: Final = "pumpkin-solver"
_MODEL: Final = Path(__file__).with_name("_pumpkin_model.py")
#: Starting Python and the solver takes a moment; it is ended when this much more than its time is over.
_START_S: Final = 10.0
_ANSWERS: Final = {"Satisfiable": True, "Unsatisfiable": False, "Unknown": None}


def require_pumpkin() -> None:
    """Raise `SolverUnavailable` where the package is not installed."""
    if importlib.util.find_spec("pumpkin_solver") is None:
        msg = f"{PACKAGE} is not installed: pip install 'allocsolve[cross-check]' brings it"
        raise SolverUnavailable(msg)


def has_schedule(
    num_nodes: int,
    applications: Sequence[tuple[int, Sequence[tuple[int, int]]]],
    horizon: int,
    seconds: float,
) -> bool | None:
    """Return whether applications that are not expanded have a schedule that ends by a horizon.

    An application is the second of its release, and its steps as (seconds, nodes). None if the search has not
    finished in `seconds` of wall time. `UnsupportedProblem` if its numbers of 32 bits do not hold the
    node-seconds.

    Notes
    -----
    The model is its global constraint *cumulative* over all steps, with one start per application; nothing
    that we know of schedules is in it. *Guarantee*: that of the solver. *Complexity*: exponential.

    References
    ----------
    Schutt et al., "Explaining the cumulative propagator", Constraints 2011.
    """
    require_pumpkin()
    if max(num_nodes, 1) * horizon >= 1 << 31:
        msg = f"{PACKAGE} has numbers of 32 bits, {num_nodes} nodes for {horizon} s are more"
        raise UnsupportedProblem(msg)
    model = json.dumps([num_nodes, applications, horizon, seconds])
    # In a process of its own: a fault of the solver ends the process, and Python cannot interrupt a search.
    try:
        done = subprocess.run(  # noqa: S603 - no shell, and no argument from outside
            [sys.executable, "-P", str(_MODEL)],
            input=model,
            capture_output=True,
            text=True,
            timeout=seconds + _START_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return None
    answer = done.stdout.strip()
    if answer not in _ANSWERS:
        last = (done.stderr or answer).strip().splitlines()[-1:] or [f"exit status {done.returncode}"]
        raise SolverUnavailable(f"{PACKAGE} does not run: {last[0]}")
    return _ANSWERS[answer]
