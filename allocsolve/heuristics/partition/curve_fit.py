"""Allocation on a node order: free lists, runs and windows (as in Cplant, SST and Slurm).

Plain functions for other simulators, which return the nodes in the order in which they take them, and the
solver over them.

`order` is a permutation of the node ids, `free` the mask over node ids. Positions are indices into `order`;
a run is a maximal stretch of positions whose nodes are free.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

import numpy as np

from allocsolve.heuristics.partition.allocator import Allocator, Request
from allocsolve.kernels import kernel
from allocsolve.model import NodeOrder, node_order
from allocsolve.model.options import Within

if TYPE_CHECKING:
    from allocsolve.model import BoolArray, IntArray, Topology

#: What `fit` does when no run suffices; with FAIL it returns no nodes.
FAIL, MIN_SPAN, LARGEST_RUNS = range(3)


@kernel
def collect(order: IntArray, free: BoolArray, start: int, size: int) -> IntArray:
    """Return the first `size` free nodes from position `start` on; there must be enough."""
    nodes = np.empty(size, dtype=np.int64)
    count = 0
    position = start
    while count < size:
        if free[order[position]]:
            nodes[count] = order[position]
            count += 1
        position += 1
    return nodes


@kernel
def sufficient_run(order: IntArray, free: BoolArray, size: int, smallest: bool) -> int:
    """Return where the first or the smallest run of at least `size` nodes starts, -1 if there is none."""
    start, shortest = -1, len(order) + 1
    length = 0
    for position in range(len(order) + 1):
        if position < len(order) and free[order[position]]:
            length += 1
            continue
        if size <= length < shortest:
            start, shortest = position - length, length
            if not smallest:
                break
        length = 0
    return start


@kernel
def least_span(order: IntArray, free: BoolArray, size: int) -> int:
    """Return where the first of the shortest stretches with `size` free nodes starts."""
    first = 0  # position of the first free node of the window
    while not free[order[first]]:
        first += 1
    count = 0
    start, shortest = -1, len(order) + 1
    for position in range(first, len(order)):
        if not free[order[position]]:
            continue
        count += 1
        if count < size:
            continue
        if position - first < shortest:
            start, shortest = first, position - first
        first += 1
        count -= 1
        while first < len(order) and not free[order[first]]:
            first += 1
    return start


@kernel
def in_largest_runs(order: IntArray, free: BoolArray, size: int) -> IntArray:
    """Return `size` nodes from few runs: each time the smallest run that suffices, else the largest run.

    On ties the first run is taken; the last run gives its low end. There is a list of runs for each length,
    so all takes O(nodes).
    """
    num_nodes = len(order)
    head = np.full(num_nodes + 1, -1, dtype=np.int64)  # per length, the start of the first run
    following = np.empty(
        num_nodes, dtype=np.int64
    )  # per start of a run, the start of the next run of equal length
    length = 0
    for position in range(num_nodes - 1, -2, -1):
        if position >= 0 and free[order[position]]:
            length += 1
        elif length > 0:
            following[position + 1] = head[length]
            head[length] = position + 1
            length = 0
    nodes = np.empty(size, dtype=np.int64)
    count = 0
    largest = num_nodes
    while count < size:
        while head[largest] < 0:
            largest -= 1
        length = largest
        if largest >= size - count:
            length = size - count
            while head[length] < 0:
                length += 1
        start = head[length]
        head[length] = following[start]
        for position in range(start, start + min(length, size - count)):
            nodes[count] = order[position]
            count += 1
    return nodes


@kernel
def fit(order: IntArray, free: BoolArray, size: int, smallest: bool, fallback: int) -> IntArray:
    """Return the low end of the first or the smallest run that suffices, else the nodes of the `fallback`.

    A single kernel has all fallbacks, so that none is left to be compiled when it is first needed.
    """
    start = sufficient_run(order, free, size, smallest)
    if start < 0 and fallback == FAIL:
        return np.empty(0, dtype=np.int64)
    if start < 0 and fallback == LARGEST_RUNS:
        return in_largest_runs(order, free, size)
    if start < 0:
        start = least_span(order, free, size)
    return collect(order, free, start, size)


#: What is taken from the node order.
CurveMethod: TypeAlias = Literal[
    "sorted-free-list",  # the first free nodes
    "first-fit",  # the first run that suffices
    "best-fit",  # the smallest run that suffices, else the fallback
    "min-span",  # the shortest stretch with enough free nodes
    "largest-runs",  # as few runs as a greedy choice needs
]

#: What best fit does when no run suffices.
Fallback: TypeAlias = Literal[
    "min-span",  # as the simulators SST and PReMAS
    "largest-runs",  # as Slurm up to 24.11
    "fail",  # as Slurm with --contiguous
]


#: The number of each fallback for the kernels.
_FALLBACK_NUMBERS: dict[Fallback, int] = {
    "min-span": MIN_SPAN,
    "largest-runs": LARGEST_RUNS,
    "fail": FAIL,
}


@dataclass(frozen=True, slots=True)
class CurveFit(Allocator):
    """Take nodes by their places in a node order; a run is a maximal stretch of free nodes in it.

    Parameters
    ----------
    method
        What is taken, the first on ties. ``sorted-free-list``: the first free nodes. ``first-fit``: the low
        end of the first run that suffices; it fails if there is none. ``best-fit``: that of the smallest run
        that suffices; if there is none, it falls back. ``min-span``: the consecutive free nodes that are
        least apart. ``largest-runs``: runs until there are enough, the smallest that suffices for the rest or
        else the largest; the last run gives its low end.
    order, bits
        The node order, see `allocsolve.model.node_order`.
    fallback
        What ``best-fit`` does when no run suffices: ``min-span``, ``largest-runs`` or ``fail``; the other
        methods have no use for it.

    Notes
    -----
    *Guarantee*: none on distances. ``first-fit`` fails only if no run has enough nodes, as ``best-fit`` with
    the fallback ``fail``; all others never fail. What comes from one run is connected if consecutive nodes of
    the order are neighbours (the snakes, ...). The span (last position minus first) of ``min-span`` is least
    among all sets of free nodes; a run that suffices has it, so the first of these is taken. No set touches
    fewer runs than that of ``largest-runs``.
    *Complexity*: O(nodes); a few microseconds for hundreds of nodes.

    References
    ----------
    Linnert et al. 2024, section 3.1 and Fig. 6 (``first-fit`` on the Hilbert order: their reading of Slurm);
    Leung et al., "Processor allocation on Cplant: achieving general processor locality using one-dimensional
    allocation strategies", IEEE Cluster 2002 (``best-fit``); Slurm's ``select/linear`` up to 24.11 (its
    fallback ``largest-runs``).

    Examples
    --------
    >>> from allocsolve.model import Budget, Mesh, PartitionProblem
    >>> problem = PartitionProblem.of(Mesh((4, 4)), busy=[1], size=4)
    >>> CurveFit("first-fit")(problem, Budget()).answer.nodes.tolist()
    [2, 3, 6, 7]
    """

    method: CurveMethod = "best-fit"
    order: NodeOrder = "hilbert"
    bits: Annotated[int, Within(0)] | None = None
    fallback: Fallback = "min-span"

    def take(self, request: Request) -> IntArray | None:
        """Return the nodes in the order in which they are taken."""
        free, size = request.free, request.size
        positions = node_order(request.topology, self.order, bits=self.bits)
        if self.method == "sorted-free-list":
            return collect(positions, free, 0, size)
        if self.method == "min-span":
            return collect(positions, free, least_span(positions, free, size), size)
        if self.method == "largest-runs":
            return in_largest_runs(positions, free, size)
        smallest = self.method == "best-fit"
        nodes = fit(positions, free, size, smallest, _FALLBACK_NUMBERS[self.fallback if smallest else "fail"])
        return nodes if len(nodes) else None


def sorted_free_list(
    topology: Topology, free: BoolArray, size: int, *, order: NodeOrder = "row-major", bits: int | None = None
) -> IntArray:
    """Take the first free nodes of a node order, as `CurveFit` does; see `Request.of` for the arguments.

    Examples
    --------
    >>> import numpy as np
    >>> from allocsolve.model import Mesh
    >>> free = np.array([1, 0, 1, 1, 1, 0, 1, 1], dtype=np.bool_)
    >>> sorted_free_list(Mesh((4, 2)), free, 4, order="snake").tolist()
    [0, 2, 3, 7]
    """
    return _always(CurveFit("sorted-free-list", order, bits), topology, free, size)


def first_fit_run(
    topology: Topology, free: BoolArray, size: int, *, order: NodeOrder = "hilbert", bits: int | None = None
) -> IntArray | None:
    """Take the low end of the first run that suffices, as `CurveFit` does; None if there is none."""
    return CurveFit("first-fit", order, bits).take(Request.of(topology, free, size))


def best_fit_run(
    topology: Topology,
    free: BoolArray,
    size: int,
    *,
    order: NodeOrder = "hilbert",
    bits: int | None = None,
    fallback: Fallback = "min-span",
) -> IntArray | None:
    """Take the low end of the smallest run that suffices, or fall back, as `CurveFit` does."""
    return CurveFit("best-fit", order, bits, fallback).take(Request.of(topology, free, size))


def min_span(
    topology: Topology, free: BoolArray, size: int, *, order: NodeOrder = "hilbert", bits: int | None = None
) -> IntArray:
    """Take the consecutive free nodes that are least apart in the node order, as `CurveFit` does."""
    return _always(CurveFit("min-span", order, bits), topology, free, size)


def largest_runs(
    topology: Topology, free: BoolArray, size: int, *, order: NodeOrder = "hilbert", bits: int | None = None
) -> IntArray:
    """Take the free nodes of as few runs as a greedy choice needs, as `CurveFit` does."""
    return _always(CurveFit("largest-runs", order, bits), topology, free, size)


def _always(allocator: CurveFit, topology: Topology, free: BoolArray, size: int) -> IntArray:
    nodes = allocator.take(Request.of(topology, free, size))
    assert nodes is not None, "a method that never fails"
    return nodes
