"""The tree knapsack as a search: charges in order of importance, loads of links, and balanced numbers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from allocsolve.exact.placement import _kernels_knapsack as kernels
from allocsolve.model import Limit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allocsolve.model import BoolArray, Clock, IntArray, PlacementProblem, SwitchTree

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
