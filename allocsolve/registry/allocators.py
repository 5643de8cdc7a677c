"""Solvers of partition problems as functions from free nodes to chosen ones, and their users."""

from __future__ import annotations

from typing import TYPE_CHECKING

from allocsolve.heuristics import Static, StaticExecution
from allocsolve.model import Budget, PartitionProblem
from allocsolve.registry.front_door import ready
from allocsolve.registry.table import make_solver

if TYPE_CHECKING:
    from collections.abc import Callable

    from allocsolve.model import BoolArray, IntArray, Partition, Topology


def make_allocator(name: str, *, seed: int = 0) -> Callable[[Topology, BoolArray, int], IntArray | None]:
    """Return the solver of partition problems of this name as a function from free nodes to chosen ones.

    That is what `allocsolve.instances.churned_occupancy` takes.

    Parameters
    ----------
    name
        As `make_solver` takes it.
    seed
        Of every call.

    Raises
    ------
    UnknownName, PluginError
        If there is no such solver of partition problems.

    Examples
    --------
    >>> from allocsolve.model import Mesh
    >>> import numpy as np
    >>> make_allocator("sorted-free-list")(Mesh((3, 2)), np.array([0, 1, 1, 1, 0, 1], dtype=bool), 2).tolist()
    [1, 2]
    """
    solver, budget = make_solver(name, PartitionProblem), Budget(seed=seed)

    ready_for: set[Topology] = set()

    def allocate(topology: Topology, free: BoolArray, size: int) -> IntArray | None:
        problem = PartitionProblem(topology, free, size)
        if topology not in ready_for:
            ready(solver, problem)
            ready_for.add(topology)
        answer: Partition | None = solver(problem, budget).answer
        return None if answer is None else answer.nodes

    return allocate


def static() -> Static:
    """Return `allocsolve.heuristics.Static`, whose allocators may be of any name here."""
    return Static(allocators=make_allocator)


def static_execution() -> StaticExecution:
    """Return `allocsolve.heuristics.StaticExecution`, whose allocators may be of any name here."""
    return StaticExecution(allocators=make_allocator)
