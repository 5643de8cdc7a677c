"""An evaluator for OpenEvolve, which calls `evaluate` with the file of each program, and maximises its score.

    POLICY_LOGS=logs openevolve-run evolved_policy.py openevolve_evaluator.py --config config.yaml

The program is a queue policy called `policy`. Let `evaluator.timeout` of the configuration be longer than 6
windows of 10 s: what OpenEvolve itself gives a program that it stops is no score of ours.
"""

import functools
import os
import sys
from typing import Any

from allocsolve.bench import PolicyEvaluator


@functools.cache
def evaluator() -> PolicyEvaluator:
    """Draw the windows once in each process."""
    logs, seed = os.environ["POLICY_LOGS"], int(os.environ.get("POLICY_SEED", "0"))
    return PolicyEvaluator([logs], windows=6, jobs=300, seed=seed, seconds=10.0)


def evaluate(program_path: str) -> Any:  # noqa: ANN401 - an EvaluationResult of OpenEvolve, or a dict
    """Return the numbers and the texts of an evaluation; without OpenEvolve, the numbers alone."""
    made = evaluator().evaluate(program_path)
    try:
        from openevolve.evaluation_result import EvaluationResult  # type: ignore[import-not-found]  # noqa: PLC0415 - not needed to try it
    except ImportError:
        return made["metrics"]
    return EvaluationResult(metrics=made["metrics"], artifacts=made["artifacts"])


if __name__ == "__main__":
    print(evaluate(sys.argv[1]))
