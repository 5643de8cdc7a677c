"""Proven optima of placement on switch trees: a knapsack whose parts are the switches."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from allocsolve.bounds.placement import placement_bound
from allocsolve.exact.placement._kernels_knapsack import take_nodes
from allocsolve.exact.placement._table_search import Stopped, TableSearch
from allocsolve.families import quick_answers
from allocsolve.model import Limit, Placement, Result, Status
from allocsolve.model.options import Options
from allocsolve.model.placement import PlacementObjective

if TYPE_CHECKING:
    from allocsolve.model import Budget, Clock, IntArray, PlacementProblem, SwitchTree


@dataclass(frozen=True, slots=True)
class TreeKnapsack(Options):
    """Prove an optimum of placement on a switch tree, for each constraint and each objective.

    Parameters
    ----------
    objective
        Terms of `PLACEMENT_OBJECTIVES` in order of importance.

    Notes
    -----
    *Model.* All terms are sums or maxima over links and switches of something that depends on the number s of
    chosen nodes below only: a link adds its weight times s (k - s) to the distance of all pairs. So only
    counts matter, and the least charges below a switch are a table by s. Tables of children are merged, each
    sum of two numbers having the least of its splits; then the charge of the switch itself is added.

    *Equal leaf switches below one switch* need no merging: filled by their free nodes, largest first, they
    have the least charge for every s, as these counts majorise all others and s (k - s) is concave, as is a
    charge for touching a switch. Charges for leftover nodes are the same at switches with equally many free
    nodes only, so just these are filled together.

    *Order of importance.* Each term is charged more than all that follow it can be, in words of 64 bits,
    which are compared word by word if one is too short. The bottleneck has a limit instead of a charge, the
    least with which the terms before it stay as they are, found by bisection over the loads that there can
    be. Loads are compared as doubles, as the judge does.

    *Constraints.* `within` is a choice between the highest switches of that level or below, as several roots
    are. Segments and balance keep multiples of a number only, balance one number after another.

    *Guarantee*: "optimal" and "infeasible" are proofs. If time or memory run out, a feasible answer, no worse
    than that of any registered heuristic, and the optima of the first terms, with the bound of
    `allocsolve.bounds.placement_bound` on the next one.
    *Complexity*: O(nodes * size) time, O(nodes * log nodes) memory, for each number that divides the size if
    balanced, and for each step of the bisection. 10,000 nodes take some milliseconds.
    *Certificate*: no proof is shorter than the tables, so the certificate names the bound of the first term,
    and the judge finds the optimum again by code of its own.

    References
    ----------
    Johnson & Niemi, "On knapsacks, partitions, and a new dynamic programming technique for trees",
    Mathematics of Operations Research 8(1), 1983, pp. 1-14.

    Examples
    --------
    >>> from allocsolve.model import Budget, PlacementProblem, SwitchTree
    >>> problem = PlacementProblem.of(SwitchTree.regular((2, 4)), busy=[1, 6], size=4)
    >>> result = TreeKnapsack()(problem, Budget())
    >>> str(result.status), result.objective, result.answer.nodes.tolist()
    ('optimal', 18, [0, 2, 3, 4])
    """

    objective: PlacementObjective = ("pairwise",)

    def __call__(self, problem: PlacementProblem, budget: Budget, /) -> Result[Placement]:
        """Fill the tables; of the budget the clock is used."""
        run = _Run(problem, self.objective, budget.start())
        limit = None
        try:
            limit = run.work()
            if limit is not None:
                run.take_quick(budget.seed)
        except KeyboardInterrupt:
            limit = Limit.INTERRUPTED
        return run.result(limit)


class _Run:
    """The best counts of one problem, and the leading terms that are proven."""

    def __init__(self, problem: PlacementProblem, objective: tuple[str, ...], clock: Clock) -> None:
        self._problem, self._objective, self._clock = problem, objective, clock
        self._search = TableSearch(problem, clock)
        self._is_feasible = True
        self._counts: IntArray | None = None
        #: How many of the first terms have their optimal values.
        self._proven = 0

    def work(self) -> Limit | None:
        """Find optimal counts, if there are any; return what ended the search before."""
        try:
            self._find_optimum()
        except Stopped as stop:
            return stop.limit
        return None

    def _find_optimum(self) -> None:
        terms, search = self._objective, self._search
        sums = terms[: terms.index("bottleneck")] if "bottleneck" in terms else terms
        # Where the bottleneck comes first, begin with a choice whose loads are low.
        choice = search.best(search.coefficients(sums or ("pairwise",)))
        if choice is None:
            self._is_feasible = False
            return
        self._counts, self._proven = choice.counts, len(sums)
        if sums == terms:
            return
        limit = self._least_limit(search.coefficients(sums), choice.charge if sums else (0,))
        self._proven += 1
        later = terms[self._proven :]
        if later:
            choice = search.best(search.coefficients(sums + later), limit)
            assert choice is not None, "the counts that have this limit are among the choices"
            self._counts, self._proven = choice.counts, len(terms)

    def _least_limit(self, coefficients: IntArray, charge: tuple[int, ...]) -> float:
        """Return the least limit of loads with which the charge does not rise; take counts that have both."""
        assert self._counts is not None
        tree, size = self._problem.tree, self._problem.size
        capacities = np.unique(tree.capacity[tree.parent >= 0])
        high = bottleneck(tree, self._counts, size)
        low = math.nextafter(placement_bound(self._problem, "bottleneck"), -math.inf)
        # First the limit just below what was met by chance: often there is nothing better.
        limit = below = load_below(size, capacities, high)
        while below > low:
            self._search.check_clock()
            choice = self._search.best(coefficients, limit)
            if choice is not None and choice.charge == charge:
                self._counts = choice.counts
                high = bottleneck(tree, choice.counts, size)
                below = load_below(size, capacities, high)
            else:
                low = limit
            limit = min(below, (max(low, 0.0) + high) / 2)
        return high

    def take_quick(self, seed: int) -> None:
        """Take the counts of the best heuristic that takes milliseconds, if they are better."""
        problem, objective = self._problem, self._objective
        for answer, values in quick_answers(problem, objective, self._clock, seed=seed):
            if self._counts is None or values < terms_of(problem, self._counts, objective):
                self._counts = np.bincount(
                    problem.tree.switch[answer.nodes], minlength=problem.tree.num_switches
                )

    def result(self, limit: Limit | None) -> Result[Placement]:
        """Return the best answer so far, and what is proven of it."""
        problem, clock = self._problem, self._clock
        if self._counts is None and self._is_feasible:
            choice = self._search.any_choice()
            if choice is None:
                self._is_feasible = False
            else:
                self._counts = choice.counts
        if self._counts is None:
            return Result(Status.INFEASIBLE, runtime=clock.elapsed)
        values = terms_of(problem, self._counts, self._objective)
        bounds: tuple[float, ...] = values[: self._proven]
        certificate = {"kind": "knapsack", "term": self._objective[0], "bound": values[0]}
        if bounds != values:
            bounds += (placement_bound(problem, self._objective[self._proven]),)
        is_optimal = bounds == values
        single = len(values) == 1
        nodes = np.empty(problem.size, dtype=np.int64)
        take_nodes(problem.tree.switch, problem.free, self._counts.copy(), nodes)
        return Result(
            Status.OPTIMAL if is_optimal else Status.FEASIBLE,
            Placement(nodes),
            values[0] if single else values,
            bounds[0] if single else bounds,
            None if is_optimal else limit,
            clock.elapsed,
            certificate=certificate if self._proven else None,
        )


def terms_of(problem: PlacementProblem, counts: IntArray, objective: tuple[str, ...]) -> tuple[float, ...]:
    """Return the values of the terms of an objective, from the chosen nodes of each leaf switch."""
    tree, size = problem.tree, problem.size
    below = chosen_below(tree, counts)
    touched = below > 0
    values: list[float] = []
    for term in objective:
        if term == "pairwise":
            half_hops = int((tree.weight * below * (size - below)).sum())
            values.append(half_hops // 2 + tree.node_weight * (size * (size - 1) // 2))
        elif term == "leftover":
            free = np.bincount(tree.switch[problem.free], minlength=tree.num_switches)
            values.append(int(free[counts > 0].sum()) - size)
        elif term == "bottleneck":
            values.append(bottleneck(tree, counts, size))
        else:
            level = int(term.partition("-")[2] or 1)
            values.append(int(np.count_nonzero(touched & (tree.level == level))))
    return tuple(values)


def chosen_below(tree: SwitchTree, counts: IntArray) -> IntArray:
    """Return how many chosen nodes are below each switch, from those of the leaf switches."""
    below = counts.copy()
    for level in range(1, tree.height):
        at = np.flatnonzero((tree.level == level) & (tree.parent >= 0) & (below > 0))
        np.add.at(below, tree.parent[at], below[at])
    return below


def bottleneck(tree: SwitchTree, counts: IntArray, size: int) -> float:
    """Return the largest load of a link."""
    below = chosen_below(tree, counts)
    links = np.flatnonzero((tree.parent >= 0) & (below > 0))
    loads = below[links] * (size - below[links]) / tree.capacity[links]
    return float(loads.max(initial=0.0))


def load_below(size: int, capacities: IntArray, load: float) -> float:
    """Return the largest load s (size - s) / capacity below this one, for any s and one of the capacities.

    Minus infinity if there is none: the least load is 0.
    """
    crossing = np.minimum(load * capacities, size**2 / 4)
    solution = np.floor((size - np.sqrt(np.maximum(size**2 - 4 * crossing, 0))) / 2).astype(np.int64)
    near = np.clip(solution[:, None] + np.arange(-2, 3), 0, size // 2)
    loads = near * (size - near) / capacities[:, None]
    return float(loads[loads < load].max(initial=-math.inf))
