"""Solvers that choose nodes as functions from free nodes to chosen ones, and their users."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from allocsolve.errors import PluginError, UnknownName
from allocsolve.families import family_of
from allocsolve.heuristics import Static
from allocsolve.model import Budget, PartitionProblem, PlacementProblem, SwitchTree, Topology
from allocsolve.registry.front_door import ready
from allocsolve.registry.table import make_solver, registered_names

if TYPE_CHECKING:
    from collections.abc import Callable

    from allocsolve.families import AnySolver
    from allocsolve.model import BoolArray, IntArray

    #: From a machine, its free nodes and a number to so many of them, rising; None if none are found.
    Allocator: TypeAlias = Callable[[Topology | SwitchTree, BoolArray, int], IntArray | None]

#: What chooses nodes of a machine of each sort.
_PROBLEMS: dict[type, Any] = {Topology: PartitionProblem, SwitchTree: PlacementProblem}


def make_allocator(name: str, *, seed: int = 0) -> Allocator:
    """Return the solver of this name as a function from free nodes to chosen ones.

    That is what `allocsolve.instances.churned_occupancy` takes. On a `Topology` it is the solver of partition
    problems of this name, on a `SwitchTree` that of placement problems.

    Parameters
    ----------
    name
        As `make_solver` takes it.
    seed
        Of every call.

    Examples
    --------
    >>> from allocsolve.model import Mesh, SwitchTree
    >>> import numpy as np
    >>> free = np.array([0, 1, 0, 1, 0, 1], dtype=bool)
    >>> make_allocator("sorted-free-list")(Mesh((3, 2)), free, 2).tolist()
    [1, 3]
    >>> make_allocator("lowest-switch")(SwitchTree.regular((2, 3)), free, 2).tolist()
    [3, 5]
    """
    budget = Budget(seed=seed)
    solvers: dict[type, AnySolver] = {}
    faults: list[UnknownName | PluginError] = []
    for sort, kind in _PROBLEMS.items():
        try:
            solvers[sort] = make_solver(name, kind)
        except (UnknownName, PluginError) as fault:
            faults.append(fault)
    if not solvers:
        if isinstance(faults[0], PluginError):
            raise faults[0]
        names = [known for kind in _PROBLEMS.values() for known in registered_names(family_of(kind))]
        raise UnknownName("allocator", name, names)
    ready_for: set[Topology | SwitchTree] = set()
    latest: Topology | SwitchTree | None = None

    def allocate(machine: Topology | SwitchTree, free: BoolArray, size: int) -> IntArray | None:
        nonlocal latest
        sort = SwitchTree if isinstance(machine, SwitchTree) else Topology
        problem = _PROBLEMS[sort](machine, free, size)
        # Where there is none, this says so.
        solver = solvers[sort] if sort in solvers else make_solver(name, problem)
        if machine is not latest and machine not in ready_for:
            ready(solver, problem)
            ready_for.add(machine)
        latest = machine
        nodes: IntArray | None = getattr(solver(problem, budget).answer, "nodes", None)
        return nodes

    return allocate


def static() -> Static:
    """Return `allocsolve.heuristics.Static`, whose allocators may be of any name here."""
    return Static(allocators=make_allocator)
