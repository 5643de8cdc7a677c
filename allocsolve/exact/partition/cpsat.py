"""Partition shaping by CP-SAT: counts of chosen nodes on one side of each cut, closed by medians.

Four steps: variables, constraints, objective, read-back. With s_c of the k chosen nodes on one side of cut c,
the sum of pairwise distances is that of s_c (k - s_c). On a mesh the cuts are the prefixes of each axis; on
an even ring of n the n/2 half rings; on an odd ring the n windows of floor(n/2) layers, which count half; on
a complete axis its layers, which count half. s (k - s) is concave, so that alone it relaxes to nothing; once
it is fixed which side holds half of the nodes (where the median is), it is at least a star. A connected set
is one that a tree of links spans: from a root, each other chosen node has one parent, at a smaller depth.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, NamedTuple

import numpy as np

from allocsolve.bounds.partition import partition_bound
from allocsolve.heuristics.partition.allocator import component_sizes, lattice, pairwise_cost, refuse_boxes
from allocsolve.heuristics.partition.growth import Growth
from allocsolve.heuristics.partition.nearest import ManhattanMedian
from allocsolve.model import Limit, Partition, PartitionProblem, Result, Status
from allocsolve.model.options import Options, Params, Within
from allocsolve.model.search import Best, search_result

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from ortools.sat.python import cp_model

    from allocsolve.model import Budget, Clock, IntArray, Topology


@dataclass(frozen=True, slots=True)
class PartitionCpSatParams(Params):
    """The numbers of `PartitionCpSat`."""

    #: The share of the time for each heuristic of the start, and its most seconds.
    start_share: float = 0.2
    start_s: float = 10.0
    #: The centres from which the start descends by swaps.
    descents: int = 30


@dataclass(frozen=True, slots=True)
class PartitionCpSat(Options):
    """Find a set of least total pairwise distance by CP-SAT, with a proof.

    Parameters
    ----------
    max_nodes
        Most free nodes, and greatest sum of sides. Larger problems get a start set and
        `allocsolve.bounds.partition_bound` only (limit ``size``).

    Notes
    -----
    *Method*: cut counts with an element constraint for s (k - s), and median cuts (cut by cut what
    `allocsolve.bounds.partition.star_bound` is for all); below the cost of a start set (Manhattan medians
    with swaps; for connected sets also growth from every seed).
    *Guarantee*: ``optimal`` and ``infeasible`` are proofs; the bound holds at any time.
    *Complexity*: exponential. Seconds for 8x8 meshes and for 16 nodes of 16x8.
    """

    max_nodes: Annotated[int, Within(0)] = 2048
    params: PartitionCpSatParams = field(default=PartitionCpSatParams(), repr=False)

    def __call__(self, problem: PartitionProblem, budget: Budget, /) -> Result[Partition]:
        """Solve within the budget; workers are CP-SAT's threads."""
        refuse_boxes(problem)
        clock = budget.start()
        if problem.contiguous:
            arrays = lattice(problem.topology)
            sizes = component_sizes(arrays.offsets, arrays.neighbours, problem.free)
            if sizes.max() < problem.size:
                return Result(Status.INFEASIBLE, runtime=clock.elapsed)
            problem = replace(problem, free=sizes >= problem.size)
        search = _Search(problem, budget, clock, self.params)
        small = max(int(problem.free.sum()), sum(problem.topology.shape)) <= self.max_nodes
        try:
            search.find_start()
            if search.bound < search.best.values[0]:
                if small:
                    search.minimise()
                else:
                    search.limit = Limit.SIZE
        except KeyboardInterrupt:
            search.limit = Limit.INTERRUPTED
        return search.result()


# ---- Cuts -----------------------------------------------------------------------------------------------


class _Cut(NamedTuple):
    """Layers of an axis, as a change to the cut before; the first cut of an axis changes an empty one."""

    axis: int
    taken: tuple[int, ...]
    left: tuple[int, ...]
    weight: int  #: twice a distance is the sum of the weights of the cuts between the nodes
    first: bool


def _cuts(topology: Topology) -> Iterator[_Cut]:
    kinds = zip(topology.shape, topology.wrap, topology.complete, strict=True)
    for axis, (side, ring, full) in enumerate(kinds):
        if full:
            yield from (_Cut(axis, (layer,), (), 1, first=True) for layer in range(side))
        elif not ring:
            yield from (_Cut(axis, (layer,), (), 2, first=layer == 0) for layer in range(side - 1))
        elif side > 1:
            half = side // 2
            starts, weight = (side, 1) if side % 2 else (half, 2)
            yield _Cut(axis, tuple(range(half)), (), weight, first=True)
            for start in range(1, starts):
                yield _Cut(axis, ((start + half - 1) % side,), (start - 1,), weight, first=False)


# ---- Variables ------------------------------------------------------------------------------------------


