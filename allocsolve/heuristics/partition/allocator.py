"""What every allocator of a mesh has: its options, one method that takes nodes, and the solver made of it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np

from allocsolve.heuristics.partition.lattice import component_sizes, lattice, refuse_boxes
from allocsolve.model import Budget, Clock, Partition, Result, Status
from allocsolve.model.options import Options
from allocsolve.model.partition import checked_request

if TYPE_CHECKING:
    from collections.abc import Iterator

    from allocsolve.model import BoolArray, IntArray, Limit, PartitionProblem, Topology

#: About how many seconds a piece takes: short against any budget, long against a look at the clock.
_PACE = 0.01


def pieces(count: int, clock: Clock) -> Iterator[slice]:
    """Yield slices that make up ``range(count)``: the first in any case, others while there is time.

    Their lengths follow from the times of those before. Without a limit there is one slice.
    """
    started, done = clock.elapsed, 0
    length = 1 if math.isfinite(clock.remaining) else count
    while done < count and (clock.remaining or not done):
        end = min(done + length, count)
        yield slice(done, end)
        done = end
        length = 1 + int(_PACE * done / (clock.elapsed - started + 1e-9))


class Request(NamedTuple):
    """A job that asks for nodes of a mesh."""

    topology: Topology
    #: Which nodes may be taken, shape (nodes,), read-only.
    free: BoolArray
    #: How many to take.
    size: int
    #: The time that a search has.
    clock: Clock
    #: Of allocators that draw: the same seed gives the same nodes.
    seed: int = 0
    #: The sides of the box that the nodes must be.
    box: tuple[int, ...] | None = None

    @classmethod
    def of(cls, topology: Topology, free: BoolArray, size: int, *, seed: int = 0) -> Self:
        """Return a request for free nodes: what the plain functions of all allocators take.

        The mask `free`, shape (nodes,), is not changed. The seed is that of allocators that draw.
        """
        return cls(topology, *checked_request(topology, free, size), Clock(math.inf), Budget(seed=seed).seed)


class Allocator(Options):
    """The base of allocators: one adds its options as fields, and `take`, or `search` if it needs time."""

    __slots__ = ()

    def take(self, request: Request) -> IntArray | None:
        """Return the nodes, shape (size,), in the order in which they are taken; None if it fails."""
        return self.search(request)[0]

    def search(self, request: Request) -> tuple[IntArray | None, Limit | None]:
        """Return the nodes that are best until the clock of the request runs out, and whether it did."""
        return self.take(request), None

    def __call__(self, problem: PartitionProblem, budget: Budget, /) -> Result[Partition]:
        """Allocate; of the budget the clock is used, by those that search to stop, and the seed to draw.

        A problem that asks for a connected set has no answer if the nodes are not connected, and is
        infeasible if no component of free nodes is large enough.

        `UnsupportedProblem` if it asks for a box, of all allocators but `Submesh`.
        """
        clock = budget.start()
        box = self._box(problem)
        nodes, limit = self.search(
            Request(problem.topology, problem.free, problem.size, clock, budget.seed, box)
        )
        if problem.contiguous:
            if _largest_component(problem, problem.free) < problem.size:
                return Result(Status.INFEASIBLE, runtime=clock.elapsed)
            if nodes is not None and not _is_connected(problem, nodes):
                nodes = None
        if nodes is None:
            return Result(Status.UNKNOWN, limit=limit, runtime=clock.elapsed)
        return Result(Status.FEASIBLE, Partition(nodes), limit=limit, runtime=clock.elapsed)

    def _box(self, problem: PartitionProblem) -> tuple[int, ...] | None:
        """Return the sides of the box that a problem asks for."""
        refuse_boxes(problem)
        return None


def _largest_component(problem: PartitionProblem, members: BoolArray) -> int:
    arrays = lattice(problem.topology)
    return int(component_sizes(arrays.offsets, arrays.neighbours, members).max())


def _is_connected(problem: PartitionProblem, nodes: IntArray) -> bool:
    members = np.zeros(problem.topology.num_nodes, dtype=np.bool_)
    members[nodes] = True
    members.setflags(write=False)  # like the free nodes, else the kernel is compiled once more
    return _largest_component(problem, members) == len(nodes)
