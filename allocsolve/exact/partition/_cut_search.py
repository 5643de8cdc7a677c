"""The branch-and-bound search through one case of `_cut_model`, in slices."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from allocsolve.exact.partition._kernels_cuts import SCALE
from allocsolve.exact.partition._kernels_relaxation import OPEN, Node, new_work
from allocsolve.exact.partition._kernels_search import (
    ACTIVE,
    BEST,
    BOUND,
    DONE,
    FULL,
    MORE,
    ROOT,
    TOP,
    Search,
    search,
)
from allocsolve.exact.partition._kernels_star import stars
from allocsolve.heuristics.partition.lattice import lattice
from allocsolve.model import frozen

if TYPE_CHECKING:
    from collections.abc import Iterator

    from allocsolve.exact.partition._cut_model import Case
    from allocsolve.model import Clock, IntArray, Topology

__all__ = ["CutSearch"]

#: Seconds between two looks at the clock, about.
_SLICE = 0.02
#: Entries of the tables of the kernels at most.
_MAX_TABLE = 2**23
#: Nanoseconds that one evaluation may take: nothing stops it.
_MAX_EVALUATION = 5e8
#: Open nodes that there is room for to begin with; doubled when they are not enough.
_FIRST_ROOM = 32


class CutSearch:
    """The search through one case, whose distances are not below those of the problem."""

    def __init__(self, case: Case, linked: Topology | None) -> None:
        """Take a case, and the topology in which the set must be connected, if it must."""
        self._case, self._linked = case, linked
        model = case.model
        #: Ids of the cells, and the cell of each node.
        self._ids = case.origin[model.nodes]
        self._cell_of = np.full(len(case.free), -1, dtype=np.int64)
        self._cell_of[self._ids] = np.arange(len(self._ids))
        self._pace = 1e9 * _SLICE
        self._memory: Search | None = None
        self._pending = 0
        #: Multipliers of the nodes without a parent, by medians; the medians of the last one.
        self._roots: dict[tuple[int, ...], IntArray] = {}
        self._planted: tuple[int, ...] | None = None

    def fits(self) -> bool:
        """Whether the tables are not too large, and one evaluation does not take too long."""
        model, k = self._case.model, self._case.model.size
        work = 0.0
        for side in model.sides:
            choices = min(k, len(model.nodes) / side)
            work += side * choices * k
        return sum(model.lengths) * (k + 1) <= _MAX_TABLE and work <= _MAX_EVALUATION

    def prepare(self, clock: Clock) -> bool:
        """Bound the subproblems, one for each choice of medians, by stars; False if the time is up."""
        model, case = self._case.model, self._case
        arrays = lattice(case.topology)
        totals = np.zeros(len(case.free), dtype=np.int64)
        step = max(1, 100_000 // len(totals))
        axes = zip(case.topology.shape, case.topology.wrap, strict=True)
        reach = np.zeros(len(case.topology.shape), dtype=np.int64)
        for begin in range(0, len(totals), step):
            if not clock.remaining:
                return False
            end = min(begin + step, len(totals))
            stars(arrays, case.free, model.size, reach, begin, end, totals)
        grid = totals.reshape(case.topology.shape, order="F").transpose(model.axes)
        if not any(model.rings):
            grid = grid.min(axis=0, keepdims=True)  # the main axis of a mesh is not divided up by medians
        self._grid = grid.shape
        # s(k - s) >= ceil(k/2) s for s < k/2; on rings no D(v) is below the star of the medians
        k = model.size
        self._stars = np.ascontiguousarray(
            -(-k * grid // 2) if any(model.rings) else (k + 1) // 2 * grid
        ).ravel()
        self._order = np.argsort(self._stars, kind="stable")
        self._pending = int(self._stars[self._order[0]])
        return True

    def run(self, value: int, nodes: IntArray) -> Iterator[tuple[int, IntArray]]:
        """Search for sets below `value`, that of `nodes`; yield the best value and its nodes now and then."""
        self._allocate(value, nodes)
        assert self._memory is not None
        state = self._memory.state
        for n, i in enumerate(self._order):
            self._pending = int(self._stars[i])
            if self._pending >= state[BEST]:
                break
            medians = tuple(int(m) for m in np.unravel_index(i, self._grid))
            self._plant(medians, self._pending, first=n == 0)
            last = n + 1 == len(self._order)
            self._pending = int(state[BEST] if last else self._stars[self._order[n + 1]])
            yield from self._slices(medians)
            self._record_root()
        self._pending = int(state[BEST])

    def set_best(self, value: int) -> None:
        """Note that the best set has this value in the problem: no more than in this case."""
        assert self._memory is not None
        self._memory.state[BEST] = value

    def bound(self) -> int:
        """Return a bound on the sets of this case that are better than the best."""
        if self._memory is None:
            return self._pending
        state, parity = self._memory.state, self._case.model.parity
        bounds = self._memory.bounds[: state[TOP]].tolist()
        if state[ACTIVE]:
            bounds.append(int(state[BOUND]))
        hops = [-(-int(bound) // (SCALE * parity)) * parity for bound in bounds]
        return min(int(state[BEST]), self._pending, *hops)

    def certificate(self) -> dict[str, object] | None:
        """Return the multipliers of the nodes without a parent, as the judge takes them; None with rings.

        See `allocsolve.judge.partition_certificate_bound`.
        """
        model = self._case.model
        if self._memory is None or self._case.on_rings:
            return None
        self._record_root()
        ends = np.cumsum(model.lengths)
        roots = [
            {
                "medians": list(medians[1:]),
                "multipliers": [part.tolist() for part in np.split(multipliers, ends[:-1])[1:]],
            }
            for medians, multipliers in self._roots.items()
        ]
        return {"axes": list(model.axes), "scale": SCALE, "roots": roots}

    def _record_root(self) -> None:
        """Record the multipliers of a node without a parent: the best if it was split, else the last ones."""
        memory = self._memory
        if self._planted is not None and memory is not None:
            undivided = bool(memory.state[ROOT])
            multipliers = memory.node.multipliers if undivided else memory.root_multipliers
            self._roots[self._planted] = multipliers.copy()
            self._planted = None

    def _allocate(self, value: int, nodes: IntArray) -> None:
        model = self._case.model
        positions, cells = sum(model.lengths), len(self._ids)
        self._work = new_work(cells, model.sides, model.size)
        self._links = self._cell_links()

        def ints() -> IntArray:
            return np.zeros(positions, dtype=np.int64)

        self._memory = Search(
            state=np.zeros(10, dtype=np.int64),
            node=_nodes(positions, cells),
            stack=_nodes(positions, cells, _FIRST_ROOM),
            bounds=np.zeros(_FIRST_ROOM, dtype=np.int64),
            multipliers=ints(),
            root_multipliers=ints(),
            mean_counts=np.zeros(positions),
            mean_values=np.zeros(positions),
            direction=np.zeros(positions),
            pace=np.ones(1),
            cells=self._cell_of[nodes],
        )
        self._memory.state[BEST] = value

    def _cell_links(self) -> tuple[IntArray, IntArray]:
        """Return the neighbours of each cell among the cells; none if the set need not be connected."""
        cells = len(self._ids)
        if self._linked is None:
            return frozen(np.zeros(cells + 1, dtype=np.int64)), frozen(np.zeros(0, dtype=np.int64))
        arrays = lattice(self._linked)
        owners = self._cell_of[np.repeat(np.arange(len(self._cell_of)), np.diff(arrays.offsets))]
        others = self._cell_of[arrays.neighbours]
        pairs = np.stack([owners, others], axis=1)[(owners >= 0) & (others >= 0)]
        pairs = pairs[np.argsort(pairs[:, 0], kind="stable")]
        offsets = np.searchsorted(pairs[:, 0], np.arange(cells + 1)).astype(np.int64)
        return frozen(offsets), frozen(np.ascontiguousarray(pairs[:, 1]))

    def _plant(self, medians: tuple[int, ...], bound: int, *, first: bool) -> None:
        """Put the node without a parent for these medians on the empty stack."""
        model, memory = self._case.model, self._memory
        assert memory is not None
        fixed = self._fixed_medians(medians)
        low, high = model.intervals(fixed)
        if any(model.rings):
            self._narrow(medians, low, high)
        memory.stack.low[0], memory.stack.high[0] = low, high
        memory.stack.multipliers[0] = model.multipliers(fixed, SCALE)
        if not first:  # what was learned on rings holds for other medians too: they are unrolled at them
            np.copyto(memory.stack.multipliers[0], memory.root_multipliers, where=model.on_ring)
        memory.stack.status[0] = OPEN
        memory.bounds[0] = bound * SCALE
        memory.state[[TOP, ACTIVE, ROOT]] = 1, 0, 1
        self._planted = medians

    def _narrow(self, medians: tuple[int, ...], low: IntArray, high: IntArray) -> None:
        """Narrow the windows of rings to counts with which the star of the medians is short enough.

        The cost of a set is at least k / 2 times its star.
        """
        model, memory = self._case.model, self._memory
        k = model.size
        longest = 2 * (int(memory.state[BEST]) - model.parity) // k
        walks = model.walks(medians)
        away = np.zeros(len(model.nodes), dtype=np.int64)
        for t, (side, ring, m) in enumerate(zip(model.sides, model.rings, medians, strict=True)):
            along = np.abs(model.layers[:, t] - m)
            away += np.minimum(along, side - along) if ring else along
        order = np.argsort(away, kind="stable")
        away = away[order]
        for t, (side, ring) in enumerate(zip(model.sides, model.rings, strict=True)):
            if not ring:
                continue
            layer = walks.layer_of[order, t] - walks.layers[t]
            for r in range(side + 1):
                inside = (layer >= r // 2) & (layer < side // 2 + (r + 1) // 2)
                within = np.concatenate([[0], np.cumsum(away[inside])])[: k + 1]
                beyond = np.concatenate([[0], np.cumsum(away[~inside])])[: k + 1]
                fewest, most = max(0, k + 1 - len(beyond)), min(k, len(within) - 1)
                counts = np.arange(fewest, most + 1)
                possible = counts[within[counts] + beyond[k - counts] <= longest]
                p = walks.positions[t] + r
                if len(possible):
                    low[p] = max(low[p], possible[0])
                    high[p] = min(high[p], possible[-1])
                else:
                    high[p] = low[p] - 1

    def _fixed_medians(self, medians: tuple[int, ...]) -> tuple[int | None, ...]:
        return medians if any(self._case.model.rings) else (None, *medians[1:])

    def _slices(self, medians: tuple[int, ...]) -> Iterator[tuple[int, IntArray]]:
        """Search the open nodes."""
        model = self._case.model
        walks = model.walks(medians)
        outcome = MORE
        while outcome != DONE:
            memory = self._memory
            assert memory is not None
            before = time.perf_counter()
            outcome = search(
                walks, memory, self._work, model.size, model.parity, self._links, int(self._pace)
            )
            if outcome == FULL:
                self._make_room()
            elif outcome == MORE:
                took = time.perf_counter() - before
                self._pace = max(1e3, self._pace * min(2.0, max(0.2, _SLICE / (took + 1e-9))))
            yield int(memory.state[BEST]), self._ids[memory.cells]

    def _make_room(self) -> None:
        memory = self._memory
        assert memory is not None
        stack = Node(*(np.concatenate([array, np.zeros_like(array)]) for array in memory.stack))
        bounds = np.concatenate([memory.bounds, np.zeros_like(memory.bounds)])
        self._memory = memory._replace(stack=stack, bounds=bounds)


def _reach(side: int) -> int:
    """Return how far from any layer a wide set reaches on a ring: it meets the layers farthest from it.

    Some side // 2 + 1 successive layers would hold it otherwise.
    """
    return sorted(min(layer, side - layer) for layer in range(side))[side // 2 + 1]


def _nodes(positions: int, cells: int, rows: int | None = None) -> Node:
    head = () if rows is None else (rows,)
    return Node(
        low=np.zeros((*head, positions), dtype=np.int64),
        high=np.zeros((*head, positions), dtype=np.int64),
        multipliers=np.zeros((*head, positions), dtype=np.int64),
        status=np.zeros((*head, cells), dtype=np.int8),
    )
