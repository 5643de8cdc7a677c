"""Connected partitions grown from a seed: greedy growth and the leak approach (Linnert et al. 2024).

Plain functions for other simulators, which return the nodes in the order in which they take them, and the
solvers over them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import numpy as np

from allocsolve.errors import InvalidOption, UnknownName
from allocsolve.heuristics.partition import _kernels_growth as kernels
from allocsolve.heuristics.partition._request import checked_mask
from allocsolve.heuristics.partition.lattice import component_sizes, lattice, partition_result
from allocsolve.model import MAX_INTEGER, Limit, frozen, node_order
from allocsolve.model.result import Clock

if TYPE_CHECKING:
    from allocsolve.model import BoolArray, Budget, IntArray, Partition, PartitionProblem, Result, Topology

__all__ = ["SEEDS", "Growth", "Leak", "Seeds", "growth", "growth_best", "leak", "leak_noncontiguous"]

#: From which nodes `Growth` starts.
Seeds: TypeAlias = Literal[
    "first",  # free nodes by id, until one succeeds
    "all",  # every free node, and the cheapest set is kept
]

SEEDS: tuple[Seeds, ...] = get_args(Seeds)

#: Seconds of growing between two looks at the clock.
_PACE = 0.01


def growth(topology: Topology, free: BoolArray, size: int) -> IntArray | None:
    """Grow a connected set from the first free node that can be grown to `size` nodes.

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

    Returns
    -------
    IntArray or None
        Shape (size,), the seed first; None if no component of free nodes has `size` nodes.

    Raises
    ------
    InvalidProblem
        If `free` is not a mask over the nodes, or `size` is below 1 or above the number of free nodes.

    Notes
    -----
    *Guarantee*: connected; fails only if no connected set exists (growth is stuck only when it has all of
    the component, so that seeds in small components need not be tried). None on distances: this is not the
    median method of Bender et al., whose 7/4 does not carry over.
    *Complexity*: O(nodes + size * (size + sum of sides)) for a fixed number of axes.

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
    free = checked_mask(topology, free, size)
    arrays = lattice(topology)
    seed = kernels.first_seed(arrays.offsets, arrays.neighbours, free, size)
    if seed < 0:
        return None
    nodes = np.empty(size, dtype=np.int64)
    nodes[0] = seed
    kernels.grow(*arrays, free, nodes, MAX_INTEGER)
    return nodes


def growth_best(topology: Topology, free: BoolArray, size: int) -> IntArray | None:
    """Grow a set as `growth` does from every free node; return the cheapest, the first on ties.

    Parameters, errors and references as `growth`.

    Notes
    -----
    *Guarantee*: as `growth`, and never costlier.
    *Complexity*: O(nodes * size * (size + sum of sides)), less what is cut off as soon as it costs too much.
    """
    return _growth_best(topology, checked_mask(topology, free, size), size, Clock(math.inf))[0]


def _growth_best(
    topology: Topology, free: BoolArray, size: int, clock: Clock
) -> tuple[IntArray | None, Limit | None]:
    arrays = lattice(topology)
    seeds = frozen(np.flatnonzero(component_sizes(arrays.offsets, arrays.neighbours, free) >= size))
    if not len(seeds):
        return None, None
    nodes = np.empty(size, dtype=np.int64)
    cost = MAX_INTEGER
    done, chunk = 0, 1 if math.isfinite(clock.remaining) else len(seeds)
    started = clock.elapsed
    while done < len(seeds):
        if done and not clock.remaining:  # the first seed is always tried: it is the answer of `growth`
            return nodes, Limit.TIME
        cost = kernels.grow_cheapest(*arrays, free, seeds[done : done + chunk], nodes, cost)
        done += chunk
        chunk = 1 + int(_PACE * done / (clock.elapsed - started + 1e-9))
    return nodes, None


def leak(topology: Topology, free: BoolArray, size: int, *, start_row: int = 0) -> IntArray | None:
    """Take the first `size` nodes that are reached breadth-first from the first free node on the snake.

    Parameters
    ----------
    topology, free, size
        As `growth`.
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
    *Guarantee*: connected. None on distances. *Complexity*: O(nodes).

    References
    ----------
    Linnert et al. 2024, section 4.1 and Fig. 10, used as a static allocator: there a job may start on
    fewer nodes and leak later. The figure leaves the order among neighbours open; here it is by id.

    Examples
    --------
    >>> from allocsolve.model import Mesh
    >>> leak(Mesh((4, 4)), np.ones(16, dtype=np.bool_), 4, start_row=1).tolist()
    [7, 3, 6, 11]
    """
    nodes = _spread(topology, free, size, start_row, contiguous=True)
    return nodes if len(nodes) == size else None


def leak_noncontiguous(topology: Topology, free: BoolArray, size: int, *, start_row: int = 0) -> IntArray:
    """Leak as `leak` does; where that ends too early, go on from the next free node on the snake.

    Parameters, errors and complexity as `leak`.

    Notes
    -----
    *Guarantee*: never fails; equals `leak` where that succeeds. None on distances.

    References
    ----------
    Linnert et al. 2024, section 4.2 and Fig. 10, line 14.
    """
    return _spread(topology, free, size, start_row, contiguous=False)


def _spread(topology: Topology, free: BoolArray, size: int, start_row: int, *, contiguous: bool) -> IntArray:
    free = checked_mask(topology, free, size)
    width = topology.shape[0]
    if not 0 <= start_row < topology.num_nodes // width:
        msg = f"start_row {start_row} is not in 0..{topology.num_nodes // width - 1}"
        raise InvalidOption(msg)
    order = node_order(topology, "snake")
    arrays = lattice(topology)
    return kernels.spread(order, start_row * width, arrays.offsets, arrays.neighbours, free, size, contiguous)


@dataclass(frozen=True, slots=True)
class Growth:
    """Grow a connected set from a seed: see `growth` and `growth_best`.

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
    *Complexity*: as `growth` and `growth_best`.

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

    def __post_init__(self) -> None:
        if self.seeds not in SEEDS:
            raise UnknownName("choice of seeds", self.seeds, SEEDS)

    def __call__(self, problem: PartitionProblem, budget: Budget, /) -> Result[Partition]:
        """Grow; of the budget the clock is used, by ``all`` also to stop."""
        clock = budget.start()
        topology, free, size = problem.topology, problem.free, problem.size
        if self.seeds == "first":
            return partition_result(problem, growth(topology, free, size), clock)
        nodes, limit = _growth_best(topology, free, size, clock)
        return partition_result(problem, nodes, clock, limit)


@dataclass(frozen=True, slots=True)
class Leak:
    """Leak from the first free node on the snake: see `leak` and `leak_noncontiguous`.

    Parameters
    ----------
    contiguous
        Whether to fail rather than to go on elsewhere. To a problem that asks for a connected set the other
        variant has no answer where it went on elsewhere.
    start_row
        As in `leak`. A row that the machine of a problem does not have is refused at the call.

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
    start_row: int = 0

    def __call__(self, problem: PartitionProblem, budget: Budget, /) -> Result[Partition]:
        """Leak; of the budget only the clock is used."""
        clock = budget.start()
        method = leak if self.contiguous else leak_noncontiguous
        nodes = method(problem.topology, problem.free, problem.size, start_row=self.start_row)
        return partition_result(problem, nodes, clock)
