"""Proven optima of partition shaping: a Lagrangian branch and bound over cut counts."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import numpy as np

from allocsolve.bounds.partition import partition_bound
from allocsolve.exact.partition._cut_search import CutSearch
from allocsolve.families import quick_answers
from allocsolve.heuristics.partition.allocator import component_sizes, lattice, nodes_at, pairwise_cost
from allocsolve.heuristics.partition.growth import Growth
from allocsolve.heuristics.partition.nearest import ManhattanMedian
from allocsolve.model import Budget, Clock, Limit, Partition, PartitionProblem, Result, Status
from allocsolve.model.options import Options, Params
from allocsolve.model.search import search_result

if TYPE_CHECKING:
    from collections.abc import Iterator

    from allocsolve.model import BoolArray, IntArray, Topology

#: The side of a box along each axis.
Sides: TypeAlias = tuple[int, ...]

#: Nodes times different sides: the judge looks at no more.
_MAX_WORK: Final = 2**32


def cheapest_box(
    topology: Topology, free: BoolArray, size: int, *, sides: Sides | None = None
) -> IntArray | None:
    """Take the box of free nodes whose total pairwise distance is least.

    `InvalidProblem` if `free` is not a mask over the nodes, `size` is below 1 or above the number of free
    nodes, or the sides do not fit the machine or do not hold `size` nodes.

    Parameters
    ----------
    free
        Which nodes may be taken, shape (nodes,); not changed.
    size
        How many to take.
    sides
        The sides of the box, one for each axis, which hold `size` nodes; any if None.

    Returns
    -------
    IntArray or None
        Shape (size,), increasing; None if no box is free.

    Notes
    -----
    *Method.* Boxes of the same sides cost the same: on an axis with a side of a, the sum of distances of its
    a coordinates times (k / a)^2. All sides of volume k are taken in ascending order of this cost; the first
    of which a box is free has an optimum. Which boxes are free is computed for all places at once: a mask
    with a bit for each node, and with itself, moved along an axis by 1, 2, 4, ... nodes, says where 2, 4, 8,
    ... nodes in a row are free.

    *Guarantee*: an optimum among boxes. On ties the least sides, the first axis first, then the least node at
    their corner.
    *Complexity*: O(sides * axes * log(side) * nodes / word), memory O(nodes) for each side of the first axis.

    Examples
    --------
    >>> from allocsolve.model import Mesh
    >>> free = np.ones(16, dtype=np.bool_)
    >>> free[[5, 6]] = False
    >>> cheapest_box(Mesh((4, 4)), free, 4).tolist()
    [8, 9, 12, 13]
    """
    problem = PartitionProblem(topology, free, size, box=True if sides is None else sides)
    every = [problem.box] if isinstance(problem.box, tuple) else every_sides(topology, problem.size)
    return _search(topology, problem.free, every, Clock(math.inf)).nodes


class _Found(NamedTuple):
    """A cheapest box, or none; what is proven if the time was up."""

    nodes: IntArray | None
    cost: int  #: of the box; or a lower bound on that of all, if the time was up
    ended: bool


def solve_boxes(problem: PartitionProblem, budget: Budget) -> Result[Partition]:
    """Solve a problem that asks for a box: see `cheapest_box`.

    Of the budget the clock is used. "optimal" and "infeasible" are proofs; the certificate of an optimum says
    that there is no cheaper box, which the judge finds out by itself. The limit is SIZE if there are more
    sides than 2^32 by the number of nodes.
    """
    clock, topology, size = budget.start(), problem.topology, problem.size
    trivial = size * (size - 1) // 2
    if isinstance(problem.box, tuple):
        every = [problem.box]
    elif number_of_sides(topology, size) * topology.num_nodes > _MAX_WORK:
        return Result(Status.UNKNOWN, bound=trivial, limit=Limit.SIZE, runtime=clock.elapsed)
    else:
        every = every_sides(topology, size)
    try:
        nodes, cost, ended = _search(topology, problem.free, every, clock)
    except KeyboardInterrupt:
        return Result(Status.UNKNOWN, bound=trivial, limit=Limit.INTERRUPTED, runtime=clock.elapsed)
    if nodes is not None:
        certificate = {"kind": "boxes", "bound": cost}
        met = ((clock.elapsed, cost),)
        return Result(Status.OPTIMAL, Partition(nodes), cost, cost, None, clock.elapsed, met, certificate)
    if ended:
        return Result(Status.INFEASIBLE, runtime=clock.elapsed)
    return Result(Status.UNKNOWN, bound=cost, limit=Limit.TIME, runtime=clock.elapsed)


def _search(topology: Topology, free: BoolArray, every: list[Sides], clock: Clock) -> _Found:
    """Return a box of the cheapest sides of which one is free."""
    ranked = sorted((box_cost(topology, sides), sides) for sides in every)
    mask = int.from_bytes(np.packbits(free, bitorder="little").tobytes(), "little")
    begun: dict[int, int] = {}  # by the side of the first axis
    for cost, sides in ranked:
        if not clock.remaining:
            return _Found(None, cost, ended=False)
        if sides[0] not in begun:
            begun[sides[0]] = _in_a_row(topology, mask, 0, sides[0])
        corners = begun[sides[0]]
        for axis in range(1, len(sides)):
            if not corners:
                break
            corners = _in_a_row(topology, corners, axis, sides[axis])
        if corners:
            return _Found(_nodes_of(topology, sides, (corners & -corners).bit_length() - 1), cost, ended=True)
    return _Found(None, 0, ended=True)


def _nodes_of(topology: Topology, sides: Sides, corner: int) -> IntArray:
    """Return the nodes of a box, increasing."""
    places = topology.coordinates([corner])[0].tolist()
    axes = zip(places, sides, topology.shape, strict=True)
    return np.sort(nodes_at(topology.shape, [(at + np.arange(side)) % length for at, side, length in axes]))


def _in_a_row(topology: Topology, mask: int, axis: int, length: int) -> int:
    """Return the nodes from which on `length` nodes along an axis are in the mask."""
    reach = 1
    while reach < length:
        step = min(reach, length - reach)
        mask &= _moved(topology, mask, axis, step)
        reach += step
    return mask


def _moved(topology: Topology, mask: int, axis: int, step: int) -> int:
    """Return the nodes that are in the mask if moved on by `step` along an axis."""
    side, stride = topology.shape[axis], math.prod(topology.shape[:axis])
    before = _first_layers(topology.shape, axis, side - step)
    moved = mask >> step * stride & before
    if topology.wrap[axis]:
        moved |= mask << (side - step) * stride & ~before & (1 << topology.num_nodes) - 1
    return moved


@lru_cache(maxsize=1024)
def _first_layers(shape: Sides, axis: int, layers: int) -> int:
    """Return the mask of the nodes in the first layers of an axis."""
    stride = math.prod(shape[:axis])
    mask, blocks = (1 << layers * stride) - 1, 1
    total = math.prod(shape[axis + 1 :])
    while blocks < total:
        more = min(blocks, total - blocks)
        mask |= mask << more * stride * shape[axis]
        blocks += more
    return mask


def box_cost(topology: Topology, sides: Sides) -> int:
    """Return the total pairwise distance of a box of these sides."""
    size = math.prod(sides)
    return sum(
        _distances(length, side, ring, full) * (size // side) ** 2
        for length, side, ring, full in zip(
            topology.shape, sides, topology.wrap, topology.complete, strict=True
        )
    )


@lru_cache(maxsize=4096)
def _distances(length: int, side: int, ring: bool, full: bool) -> int:  # noqa: FBT001 - private
    """Return the sum of distances of `side` consecutive coordinates of an axis."""
    if full:
        return side * (side - 1) // 2
    if ring:
        return sum((side - apart) * min(apart, length - apart) for apart in range(1, side))
    return (side**3 - side) // 6


def number_of_sides(topology: Topology, size: int) -> int:
    """Return how many different sides boxes of `size` nodes have."""
    return _ways(topology.shape, size)


@lru_cache(maxsize=2**16)
def _ways(shape: Sides, size: int) -> int:
    if not shape:
        return int(size == 1)
    return sum(_ways(shape[1:], size // side) for side in _divisors(size, shape[0]))


@lru_cache(maxsize=4096)
def _divisors(size: int, most: int) -> tuple[int, ...]:
    return tuple(side for side in range(1, min(size, most) + 1) if size % side == 0)


def every_sides(topology: Topology, size: int) -> list[Sides]:
    """Return the sides of all boxes of `size` nodes that fit the machine."""

    def of(shape: Sides, left: int) -> Iterator[Sides]:
        if not shape:
            yield ()
            return
        for side in _divisors(left, shape[0]):
            if _ways(shape[1:], left // side):
                yield from ((side, *rest) for rest in of(shape[1:], left // side))

    return list(of(topology.shape, size)) if _ways(topology.shape, size) else []


@dataclass(frozen=True, slots=True)
class PartitionBranchAndBoundParams(Params):
    """The numbers of `PartitionBranchAndBound`."""

    #: The share of the remaining time for each heuristic that looks for a start set.
    start_share: float = 0.25
    #: The centres from which the start descends by swaps.
    descents: int = 30
    #: Seconds of search after which the bounds of `partition_bound` are computed, which takes about as long.
    patience_s: float = 0.3
    #: The most time of a search that continues for its certificate when it has met these bounds, as a
    #: multiple of the time until then.
    proof_times: float = 10


@dataclass(frozen=True, slots=True)
class PartitionBranchAndBound(Options):
    """Prove an optimum of partition shaping, free, contiguous or of boxes, on meshes, tori and complete axes.

    Notes
    -----
    *Model.* The cost is a sum of s(k - s) over cuts of the machine, s being the chosen nodes on one side, and
    the cuts of one axis depend on the counts of its layers only. A node of the search is an interval for each
    of these counts and a state for each cell (free node): open, excluded or forced.

    *Bound.* Lagrangian relaxation of the equations between the cells and the counts of all axes but one.
    What is left falls apart into the choice of cells with the counts of the main axis, and the counts of
    each other axis: dynamic programs, all exact. The bound is thus that of the convex hulls of the axes, by
    weak duality with any multipliers; these follow Polyak's subgradient steps. All arithmetic is that of
    64-bit integers in fixed point: no bound is rounded. A node is dropped if its bound exceeds the best
    value less 1 (less 2 for odd k, whose costs are all even unless a ring is odd).

    *Search.* For each position of the medians of the axes, in the order of the star sums (until these alone
    exclude the rest): what forward and backward programs rule out narrows the node; then it is split at the
    count whose mixture in the relaxation falls most short of s(k - s) at its mean. When all counts of a mesh
    of two axes are fixed, a maximum flow decides whether cells have these counts; in all other cases cells
    themselves are decided upon, so that the search ends with single sets. For contiguous sets the cells that
    the forced ones do not reach with the nodes to choose are excluded, and only connected sets are answers.
    On a ring the counts are those of half rings, and the medians bound all of them: a set below the best
    value has a star of less than 2/k times that value. A complete axis has the counts of a line from its
    median on; it is the nodes of each layer, not the counts, that have a price there.

    *Boxes* are not searched for: `cheapest_box` looks at all sides, the cheapest first.

    *Certificate*: the whole tree: each split, and the multipliers that narrow or close each node, which the
    judge checks leaf by leaf (`judge.partition.certificate`), in less time than the search took. It holds up
    to four million multipliers, some 50,000 nodes on a torus of 16x16. Beyond that, and on time-out, it
    is the multipliers of each node without a parent, from which the judge recomputes the bound at the
    root. A search whose best set meets the bound of `allocsolve.bounds.partition_bound`, which holds no
    certificate, goes on for its tree up to ten times as long as it took to get there.

    *Guarantee*: "optimal" is a proof; on time-out or interrupt the best set and a valid bound. A set that is
    not proven optimal is no worse than that of any registered heuristic: all of them are asked then.
    *Complexity*: exponential. In practice milliseconds on 16x8, and less than a second for 64 nodes on a mesh
    of 32x32; tori take longer: seconds for 32 nodes on 16x16. Memory O(nodes * depth + k * sum of sides).
    *Status*: infeasible if the set is to be contiguous and no component of free nodes is large enough, or no
    box is free. The limit is SIZE if the tables would be too large; the answer is then that of a heuristic.

    Examples
    --------
    >>> from allocsolve.model import Budget, Mesh, PartitionProblem
    >>> result = PartitionBranchAndBound()(PartitionProblem.of(Mesh((4, 4)), busy=[5, 6], size=5), Budget())
    >>> str(result.status), result.objective
    ('optimal', 16)
    """

    params: PartitionBranchAndBoundParams = field(default=PartitionBranchAndBoundParams(), repr=False)

    def __call__(self, problem: PartitionProblem, budget: Budget, /) -> Result[Partition]:
        """Search; of the budget the clock is used."""
        if problem.box:
            return solve_boxes(problem, budget)
        clock = budget.start()
        run = _Run(problem, clock, self.params)
        try:
            limit = run.work()
            if limit is not None:
                run.take_quick(budget.seed)
        except KeyboardInterrupt:
            limit = Limit.INTERRUPTED
        return run.result(limit)


class _Run:
    """The best set and the bounds of one problem, from which a result can be made at any time."""

    def __init__(
        self, problem: PartitionProblem, clock: Clock, params: PartitionBranchAndBoundParams
    ) -> None:
        self._problem, self._clock, self._params = problem, clock, params
        self._feasible = True
        self._nodes: IntArray | None = None
        self._value = 0
        self._incumbents: list[tuple[float, int]] = []
        #: A lower bound on all sets.
        self._floor = problem.size * (problem.size - 1) // 2
        self._search: CutSearch | None = None

    def work(self) -> Limit | None:
        """Search until a proof raises the bound to the value, or the time is up."""
        problem, clock = self._problem, self._clock
        free = self._usable()
        if not free.any():
            self._feasible = False
            return None
        nodes = self._start(free)
        self._take(nodes)
        search = CutSearch(problem, free)
        if not search.fits():
            self._floor = max(self._floor, partition_bound(problem))
            return Limit.SIZE
        if not search.prepare(clock):
            return Limit.TIME
        self._search = search
        if not self._follow(search, nodes):
            return Limit.TIME
        self._floor = self._value
        return None

    def _follow(self, search: CutSearch, nodes: IntArray) -> bool:
        """Follow a search to its end, or to a proof; False if the time is up."""
        clock = self._clock
        patient, until = True, math.inf
        for value, cells in search.run(self._value, nodes):
            if value < self._value:
                self._take(cells)
            if (
                patient
                and search.spent > self._params.patience_s
                and clock.remaining > 2 * self._params.patience_s
            ):
                patient = False
                self._floor = max(self._floor, partition_bound(self._problem))
            if self._floor >= self._value:
                if not patient:
                    until = min(until, self._params.proof_times * search.spent)
                if patient or search.spent > until:
                    return True
            if not clock.remaining:
                return self._floor >= self._value
        return True

    def take_quick(self, seed: int) -> None:
        """Take the best set of the quick solvers if it is better; they take milliseconds."""
        for answer, (value,) in quick_answers(self._problem, ("pairwise",), self._clock, seed=seed):
            if self._nodes is None or value < self._value:
                self._take(answer.nodes)

    def _take(self, nodes: IntArray) -> None:
        self._value, self._nodes = pairwise_cost(self._problem.topology, nodes), nodes
        self._incumbents.append((self._clock.elapsed, self._value))

    def _usable(self) -> BoolArray:
        """Return the free nodes that any answer may use."""
        problem = self._problem
        if not problem.contiguous:
            return problem.free
        arrays = lattice(problem.topology)
        usable: BoolArray = component_sizes(arrays.offsets, arrays.neighbours, problem.free) >= problem.size
        return usable

    def _start(self, free: BoolArray) -> IntArray:
        """Return a good start set, which is nearly always optimal."""
        problem = replace(self._problem, free=free)
        start = ManhattanMedian("all", "greedy", self._params.descents)(problem, self._some_time())
        if start.answer is None:  # the set is not connected
            start = Growth("all")(problem, self._some_time())
        assert start.answer is not None
        return start.answer.nodes

    def _some_time(self) -> Budget:
        return Budget(seconds=max(self._clock.stage(self._params.start_share).remaining, 1e-3))

    def result(self, limit: Limit | None) -> Result[Partition]:
        """Return the best set so far, and a bound."""
        clock = self._clock
        if not self._feasible:
            return Result(Status.INFEASIBLE, runtime=clock.elapsed)
        bound = self._floor
        if self._search is not None:
            bound = max(bound, min(self._search.bound(), self._value))
        if self._nodes is None:
            return Result(Status.UNKNOWN, bound=bound, limit=limit, runtime=clock.elapsed)
        certificate = None if self._search is None else self._search.certificate()
        bounds = (min(bound, self._value),)
        return search_result(
            Partition(self._nodes),
            (self._value,),
            bounds,
            limit,
            clock,
            self._incumbents,
            certificate=certificate,
        )
