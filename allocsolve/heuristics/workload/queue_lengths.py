"""How long the queue gets, by which queue policies choose between a list and a tree for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from allocsolve.model import WorkloadProblem

#: The fewest jobs submitted at one instant that make a queue long: the tree of the queue pays from there on.
LONG_QUEUE: Final = 2000
#: So is a queue that gets as long as this over time: a shorter list takes .1 s, less than compiling the tree.
_LONG_BACKLOG: Final = 10_000


def has_long_queue(problem: WorkloadProblem) -> bool:
    """Return whether very many jobs wait: submitted at one instant, or more than the nodes can run.

    O(jobs) if they are in order of submission.
    """
    packed = problem.packed
    if len(packed.submit) < LONG_QUEUE:
        return False
    order = np.argsort(packed.submit, kind="stable")
    submit = packed.submit[order]
    if (submit[LONG_QUEUE - 1 :] == submit[: len(submit) - LONG_QUEUE + 1]).any():
        return True
    if len(submit) < _LONG_BACKLOG:
        return False
    # The work that is left at each submission if no node idles while there is any, in jobs of mean area.
    areas = (packed.nodes * packed.runtime)[order]
    level = np.cumsum(areas) - problem.num_nodes * (submit - submit[0])
    left = level - np.minimum.accumulate(level - areas)
    return bool(left.max() >= _LONG_BACKLOG * areas.mean())
