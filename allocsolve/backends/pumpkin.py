"""Ask Pumpkin, a solver of others (PyPI: pumpkin-solver), whether applications have a short schedule."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from allocsolve.errors import SolverUnavailable, UnsupportedProblem

if TYPE_CHECKING:
    from collections.abc import Sequence

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
        msg = f"{PACKAGE} does not run: {last[0]}"
        raise SolverUnavailable(msg)
    return _ANSWERS[answer]
