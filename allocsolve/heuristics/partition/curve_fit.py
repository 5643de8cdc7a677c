"""Allocation on a node order: free lists, runs and windows (as in Cplant, SST and Slurm).

Plain functions for other simulators, which return the nodes in the order in which they take them, and the
solver over them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias, get_args

from allocsolve.heuristics.partition import _kernels_curve as kernels
from allocsolve.heuristics.partition.allocator import Allocator, Request
from allocsolve.model import (
    NodeOrder,
    node_order,
)
from allocsolve.model.checks import choice
from allocsolve.model.options import Within
from allocsolve.model.partition import checked_request

if TYPE_CHECKING:
    from allocsolve.model import (
        BoolArray,
        IntArray,
        Topology,
    )

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

CURVE_METHODS: tuple[CurveMethod, ...] = get_args(CurveMethod)
FALLBACKS: tuple[Fallback, ...] = get_args(Fallback)

#: The number of each fallback for the kernels.
_FALLBACK_NUMBERS: dict[Fallback, int] = {
    "min-span": kernels.MIN_SPAN,
    "largest-runs": kernels.LARGEST_RUNS,
    "fail": kernels.FAIL,
}


def sorted_free_list(
    topology: Topology, free: BoolArray, size: int, *, order: NodeOrder = "row-major", bits: int | None = None
) -> IntArray:
    """Take the first free nodes of a node order.

    Parameters
    ----------
    free
        Which nodes may be taken, shape (nodes,); not changed.
    size
        How many to take.
    order, bits
        The node order, see `allocsolve.model.node_order`.

    Returns
    -------
    IntArray
        Shape (size,), in visiting order.

    Notes
    -----
    *Guarantee*: never fails; none on distances. *Complexity*: O(nodes).

    Examples
    --------
    >>> import numpy as np
    >>> from allocsolve.model import Mesh
    >>> free = np.array([1, 0, 1, 1, 1, 0, 1, 1], dtype=np.bool_)
    >>> sorted_free_list(Mesh((4, 2)), free, 4, order="snake").tolist()
    [0, 2, 3, 7]
    """
    positions, free, size = _checked(topology, free, size, order, bits)
    return kernels.collect(positions, free, 0, size)


def first_fit_run(
    topology: Topology, free: BoolArray, size: int, *, order: NodeOrder = "hilbert", bits: int | None = None
) -> IntArray | None:
    """Take the low end of the first run that suffices; None if there is none.

    A run is a maximal stretch of free nodes that follow each other in the node order. Parameters, errors
    and complexity as `sorted_free_list`.

    Notes
    -----
    *Guarantee*: fails only if no run has `size` nodes; connected if consecutive nodes of the order are
    neighbours (the snakes, ...).

    References
    ----------
    Linnert et al. 2024, section 3.1 and Fig. 6: their reading of Slurm, on the Hilbert order.
    """
    positions, free, size = _checked(topology, free, size, order, bits)
    nodes = kernels.fit(positions, free, size, False, kernels.FAIL)  # noqa: FBT003 - kernels go by position
    return nodes if len(nodes) else None


def best_fit_run(
    topology: Topology,
    free: BoolArray,
    size: int,
    *,
    order: NodeOrder = "hilbert",
    bits: int | None = None,
    fallback: Fallback = "min-span",
) -> IntArray | None:
    """Take the low end of the smallest run that suffices, the first on ties; if there is none, fall back.

    Parameters, errors and complexity as `sorted_free_list`; an unknown `fallback` is refused likewise.

    Notes
    -----
    *Guarantee*: with the fallback ``fail`` as `first_fit_run`; with the others never fails.

    References
    ----------
    Leung et al., "Processor allocation on Cplant: achieving general processor locality using one-dimensional
    allocation strategies", IEEE Cluster 2002; Slurm's ``select/linear`` up to 24.11 (fallback
    ``largest-runs``).
    """
    choice("fallback", fallback, FALLBACKS)
    positions, free, size = _checked(topology, free, size, order, bits)
    nodes = kernels.fit(positions, free, size, True, _FALLBACK_NUMBERS[fallback])  # noqa: FBT003 - by position
    return nodes if len(nodes) else None


def min_span(
    topology: Topology, free: BoolArray, size: int, *, order: NodeOrder = "hilbert", bits: int | None = None
) -> IntArray:
    """Take the `size` consecutive free nodes that are least apart in the node order, the first on ties.

    Parameters, errors and complexity as `sorted_free_list`.

    Notes
    -----
    *Guarantee*: never fails; the span (last position minus first) is least among all sets of free nodes.
    A run that suffices has the least possible span, so that the first of these is taken.
    """
    positions, free, size = _checked(topology, free, size, order, bits)
    return kernels.collect(positions, free, kernels.least_span(positions, free, size), size)


def largest_runs(
    topology: Topology, free: BoolArray, size: int, *, order: NodeOrder = "hilbert", bits: int | None = None
) -> IntArray:
    """Take runs until there are enough: the smallest run that suffices for the rest, else the largest run.

    The first on ties; the last run gives its low end. Parameters, errors and complexity as
    `sorted_free_list`.

    Notes
    -----
    *Guarantee*: never fails; no set of `size` free nodes touches fewer runs.
    """
    return kernels.largest_runs(*_checked(topology, free, size, order, bits))


def _checked(
    topology: Topology, free: BoolArray, size: int, order: NodeOrder, bits: int | None
) -> tuple[IntArray, BoolArray, int]:
    """Return the nodes in their order, and the request as kernels take it."""
    free, size = checked_request(topology, free, size)
    return node_order(topology, order, bits=bits), free, size


@dataclass(frozen=True, slots=True)
class CurveFit(Allocator):
    """Allocate on a node order.

    Parameters
    ----------
    method
        What is taken: see `sorted_free_list`, `first_fit_run`, `best_fit_run`, `min_span`, `largest_runs`.
    order, bits
        The node order, see `allocsolve.model.node_order`.
    fallback
        What ``best-fit`` does when no run suffices; the other methods have no use for it.

    Notes
    -----
    *Guarantee*: none on distances. *Complexity*: O(nodes); a few microseconds for hundreds of nodes.

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
        topology, free, size = request.topology, request.free, request.size
        if self.method == "best-fit":
            return best_fit_run(
                topology, free, size, order=self.order, bits=self.bits, fallback=self.fallback
            )
        method = {
            "sorted-free-list": sorted_free_list,
            "first-fit": first_fit_run,
            "min-span": min_span,
            "largest-runs": largest_runs,
        }[self.method]
        return method(topology, free, size, order=self.order, bits=self.bits)
