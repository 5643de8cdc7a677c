"""Placement on switch trees by CP-SAT: how many nodes are chosen below each switch.

Four steps: variables, constraints, objective, read-back. With s_v of the k chosen nodes below switch v, its
link adds weight times s_v (k - s_v) to the sum of all distances, in half hops, and its load is s_v (k - s_v)
divided by its capacity; both are looked up in tables by s_v. Terms are minimised one after another, each
keeping the values of those before it. The bottleneck is minimised as a rank among all loads that there can
be, so that no fraction is rounded.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, NamedTuple

import numpy as np

from allocsolve.bounds.placement import placement_bound
from allocsolve.model import Limit, Placement, Result, Status
from allocsolve.model.options import Options, Within
from allocsolve.model.placement import PlacementObjective, domains_level

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ortools.sat.python import cp_model

    from allocsolve.backends.cpsat import Outcome
    from allocsolve.model import Budget, Clock, IntArray, PlacementProblem


@dataclass(frozen=True, slots=True)
class PlacementCpSat(Options):
    """Find a placement of least value by CP-SAT, with a proof.

    Parameters
    ----------
    objective
        Terms of `PLACEMENT_OBJECTIVES` in order of importance.
    max_nodes
        Most free nodes. Larger problems get the bound of `allocsolve.bounds.placement_bound` and no answer
        (limit ``size``).

    Notes
    -----
    *Guarantee*: ``optimal`` and ``infeasible`` are proofs; the bound holds at any time.
    *Complexity*: exponential. Seconds for some tens of racks; `TreeKnapsack` takes milliseconds for
    thousands, and shares nothing with this one, which is there to check it.
    """

    objective: PlacementObjective = ("pairwise",)
    max_nodes: Annotated[int, Within(0)] = 2048

    def __call__(self, problem: PlacementProblem, budget: Budget, /) -> Result[Placement]:
        """Solve within the budget; workers are CP-SAT's threads."""
        clock = budget.start()
        search = _Search(problem, self.objective, budget, clock)
        if np.count_nonzero(problem.free) > self.max_nodes:
            search.limit = Limit.SIZE
        else:
            try:
                search.minimise()
            except KeyboardInterrupt:
                search.limit = Limit.INTERRUPTED
        return search.result()


# ---- Variables ------------------------------------------------------------------------------------------


class _Variables(NamedTuple):
    """By switch; only switches with free nodes below them have any."""

    counts: dict[int, cp_model.IntVar]  #: s, chosen nodes below a switch
    touched: dict[int, cp_model.IntVar]  #: b, whether there are any
    tops: dict[int, cp_model.IntVar]  #: t, whether all nodes are below this one, of those that may hold all


def _variables(model: cp_model.CpModel, problem: PlacementProblem) -> _Variables:
    tree, size = problem.tree, problem.size
    most = {v: min(n, size) for v, n in enumerate(tree.nodes_below(problem.free).tolist()) if n}
    tops = _highest_within(problem, problem.within) if problem.within else np.flatnonzero(tree.parent < 0)
    return _Variables(
        {v: model.new_int_var(0, n, f"s_{v}") for v, n in most.items()},
        {v: model.new_bool_var(f"b_{v}") for v in most},
        {v: model.new_bool_var(f"t_{v}") for v in tops.tolist() if v in most},
    )


def _highest_within(problem: PlacementProblem, level: int) -> IntArray:
    """Return the switches of at most a level that have none such above them."""
    tree = problem.tree
    low = tree.level <= level
    return np.flatnonzero(low & ~((tree.parent >= 0) & low[tree.parent]))


# ---- Constraints ----------------------------------------------------------------------------------------


def _sums(model: cp_model.CpModel, problem: PlacementProblem, variables: _Variables) -> None:
    """s_v = sum of s_w over the children w of v."""
    tree = problem.tree
    children: dict[int, list[cp_model.IntVar]] = {v: [] for v in variables.counts if tree.level[v] > 1}
    for v, count in variables.counts.items():
        if tree.parent[v] >= 0:
            children[int(tree.parent[v])].append(count)
    for v, counts in children.items():
        model.add(variables.counts[v] == _sum(counts))


