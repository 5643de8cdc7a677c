"""Which nodes a job gets: our allocators for programs that ask with the ids of their free nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from allocsolve.errors import InvalidOption
from allocsolve.model import (
    Mesh,
    PartitionProblem,
    PlacementProblem,
    SwitchTree,
    Topology,
    WorkloadProblem,
    packed_places,
)
from allocsolve.model.arrays import array_of
from allocsolve.model.checks import choice, natural, shown, whole
from allocsolve.model.packed_places import all_shapes
from allocsolve.registry import make_allocator, make_solver
from allocsolve.simulation.node_choice import NODE_CHOICES
from allocsolve.simulation.node_table import NodeTable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from allocsolve.model import BoolArray, Job, NodeType, Shape


@overload
def node_chooser(
    name: str, nodes: Topology | SwitchTree | int, *, seed: int = 0
) -> Callable[[Iterable[Any], int], list[int] | None]: ...


@overload
def node_chooser(
    name: str, nodes: Sequence[NodeType], *, jobs: Iterable[Job] = ()
) -> Callable[[Any, Job], tuple[tuple[int, int], ...] | None]: ...


def node_chooser(
    name: str,
    nodes: Topology | SwitchTree | int | Sequence[NodeType],
    *,
    seed: int = 0,
    jobs: Iterable[Job] = (),
) -> Callable[[Any, Any], Any]:
    """Return an allocator by name as a function ``choose(free, k)``, or ``choose(free, job)``.

    `InvalidOption` if the cluster has no node; when called, if an id is none of a node or is there twice, or
    if more nodes are asked for than are free, or none; or if a table does not tell what is free.

    Parameters
    ----------
    name
        A solver, as `allocsolve.registry.make_allocator` takes it. On a topology one of partition problems:
        ``growth``; ``curve-fit(method=best-fit, order=row-major)`` takes runs of neighbouring ids as Slurm
        does without a topology plugin; ``sorted-free-list`` the lowest ids. On a switch tree one of placement
        problems: ``slurm-tree``, ``slurm-block``, ``kueue``; ``tree-knapsack`` the nearest nodes there are.
        On types of nodes one of `allocsolve.simulation.node_choice.NodeChoice`.
    nodes
        What the nodes are linked to: node ``i`` of the topology or tree has the id ``i``; or the number of
        nodes of a cluster of which nothing is known, which are taken to lie in a line. On a mesh or torus of
        shape (w, h, d) that is the node at (x, y, z) with ``i = x + w (y + h z)``, as `Topology.node_at` has
        it: the first coordinate varies fastest. Or the types of nodes that are places, which jobs may share.
    seed
        Of every call.
    jobs
        On types of nodes: the jobs that are typical there, which ``fgd`` asks for.

    Returns
    -------
    Callable
        It takes the free nodes, either their ids in any order or a mask with one truth value for each node,
        and how many are asked for, and returns the ids of the chosen ones, rising; None if it finds none. On
        types of nodes it takes what is free on each node, either a mapping by resource or numbers in the
        order of `allocsolve.model.places.resource_names`, shape (nodes, resources), and an
        `allocsolve.model.Job`, whose times do not count; and returns pairs of a node and how many chunks it
        gets, None if the job does not fit. A node of which all is free counts as one that nobody is on.

    Examples
    --------
    >>> choose = node_chooser("curve-fit(method=best-fit, order=row-major)", 8)
    >>> choose([0, 2, 3, 4, 6, 7], 2), choose([0, 2, 3, 4, 6, 7], 3)
    ([6, 7], [2, 3, 4])
    >>> from allocsolve.model import SwitchTree
    >>> node_chooser("lowest-switch", SwitchTree.regular((2, 4)))([0, 2, 3, 4, 6, 7], 2)
    [0, 2]

    Two chunks of 2 processors, on nodes of which 3, 2 and 8 of 8 are free:

    >>> from allocsolve.model import Job, NodeType
    >>> choose = node_chooser("best-fit", [NodeType("node", 3, {"cpus": 8})])
    >>> choose([[3], [2], [8]], Job(0, 1, 1, chunks=2, each={"cpus": 2}))
    ((0, 1), (1, 1))
    """
    if isinstance(nodes, Sequence):
        named = [replace(job, name=f"typical {idx}") for idx, job in enumerate(jobs)]
        return _place_chooser(name, nodes, named)
    topology: Topology | SwitchTree
    if isinstance(nodes, Topology | SwitchTree):
        topology = nodes
    else:
        count = natural("nodes", nodes)
        if not count:
            raise InvalidOption("nodes 0: a cluster has at least one")
        topology = Mesh((count,))
    make_solver(name, PlacementProblem if isinstance(topology, SwitchTree) else PartitionProblem)
    allocate = make_allocator(name, seed=seed)

    def choose(free: Iterable[Any], k: int) -> list[int] | None:
        mask = _mask(free, topology.num_nodes)
        size, idle = natural("k", k), int(mask.sum())
        if not 0 < size <= idle:
            raise InvalidOption(f"{size} nodes are asked for, {idle} are free")
        chosen = allocate(topology, mask, size)
        return None if chosen is None else sorted(chosen.tolist())

    return choose


def _place_chooser(
    name: str, types: Sequence[NodeType], typical: list[Job]
) -> Callable[[Any, Job], tuple[tuple[int, int], ...] | None]:
    """Return a rule of choice on nodes that are places as a function of what is free, and a job."""
    rule: Any = choice("name", name, NODE_CHOICES)
    if name.startswith("fgd") and not typical:
        raise InvalidOption(f"{name} asks which jobs are typical: jobs= says it")
    known = packed_places(WorkloadProblem(None, typical, node_types=types))
    names, has = known.names, known.has[known.type_of_node]
    tables: dict[Shape, NodeTable] = {}

    def choose(free: Any, job: Job) -> tuple[tuple[int, int], ...] | None:  # noqa: ANN401 - rows of any form
        problem = WorkloadProblem(None, [job, *typical], node_types=types)
        (shape, *_) = all_shapes(problem.jobs)
        if shape not in tables:
            given = packed_places(problem)
            mix = np.bincount(given.shape[1:], minlength=len(given.chunks))
            tables[shape] = NodeTable(given, rule, mix)
        table, rows = tables[shape], [*free]
        if rows and isinstance(rows[0], Mapping):
            rows = [[row.get(each, 0) for each in names] for row in rows]
        left = array_of(rows)
        if left.shape != has.shape or left.dtype.kind not in "iu" or (left < 0).any() or (left > has).any():
            asked = f"{', '.join(names)} of {len(has)} nodes"
            raise InvalidOption(f"free does not tell {asked}, in whole numbers within what they have")
        table.free[:] = left
        table.occupants[:] = (left < has).any(axis=1)
        table.occupants[has.any(axis=1) & ~left.any(axis=1)] = -1  # an exclusive job may be there
        return table.start(0) if table.fits(0) else None

    return choose


def _mask(free: Iterable[Any], count: int) -> BoolArray:
    """Return which nodes are free."""
    if isinstance(free, np.ndarray) and free.dtype == bool:
        if free.shape != (count,):
            raise InvalidOption(f"free is a mask of the shape {free.shape}, not of {count} nodes")
        return free
    mask = np.zeros(count, dtype=bool)
    for given in free:
        try:
            node = whole(given)
        except TypeError:
            node = -1
        if not 0 <= node < count or mask[node]:
            fault = "is there twice" if 0 <= node < count else f"is none of the {count} nodes"
            raise InvalidOption(f"free node {shown(given)} {fault}")
        mask[node] = True
    return mask


@dataclass(slots=True)
class Holding:
    """The nodes of a running job, in the order in which it got them."""

    #: Seconds.
    start: float
    #: What it holds, and what after its pending change: the same list if none is pending.
    held: list[int]
    after: list[int]
    #: Whether the change has been reported to the other program.
    is_reported: bool = True

    @property
    def changes(self) -> bool:
        """Whether a change is pending."""
        return self.after is not self.held


class HeldNodes:
    """The nodes of a cluster, from 0, and the jobs that hold them, by key.

    `choose` takes which nodes are free, shape (nodes,), and how many are wanted, and returns those that a job
    gets. Where it finds none (None), and by default, a job gets the lowest ones. O(nodes) for each job that
    gets nodes or gives some up.

    Examples
    --------
    >>> nodes = HeldNodes(4)
    >>> nodes.start(7, 3, now=0), nodes.free.tolist()
    ([0, 1, 2], [False, False, False, True])
    >>> nodes.plan(7, 1)
    >>> sorted(nodes.change(7)), nodes.free.tolist()
    ([1, 2], [False, True, True, True])
    """

    def __init__(
        self, num_nodes: int, choose: Callable[[BoolArray, int], Iterable[int] | None] | None = None
    ) -> None:
        self._choose = choose
        #: Which nodes nobody holds or is to get.
        self.free: BoolArray = np.ones(num_nodes, dtype=bool)
        self.jobs: dict[int, Holding] = {}

    def start(self, key: int, count: int, now: float) -> list[int]:
        """Give a job that starts this number of nodes, and return them."""
        nodes = self._take(count)
        self.jobs[key] = Holding(now, nodes, nodes)
        return nodes

    def plan(self, key: int, size: int) -> None:
        """Let a job have another size later: it will give up its last nodes, or nodes are kept for it."""
        job = self.jobs[key]
        job.after, job.is_reported = job.after[:size] + self._take(size - len(job.after)), False

    def change(self, key: int) -> set[int]:
        """Change the size of a job as it was planned, and return the nodes that it gives up."""
        job = self.jobs[key]
        given = set(job.held).difference(job.after)
        self.free[[*given]] = True
        job.held = job.after
        return given

    def end(self, key: int) -> None:
        """Take a job off its nodes, and off those that it was to get."""
        job = self.jobs.pop(key)
        self.free[job.held] = self.free[job.after] = True

    def _take(self, count: int) -> list[int]:
        if count <= 0:
            return []
        selection = self._choose(self.free.copy(), count) if self._choose else None
        chosen = np.flatnonzero(self.free)[:count].tolist() if selection is None else [*selection]
        if len({*chosen}) != count or not self.free[chosen].all():
            raise InvalidOption(f"nodes {shown(chosen)} are no choice of {count} free ones")
        self.free[chosen] = False
        return chosen
