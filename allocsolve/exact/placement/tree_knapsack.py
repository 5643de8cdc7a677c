"""Proven optima of placement on switch trees: a knapsack whose parts are the switches."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from allocsolve.bounds.placement import placement_bound
from allocsolve.exact.placement import _kernels_knapsack as kernels
from allocsolve.exact.placement._kernels_knapsack import take_nodes
from allocsolve.families import quick_answers
from allocsolve.model import Limit, Placement, Result, Status
from allocsolve.model.options import Options
from allocsolve.model.placement import PlacementObjective, domains_level

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allocsolve.model import BoolArray, Budget, Clock, IntArray, PlacementProblem, SwitchTree

#: Charges of a word stay below this, so that none is taken for what is not allowed.
_MAX_WORD: Final = 2**60
#: Entries of 64 bits that all tables may have together: 1 GB.
_MAX_MEMORY: Final = 2**27
#: Steps of the kernel between two looks at the clock: some 20 ms.
_STEPS: Final = 2**25

#: What the column of a term of the objective is called in the coefficients; the bottleneck has none.
COLUMNS: Final = {
    "pairwise": kernels.HALF_HOP,
    "domains": 1,
    "domains-2": 2,
    "domains-3": 3,
    "leftover": kernels.LEFTOVER,
}


class Stopped(Exception):  # noqa: N818 - no error: it ends a search
    """The budget has run out, or the tables are too large."""

    def __init__(self, limit: Limit) -> None:
        super().__init__(limit)
        self.limit = limit


class Choice(NamedTuple):
    """The best choice of nodes."""

    charge: tuple[int, ...]  #: word by word
    counts: IntArray  #: chosen nodes of each leaf switch; shape (switches,)


class TableSearch:
    """The tree of a problem, ready to be searched with any charges."""

    def __init__(self, problem: PlacementProblem, clock: Clock) -> None:
        tree = problem.tree
        self._problem, self._clock = problem, clock
        self._free = np.bincount(tree.switch[problem.free], minlength=tree.num_switches)
        self._is_top = highest_within(tree, problem.within) if problem.within else tree.parent < 0
        # Of all switches, sorted by their parents.
        self._begins = np.cumsum(np.bincount(tree.parent + 1, minlength=tree.num_switches + 1))
        self._touched = self._touched_above()

    def _touched_above(self) -> IntArray:
        """Return how many switches of levels 1, 2 and 3 are above each switch; shape (switches, columns)."""
        tree = self._problem.tree
        touched = np.zeros((tree.num_switches, kernels.NUM_COEFFICIENTS), dtype=np.int64)
        at = np.flatnonzero(self._is_top)
        above = tree.parent[at]
        while len(at := at[above >= 0]):
            above = above[above >= 0]
            low = tree.level[above] <= 3
            touched[at[low], tree.level[above[low]]] += 1
            above = tree.parent[above]
        return touched

    def coefficients(self, terms: Sequence[str]) -> IntArray:
        """Return coefficients with which a charge is the less the better, whatever comes later in `terms`.

        Each term is worth more than all that follow it can be; terms that do not fit into 64 bits together
        are in several words. Shape (words, columns).
        """
        greatest = self._greatest()
        rows, worth = [np.zeros(kernels.NUM_COEFFICIENTS, dtype=np.int64)], 1
        for term in reversed(terms):
            if term not in greatest:
                domains_level(term)  # refuses it
            if worth * (greatest[term] + 1) > _MAX_WORD:
                rows.append(np.zeros(kernels.NUM_COEFFICIENTS, dtype=np.int64))
                worth = 1
            rows[-1][COLUMNS[term]] = worth
            worth *= greatest[term] + 1
        return np.array(rows[::-1])

    def _greatest(self) -> dict[str, int]:
        """Return what no choice exceeds, by term; pairwise distance is in half hops between leaf switches."""
        tree, size = self._problem.tree, self._problem.size
        at = np.flatnonzero(self._free)
        way = np.zeros(len(at), dtype=np.int64)
        while (at >= 0).any():
            way += np.where(at >= 0, tree.weight[at], 0)
            at = np.where(at >= 0, tree.parent[at], -1)
        domains = min(size, int(np.count_nonzero(self._free)))
        return {
            "pairwise": int(way.max()) * size * (size - 1),
            **dict.fromkeys(("domains", "domains-2", "domains-3"), domains),
            "leftover": int(self._free.sum()),
        }

    def best(self, coefficients: IntArray, limit: float = math.inf) -> Choice | None:
        """Return the choice of least charge of all with loads of at most `limit`; None if there is none."""
        charges = kernels.Charges(self._problem.size, limit, coefficients)
        best: Choice | None = None
        for unit in self._balanced_numbers():
            choice = self._best_of_unit(charges, unit)
            if choice is not None and (best is None or choice.charge < best.charge):
                best = choice
        return best

    def any_choice(self) -> Choice | None:
        """Return some choice, if there is one: loads and charges do not count."""
        charges = kernels.Charges(
            self._problem.size, math.inf, np.zeros((0, kernels.NUM_COEFFICIENTS), dtype=np.int64)
        )
        for unit in self._balanced_numbers():
            switches, tables, _ = self._laid_out(charges, unit)
            for top in np.flatnonzero(self._is_top & (tables.root >= 0)):
                memory = np.zeros((0, 0), dtype=np.int64)
                return Choice((), self._read(switches, tables, memory, int(top)))
        return None

    def _balanced_numbers(self) -> list[int]:
        """Return the numbers of nodes, one of which each touched leaf switch has; 1 if they may have any."""
        if not self._problem.balanced:
            return [1]
        most = min(self._problem.size, int(self._free.max()))
        numbers = np.arange(1, most + 1)
        divisors: list[int] = numbers[self._problem.size % numbers == 0].tolist()
        return divisors

    def _best_of_unit(self, charges: kernels.Charges, unit: int) -> Choice | None:
        switches, tables, count = self._laid_out(charges, unit)
        tops = np.flatnonzero(self._is_top & (tables.root >= 0))
        if not len(tops):
            return None
        words = len(charges.coefficients)
        length = int(tables.offset[count])
        if words * length > _MAX_MEMORY:
            raise Stopped(Limit.SIZE)
        memory = np.empty((words, length), dtype=np.int64)
        state = np.array([0, 0, count], dtype=np.int64)
        while True:
            kernels.fill(switches, tables, charges, memory, state, _STEPS)
            if state[0] == count:
                break
            self.check_clock()
        touched = self._touched[tops] @ charges.coefficients.T
        values = memory[:, tables.offset[tables.root[tops]]].T + touched
        order = np.lexsort(values.T[::-1])
        first = int(order[0])
        if memory[0, tables.offset[tables.root[tops[first]]]] >= kernels.NEVER:
            return None
        counts = self._read(switches, tables, memory, int(tops[first]))
        return Choice(tuple(values[first].tolist()), counts)

    def check_clock(self) -> None:
        """End the search if there is no time left."""
        if not self._clock.remaining:
            raise Stopped(Limit.TIME)

    def _laid_out(self, charges: kernels.Charges, unit: int) -> tuple[kernels.Switches, kernels.Tables, int]:
        """Return the switches, the tables without their entries, and how many tables there are."""
        tree, problem = self._problem.tree, self._problem
        num = tree.num_switches
        factor, units = np.ones(num, dtype=np.int64), np.full(num, unit)
        if problem.segment:
            highest = highest_within(tree, problem.segment_level)
            factor[highest] = problem.segment // math.gcd(problem.segment, unit)
            units[highest | (tree.level > problem.segment_level)] *= factor.max()
        switches = kernels.Switches(
            tree.parent,
            tree.level,
            tree.weight,
            tree.capacity,
            tree.top_down,
            np.empty(0, dtype=np.int64),
            self._begins,
            self._free,
            units,
            factor,
            self._is_top,
            np.zeros(num, dtype=np.int64),
            np.ones(num, dtype=np.bool_),
        )
        kernels.bound_units(switches, charges, unit, problem.balanced)
        by_free = bool(charges.coefficients[:, kernels.LEFTOVER].any())
        amount = self._free if by_free else switches.most
        likeness = ((tree.parent + 1) * 2**11 + tree.weight) * 2**21 + (2**20 - amount)
        switches = switches._replace(order=np.argsort(likeness, kind="stable"))
        tables = kernels.Tables(*(np.empty(3 * num + 1, dtype=np.int64) for _ in kernels.Tables._fields))
        tables = tables._replace(root=np.full(num, -1))
        queue, is_used = np.empty(num, dtype=np.int64), np.zeros(num, dtype=np.bool_)
        count = kernels.lay_out(switches, tables, queue, is_used, problem.size, by_free)
        return switches, tables, count

    def _read(
        self, switches: kernels.Switches, tables: kernels.Tables, memory: IntArray, top: int
    ) -> IntArray:
        table = int(tables.root[top])
        units = np.full(table + 1, -1)
        units[table] = self._problem.size // int(switches.unit[top])
        counts = np.zeros(len(switches.parent), dtype=np.int64)
        kernels.read_back(switches, tables, memory, table, units, counts)
        return counts


def highest_within(tree: SwitchTree, level: int) -> BoolArray:
    """Return which switches are not above a level and have no such switch above them."""
    above = np.where(tree.parent < 0, level + 1, tree.level[tree.parent])
    highest: BoolArray = (tree.level <= level) & (above > level)
    return highest


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
            level = domains_level(term)
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
