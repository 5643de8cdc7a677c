"""Connected partitions grown from a seed: greedy growth and the leak approach (Linnert et al. 2024).

Plain functions for other simulators, which return the nodes in the order in which they take them, and the
solvers over them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias, get_args

import numpy as np

from allocsolve.errors import InvalidOption
from allocsolve.heuristics.partition import _kernels_growth as kernels
from allocsolve.heuristics.partition._pieces import pieces
from allocsolve.heuristics.partition.lattice import component_sizes, lattice, partition_result, refuse_boxes
from allocsolve.model import MAX_INTEGER, Limit, frozen, node_order
from allocsolve.model.checks import choice, flag, integer, shown
from allocsolve.model.options import Options, Within
from allocsolve.model.partition import checked_request
from allocsolve.model.result import Clock

if TYPE_CHECKING:
    from allocsolve.model import BoolArray, Budget, IntArray, Partition, PartitionProblem, Result, Topology

#: From which nodes `Growth` starts.
Seeds: TypeAlias = Literal[
    "first",  # free nodes by id, until one succeeds
    "all",  # every free node, of whose sets the cheapest is the answer
]

SEEDS: tuple[Seeds, ...] = get_args(Seeds)


def growth(topology: Topology, free: BoolArray, size: int, *, seeds: Seeds = "first") -> IntArray | None:
    """Grow a connected set from the first free node that can be grown to `size` nodes, or from each.

    Repeatedly adds the free neighbour of the set that raises the total pairwise hop distance least; on ties
    the one that has been a neighbour of the set for longest, then the one of least id.

    Parameters
    ----------
    topology
        The machine.
    free
        Which nodes may be taken, shape (nodes,); not changed.
    size
        How many to take.
    seeds
        ``first``: the first seed that succeeds. ``all``: the cheapest set of all free nodes as seeds, the
        first on ties.

    Returns
    -------
    IntArray or None
        Shape (size,), the seed first; None if no component of free nodes has `size` nodes.

    Raises
    ------
    InvalidProblem
        If `free` is not a mask over the nodes, or `size` is below 1 or above the number of free nodes.
    UnknownName
        If there is no such choice of seeds.

    Notes
    -----
    *Guarantee*: connected; fails only if no connected set exists (growth is stuck only when it has all of
    the component, so that seeds in small components need not be tried). None on distances: this is not the
    median method of Bender et al., whose 7/4 does not carry over.
    ``all`` is never costlier than ``first``.
    *Complexity*: O(nodes + size * (size + sum of sides)) for a fixed number of axes; ``all``: O(nodes * size
    * (size + sum of sides)), less what is cut off as soon as it costs too much.

    References
    ----------
    Linnert et al. 2024, section 3.2 and Fig. 8 (there under the name "Manhattan median"). The figure leaves
    ties open.

    Examples
    --------
    >>> from allocsolve.model import Mesh
    >>> growth(Mesh((4, 4)), np.ones(16, dtype=np.bool_), 4).tolist()
    [0, 1, 4, 5]
    """
    choice("choice of seeds", seeds, SEEDS)
    return _grown(topology, free, size, seeds, Clock(math.inf))[0]


def _grown(
    topology: Topology, free: BoolArray, size: int, seeds: Seeds, clock: Clock
) -> tuple[IntArray | None, Limit | None]:
    free, size = checked_request(topology, free, size)
    if seeds == "all":
        return _growth_best(topology, free, size, clock)
    nodes = np.empty(size, dtype=np.int64)
    return nodes if kernels.grow_first(lattice(topology), free, nodes) else None, None


def _growth_best(
    topology: Topology, free: BoolArray, size: int, clock: Clock
) -> tuple[IntArray | None, Limit | None]:
    arrays = lattice(topology)
    seeds = frozen(np.flatnonzero(component_sizes(arrays.offsets, arrays.neighbours, free) >= size))
    if not len(seeds):
        return None, None
    nodes = np.empty(size, dtype=np.int64)
    cost, done = MAX_INTEGER, 0
    for piece in pieces(len(seeds), clock):  # the first seed is always tried: it is the answer of `growth`
        cost = kernels.grow_cheapest(arrays, free, seeds[piece], nodes, cost)
        done = piece.stop
    return nodes, Limit.TIME if done < len(seeds) else None


def leak(
    topology: Topology, free: BoolArray, size: int, *, contiguous: bool = True, start_row: int = 0
) -> IntArray | None:
    """Take the first `size` nodes that are reached breadth-first from the first free node on the snake.

    Parameters
    ----------
    topology, free, size
        As `growth`.
    contiguous
        Whether to fail where the component of the first node is too small, rather than to go on from the
        next free node on the snake.
    start_row
        The row of the snake in which the search for the first node begins; behind the last row it goes on
        with the first. Row r holds the nodes at positions r*X to r*X + X - 1 of the node order ``snake``.

    Returns
    -------
    IntArray or None
        Shape (size,), by distance from the first node within the component; None if that component has
        fewer than `size` nodes, even if another has more.

    Raises
    ------
    InvalidProblem
        As `growth`.
    InvalidOption
        If there is no such row.

    Notes
    -----
    *Guarantee*: connected, or never fails if not `contiguous`: it then equals the other where that succeeds.
    None on distances. *Complexity*: O(nodes).

    References
    ----------
    Linnert et al. 2024, sections 4.1 and 4.2 and Fig. 10 (line 14: not contiguous), used as a static
    allocator: there a job may start on fewer nodes and leak later. The figure leaves the order among
    neighbours open; here it is by id.

    Examples
    --------
    >>> from allocsolve.model import Mesh
    >>> leak(Mesh((4, 4)), np.ones(16, dtype=np.bool_), 4, start_row=1).tolist()
    [7, 3, 6, 11]
    """
    free, size = checked_request(topology, free, size)
    contiguous = flag("contiguous", contiguous)
    width, start_row = topology.shape[0], integer("start_row", start_row, InvalidOption)
    if not 0 <= start_row < topology.num_nodes // width:
        msg = f"start_row {shown(start_row)} is not in 0..{topology.num_nodes // width - 1}"
        raise InvalidOption(msg)
    order = node_order(topology, "snake")
    nodes = kernels.spread(lattice(topology), free, order, start_row * width, size, contiguous)
    return nodes if len(nodes) == size else None


@dataclass(frozen=True, slots=True)
class Growth(Options):
    """Grow a connected set from a seed: see `growth`.

    Parameters
    ----------
    seeds
        ``first``: the first seed that succeeds. ``all``: the cheapest set of all seeds; when the time is
        up, of those seeds that were tried.

    Raises
    ------
    UnknownName
        If there is no such choice of seeds.

    Notes
    -----
    *Guarantee*: connected; finds a set whenever a connected one exists. None on distances.
    *Complexity*: as `growth`.

    References
    ----------
    Linnert et al. 2024, section 3.2 and Fig. 8.

    Examples
    --------
    >>> from allocsolve.model import Budget, Mesh, PartitionProblem
    >>> problem = PartitionProblem.of(Mesh((5, 2)), busy=[5, 6], size=4)
    >>> Growth()(problem, Budget()).answer.nodes.tolist()
    [0, 1, 2, 3]
    >>> Growth("all")(problem, Budget()).answer.nodes.tolist()
    [3, 4, 8, 9]
    """

    seeds: Seeds = "first"

    def __call__(self, problem: PartitionProblem, budget: Budget, /) -> Result[Partition]:
        """Grow; of the budget the clock is used, by ``all`` also to stop."""
        refuse_boxes(problem)
        clock = budget.start()
        nodes, limit = _grown(problem.topology, problem.free, problem.size, self.seeds, clock)
        return partition_result(problem, nodes, clock, limit)


@dataclass(frozen=True, slots=True)
class Leak(Options):
    """Leak from the first free node on the snake: see `leak`.

    Parameters
    ----------
    contiguous
        Whether to fail rather than to go on elsewhere. To a problem that asks for a connected set the other
        variant has no answer where it went on elsewhere.
    start_row
        As in `leak`. A row that the machine of a problem does not have is refused at the call.

    Raises
    ------
    InvalidOption
        If the row is negative.

    Notes
    -----
    *Guarantee*: none on distances. *Complexity*: O(nodes).

    References
    ----------
    Linnert et al. 2024, section 4 and Fig. 10.

    Examples
    --------
    >>> from allocsolve.model import Budget, Mesh, PartitionProblem
    >>> problem = PartitionProblem.of(Mesh((3, 3)), busy=[1, 3], size=3)
    >>> Leak()(problem, Budget()).status.value
    'unknown'
    >>> Leak(contiguous=False)(problem, Budget()).answer.nodes.tolist()
    [0, 2, 5]
    """

    contiguous: bool = True
    start_row: Annotated[int, Within(0)] = 0

    def __call__(self, problem: PartitionProblem, budget: Budget, /) -> Result[Partition]:
        """Leak; of the budget only the clock is used."""
        refuse_boxes(problem)
        clock = budget.start()
        nodes = leak(
            problem.topology,
            problem.free,
            problem.size,
            contiguous=self.contiguous,
            start_row=self.start_row,
        )
        return partition_result(problem, nodes, clock)
