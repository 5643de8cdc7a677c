"""How many jobs are submitted at once, by which queue policies choose between a list and a tree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from allocsolve.model import WorkloadProblem

#: From so many jobs of one instant on, a queue is long.
LONG_QUEUE: Final = 2000


def has_long_queue(problem: WorkloadProblem) -> bool:
    """Return whether very many jobs are submitted at one instant. O(jobs) if they are in this order."""
    submit = np.sort(problem.packed.submit, kind="stable")
    return bool((submit[LONG_QUEUE - 1 :] == submit[: max(0, len(submit) - LONG_QUEUE + 1)]).any())
