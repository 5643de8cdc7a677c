"""Connected partitions grown from a seed: greedy growth and the leak approach (Linnert et al. 2024).

Plain functions for other simulators, which return the nodes in the order in which they take them, and the
solvers over them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias, get_args

import numpy as np

from allocsolve.errors import InvalidOption
from allocsolve.heuristics.partition.allocator import (
    COMPLETE,
    Allocator,
    Request,
    component_sizes,
    distance_along,
    lattice,
    pieces,
)
from allocsolve.kernels import allocating_kernel, kernel
from allocsolve.model import MAX_INTEGER, Limit, frozen, node_order
from allocsolve.model.checks import shown
from allocsolve.model.options import Within

if TYPE_CHECKING:
    from allocsolve.heuristics.partition.allocator import Lattice
    from allocsolve.model import BoolArray, Clock, IntArray, Topology


@allocating_kernel
def grow(lattice: Lattice, free: BoolArray, nodes: IntArray, bound: int) -> int:
    """Fill `nodes` behind its first entry, each time with the cheapest free neighbour; return the cost.

    The component of ``nodes[0]`` must have enough free nodes. On ties the neighbour met first is taken:
    neighbours are met when a node is chosen, by increasing id. Returns `bound` as soon as the cost reaches
    it; `nodes` is then meaningless.

    Per axis, ``rise`` of a coordinate is the sum of distances along the axis from there to the chosen nodes.
    It is kept only for the coordinates of nodes met so far (``active``), as a small set on a large machine
    needs no others. ``held`` counts the chosen nodes at a coordinate.
    """
    shape, wrap, coordinates, offsets, neighbours = lattice
    axes, num_nodes = len(shape), len(free)
    side = 0
    for axis in range(axes):
        side = max(side, shape[axis])
    rise = np.zeros((axes, side), dtype=np.int64)
    held = np.zeros((axes, side), dtype=np.int64)
    active = np.empty((axes, side), dtype=np.int64)
    num_active = np.zeros(axes, dtype=np.int64)
    is_active = np.zeros((axes, side), dtype=np.bool_)
    met = np.zeros(num_nodes, dtype=np.bool_)
    degree = 0
    for axis in range(axes):
        degree += shape[axis] - 1 if wrap[axis] == COMPLETE else 2
    frontier = np.empty(min(num_nodes, degree * len(nodes)), dtype=np.int64)
    waiting = 0
    met[nodes[0]] = True
    cost = 0
    for count in range(1, len(nodes)):
        node = nodes[count - 1]
        for axis in range(axes):
            here = coordinates[node, axis]
            held[axis, here] += 1
            for k in range(num_active[axis]):
                c = active[axis, k]
                rise[axis, c] += distance_along(c, here, shape[axis], wrap[axis])
        for k in range(offsets[node], offsets[node + 1]):
            other = neighbours[k]
            if not free[other] or met[other]:
                continue
            met[other] = True
            frontier[waiting] = other
            waiting += 1
            for axis in range(axes):
                there = coordinates[other, axis]
                if not is_active[axis, there]:
                    is_active[axis, there] = True
                    active[axis, num_active[axis]] = there
                    num_active[axis] += 1
                    for c in range(shape[axis]):
                        if held[axis, c] > 0:
                            apart = distance_along(c, there, shape[axis], wrap[axis])
                            rise[axis, there] += held[axis, c] * apart
        best, least_increase = -1, 0
        for k in range(waiting):
            node = frontier[k]
            increase = 0
            for axis in range(axes):
                increase += rise[axis, coordinates[node, axis]]
            if best < 0 or increase < least_increase:
                best, least_increase = k, increase
        cost += least_increase
        if cost >= bound:
            return bound
        nodes[count] = frontier[best]
        waiting -= 1
        for k in range(best, waiting):
            frontier[k] = frontier[k + 1]
    return cost


@allocating_kernel
def _first_seed(lattice: Lattice, free: BoolArray, size: int) -> int:
    """Return the first free node with at least `size` nodes in its component, -1 if there is none."""
    offsets, neighbours = lattice.offsets, lattice.neighbours
    met = np.zeros(len(free), dtype=np.bool_)
    queue = np.empty(len(free), dtype=np.int64)
    for seed in range(len(free)):
        if met[seed] or not free[seed]:
            continue
        met[seed] = True
        queue[0] = seed
        head, tail = 0, 1
        while head < tail < size:
            node = queue[head]
            head += 1
            for k in range(offsets[node], offsets[node + 1]):
                other = neighbours[k]
                if free[other] and not met[other]:
                    met[other] = True
                    queue[tail] = other
                    tail += 1
        if tail >= size:
            return seed
    return -1


@kernel
def grow_first(lattice: Lattice, free: BoolArray, nodes: IntArray) -> bool:
    """Fill `nodes` from the first free node whose component is large enough; False if there is none."""
    nodes[0] = _first_seed(lattice, free, len(nodes))
    if nodes[0] < 0:
        return False
    grow(lattice, free, nodes, MAX_INTEGER)
    return True


@kernel
def grow_cheapest(lattice: Lattice, free: BoolArray, seeds: IntArray, nodes: IntArray, bound: int) -> int:
    """Grow from each seed; write the first cheapest set to `nodes` if it is below `bound`; return its cost.

    Returns `bound`, and leaves `nodes` alone, if none is.
    """
    trial = np.empty(len(nodes), dtype=np.int64)
    for seed in seeds:
        trial[0] = seed
        cost = grow(lattice, free, trial, bound)
        if cost < bound:
            bound = cost
            for place in range(len(nodes)):  # an assignment of arrays would compile the text of its error
                nodes[place] = trial[place]
    return bound


@kernel
def spread(
    lattice: Lattice, free: BoolArray, order: IntArray, start: int, size: int, contiguous: bool
) -> IntArray:
    """Return the first `size` free nodes met breadth-first from the first free node of `order`.

    Positions of `order` are tried cyclically from `start` on. Where the search ends too early, it goes on
    from the next free node on `order`, or if `contiguous` returns what it has.
    """
    offsets, neighbours = lattice.offsets, lattice.neighbours
    nodes = np.empty(size, dtype=np.int64)  # also the queue
    met = np.zeros(len(free), dtype=np.bool_)
    head = tail = 0
    for step in range(len(order)):
        seed = order[(start + step) % len(order)]
        if met[seed] or not free[seed]:
            continue
        if tail > 0 and contiguous:
            break
        nodes[tail] = seed
        tail += 1
        met[seed] = True
        while head < tail < size:
            node = nodes[head]
            head += 1
            for k in range(offsets[node], offsets[node + 1]):
                other = neighbours[k]
                if free[other] and not met[other] and tail < size:
                    met[other] = True
                    nodes[tail] = other
                    tail += 1
        if tail == size:
            break
    return nodes[:tail]


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
        return nodes if grow_first(lattice(request.topology), request.free, nodes) else None, None


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
        cost = grow_cheapest(arrays, free, seeds[piece], nodes, cost)
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
        nodes = spread(lattice(topology), free, order, start_row * width, size, self.contiguous)
        return nodes if len(nodes) == size else None


def leak(
    topology: Topology, free: BoolArray, size: int, *, contiguous: bool = True, start_row: int = 0
) -> IntArray | None:
    """Take nodes by `Leak`; see `Request.of` for the arguments."""
    return Leak(contiguous, start_row).take(Request.of(topology, free, size))
