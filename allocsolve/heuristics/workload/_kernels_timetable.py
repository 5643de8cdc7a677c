"""What is free of each resource of a machine over time, for kernels: one step function for each.

Capacities and what jobs hold, or will hold by their reservations, are both in it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from allocsolve.kernels import inner_kernel
from allocsolve.kernels.free_nodes import (
    FreeNodes,
    append,
    change,
    earliest,
    forget_past,
    least_free,
    new_free_nodes,
    restart,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from allocsolve.heuristics.workload._kernels_machines import Machine
    from allocsolve.kernels.free_nodes import FreeNumbers
    from allocsolve.kernels.records import Records
    from allocsolve.model import IntArray


class Timetable(NamedTuple):
    """The step functions of all resources; all is written."""

    #: Shape (resources,), and (resources, chunks) and (resources, steps): see `FreeNodes`.
    numbers: Records[FreeNumbers]
    chunks: NDArray[Any]
    steps: NDArray[Any]
    #: Shape (resources,): what is free from the instant on that is being written, and what was before it.
    level: IntArray
    written: IntArray


class Demand(Protocol):
    """What jobs need, read-only: of job ``j`` the rows ``offsets[j]:offsets[j + 1]``."""

    @property
    def offsets(self) -> IntArray: ...
    @property
    def resource(self) -> IntArray: ...
    @property
    def amount(self) -> IntArray: ...


def timetable_of(parts: Sequence[FreeNodes]) -> Timetable:
    """Return a timetable of copies of step functions that have equal room, a resource for each."""
    listed: list[list[Any]] = [[part[at] for part in parts] for at in range(3)]
    numbers: Any = np.array(listed[0])
    chunks, steps = np.stack(listed[1]), np.stack(listed[2])
    return Timetable(numbers, chunks, steps, *np.zeros((2, len(parts)), dtype=np.int64))


def new_timetable(resources: int, steps: int, num_jobs: int) -> Timetable:
    """Return an empty timetable with room for so many steps of capacities and so many jobs."""
    return timetable_of([new_free_nodes(0, num_jobs + steps) for _ in range(resources)])


@inner_kernel
def begin_writing(table: Timetable, now: float) -> None:
    """Forget all; from now on each resource is free at its `level`. O(resources)."""
    for resource in range(len(table.level)):
        free = FreeNodes(table.numbers[resource], table.chunks[resource], table.steps[resource])
        restart(free, now, table.level[resource])
        table.written[resource] = table.level[resource]


@inner_kernel
def go_on_writing(table: Timetable, time: float) -> None:
    """From an instant on, after all written ones, each resource is free at its `level`. O(resources)."""
    for resource in range(len(table.level)):
        if table.level[resource] != table.written[resource]:
            free = FreeNodes(table.numbers[resource], table.chunks[resource], table.steps[resource])
            append(free, time, table.level[resource])
            table.written[resource] = table.level[resource]


@inner_kernel
def write_capacities(table: Timetable, machine: Machine) -> None:
    """Let everything be free that is there. O(steps x resources)."""
    for step in range(len(machine.times)):
        for resource in range(len(table.level)):
            table.level[resource] = machine.capacity[step, resource]
        if step:
            go_on_writing(table, machine.times[step])
        else:
            begin_writing(table, machine.times[step])


@inner_kernel
def begin_at(table: Timetable, now: float) -> None:
    """Let the timetable begin now; what was before is forgotten."""
    for resource in range(len(table.level)):
        forget_past(FreeNodes(table.numbers[resource], table.chunks[resource], table.steps[resource]), now)


@inner_kernel
def take(table: Timetable, needs: Demand, job: int, begin: float, end: float) -> None:
    """Take what a job needs out of the timetable between two instants."""
    for at in range(needs.offsets[job], needs.offsets[job + 1]):
        resource = needs.resource[at]
        free = FreeNodes(table.numbers[resource], table.chunks[resource], table.steps[resource])
        change(free, begin, end, -needs.amount[at])


@inner_kernel
def put_back(table: Timetable, needs: Demand, job: int, begin: float, end: float) -> None:
    """Put back what a job needs between two instants."""
    for at in range(needs.offsets[job], needs.offsets[job + 1]):
        resource = needs.resource[at]
        free = FreeNodes(table.numbers[resource], table.chunks[resource], table.steps[resource])
        change(free, begin, end, needs.amount[at])


@inner_kernel
def has_room(table: Timetable, needs: Demand, job: int, begin: float, end: float) -> bool:
    """Return whether all that a job needs is free from one instant to another."""
    for at in range(needs.offsets[job], needs.offsets[job + 1]):
        resource = needs.resource[at]
        free = FreeNodes(table.numbers[resource], table.chunks[resource], table.steps[resource])
        if least_free(free, begin, end) < needs.amount[at]:
            return False
    return True


@inner_kernel
def earliest_room(
    table: Timetable, needs: Demand, job: int, start: float, seconds: float, known: float
) -> float:
    """Return the first instant from `start` on from which a job has room for `seconds`, or `known`.

    From `known` on, infinite for never, it has room anyway: the answer is not later. Resource after resource
    says from when on it has room, until all say the same.
    """
    begin, end = needs.offsets[job], needs.offsets[job + 1]
    at, agreed = begin, 0
    while agreed < end - begin and start < known:
        resource = needs.resource[at]
        free = FreeNodes(table.numbers[resource], table.chunks[resource], table.steps[resource])
        first = earliest(free, start, needs.amount[at], seconds, known)
        if first > start:
            start, agreed = first, 0
        agreed += 1
        at += 1
        if at == end:
            at = begin
    return min(start, known)