class _Variables(NamedTuple):
    size: int
    chosen: dict[int, cp_model.IntVar]  #: x, of each node that may be chosen
    layers: dict[tuple[int, int], cp_model.IntVar]  #: n, chosen nodes of a layer of an axis
    cuts: list[_Cut]
    counts: list[cp_model.IntVar]  #: s, chosen nodes inside a cut
    costs: list[cp_model.IntVar]  #: g = s (k - s)
    sides: list[cp_model.IntVar]  #: b, whether at least half of the chosen nodes are inside
    roots: dict[int, cp_model.IntVar]  #: r, the root of the tree (for connected sets)
    depths: dict[int, cp_model.IntVar]  #: d, in the tree (for connected sets)
    parents: dict[tuple[int, int], cp_model.IntVar]  #: a, by (parent, node) (for connected sets)


def _variables(
    model: cp_model.CpModel,
    topology: Topology,
    nodes: list[int],
    size: int,
    links: list[tuple[int, int]] | None,
) -> _Variables:
    layers = [(axis, layer) for axis, side in enumerate(topology.shape) for layer in range(side)]
    cuts = list(_cuts(topology))
    greatest_cost = (size // 2) * (size - size // 2)
    tree = nodes if links is not None else []
    return _Variables(
        size,
        {node: model.new_bool_var(f"x_{node}") for node in nodes},
        {(axis, layer): model.new_int_var(0, size, f"n_{axis}_{layer}") for axis, layer in layers},
        cuts,
        [model.new_int_var(0, size, f"s_{c}") for c in range(len(cuts))],
        [model.new_int_var(0, greatest_cost, f"g_{c}") for c in range(len(cuts))],
        [model.new_bool_var(f"b_{c}") for c in range(len(cuts))],
        {node: model.new_bool_var(f"r_{node}") for node in tree},
        {node: model.new_int_var(0, size - 1, f"d_{node}") for node in tree},
        {(a, b): model.new_bool_var(f"a_{a}_{b}") for a, b in links or ()},
    )


# ---- Constraints ----------------------------------------------------------------------------------------


def _size(model: cp_model.CpModel, variables: _Variables) -> None:
    """Sum of x = k."""
    model.add(_sum(variables.chosen.values()) == variables.size)


def _layer_counts(model: cp_model.CpModel, topology: Topology, variables: _Variables) -> None:
    """n_l = sum of x_v over the nodes v of layer l."""
    places = lattice(topology).coordinates
    members: dict[tuple[int, int], list[cp_model.IntVar]] = {layer: [] for layer in variables.layers}
    for node, chosen in variables.chosen.items():
        for layer in enumerate(places[node].tolist()):
            members[layer].append(chosen)
    for layer, count in variables.layers.items():
        model.add(count == _sum(members[layer]))


def _cut_counts(model: cp_model.CpModel, variables: _Variables) -> None:
    """s_c = s_(c - 1) + sum of n_l over the layers l taken - sum of n_l over those left."""
    before: list[cp_model.IntVar] = []
    for cut, count in zip(variables.cuts, variables.counts, strict=True):
        taken = [variables.layers[cut.axis, layer] for layer in cut.taken]
        left = [variables.layers[cut.axis, layer] for layer in cut.left]
        model.add(count == _sum([*([] if cut.first else before), *taken], minus=left))
        before = [count]


def _cut_costs(model: cp_model.CpModel, variables: _Variables) -> None:
    """g_c = s_c (k - s_c), by a table."""
    table = [s * (variables.size - s) for s in range(variables.size + 1)]
    for count, cost in zip(variables.counts, variables.costs, strict=True):
        model.add_element(count, table, cost)


def _medians(model: cp_model.CpModel, variables: _Variables) -> None:
    """g_c >= (k - h + 1) s_c if s_c < h, g_c >= h (k - s_c) if s_c >= h: chords, for h = ceil(k / 2)."""
    k, half = variables.size, -(-variables.size // 2)
    for count, cost, side in zip(variables.counts, variables.costs, variables.sides, strict=True):
        model.add(count <= half - 1).only_enforce_if(~side)
        model.add(cost >= (k - half + 1) * count).only_enforce_if(~side)
        model.add(count >= half).only_enforce_if(side)
        model.add(cost >= half * (k - count)).only_enforce_if(side)


def _root(model: cp_model.CpModel, variables: _Variables) -> None:
    """Sum of r = 1: one tree."""
    if variables.roots:
        model.add_exactly_one(variables.roots.values())


def _tree(model: cp_model.CpModel, variables: _Variables) -> None:
    """x_v = r_v + sum of a_(u, v) over links (u, v): the root, or one parent."""
    incoming: dict[int, list[cp_model.IntVar]] = {node: [root] for node, root in variables.roots.items()}
    for (_, node), parent in variables.parents.items():
        incoming[node].append(parent)
    for node, ways in incoming.items():
        model.add(variables.chosen[node] == _sum(ways))


def _depths(model: cp_model.CpModel, variables: _Variables) -> None:
    """x_u and d_v >= d_u + 1 if a_(u, v)."""
    for (node, child), parent in variables.parents.items():
        model.add_implication(parent, variables.chosen[node])
        model.add(variables.depths[child] >= variables.depths[node] + 1).only_enforce_if(parent)


def _no_small_parts(model: cp_model.CpModel, variables: _Variables) -> None:
    """x_u <= sum of x next to {u}, or to a linked pair {u, v}: implied by the tree, but far stronger."""
    near: dict[int, set[int]] = {node: set() for node in variables.roots}
    for node, other in variables.parents:
        near[node].add(other)
    parts = [{node} for node in near] + [{a, b} for a, b in variables.parents if a < b]
    for part in parts:
        beyond = set().union(*(near[node] for node in part)) - part
        if len(part) < variables.size:
            for node in part:
                model.add_bool_or([~variables.chosen[node], *(variables.chosen[other] for other in beyond)])


def _sum(plus: Iterable[cp_model.IntVar], minus: Iterable[cp_model.IntVar] = ()) -> cp_model.LinearExprT:
    from ortools.sat.python import cp_model  # noqa: PLC0415 - heavy, and other solvers do without

    plus, minus = list(plus), list(minus)
    return cp_model.LinearExpr.weighted_sum([*plus, *minus], [1] * len(plus) + [-1] * len(minus))


# ---- Objective ------------------------------------------------------------------------------------------


def _objective(variables: _Variables) -> cp_model.LinearExprT:
    """Return twice the sum of pairwise distances."""
    from ortools.sat.python import cp_model  # noqa: PLC0415 - heavy, and other solvers do without

    return cp_model.LinearExpr.weighted_sum(variables.costs, [cut.weight for cut in variables.cuts])


# ---- Solving and read-back ------------------------------------------------------------------------------


def _links(topology: Topology, nodes: list[int]) -> list[tuple[int, int]]:
    """Return the links between nodes, both ways."""
    among = set(nodes)
    return [(node, other) for node in nodes for other in topology.neighbours(node) if other in among]


class _Search:
    """The state of a solve: the best set, and the proven bound."""

    def __init__(
        self, problem: PartitionProblem, budget: Budget, clock: Clock, params: PartitionCpSatParams
    ) -> None:
        self.problem, self.params, self.budget, self.clock = problem, params, budget, clock
        self.best = Best["IntArray"](clock)
        self.bound = 0
        self.limit: Limit | None = None

    def offer(self, nodes: IntArray) -> None:
        """Keep an answer if it is better than the best."""
        self.best.keep(nodes, (pairwise_cost(self.problem.topology, nodes),))

    def find_start(self) -> None:
        """Offer the answers of heuristics, one of which always exists, then bound the cost."""
        heuristics: list[Growth | ManhattanMedian] = [Growth("all")] if self.problem.contiguous else []
        heuristics.append(ManhattanMedian(last_ring="greedy", swaps_from=self.params.descents))
        for solver in heuristics:
            seconds = max(self.clock.stage(self.params.start_share, self.params.start_s).remaining, 1e-9)
            answer = solver(self.problem, replace(self.budget, seconds=seconds)).answer
            if answer is not None:
                self.offer(answer.nodes)
        self.bound = partition_bound(self.problem)

    def minimise(self) -> None:
        """Close the gap between the bound and the best cost, if there is enough time."""
        from ortools.sat.python import cp_model  # noqa: PLC0415 - heavy, and other solvers do without

        from allocsolve.backends.cpsat import run_cpsat  # noqa: PLC0415 - imports ortools

        model, topology = cp_model.CpModel(), self.problem.topology
        nodes = np.flatnonzero(self.problem.free).tolist()
        links = _links(topology, nodes) if self.problem.contiguous else None
        variables = _variables(model, topology, nodes, self.problem.size, links)
        _size(model, variables)
        _layer_counts(model, topology, variables)
        _cut_counts(model, variables)
        _cut_costs(model, variables)
        _medians(model, variables)
        _root(model, variables)
        _tree(model, variables)
        _depths(model, variables)
        _no_small_parts(model, variables)
        twice, cutoff = _objective(variables), int(self.best.values[0])
        model.add(twice >= 2 * self.bound)
        model.add(twice <= 2 * (cutoff - 1))
        model.minimize(twice)
        if not self.clock.remaining:
            return

        def take(value: Callable[[cp_model.LinearExpr], int]) -> bool:
            self.offer(np.array([node for node, chosen in variables.chosen.items() if value(chosen)]))
            return True

        outcome = run_cpsat(model, self.budget, self.clock, take, linear=True)
        proven = cutoff if outcome.infeasible else min(cutoff, math.ceil(outcome.bound / 2 - 1e-6))
        self.bound = max(self.bound, proven)
        if outcome.interrupted:
            self.limit = Limit.INTERRUPTED

    def result(self) -> Result[Partition]:
        """Return the best set and what is proven of it."""
        limit = self.limit or Limit.TIME
        best, bounds = self.best, (self.bound,)
        if best.answer is None:
            return Result(Status.UNKNOWN, bound=self.bound, limit=limit, runtime=self.clock.elapsed)
        return search_result(Partition(best.answer), best.values, bounds, limit, self.clock, best.incumbents)
