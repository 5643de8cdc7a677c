"""The nearest family: for each of some centres the free nodes nearest to it, and the best set of all.

Plain functions for other simulators, which return node ids in increasing order, and the solvers over them.
Ties are canonical throughout: nodes at the same distance are taken by coordinates, the first axis first, and
of sets that are equally good that of the first centre in this order is the answer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from allocsolve.heuristics.partition import _nearest_search as search
from allocsolve.heuristics.partition._nearest_search import CENTRES, LAST_SHELLS, Centres, LastShell
from allocsolve.heuristics.partition.lattice import partition_result, refuse_boxes
from allocsolve.model.checks import choice, natural
from allocsolve.model.options import Options, Within
from allocsolve.model.partition import checked_request
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
    "mc1x1",
]


def manhattan_median(
    topology: Topology,
    free: BoolArray,
    size: int,
    *,
    centres: Centres = "grid",
    last_ring: LastShell = "first",
    swaps_from: int = 0,
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
    last_ring
        Which nodes of the last ring round each centre to take. ``first``: by coordinates. ``greedy``: one by
        one the node that raises the cost least; not always cheaper.
    swaps_from
        The number of centres from which to descend by swaps, >= 0: those with the cheapest sets, but at most
        three of equal cost. Swaps, one node out and one in, go on as long as one lowers the cost: always the
        swap that lowers it most, on ties that with the first node in, then the first node out. With
        ``greedy``, if ``first`` has a cheaper set than all results, one more descent is made from that set.

    Returns
    -------
    IntArray
        Shape (size,), increasing; not always connected. It never fails.

    Raises
    ------
    InvalidProblem
        If `free` is not a mask over the nodes, or `size` is below 1 or above the number of free nodes.
    InvalidOption, UnknownName
        If an option is not one of its choices, or negative.

    Notes
    -----
    *Guarantee*: on a mesh of d dimensions, with ``grid`` or ``all``, at most 2 - 1/(2 d) times the optimum:
    7/4 in 2-D, which is tight. On any topology and with any choice at most 2 - 2/size, by the proof in
    `gen_alg`, as all choices contain the free nodes. The proofs do not depend on which nodes of the last ring
    are taken, and swaps only lower the cost: with ``greedy`` and one descent at least, the set is never
    costlier than those without swaps round the same centres. In practice swaps are optimal: in 998 of 1000
    random cases on 16x8, from 30 of all centres with the last ring ``greedy``.
    *Complexity*: on a 2-D mesh O(nodes + centres * r), r being the radius of the largest set; else
    O(nodes * axes + centres * (size + sum of sides + axes * lines)), lines being those along the last axis
    that the largest ball round a centre meets. ``greedy``: and per centre O(free nodes of the last ring *
    those taken).
    Swaps: and O(free nodes + size^2) each in practice.

    References
    ----------
    Bender, Bunde, Demaine, Fekete, Leung, Meijer & Phillips, "Communication-aware processor allocation for
    supercomputers: finding point sets of small average distance", Algorithmica 50(2), 2008, pp. 279-298.
    Linnert et al. 2024 call another method Manhattan median: that is `allocsolve.heuristics.growth`.

    Examples
    --------
    >>> import numpy as np
    >>> from allocsolve.model import Mesh
    >>> free = np.ones(16, dtype=np.bool_)
    >>> free[[5, 6]] = False
    >>> manhattan_median(Mesh((4, 4)), free, 5).tolist()
    [4, 8, 9, 12, 13]
    """
    _check_median(centres, last_ring, swaps_from)
    clock = Clock(math.inf)
    return _median(
        topology, free, size, clock, centres=centres, last_ring=last_ring, swaps_from=swaps_from
    ).nodes


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
    Gen-Alg of the simulators SST (Sandia National Laboratories) and PReMAS (Knox College),
    ``NearestAllocator``.
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
    *Complexity*: on a 2-D mesh O(nodes + free nodes * r), r being the radius of the largest set; else
    O(nodes * axes + free nodes * lines * r), with lines as in `manhattan_median`.

    References
    ----------
    MC1x1 of the simulators SST (Sandia National Laboratories) and PReMAS (Knox College),
    ``NearestAllocator``; the greedy variant is that of PReMAS.

    Examples
    --------
    >>> import numpy as np
    >>> from allocsolve.model import Mesh
    >>> mc1x1(Mesh((4, 4)), np.ones(16, dtype=np.bool_), 9).tolist()
    [0, 1, 2, 4, 5, 6, 8, 9, 10]
    """
    choice("choice for the last shell", last_shell, LAST_SHELLS)
    return _shells(topology, free, size, Clock(math.inf), last_shell).nodes


@dataclass(frozen=True, slots=True)
class ManhattanMedian(Options):
    """Choose the cheapest set of nodes nearest to a centre, and improve it by swaps: see `manhattan_median`.

    Parameters
    ----------
    centres, last_ring, swaps_from
        As in `manhattan_median`.

    Raises
    ------
    InvalidOption, UnknownName
        If an option is not one of its choices, or negative.

    Notes
    -----
    *Guarantee*, *complexity*, *references*: as the function, if the time suffices; else the best set so far.

    Examples
    --------
    >>> from allocsolve.model import Budget, Mesh, PartitionProblem
    >>> problem = PartitionProblem.of(Mesh((4, 4)), busy=[5, 6], size=5)
    >>> ManhattanMedian()(problem, Budget()).answer.nodes.tolist()
    [4, 8, 9, 12, 13]
    """

    centres: Centres = "grid"
    last_ring: LastShell = "first"
    swaps_from: Annotated[int, Within(0)] = 0

    def __call__(self, problem: PartitionProblem, budget: Budget, /) -> Result[Partition]:
        """Search; of the budget the clock is used."""
        refuse_boxes(problem)
        clock = budget.start()
        nearest = _median(
            problem.topology,
            problem.free,
            problem.size,
            clock,
            centres=self.centres,
            last_ring=self.last_ring,
            swaps_from=self.swaps_from,
        )
        return partition_result(problem, nearest.nodes, clock, nearest.limit)


@dataclass(frozen=True, slots=True)
class GenAlg:
    """Choose the cheapest set of nodes nearest to a free node: see `gen_alg`. Budget as `ManhattanMedian`."""

    def __call__(self, problem: PartitionProblem, budget: Budget, /) -> Result[Partition]:
        """Search; of the budget the clock is used."""
        return ManhattanMedian("free")(problem, budget)


@dataclass(frozen=True, slots=True)
class Mc1x1(Options):
    """Choose square shells round a free node by their numbers: see `mc1x1`. Budget as `ManhattanMedian`.

    Parameters
    ----------
    last_shell
        As in `mc1x1`.

    Raises
    ------
    UnknownName
        If there is no such choice for the last shell.
    """

    last_shell: LastShell = "first"

    def __call__(self, problem: PartitionProblem, budget: Budget, /) -> Result[Partition]:
        """Search; of the budget the clock is used."""
        refuse_boxes(problem)
        clock = budget.start()
        nearest = _shells(problem.topology, problem.free, problem.size, clock, self.last_shell)
        return partition_result(problem, nearest.nodes, clock, nearest.limit)


def _check_median(centres: str, last_ring: str, swaps_from: int) -> None:
    choice("choice of centres", centres, CENTRES)
    choice("choice for the last shell", last_ring, LAST_SHELLS)
    natural("swaps_from", swaps_from)


def _median(
    topology: Topology,
    free: BoolArray,
    size: int,
    clock: Clock,
    *,
    centres: Centres,
    last_ring: LastShell,
    swaps_from: int,
) -> search.NearestSet:
    """Return the set of `manhattan_median`, or the best one within the given time."""
    free, size = checked_request(topology, free, size)
    field, greedy = search.field_of(topology, free), last_ring == "greedy"
    return search.cheapest(field, size, clock, centres=centres, greedy=greedy, starts=int(swaps_from))


def _shells(
    topology: Topology, free: BoolArray, size: int, clock: Clock, last_shell: LastShell
) -> search.NearestSet:
    """Return the set of `mc1x1`, or the best one within the given time."""
    free, size = checked_request(topology, free, size)
    field = search.field_of(topology, free)
    return search.least_shells(field, size, clock, greedy=last_shell == "greedy")
