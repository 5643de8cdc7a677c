"""The nearest family: for each of some centres the free nodes nearest to it, and the best set of all.

Plain functions for other simulators, which return node ids in increasing order, and the solvers over them.
Ties are canonical throughout: nodes at the same distance are taken by coordinates, the first axis first, and
of sets that are equally good that of the first centre in this order is kept.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from allocsolve.errors import InvalidOption, UnknownName
from allocsolve.heuristics.partition import _nearest_search as search
from allocsolve.heuristics.partition._nearest_search import CENTRES, LAST_SHELLS, Centres, LastShell
from allocsolve.heuristics.partition._request import checked_mask
from allocsolve.heuristics.partition.lattice import partition_result
from allocsolve.model.result import Clock

if TYPE_CHECKING:
    from allocsolve.model import BoolArray, Budget, IntArray, Partition, PartitionProblem, Result, Topology

__all__ = [
    "CENTRES",
    "LAST_SHELLS",
    "Centres",
    "GenAlg",
    "LastShell",
    "ManhattanMedian",
    "Mc1x1",
    "gen_alg",
    "manhattan_median",
    "manhattan_median_greedy_ring",
    "manhattan_median_swaps",
    "mc1x1",
]


def manhattan_median(
    topology: Topology, free: BoolArray, size: int, *, centres: Centres = "grid"
) -> IntArray:
    """Take the nodes nearest to a centre by hop distance, and of all centres the cheapest set (method MM).

    Parameters
    ----------
    topology
        The machine.
    free
        Which nodes may be taken, shape (nodes,); not changed.
    size
        How many to take.
    centres
        ``grid``, as published: a centre need not be free. ``free``: this is `gen_alg`. ``all``: all nodes, as
        in the experiments of the paper.

    Returns
    -------
    IntArray
        Shape (size,), increasing; not always connected. It never fails.

    Raises
    ------
    InvalidProblem
        If `free` is not a mask over the nodes, or `size` is below 1 or above the number of free nodes.
    UnknownName
        If there is no such choice of centres.

    Notes
    -----
    *Guarantee*: on a mesh of d dimensions, with ``grid`` or ``all``, at most 2 - 1/(2 d) times the optimum:
    7/4 in 2-D, which is tight. On any topology and with any choice at most 2 - 2/size, by the proof in
    `gen_alg`, as all choices contain the free nodes.
    *Complexity*: on a 2-D mesh O(nodes + centres * r), r being the radius of the largest set; else
    O(centres * free nodes * axes).

    References
    ----------
    Bender et al., "Communication-aware processor allocation for supercomputers: finding point sets of small
    average distance", Algorithmica 50(2), 2008 (the guarantees cited from memory). Not what Linnert et al.
    2024 call Manhattan median: that is `allocsolve.heuristics.growth`.

    Examples
    --------
    >>> import numpy as np
    >>> from allocsolve.model import Mesh
    >>> free = np.ones(16, dtype=np.bool_)
    >>> free[[5, 6]] = False
    >>> manhattan_median(Mesh((4, 4)), free, 5).tolist()
    [4, 8, 9, 12, 13]
    """
    return _median(ManhattanMedian(centres), topology, free, size, Clock(math.inf)).nodes


def manhattan_median_greedy_ring(
    topology: Topology, free: BoolArray, size: int, *, centres: Centres = "grid"
) -> IntArray:
    """Do as `manhattan_median`, but fill the last ring round each centre by least increase of the cost.

    Parameters, errors and references as `manhattan_median`.

    Notes
    -----
    *Guarantee*: as `manhattan_median`, whose proof does not depend on which nodes of the last ring are taken.
    Not always cheaper.
    *Complexity*: as there, and per centre O(free nodes of the last ring * those taken).
    """
    return _median(ManhattanMedian(centres, "greedy"), topology, free, size, Clock(math.inf)).nodes


def manhattan_median_swaps(
    topology: Topology, free: BoolArray, size: int, *, centres: Centres = "all", starts: int = 30
) -> IntArray:
    """Improve the best sets of `manhattan_median_greedy_ring` by swaps, and return the cheapest.

    A swap, one node out and one in, is made as long as one lowers the cost: always that which lowers it most,
    on ties the one with the first node in, then the first node out.

    Parameters
    ----------
    topology, free, size, centres
        As `manhattan_median`.
    starts
        How many of the centres to descend from, >= 0: those with the cheapest sets, but at most three of the
        same cost. If `manhattan_median` has a cheaper set than all that come out, one more start is made
        from that.

    Raises
    ------
    InvalidProblem, UnknownName
        As `manhattan_median`.
    InvalidOption
        If `starts` is negative.

    Notes
    -----
    *Guarantee*: with one start at least, never costlier than the other two methods with the same centres or,
    for ``all``, with any; so their guarantee holds. In practice optimal: in 998 of 1000 random cases on 16x8.
    *Complexity*: as these, and O(free nodes + size^2) per swap in practice.
    """
    method = ManhattanMedian(centres, "greedy", starts)
    return _median(method, topology, free, size, Clock(math.inf)).nodes


def gen_alg(topology: Topology, free: BoolArray, size: int) -> IntArray:
    """Take the nodes nearest to a free node by hop distance, and of all free nodes the cheapest set.

    Parameters, errors and complexity as `manhattan_median`, of which it is the choice ``centres="free"``.

    Notes
    -----
    *Guarantee*: at most 2 - 2/size times the optimum, on any topology. *Proof.* Let D(v, S) be the total
    distance from v to the k nodes of S, and O an optimal set: its cost is half the sum of D(v, O) over its
    nodes, so some v in O has D(v, O) <= 2 OPT / k. The nodes S nearest to v have D(v, S) <= D(v, O), and by
    the triangle inequality each pair costs at most the way over v: cost(S) <= (k - 1) D(v, S).

    References
    ----------
    Krumke et al., "Compact location problems", Theoretical Computer Science 181, 1997 (cited from memory).
    """
    return manhattan_median(topology, free, size, centres="free")


def mc1x1(topology: Topology, free: BoolArray, size: int, *, last_shell: LastShell = "first") -> IntArray:
    """Take square shells round a free node, of all free nodes the one with the least sum of shell numbers.

    Shell r holds the nodes whose greatest distance along an axis from the centre is r. Never fails, as
    `manhattan_median`; the nodes are not always connected.

    Parameters
    ----------
    topology, free, size
        As `manhattan_median`.
    last_shell
        Which nodes of the last shell to take. It makes no difference to the sum that chooses the centre.

    Raises
    ------
    InvalidProblem
        As `manhattan_median`.
    UnknownName
        If there is no such choice for the last shell.

    Notes
    -----
    *Guarantee*: at most d (2 - 2/size) times the optimum in d dimensions: the proof in `gen_alg`, with the
    sum of shell numbers in place of D(v, S), of which it is at least 1/d and at most the whole.
    *Complexity*: O(free nodes^2 * axes).

    References
    ----------
    Mache, Lo & Windisch, "Minimizing message-passing contention in fragmentation-free processor allocation",
    1997; the greedy variant is that of the simulator PReMAS. Both cited from memory.

    Examples
    --------
    >>> import numpy as np
    >>> from allocsolve.model import Mesh
    >>> mc1x1(Mesh((4, 4)), np.ones(16, dtype=np.bool_), 9).tolist()
    [0, 1, 2, 4, 5, 6, 8, 9, 10]
    """
    return _shells(Mc1x1(last_shell), topology, free, size, Clock(math.inf)).nodes


@dataclass(frozen=True, slots=True)
class ManhattanMedian:
    """Choose the cheapest set of nodes nearest to a centre, and improve it by swaps if told to.

    Parameters
    ----------
    centres
        As in `manhattan_median`.
    last_ring
        Which nodes of the last ring to take: `manhattan_median` or `manhattan_median_greedy_ring`.
    swaps_from
        From how many of the best centres to descend by swaps, as `manhattan_median_swaps` does; 0: no swaps.

    Raises
    ------
    InvalidOption, UnknownName
        If an option is not one of its choices, or negative.

    Notes
    -----
    *Guarantee*, *complexity*, *references*: as the functions, if the time suffices; else the best set so far.

    Examples
    --------
    >>> from allocsolve.model import Budget, Mesh, PartitionProblem
    >>> problem = PartitionProblem.of(Mesh((4, 4)), busy=[5, 6], size=5)
    >>> ManhattanMedian()(problem, Budget()).answer.nodes.tolist()
    [4, 8, 9, 12, 13]
    """

    centres: Centres = "grid"
    last_ring: LastShell = "first"
    swaps_from: int = 0

    def __post_init__(self) -> None:
        if self.centres not in CENTRES:
            raise UnknownName("choice of centres", self.centres, CENTRES)
        _check_last_shell(self.last_ring)
        if self.swaps_from < 0:
            msg = f"swaps from {self.swaps_from} centres: the number is negative"
            raise InvalidOption(msg)

    def __call__(self, problem: PartitionProblem, budget: Budget, /) -> Result[Partition]:
        """Search; of the budget the clock is used."""
        clock = budget.start()
        found = _median(self, problem.topology, problem.free, problem.size, clock)
        return partition_result(problem, found.nodes, clock, found.limit)


@dataclass(frozen=True, slots=True)
class GenAlg:
    """Choose the cheapest set of nodes nearest to a free node: see `gen_alg`. Budget as `ManhattanMedian`."""

    def __call__(self, problem: PartitionProblem, budget: Budget, /) -> Result[Partition]:
        """Search; of the budget the clock is used."""
        return ManhattanMedian("free")(problem, budget)


@dataclass(frozen=True, slots=True)
class Mc1x1:
    """Choose square shells round a free node by their numbers: see `mc1x1`. Budget as `ManhattanMedian`.

    Raises
    ------
    UnknownName
        If there is no such choice for the last shell.
    """

    last_shell: LastShell = "first"

    def __post_init__(self) -> None:
        _check_last_shell(self.last_shell)

    def __call__(self, problem: PartitionProblem, budget: Budget, /) -> Result[Partition]:
        """Search; of the budget the clock is used."""
        clock = budget.start()
        found = _shells(self, problem.topology, problem.free, problem.size, clock)
        return partition_result(problem, found.nodes, clock, found.limit)


def _check_last_shell(choice: str) -> None:
    if choice not in LAST_SHELLS:
        raise UnknownName("choice for the last shell", choice, LAST_SHELLS)


def _median(
    method: ManhattanMedian, topology: Topology, free: BoolArray, size: int, clock: Clock
) -> search.Found:
    field = search.field_of(topology, checked_mask(topology, free, size))
    greedy, starts = method.last_ring == "greedy", method.swaps_from
    return search.cheapest(field, size, clock, centres=method.centres, greedy=greedy, starts=starts)


def _shells(method: Mc1x1, topology: Topology, free: BoolArray, size: int, clock: Clock) -> search.Found:
    field = search.field_of(topology, checked_mask(topology, free, size))
    return search.least_shells(field, size, clock, greedy=method.last_shell == "greedy")