def _touched(model: cp_model.CpModel, problem: PlacementProblem, variables: _Variables) -> None:
    """b_v = 1 if s_v > 0, else 0."""
    for v, count in variables.counts.items():
        model.add(count >= variables.touched[v])
        model.add(count <= problem.size * variables.touched[v])


def _one_top(model: cp_model.CpModel, problem: PlacementProblem, variables: _Variables) -> None:
    """s_v = k t_v for the switches that may hold all nodes, sum of t = 1."""
    model.add_exactly_one(variables.tops.values())
    for v, top in variables.tops.items():
        model.add(variables.counts[v] == problem.size * top)


def _segments(model: cp_model.CpModel, problem: PlacementProblem, variables: _Variables) -> None:
    """s_v is a multiple of the segment below each highest switch that is not above the level."""
    if problem.segment:
        for v in _highest_within(problem, problem.segment_level).tolist():
            if v in variables.counts:
                segments = model.new_int_var(0, problem.size // problem.segment, f"g_{v}")
                model.add(variables.counts[v] == problem.segment * segments)


def _balance(model: cp_model.CpModel, problem: PlacementProblem, variables: _Variables) -> None:
    """s_v = q at the touched switches of level 1."""
    if problem.balanced:
        number = model.new_int_var(1, problem.size, "q")
        for v, count in variables.counts.items():
            if problem.tree.level[v] == 1:
                model.add(count == number).only_enforce_if(variables.touched[v])


def _sum(terms: Iterable[cp_model.LinearExprT]) -> cp_model.LinearExpr:
    from ortools.sat.python import cp_model  # noqa: PLC0415 - heavy, and other solvers do without

    return cp_model.LinearExpr.sum(list(terms))


# ---- Objective ------------------------------------------------------------------------------------------


class _Term(NamedTuple):
    """A term as CP-SAT minimises it, and what such a number means."""

    expression: cp_model.LinearExpr
    value: Callable[[int], float]


def _term(model: cp_model.CpModel, problem: PlacementProblem, variables: _Variables, name: str) -> _Term:
    tree, size = problem.tree, problem.size
    if name == "pairwise":
        own = tree.node_weight * (size * (size - 1) // 2)
        return _Term(_half_hops(model, problem, variables), lambda halves: -(-halves // 2) + own)
    if name == "leftover":
        free = np.bincount(tree.switch[problem.free], minlength=tree.num_switches).tolist()
        room = _sum(free[v] * touched for v, touched in variables.touched.items() if tree.level[v] == 1)
        return _Term(room, lambda nodes: nodes - size)
    if name == "bottleneck":
        return _bottleneck(model, problem, variables)
    level = domains_level(name)
    return _Term(_sum(b for v, b in variables.touched.items() if tree.level[v] == level), int)


def _half_hops(
    model: cp_model.CpModel, problem: PlacementProblem, variables: _Variables
) -> cp_model.LinearExpr:
    """Return the sum of weight * s_v (k - s_v), each product looked up by s_v."""
    tree, size = problem.tree, problem.size
    crossings = []
    for v, count in variables.counts.items():
        if tree.parent[v] >= 0 and tree.weight[v]:
            crossing = model.new_int_var(0, size * size // 4, f"x_{v}")
            model.add_element(count, [s * (size - s) for s in range(size + 1)], crossing)
            crossings.append(int(tree.weight[v]) * crossing)
    return _sum(crossings)


def _bottleneck(model: cp_model.CpModel, problem: PlacementProblem, variables: _Variables) -> _Term:
    """Return the greatest rank of a load, among all that links can have."""
    tree, chosen = problem.tree, np.arange(problem.size + 1)
    links = [v for v in variables.counts if tree.parent[v] >= 0]
    tables = {v: chosen * (problem.size - chosen) / tree.capacity[v] for v in links}
    loads = np.unique(np.concatenate([[0.0], *tables.values()]))
    ranks = []
    for v, table in tables.items():
        ranks.append(model.new_int_var(0, len(loads) - 1, f"l_{v}"))
        model.add_element(variables.counts[v], np.searchsorted(loads, table).tolist(), ranks[-1])
    greatest = model.new_int_var(0, len(loads) - 1, "load")
    # Equal, not only at least: its value is read also where a term before it was not proven.
    model.add_max_equality(greatest, [0, *ranks])
    return _Term(greatest, lambda rank: float(loads[rank]))


# ---- Solving and read-back ------------------------------------------------------------------------------


class _Search:
    """The state of a solve: the last answer, and the terms that are proven."""

    def __init__(
        self, problem: PlacementProblem, objective: tuple[str, ...], budget: Budget, clock: Clock
    ) -> None:
        self.problem, self.objective, self.budget, self.clock = problem, objective, budget, clock
        self.counts: dict[int, int] | None = None  #: chosen nodes of each switch of level 1
        self.values: tuple[float, ...] = ()
        self.proven = 0  #: how many of the first terms have their optimal values
        self.open_bound = 0.0  #: on the first term that is not proven
        self.infeasible = False
        self.limit: Limit | None = None

    def minimise(self) -> None:
        """Minimise the terms in their order, each without raising those before it."""
        from ortools.sat.python import cp_model  # noqa: PLC0415 - heavy, and other solvers do without

        problem, model = self.problem, cp_model.CpModel()
        variables = _variables(model, problem)
        _sums(model, problem, variables)
        _touched(model, problem, variables)
        _one_top(model, problem, variables)
        _segments(model, problem, variables)
        _balance(model, problem, variables)
        terms = [_term(model, problem, variables, name) for name in self.objective]
        for term in terms:
            if not self.clock.remaining:
                return
            outcome, least = self._run(model, variables, terms, term)
            if outcome.interrupted:
                self.limit = Limit.INTERRUPTED
            if outcome.infeasible:
                self.infeasible = True
                return
            if not outcome.optimal:
                self.open_bound = term.value(math.ceil(outcome.bound - 1e-6))
                return
            self.proven += 1
            model.add(term.expression == least)

    def _run(
        self, model: cp_model.CpModel, variables: _Variables, terms: list[_Term], term: _Term
    ) -> tuple[Outcome, int]:
        """Return how a run for one term ended, and its last value."""
        from allocsolve.backends.cpsat import run_cpsat  # noqa: PLC0415 - imports ortools

        least = 0
        level = self.problem.tree.level

        def take(value: Callable[[cp_model.LinearExpr], int]) -> bool:
            nonlocal least
            self.counts = {v: value(count) for v, count in variables.counts.items() if level[v] == 1}
            self.values = tuple(each.value(value(each.expression)) for each in terms)
            least = value(term.expression)
            return True

        model.minimize(term.expression)
        return run_cpsat(model, self.budget, self.clock, take, linear=True), least

    def result(self) -> Result[Placement]:
        """Return the last answer and what is proven of it."""
        runtime, several = self.clock.elapsed, len(self.objective) > 1
        if self.infeasible:
            return Result(Status.INFEASIBLE, runtime=runtime)
        bounds = self.values[: self.proven]
        if self.proven < len(self.objective):
            known = placement_bound(self.problem, self.objective[self.proven])
            bounds += (max(known, self.open_bound),)
        bound = bounds if several else bounds[0]
        limit = self.limit or Limit.TIME
        if self.counts is None:
            return Result(Status.UNKNOWN, bound=bound, limit=limit, runtime=runtime)
        is_optimal = bounds == self.values
        return Result(
            Status.OPTIMAL if is_optimal else Status.FEASIBLE,
            Placement(self._nodes()),
            self.values if several else self.values[0],
            bound,
            None if is_optimal else limit,
            runtime,
        )

    def _nodes(self) -> IntArray:
        """Return the first free nodes of each switch, as many as are chosen there."""
        assert self.counts is not None
        free = np.flatnonzero(self.problem.free)
        own = self.problem.tree.switch[free]
        taken = [free[own == v][:count] for v, count in self.counts.items() if count]
        return np.sort(np.concatenate(taken))
