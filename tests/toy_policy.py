"""A queue policy in one module, to be read as an example: whatever fits starts, the shortest first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from allocsolve.families import SolverRow
from allocsolve.model import Budget, Result, Status, WorkloadProblem, WorkloadSchedule
from allocsolve.simulation import QueueView, Start, simulate

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


@dataclass(frozen=True)
class ShortestFirst:
    """Start whatever fits, in the order of estimated run times.

    Parameters
    ----------
    longest
        Whether the longest jobs come first instead.
    """

    longest: bool = False

    def order(self, view: QueueView) -> Sequence[int]:
        """Return the jobs that wait, in the order in which they are looked at."""
        sign = -1 if self.longest else 1
        return sorted(view.queue.tolist(), key=lambda job: (sign * view.jobs.estimate[job], job))

    def decide(self, view: QueueView) -> Iterator[Start]:
        """Yield the jobs that start now: what a simulator calls."""
        free = view.free
        for job in self.order(view):
            nodes = int(view.jobs.nodes[job])
            if nodes <= free:
                free -= nodes
                yield Start(job, nodes)

    def __call__(self, problem: WorkloadProblem, budget: Budget) -> Result[WorkloadSchedule]:
        """Run a workload to its end: what `solve`, `score` and studies call."""
        clock = budget.start()
        schedule = simulate(problem, self.decide)
        return Result(Status.FEASIBLE, schedule, runtime=clock.elapsed)


#: The line of the table of its family, in `allocsolve/registry/workload.py`.
ROW = SolverRow(
    "shortest", "heuristic", "whatever fits starts, the shortest first", f"{__name__}:ShortestFirst"
)
