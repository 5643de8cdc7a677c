"""Partition shaping as a MILP over unary cut counts, solved by CBC through PuLP: a cross-check.

Four steps: variables, constraints, objective, read-back. Z[c, t] is 1 iff at least t of the k chosen nodes
are inside cut c, so that s_c (k - s_c) is linear: the t-th node inside adds k - 2t + 1. The cuts between two
nodes weigh twice their distance: the prefixes of a mesh axis weigh 2, the half rings of an even ring 2, and
the n windows of (n - 1) / 2 layers of an odd ring 1, and the layers of a complete axis 1. Once Z[c, ceil(k /
2)] is fixed, which says on which side the median is, the relaxation is no less than the chords on that side:
median rows would add nothing. Connectivity comes by rows that are added when violated.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import numpy as np

from allocsolve.backends.cbc import run_cbc
from allocsolve.heuristics.partition.allocator import pairwise_cost, refuse_boxes
from allocsolve.model import Limit, Partition, Result, Status
from allocsolve.model.options import Options, Within
from allocsolve.model.search import search_result

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from allocsolve.model import Budget, Clock, PartitionProblem, Topology


@dataclass(frozen=True, slots=True)
class PartitionMilp(Options):
    """Find a set of least total pairwise distance by a MILP (CBC through PuLP).

    Parameters
    ----------
    max_variables
        Most binary variables that are tried, also most free nodes and cuts together; a larger instance ends
        at once, with the limit SIZE.

    Notes
    -----
    Of the budget, `seconds` and `workers` (threads of CBC) count. PuLP does not report the bound of CBC:
    without a proof the bound is that of the last relaxation solved (connected sets), or one hop for each
    pair. CBC computes in doubles; its sets are checked and valued in integers.
    *Complexity*: exponential. Seconds for 8x8 meshes.
    """

    max_variables: Annotated[int, Within(0)] = 5_000

    def __call__(self, problem: PartitionProblem, budget: Budget, /) -> Result[Partition]:
        """Solve within the budget."""
        refuse_boxes(problem)
        clock = budget.start()
        size, topology = problem.size, problem.topology
        free = np.flatnonzero(problem.free).tolist()
        if problem.contiguous:
            free = sorted(chain.from_iterable(part for part in _parts(topology, free) if len(part) >= size))
        if not free:
            return Result(Status.INFEASIBLE, runtime=clock.elapsed)
        if size in (1, len(free)):  # the objective would be constant
            return _result(problem, free[:size], None, None, clock)
        if len(free) + sum(topology.shape) // 2 > self.max_variables:  # before all cuts are built
            return Result(Status.UNKNOWN, bound=_trivial(size), limit=Limit.SIZE, runtime=clock.elapsed)
        cuts = list(_cuts(topology, free))
        if len(free) + sum(cut.greatest(size) - cut.least(size) for cut in cuts) > self.max_variables:
            return Result(Status.UNKNOWN, bound=_trivial(size), limit=Limit.SIZE, runtime=clock.elapsed)
        nodes, bound = _minimise(problem, free, cuts, clock, budget.racing_workers)
        limit = None if math.isinf(budget.seconds) else Limit.TIME
        return _result(problem, nodes, bound, limit, clock)


def _trivial(size: int) -> int:
    """Return a lower bound: no two nodes are in one place."""
    return size * (size - 1) // 2


def _result(
    problem: PartitionProblem, nodes: list[int] | None, bound: int | None, limit: Limit | None, clock: Clock
) -> Result[Partition]:
    """Return a result; the bound is None if the nodes are proven optimal."""
    if nodes is None:
        assert bound is not None
        return Result(Status.UNKNOWN, bound=bound, limit=limit, runtime=clock.elapsed)
    cost = pairwise_cost(problem.topology, nodes)
    answer = Partition(np.array(nodes, dtype=np.int64))
    return search_result(answer, (cost,), (cost if bound is None else bound,), limit, clock)


def _parts(topology: Topology, nodes: Iterable[int]) -> list[set[int]]:
    """Return the connected parts of a set of nodes."""
    left = set(nodes)
    parts = []
    while left:
        part: set[int] = set()
        reached = {min(left)}
        while reached:
            part |= reached
            left -= reached
            reached = {near for node in reached for near in topology.neighbours(node)} & left
        parts.append(part)
    return parts


# ---- Cuts -----------------------------------------------------------------------------------------------


def _places(topology: Topology) -> Iterator[tuple[int, set[int], int]]:
    """Yield the cuts: axis, layers inside, weight."""
    kinds = zip(topology.shape, topology.wrap, topology.complete, strict=True)
    for axis, (side, ring, full) in enumerate(kinds):
        if full:
            yield from ((axis, {layer}, 1) for layer in range(side))
        elif not ring:
            yield from ((axis, set(range(end)), 2) for end in range(1, side))
        elif side % 2 == 0:
            yield from ((axis, set(range(start, start + side // 2)), 2) for start in range(side // 2))
        elif side > 1:
            for start in range(side):
                yield axis, {(start + i) % side for i in range(side // 2)}, 1


class _Cut(NamedTuple):
    inside: list[int]  #: free nodes
    outside: int  #: number of free nodes
    weight: int

    def least(self, size: int) -> int:
        """Return the least number of chosen nodes inside."""
        return max(0, size - self.outside)

    def greatest(self, size: int) -> int:
        """Return the greatest number of chosen nodes inside."""
        return min(size, len(self.inside))


def _cuts(topology: Topology, free: list[int]) -> Iterator[_Cut]:
    coordinates = topology.coordinates(free).T.tolist()
    for axis, layers, weight in _places(topology):
        inside = [node for node, layer in zip(free, coordinates[axis], strict=True) if layer in layers]
        yield _Cut(inside, len(free) - len(inside), weight)


# ---- Variables ------------------------------------------------------------------------------------------


class _Variables(NamedTuple):
    size: int
    chosen: dict[int, Any]  #: x, of each free node
    cuts: list[_Cut]
    levels: list[dict[int, Any]]  #: Z of each cut, by t; below the least t it is 1, above the greatest 0


def _variables(model: Any, size: int, free: list[int], cuts: list[_Cut]) -> _Variables:  # noqa: ANN401 - PuLP has no types
    import pulp  # noqa: PLC0415 - heavy, and other solvers do without

    # PuLP 3.3.1 deprecates the constructor in favour of a method that earlier versions do not have.
    new = getattr(model, "add_variable", pulp.LpVariable)
    chosen = {node: new(f"x_{node}", 0, 1, pulp.LpInteger) for node in free}
    levels = [
        {
            t: new(f"z_{idx}_{t}", 0, 1, pulp.LpInteger)
            for t in range(cut.least(size) + 1, cut.greatest(size) + 1)
        }
        for idx, cut in enumerate(cuts)
    ]
    return _Variables(size, chosen, cuts, levels)


def _linear(terms: Iterable[tuple[int, Any]], constant: int = 0) -> Any:  # noqa: ANN401
    """Return the sum of coefficient * variable, each of which occurs once."""
    import pulp  # noqa: PLC0415

    return pulp.LpAffineExpression([(variable, coefficient) for coefficient, variable in terms], constant)


# ---- Constraints ----------------------------------------------------------------------------------------


def _size(variables: _Variables) -> Iterator[Any]:
    """Sum of x = k."""
    yield _linear((1, x) for x in variables.chosen.values()) == variables.size


def _counts(variables: _Variables) -> Iterator[Any]:
    """Sum over v inside c of x_v = sum over t of Z[c, t]: the count, twice."""
    for cut, levels in zip(variables.cuts, variables.levels, strict=True):
        inside = [(1, variables.chosen[node]) for node in cut.inside]
        if levels:
            yield _linear([*inside, *((-1, z) for z in levels.values())]) == cut.least(variables.size)


def _monotone(variables: _Variables) -> Iterator[Any]:
    """Z[c, t] >= Z[c, t + 1]: with t + 1 nodes there are t."""
    for levels in variables.levels:
        yield from (z >= z_next for z, z_next in pairwise(levels.values()))


def _connected(variables: _Variables, topology: Topology, part: set[int]) -> Iterator[Any]:
    """x_v <= sum of x over the nodes next to the part, for v in the part, which has fewer than k nodes."""
    near = {other for node in part for other in topology.neighbours(node)} - part
    beyond = [(1, variables.chosen[node]) for node in sorted(near) if node in variables.chosen]
    yield from (_linear([*beyond, (-1, variables.chosen[node])]) >= 0 for node in sorted(part))


# ---- Objective ------------------------------------------------------------------------------------------


def _objective(variables: _Variables) -> Any:  # noqa: ANN401
    """Return twice the sum of pairwise distances."""
    k = variables.size
    least = [(cut.weight, cut.least(k)) for cut in variables.cuts]
    gains = [
        (cut.weight * (k - 2 * t + 1), z)
        for cut, levels in zip(variables.cuts, variables.levels, strict=True)
        for t, z in levels.items()
    ]
    return _linear(gains, sum(weight * s * (k - s) for weight, s in least))


# ---- Solving and read-back ------------------------------------------------------------------------------


def _minimise(
    problem: PartitionProblem, free: list[int], cuts: list[_Cut], clock: Clock, workers: int
) -> tuple[list[int] | None, int | None]:
    """Return the best set met, and a bound unless the set is proven to be optimal."""
    import pulp  # noqa: PLC0415

    bound, topology, size = _trivial(problem.size), problem.topology, problem.size
    model = pulp.LpProblem("partition", pulp.LpMinimize)
    variables = _variables(model, size, free, cuts)
    parts = [{node} for node in free] if problem.contiguous else []
    model.setObjective(_objective(variables))
    rows: Iterator[Any] = chain(_size(variables), _counts(variables), _monotone(variables))
    while True:
        for row in chain(rows, *(_connected(variables, topology, part) for part in parts)):
            if not clock.remaining:
                return None, bound
            model.addConstraint(row)
        status = run_cbc(model, clock.remaining, workers)
        # The plain status of PuLP is "Optimal" also for an incumbent at the time limit; this status is not.
        if status not in (pulp.LpSolutionOptimal, pulp.LpSolutionIntegerFeasible):
            return None, bound
        nodes = _read_back(variables)
        cost = pairwise_cost(topology, nodes)
        if len(nodes) != size or round(model.objective.value()) != 2 * cost:
            return None, bound
        parts = _parts(topology, nodes) if problem.contiguous else []
        proven = status == pulp.LpSolutionOptimal
        if len(parts) < 2:
            return nodes, None if proven else bound
        if not proven:
            return None, bound
        bound, rows = max(bound, cost), iter(())


def _read_back(variables: _Variables) -> list[int]:
    """Return the chosen nodes."""
    return [node for node, x in variables.chosen.items() if round(x.value() or 0)]
