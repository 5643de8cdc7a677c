"""Connected partitions grown from a seed: greedy growth and the leak approach (Linnert et al. 2024).

Plain functions for other simulators, which return the nodes in the order in which they take them, and the
solvers over them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias, get_args

import numpy as np

from allocsolve.errors import InvalidOption
from allocsolve.heuristics.partition import _kernels_growth as kernels
from allocsolve.heuristics.partition._pieces import pieces
from allocsolve.heuristics.partition.allocator import Allocator, Request
from allocsolve.heuristics.partition.lattice import component_sizes, lattice
from allocsolve.model import MAX_INTEGER, Limit, frozen, node_order
from allocsolve.model.checks import shown
from allocsolve.model.options import Within

if TYPE_CHECKING:
    from allocsolve.model import BoolArray, Clock, IntArray, Topology

#: From which nodes `Growth` starts.
Seeds: TypeAlias = Literal[
    "first",  # free nodes by id, until one succeeds
    "all",  # every free node, of whose sets the cheapest is the answer
]

SEEDS: tuple[Seeds, ...] = get_args(Seeds)


@dataclass(frozen=True, slots=True)
class Growth(Allocator):
    """Grow a connected set from the first free node that can be grown to `size` nodes, or from each.

    Repeatedly adds the free neighbour of the set that raises the total pairwise hop distance least; on ties
    the one that has been a neighbour of the set for longest, then the one of least id.

    The seed comes first. It fails if no component of free nodes has `size` nodes.

    Parameters
    ----------
    seeds
        ``first``: the first seed that succeeds. ``all``: the cheapest set of all free nodes as seeds, the
        first on ties.

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

    seeds: Seeds = "first"

    def search(self, request: Request) -> tuple[IntArray | None, Limit | None]:
        """Return the nodes, the seed first; of ``all``, the best of the seeds that were tried in time."""
        if self.seeds == "all":
            return _growth_best(request.topology, request.free, request.size, request.clock)
        nodes = np.empty(request.size, dtype=np.int64)
        return nodes if kernels.grow_first(lattice(request.topology), request.free, nodes) else None, None


def growth(topology: Topology, free: BoolArray, size: int, *, seeds: Seeds = "first") -> IntArray | None:
    """Take nodes by `Growth`; see `Request.of` for the arguments."""
    return Growth(seeds).take(Request.of(topology, free, size))


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


@dataclass(frozen=True, slots=True)
class Leak(Allocator):
    """Take the first `size` nodes that are reached breadth-first from the first free node on the snake.

    The nodes come by their distance from the first one within the component. It fails if that component has
    fewer than `size` nodes, even if another has more. A row that the machine does not have is refused.

    Parameters
    ----------
    contiguous
        Whether to fail where the component of the first node is too small, rather than to go on from the
        next free node on the snake.
    start_row
        The row of the snake in which the search for the first node begins; behind the last row it goes on
        with the first. Row r holds the nodes at positions r*X to r*X + X - 1 of the node order ``snake``.

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

    contiguous: bool = True
    start_row: Annotated[int, Within(0)] = 0

    def take(self, request: Request) -> IntArray | None:
        """Return the nodes in the order in which they are taken."""
        topology, free, size = request.topology, request.free, request.size
        width, start_row = topology.shape[0], self.start_row
        if start_row >= topology.num_nodes // width:
            msg = f"start_row {shown(start_row)} is not in 0..{topology.num_nodes // width - 1}"
            raise InvalidOption(msg)
        order = node_order(topology, "snake")
        nodes = kernels.spread(lattice(topology), free, order, start_row * width, size, self.contiguous)
        return nodes if len(nodes) == size else None


def leak(
    topology: Topology, free: BoolArray, size: int, *, contiguous: bool = True, start_row: int = 0
) -> IntArray | None:
    """Take nodes by `Leak`; see `Request.of` for the arguments."""
    return Leak(contiguous, start_row).take(Request.of(topology, free, size))
