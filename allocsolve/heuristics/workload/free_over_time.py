"""What jobs of a clairvoyant plan leave free over time: nodes, and each other resource of a machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from allocsolve.heuristics.workload._kernels_serial import change_plan, reinsert
from allocsolve.heuristics.workload.resources import given_to_kernels
from allocsolve.kernels.free_nodes import FreeNodes
from allocsolve.model import frozen

if TYPE_CHECKING:
    from allocsolve.heuristics.workload._kernels_serial import Costs, Moves, Placed, Sizes
    from allocsolve.model import FloatArray, IntArray, WorkloadProblem


class FreeSteps(NamedTuple):
    """What is free of one resource in a span, step by step, and what jobs need of it."""

    #: Of the resource.
    there: int
    #: Shape (steps,): starts in seconds, and amounts.
    times: FloatArray
    free: IntArray
    #: Shape (jobs,).
    demand: IntArray


class FreeOverTime:
    """What is free of a machine, at first without jobs. O(jobs + windows^2)."""

    #: Shape (jobs,), seconds: no job starts before.
    release: FloatArray

    def __init__(self, problem: WorkloadProblem) -> None:
        given = given_to_kernels(problem, len(problem.jobs))
        self.release, self._nodes = given.release, given.free
        self._there = [problem.num_nodes, *(amount for _, amount in problem.resources)]
        #: Closed nodes are not free: kernels need a machine for other resources only.
        self._machine = given.machine if problem.resources else None

    def change(self, sizes: Sizes, jobs: IntArray, placed: Placed, what: int) -> None:
        """Take jobs out of the plan, or put them into it, one after the other; see `change_plan`."""
        change_plan(self._nodes, sizes, self.release, frozen(jobs), placed, what, self._machine)

    def reinsert(
        self, sizes: Sizes, costs: tuple[Costs, Costs], placed: Placed, moves: Moves, count: int
    ) -> None:
        """Make moves, see `reinsert`."""
        reinsert(self._nodes, sizes, self.release, *costs, placed, moves, count, self._machine)

    def steps(self, begin: float, end: float, nodes: IntArray) -> list[FreeSteps]:
        """Return what is free of each resource in a span, if jobs run on these numbers of nodes."""
        listed = [FreeSteps(self._there[0], *_steps_of(self._nodes, begin, end), nodes)]
        machine = self._machine
        if machine is None:
            return listed
        owner = np.repeat(np.arange(len(nodes)), np.diff(machine.offsets))
        for resource, there in enumerate(self._there[1:], 1):
            mine = machine.resource == resource
            demand = np.zeros(len(nodes), dtype=np.int64)
            demand[owner[mine]] = machine.amount[mine]
            columns = machine.numbers, machine.chunks, machine.steps
            profile = FreeNodes(*(column[resource - 1] for column in columns))  # type: ignore[arg-type]  # records
            listed.append(FreeSteps(there, *_steps_of(profile, begin, end), demand))
        return listed


def _steps_of(profile: FreeNodes, begin: float, end: float) -> tuple[FloatArray, IntArray]:
    """Return the steps of a profile that overlap a span: their starts (s) and amounts."""
    chunks, steps = profile.chunks, profile.steps
    begun = chunks["begin"][: profile.numbers["used"]]
    first = max(0, int(np.searchsorted(begun, begin, side="right")) - 1)
    last = max(first + 1, int(np.searchsorted(begun, end, side="left")))
    times, free = [], []
    for chunk in chunks[first:last]:
        within = steps[chunk["first"] : chunk["last"]]
        times.append(within["time"])
        free.append(within["free"] + chunk["shift"])
    begins, numbers = np.concatenate(times), np.concatenate(free)
    low = max(0, int(np.searchsorted(begins, begin, side="right")) - 1)
    high = int(np.searchsorted(begins, end, side="left"))
    return begins[low:high], numbers[low:high]
