"""What is free on a machine over time, for clairvoyant plans: of nodes alone, or of several resources."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from allocsolve.errors import UnsupportedProblem
from allocsolve.heuristics.workload._kernels_machine_plans import (
    Needs,
    change_plan_on_machine,
    reinsert_on_machine,
)
from allocsolve.heuristics.workload._kernels_serial import PUT_BACK, Placed, Sizes, change_plan, reinsert
from allocsolve.heuristics.workload._kernels_timetable import timetable_of
from allocsolve.kernels.free_nodes import FreeNodes, new_free_nodes
from allocsolve.model import RIGID, frozen, packed_machine

if TYPE_CHECKING:
    from allocsolve.heuristics.workload._kernels_serial import Costs, Moves
    from allocsolve.model import FloatArray, IntArray, PackedMachine, WorkloadProblem


class FreeSteps(NamedTuple):
    """What is free of one resource in a span, step by step, and what jobs need of it."""

    #: Of the resource.
    there: int
    #: Shape (steps,): starts in seconds, and amounts.
    times: FloatArray
    free: IntArray
    #: Shape (jobs,).
    demand: IntArray


class FreeCapacity(Protocol):
    """What jobs of a plan leave free."""

    #: Shape (jobs,), seconds: no job starts before.
    release: FloatArray

    def change(self, sizes: Sizes, jobs: IntArray, placed: Placed, what: int) -> None:
        """Take jobs out of the plan, or put them into it, one after the other; see `change_plan`."""

    def reinsert(
        self, sizes: Sizes, costs: tuple[Costs, Costs], placed: Placed, moves: Moves, count: int
    ) -> None:
        """Make moves, see `reinsert`."""

    def steps(self, begin: float, end: float, nodes: IntArray) -> list[FreeSteps]:
        """Return what is free of each resource in a span, if jobs run on these numbers of nodes."""


def free_capacity(problem: WorkloadProblem) -> FreeCapacity:
    """Return what is free on a machine without jobs.

    Raises
    ------
    UnsupportedProblem
        If the machine is not plain and a job is not rigid.
    """
    if problem.is_plain:
        return FreeNodesOnly(problem, None)
    check_rigid(problem)
    machine = packed_machine(problem)
    return FreeOfEach(problem, machine) if len(machine.names) > 1 else FreeNodesOnly(problem, machine)


def check_rigid(problem: WorkloadProblem) -> None:
    """Raise `UnsupportedProblem` if the machine is not plain and a job is not rigid."""
    if problem.is_plain or problem.is_rigid:
        return
    idx = int(np.argmax(problem.jobs.packed.kind != RIGID))
    job = problem.jobs[idx]
    msg = f"job {job.name!r} is {job.kind}: with {problem.beyond_plain} jobs must be rigid"
    raise UnsupportedProblem(msg)


class FreeNodesOnly:
    """Free nodes over time; of a machine that is not plain, without what is closed."""

    def __init__(self, problem: WorkloadProblem, machine: PackedMachine | None) -> None:
        count = len(problem.jobs)
        self._num_nodes = problem.num_nodes
        self.release = problem.jobs.packed.submit if machine is None else machine.release
        windows = 0 if machine is None else len(machine.times)
        self._profile = new_free_nodes(problem.num_nodes, count + windows)
        if machine is not None and windows > 1:
            close(self._profile, machine, 0)

    def change(self, sizes: Sizes, jobs: IntArray, placed: Placed, what: int) -> None:
        """Take jobs out of the plan, or put them into it, one after the other."""
        change_plan(self._profile, sizes, self.release, frozen(jobs), placed, what)

    def reinsert(
        self, sizes: Sizes, costs: tuple[Costs, Costs], placed: Placed, moves: Moves, count: int
    ) -> None:
        """Make moves."""
        reinsert(self._profile, sizes, self.release, *costs, placed, moves, count)

    def steps(self, begin: float, end: float, nodes: IntArray) -> list[FreeSteps]:
        """Return the free nodes in a span."""
        return [FreeSteps(self._num_nodes, *steps_of(self._profile, begin, end), nodes)]


class FreeOfEach:
    """What is free of each of several resources over time."""

    def __init__(self, problem: WorkloadProblem, machine: PackedMachine) -> None:
        self.release, self._machine = machine.release, machine
        self._there = [problem.num_nodes, *(amount for _, amount in problem.resources)]
        self._needs = Needs(machine.offsets, machine.resource, machine.amount)
        rows = [new_free_nodes(there, len(problem.jobs) + len(machine.times)) for there in self._there]
        for row, profile in enumerate(rows):
            close(profile, machine, row)
        self._free = timetable_of(rows)

    def change(self, sizes: Sizes, jobs: IntArray, placed: Placed, what: int) -> None:
        """Take jobs out of the plan, or put them into it, one after the other."""
        change_plan_on_machine(
            *(self._free, self._needs, sizes.seconds, self.release, frozen(jobs), placed.starts, what)
        )

    def reinsert(
        self, sizes: Sizes, costs: tuple[Costs, Costs], placed: Placed, moves: Moves, count: int
    ) -> None:
        """Make moves."""
        reinsert_on_machine(self._free, self._needs, sizes, self.release, *costs, placed, moves, count)

    def steps(self, begin: float, end: float, nodes: IntArray) -> list[FreeSteps]:
        """Return what is free of each resource in a span."""
        listed = []
        machine = self._machine
        owner = np.repeat(np.arange(len(nodes)), np.diff(machine.offsets))
        for row, there in enumerate(self._there):
            mine = machine.resource == row
            demand = np.zeros(len(nodes), dtype=np.int64)
            demand[owner[mine]] = machine.amount[mine]
            profile = FreeNodes(*(column[row] for column in self._free[:3]))  # type: ignore[arg-type]  # records
            listed.append(FreeSteps(there, *steps_of(profile, begin, end), demand))
        return listed


def close(profile: FreeNodes, machine: PackedMachine, resource: int) -> None:
    """Take away what is closed of a resource, as jobs that are where they are."""
    closed = machine.capacity[:, resource].max() - machine.capacity[:, resource]
    at = np.flatnonzero(closed)  # the last step is open
    begins, ends = machine.times[at], machine.times[np.minimum(at + 1, len(machine.times) - 1)]
    order = np.arange(len(at))
    windows = Sizes(frozen(np.arange(len(at) + 1)), frozen(closed[at]), frozen(ends - begins))
    placed = Placed(begins.copy(), order.copy())
    change_plan(profile, windows, frozen(begins), frozen(order), placed, PUT_BACK)


def steps_of(profile: FreeNodes, begin: float, end: float) -> tuple[FloatArray, IntArray]:
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
