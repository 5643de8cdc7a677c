"""A solver in one module, to be read as an example: the first nodes that are free."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from allocsolve.errors import UnsupportedProblem
from allocsolve.families import SolverRow
from allocsolve.model import Budget, Partition, PartitionProblem, Result, Status


@dataclass(frozen=True)
class FirstFree:
    """Choose free nodes by their numbers.

    Parameters
    ----------
    last
        Whether the free nodes with the largest numbers are chosen instead.
    """

    last: bool = False

    def __call__(self, problem: PartitionProblem, budget: Budget) -> Result[Partition]:
        """Answer a problem; the `repr` of the solver is its name in the records.

        Raises
        ------
        UnsupportedProblem
            If the nodes have to be connected.
        """
        if problem.contiguous:
            msg = "nodes are chosen by their numbers, whether they are connected or not"
            raise UnsupportedProblem(msg)
        clock = budget.start()
        free = np.flatnonzero(problem.free)
        chosen = free[len(free) - problem.size :] if self.last else free[: problem.size]
        return Result(Status.FEASIBLE, Partition(chosen), runtime=clock.elapsed)


#: The line of the table of its family, in `allocsolve/registry/partition.py`.
ROW = SolverRow("first-free", "heuristic", "the free nodes with the least numbers", f"{__name__}:FirstFree")
