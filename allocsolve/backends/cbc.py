"""Run the CBC that comes with PuLP, silently and for no longer than asked."""

from __future__ import annotations

import math
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from allocsolve.errors import SolverUnavailable
from allocsolve.model.result import Clock


def run_cbc(model: Any, seconds: float, workers: int) -> int:  # noqa: ANN401 - PuLP has no types
    """Minimise a model with an integer objective and give its variables their values.

    PuLP writes the model and reads the answer, but CBC is started here, because it may overrun its time limit
    a hundredfold and goes on when Python is interrupted. So it is asked to stop early, and is ended when the
    time is over.

    The objective of the ``pulp.LpProblem`` is not constant, and an integer in all solutions. It has so many
    seconds of wall time, infinity for no limit, and threads. Return the solution status of PuLP:
    ``LpSolutionOptimal`` only if proven, ``LpSolutionIntegerFeasible`` for the incumbent at the time limit.
    (The plain status of PuLP says "Optimal" to both.)
    """
    import pulp  # noqa: PLC0415 - heavy, and other solvers do without

    clock = Clock(seconds)
    # PULP_CBC_CMD is not used: it warns that PuLP 4 will not have it.
    cbc = pulp.COIN_CMD(path=pulp.PULP_CBC_CMD.pulp_cbc_path)
    with tempfile.TemporaryDirectory(prefix="allocsolve-") as folder:
        written, answer = Path(folder, "model.mps"), Path(folder, "model.sol")
        columns, column_names, row_names, _ = model.writeMPS(str(written), rename=1)
        left = None if math.isinf(seconds) else clock.remaining
        limited = [] if left is None else ["-timeMode", "elapsed", "-sec", f"{0.9 * left:.3f}"]
        # The objective is an integer, so a gap below 1 is no gap.
        options = [*limited, "-allow", "0.9", "-threads", str(workers), "-solve", "-printingOptions", "all"]
        try:
            subprocess.run(  # noqa: S603 - no shell, and no argument from outside
                [cbc.path, str(written), *options, "-solution", str(answer)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=left,
                check=True,
            )
            _, values, *_, status = cbc.readsol_MPS(str(answer), model, columns, column_names, row_names)
        except subprocess.TimeoutExpired:
            return int(pulp.LpSolutionNoSolutionFound)
        except (OSError, subprocess.CalledProcessError) as error:
            msg = (
                f"the CBC that comes with PuLP does not run: {error}; try: pip install --force-reinstall pulp"
            )
            raise SolverUnavailable(msg) from error
    model.assignVarsVals(values)
    return int(status)
