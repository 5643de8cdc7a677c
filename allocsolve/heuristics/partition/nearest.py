"""The nearest family: for each of some centres the free nodes nearest to it, and the best set of all.

Plain functions for other simulators, which return node ids in increasing order, and the solvers over them.
Ties are canonical throughout: nodes at the same distance are taken by coordinates, the first axis first, and
of sets that are equally good that of the first centre in this order is the answer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple, TypeAlias

import numpy as np

from allocsolve.heuristics.partition import _kernels_nearest as kernels
from allocsolve.heuristics.partition._kernels_nearest import (
    Lines,
    costs_of_mesh_centres,
    descend,
    mesh_shell_sums,
    prefix_sums,
    values_of_centres,
)
from allocsolve.heuristics.partition.allocator import COMPLETE, Allocator, Request, lattice, pieces
from allocsolve.model import MAX_INTEGER, Limit, frozen
from allocsolve.model.options import Within

if TYPE_CHECKING:
    from collections.abc import Callable

    from allocsolve.model import BoolArray, Clock, IntArray, Topology

#: Which nodes are tried as centres.
Centres: TypeAlias = Literal[
    "grid",  # the product of the distinct coordinates of the free nodes
    "free",  # the free nodes
    "all",  # all nodes
]

#: Which nodes of the last shell round a centre are taken when not all are needed.
LastShell: TypeAlias = Literal[
    "first",  # by coordinates
    "greedy",  # one by one the node that adds least to the total pairwise hop distance
]

#: Swaps between two looks at the clock.
_SWAPS = 8
#: The most centres of equal cost from which to descend: these tend to have the same set.
_ALIKE = 3


class Machine(NamedTuple):
    """The nodes of a topology in canonical order: by coordinates, the first axis first.

    Behind a complete axis comes a line of one node, so that the last axis is a line or a ring.
    """

    shape: IntArray
    wrap: IntArray
    #: Node ids.
    order: IntArray
    #: Their coordinates, shape (nodes, axes).
    points: IntArray
    #: Whether the topology is a 2-D mesh.
    planar: bool


class Field(NamedTuple):
    """The free nodes of a machine in canonical order."""

    machine: Machine
    #: Node ids, shape (free nodes,).
    nodes: IntArray
    #: Their coordinates, shape (free nodes, axes).
    points: IntArray


class NearestSet(NamedTuple):
    """A set, and whether the time was up before the search was over."""

    #: Increasing node ids.
    nodes: IntArray
    limit: Limit | None


@lru_cache(maxsize=8)
def _machine(topology: Topology) -> Machine:
    arrays = lattice(topology)
    order = np.lexsort(arrays.coordinates.T[::-1])
    shape, wrap, points = arrays.shape, arrays.wrap, arrays.coordinates[order]
    bent = bool((wrap * (shape > 2)).any())
    if wrap[-1] == COMPLETE:
        shape, wrap = frozen(np.append(shape, 1)), frozen(np.append(wrap, 0))
        points = np.append(points, np.zeros((len(points), 1), dtype=np.int64), axis=1)
    return Machine(shape, wrap, frozen(order), frozen(points), len(topology.shape) == 2 and not bent)


def field_of(topology: Topology, free: BoolArray) -> Field:
    """Return the free nodes in canonical order. O(nodes * axes)."""
    machine = _machine(topology)
    among = free[machine.order]
    return Field(machine, machine.order[among], frozen(machine.points[among]))


def centres_of(field: Field, choice: Centres) -> IntArray:
    """Return the coordinates of the centres in canonical order."""
    everything = field.machine.points
    if choice == "free":
        return field.points
    if choice == "all" or len(field.points) == len(everything):
        return everything
    return frozen(kernels.grid(field.machine.shape, everything, field.points))


def cheapest(
    field: Field, size: int, clock: Clock, *, centres: Centres, greedy: bool, starts: int = 0
) -> NearestSet:
    """Return the cheapest set round a centre, or after swaps from the best `starts` centres."""
    tried = centres_of(field, centres)
    costs, limit = _costs(field, tried, size, clock, greedy=greedy)
    if not starts:
        return _nearest_set(field, _gather(field, tried[np.argmin(costs)], size, greedy=greedy), limit)
    best, least_cost = np.empty(0, dtype=np.int64), MAX_INTEGER
    for centre in _varied(costs, starts):
        if len(best) and not clock.remaining:
            return _nearest_set(field, best, Limit.TIME)
        chosen = _gather(field, tried[centre], size, greedy=greedy)
        lowered, ended = _descend(field, chosen, clock)
        limit = limit if ended else Limit.TIME
        if costs[centre] - lowered < least_cost:
            best, least_cost = chosen, costs[centre] - lowered
    if greedy and limit is None:  # the first nodes of the last ring are seldom better than the greedy choice
        costs, limit = _costs(field, tried, size, clock, greedy=False)
        if costs.min() < least_cost:
            best = _gather(field, tried[np.argmin(costs)], size, greedy=False)
            limit = limit if _descend(field, best, clock)[1] else Limit.TIME
    return _nearest_set(field, best, limit)


def _costs(
    field: Field, tried: IntArray, size: int, clock: Clock, *, greedy: bool
) -> tuple[IntArray, Limit | None]:
    """Return the cost of the set round each centre, or round the first centres when the time is up."""
    machine = field.machine
    if machine.planar:
        width, height = machine.shape.tolist()
        sums = prefix_sums(field.points, width, height)
        costs = _valued(lambda some: costs_of_mesh_centres(sums, some, size, greedy), tried, clock)
    else:
        costs = _valued(_ball_values(field, size, greatest=False, greedy=greedy), tried, clock)
    return costs, Limit.TIME if len(costs) < len(tried) else None


def _descend(field: Field, chosen: IntArray, clock: Clock) -> tuple[int, bool]:
    """Swap in place; return the reduction of the cost, and whether it ended before the time was up."""
    timed, total = math.isfinite(clock.remaining), 0
    swaps = _SWAPS if timed else MAX_INTEGER
    while lowered := descend(field.machine.shape, field.machine.wrap, field.points, chosen, swaps):
        total += lowered
        if not timed:
            break
        if not clock.remaining:
            return total, False
    return total, True


def _varied(costs: IntArray, count: int) -> IntArray:
    """Return the centres of least cost, with few of equal cost, as these tend to have the same set.

    On an empty machine all centres far from the border have the same set, only in another place.
    """
    order = np.argsort(costs, kind="stable")
    ranked = costs[order]
    return order[np.arange(len(order)) - np.searchsorted(ranked, ranked) < _ALIKE][:count]


def least_shells(field: Field, size: int, clock: Clock, *, greedy: bool) -> NearestSet:
    """Return the set of square shells with the least sum of shell numbers round a free node."""
    machine, points = field.machine, field.points
    if machine.planar:
        width, height = machine.shape.tolist()
        sums = _valued(lambda some: mesh_shell_sums(points, width, height, some, size), points, clock)
    else:
        sums = _valued(_ball_values(field, size, greatest=True, greedy=greedy), points, clock)
    chosen = _gather(field, points[np.argmin(sums)], size, greatest=True, greedy=greedy)
    return _nearest_set(field, chosen, Limit.TIME if len(sums) < len(points) else None)


def _lines_of(field: Field) -> Lines:
    machine = field.machine
    side, ring = int(machine.shape[-1]), int(machine.wrap[-1])
    free = np.zeros(len(machine.order), dtype=np.bool_)
    free[field.nodes] = True
    rows = np.tile(free[machine.order].reshape(-1, side), 1 + ring)
    before = np.zeros((len(rows), rows.shape[1] + 1), dtype=np.int32)
    np.cumsum(rows, axis=1, out=before[:, 1:])
    places = frozen(np.ascontiguousarray(machine.points[::side, :-1]))
    return Lines(machine.shape, machine.wrap, places, before)


def _ball_values(field: Field, size: int, *, greatest: bool, greedy: bool) -> Callable[[IntArray], IntArray]:
    lines = _lines_of(field)
    return lambda some: values_of_centres(lines, some, size, greatest, greedy)


def _gather(field: Field, centre: IntArray, size: int, *, greatest: bool = False, greedy: bool) -> IntArray:
    shape, wrap, *_ = field.machine
    chosen = np.empty(size, dtype=np.int64)
    kernels.gather(shape, wrap, field.points, centre, greatest, greedy, chosen)
    return chosen


def _nearest_set(field: Field, chosen: IntArray, limit: Limit | None) -> NearestSet:
    return NearestSet(np.sort(field.nodes[chosen]), limit)


def _valued(value: Callable[[IntArray], IntArray], centres: IntArray, clock: Clock) -> IntArray:
    """Return the value of each centre, or of the first centres (at least one) when the time is up."""
    if math.isinf(clock.remaining):  # a microsecond faster than in pieces
        return value(centres)
    return np.concatenate([value(centres[piece]) for piece in pieces(len(centres), clock)])


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
        field, greedy = field_of(request.topology, request.free), self.last_ring == "greedy"
        nearest = cheapest(
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
        field, greedy = field_of(request.topology, request.free), self.last_shell == "greedy"
        nearest = least_shells(field, request.size, request.clock, greedy=greedy)
        return nearest.nodes, nearest.limit


def mc1x1(topology: Topology, free: BoolArray, size: int, *, last_shell: LastShell = "first") -> IntArray:
    """Take nodes by `Mc1x1`; see `Request.of` for the arguments."""
    return Mc1x1(last_shell).search(Request.of(topology, free, size))[0]
