"""The nearest family: for each of some centres the free nodes nearest to it, and the best set of all.

Plain functions for other simulators, which return node ids in increasing order, and the solvers over them.
Ties are canonical throughout: nodes at the same distance are taken by coordinates, the first axis first, and
of sets that are equally good that of the first centre in this order is the answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from allocsolve.heuristics.partition import _nearest_search as search
from allocsolve.heuristics.partition._nearest_search import Centres, LastShell
from allocsolve.heuristics.partition.allocator import Allocator, Request
from allocsolve.model.options import Within

if TYPE_CHECKING:
    from allocsolve.model import BoolArray, IntArray, Limit, Topology


@dataclass(frozen=True, slots=True)
class ManhattanMedian(Allocator):
    """Take the nodes nearest to a centre by hop distance, and of all centres the cheapest set (method MM).

    The nodes come by their ids and are not always connected. It never fails; when the time is up, the best
    set so far is the answer.

    Parameters
    ----------
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

    centres: Centres = "grid"
    last_ring: LastShell = "first"
    swaps_from: Annotated[int, Within(0)] = 0

    def search(self, request: Request) -> tuple[IntArray, Limit | None]:
        """Return the nodes by id, and whether the time was up."""
        field, greedy = search.field_of(request.topology, request.free), self.last_ring == "greedy"
        nearest = search.cheapest(
            field, request.size, request.clock, centres=self.centres, greedy=greedy, starts=self.swaps_from
        )
        return nearest.nodes, nearest.limit


def manhattan_median(
    topology: Topology,
    free: BoolArray,
    size: int,
    *,
    centres: Centres = "grid",
    last_ring: LastShell = "first",
    swaps_from: int = 0,
) -> IntArray:
    """Take nodes by `ManhattanMedian`; see `Request.of` for the arguments."""
    return ManhattanMedian(centres, last_ring, swaps_from).search(Request.of(topology, free, size))[0]


@dataclass(frozen=True, slots=True)
class GenAlg(Allocator):
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

    def search(self, request: Request) -> tuple[IntArray, Limit | None]:
        """Return the nodes by id, and whether the time was up."""
        return ManhattanMedian("free").search(request)


def gen_alg(topology: Topology, free: BoolArray, size: int) -> IntArray:
    """Take nodes by `GenAlg`; see `Request.of` for the arguments."""
    return GenAlg().search(Request.of(topology, free, size))[0]


@dataclass(frozen=True, slots=True)
class Mc1x1(Allocator):
    """Take square shells round a free node, of all free nodes the one with the least sum of shell numbers.

    Shell r holds the nodes whose greatest distance along an axis from the centre is r. Never fails, as
    `manhattan_median`; the nodes are not always connected.

    Parameters
    ----------
    last_shell
        Which nodes of the last shell to take. It makes no difference to the sum that chooses the centre.

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

    last_shell: LastShell = "first"

    def search(self, request: Request) -> tuple[IntArray, Limit | None]:
        """Return the nodes by id, and whether the time was up."""
        field, greedy = search.field_of(request.topology, request.free), self.last_shell == "greedy"
        nearest = search.least_shells(field, request.size, request.clock, greedy=greedy)
        return nearest.nodes, nearest.limit


def mc1x1(topology: Topology, free: BoolArray, size: int, *, last_shell: LastShell = "first") -> IntArray:
    """Take nodes by `Mc1x1`; see `Request.of` for the arguments."""
    return Mc1x1(last_shell).search(Request.of(topology, free, size))[0]
