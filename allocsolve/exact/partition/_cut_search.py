"""The branch-and-bound search over the counts of `_cut_model`, in slices."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from allocsolve.exact.partition._cut_model import cut_model, with_line
from allocsolve.exact.partition._kernels_cuts import SCALE
from allocsolve.exact.partition._kernels_log import CELL, KEPT, ON, REACH, STEPS, new_log
from allocsolve.exact.partition._kernels_relaxation import OPEN, Node, new_work
from allocsolve.exact.partition._kernels_search import DONE, FULL, MORE, search
from allocsolve.exact.partition._kernels_star import stars
from allocsolve.exact.partition._kernels_state import ACTIVE, BEST, BOUND, ROOT, TOP, Search
from allocsolve.heuristics.partition.lattice import lattice
from allocsolve.model import frozen

if TYPE_CHECKING:
    from collections.abc import Iterator

    from allocsolve.model import BoolArray, Clock, IntArray, PartitionProblem

__all__ = ["CutSearch"]

#: Seconds between two looks at the clock, about.
_SLICE = 0.02
#: Entries of the tables of the kernels at most.
_MAX_TABLE = 2**23
#: Nanoseconds that one evaluation may take: nothing stops it.
_MAX_EVALUATION = 5e8
#: Open nodes that there is room for to begin with; doubled when they are not enough.
_FIRST_ROOM = 32
#: Multipliers that the log holds at most, 8 bytes each; a search that needs more leaves no tree.
_MAX_LOG = 2**22


class CutSearch:
    """The search for the best set of one problem."""

    def __init__(self, problem: PartitionProblem, free: BoolArray) -> None:
        """Take a problem, and the free nodes that its answers may use."""
        self._topology, self._free = with_line(problem.topology), free
        self._contiguous = problem.contiguous
        self._model = model = cut_model(self._topology, free, problem.size)
        self._axes = [axis for axis in model.axes if axis < len(problem.topology.shape)]
        #: The cell of each node.
        self._cell_of = np.full(len(free), -1, dtype=np.int64)
        self._cell_of[model.nodes] = np.arange(len(model.nodes))
        self._pace = 1e9 * _SLICE
        self._memory: Search | None = None
        self._pending = 0
        #: Multipliers of the nodes without a parent, by medians; the medians of the last one.
        self._roots: dict[tuple[int, ...], IntArray] = {}
        self._planted: tuple[int, ...] | None = None
        #: Steps and multipliers of the trees that are done, by medians; how many multipliers they hold.
        self._trees: dict[tuple[int, ...], tuple[IntArray, IntArray]] = {}
        self._logged = 0
        self._complete = False

    def fits(self) -> bool:
        """Whether the tables are not too large, and one evaluation does not take too long."""
        model, k = self._model, self._model.size
        work = 0.0
        for side in model.sides:
            choices = min(k, len(model.nodes) / side)
            work += side * choices * k
        return sum(model.lengths) * (k + 1) <= _MAX_TABLE and work <= _MAX_EVALUATION

    def prepare(self, clock: Clock) -> bool:
        """Bound the subproblems, one for each choice of medians, by stars; False if the time is up."""
        model = self._model
        arrays = lattice(self._topology)
        totals = np.zeros(len(self._free), dtype=np.int64)
        step = max(1, 100_000 // len(totals))
        for begin in range(0, len(totals), step):
            if not clock.remaining:
                return False
            end = min(begin + step, len(totals))
            stars(arrays, self._free, model.size, begin, end, totals)
        grid = totals.reshape(self._topology.shape, order="F").transpose(model.axes)
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
            self._record_tree(medians)
        self._pending = int(state[BEST])
        self._complete = True

    def bound(self) -> int:
        """Return a bound on all sets."""
        if self._memory is None:
            return self._pending
        state, parity = self._memory.state, self._model.parity
        bounds = self._memory.bounds[: state[TOP]].tolist()
        if state[ACTIVE]:
            bounds.append(int(state[BOUND]))
        hops = [-(-int(bound) // (SCALE * parity)) * parity for bound in bounds]
        return min(int(state[BEST]), self._pending, *hops)

    def certificate(self) -> dict[str, object] | None:
        """Return what the judge takes as a proof: the trees of a search that came to its end.

        Else, or if the trees are too large, the multipliers of the nodes without a parent.
        See `allocsolve.judge.partition_certificate.partition_certificate_bound`.
        """
        size, memory = self._model.size, self._memory
        if memory is None:
            return None
        best = int(memory.state[BEST])
        if best <= size * (size - 1) // 2:
            self._trees.clear()  # nothing to prove: no two nodes are closer than one hop
        elif not (self._complete and memory.log.state[ON]):
            return self._multipliers()
        return self._proof(best)

    def _multipliers(self) -> dict[str, object]:
        """Return the multipliers of the nodes without a parent."""
        self._record_root()
        ends = np.cumsum(self._model.lengths)
        roots = [
            {
                "medians": self._listed(medians),
                "multipliers": [part.tolist() for part in np.split(multipliers, ends[:-1])[1:]],
            }
            for medians, multipliers in self._roots.items()
        ]
        return {"axes": self._axes, "scale": SCALE, "roots": roots}

    def _listed(self, medians: tuple[int, ...]) -> list[int]:
        """Return the medians of the axes that have one, without the line that was added to rings."""
        listed = [m for m, axis in zip(medians, self._model.axes, strict=True) if axis in self._axes]
        return listed if any(self._model.rings) else listed[1:]

    def _proof(self, value: int) -> dict[str, object]:
        """Return the trees: together they prove that no set is below `value`."""
        model = self._model
        roots = []
        for medians, (logged, multipliers) in self._trees.items():
            steps = logged.copy()
            of_cell = np.isin(steps[:, 0], (REACH, CELL)) & (steps[:, 1] >= 0)
            steps[of_cell, 1] = model.nodes[steps[of_cell, 1]]
            roots.append(
                {
                    "medians": self._listed(medians),
                    "steps": steps.ravel().tolist(),
                    "multipliers": multipliers.ravel().tolist(),
                }
            )
        return {"kind": "cut-tree", "axes": self._axes, "scale": SCALE, "bound": value, "roots": roots}

    def _record_tree(self, medians: tuple[int, ...]) -> None:
        """Keep the log of the node without a parent that is done, unless there is too much of it."""
        assert self._memory is not None
        log = self._memory.log
        if log.state[ON]:
            steps, multipliers = log.steps[: log.state[STEPS]], log.multipliers[: log.state[KEPT]]
            self._logged += multipliers.size
            self._trees[medians] = steps.copy(), multipliers.copy()
            log.state[[STEPS, KEPT]] = 0
            if self._logged > _MAX_LOG:
                self._drop_log()

    def _drop_log(self) -> None:
        assert self._memory is not None
        self._trees.clear()
        self._memory.log.state[[ON, STEPS, KEPT]] = 0

    def _record_root(self) -> None:
        """Record the multipliers of a node without a parent: the best if it was split, else the last ones."""
        memory = self._memory
        if self._planted is not None and memory is not None:
            undivided = bool(memory.state[ROOT])
            multipliers = memory.node.multipliers if undivided else memory.root_multipliers
            self._roots[self._planted] = multipliers.copy()
            self._planted = None

    def _allocate(self, value: int, nodes: IntArray) -> None:
        model = self._model
        positions, cells = sum(model.lengths), len(self._model.nodes)
        self._work = new_work(cells, model.sides, model.size)
        self._links = self._cell_links()

        def ints() -> IntArray:
            return np.zeros(positions, dtype=np.int64)

        self._memory = Search(
            state=np.zeros(10, dtype=np.int64),
            node=_nodes(positions, cells),
            stack=_nodes(positions, cells, _FIRST_ROOM),
            bounds=np.zeros(_FIRST_ROOM, dtype=np.int64),
            origins=np.zeros(_FIRST_ROOM, dtype=np.int64),
            multipliers=ints(),
            root_multipliers=ints(),
            mean_counts=np.zeros(positions),
            mean_values=np.zeros(positions),
            direction=np.zeros(positions),
            pace=np.ones(1),
            cells=self._cell_of[nodes],
            log=new_log(positions - model.lengths[0]),
        )
        self._memory.state[BEST] = value

    def _cell_links(self) -> tuple[IntArray, IntArray]:
        """Return the neighbours of each cell among the cells; none if the set need not be connected."""
        cells = len(self._model.nodes)
        if not self._contiguous:
            return frozen(np.zeros(cells + 1, dtype=np.int64)), frozen(np.zeros(0, dtype=np.int64))
        arrays = lattice(self._topology)
        owners = self._cell_of[np.repeat(np.arange(len(self._cell_of)), np.diff(arrays.offsets))]
        others = self._cell_of[arrays.neighbours]
        pairs = np.stack([owners, others], axis=1)[(owners >= 0) & (others >= 0)]
        pairs = pairs[np.argsort(pairs[:, 0], kind="stable")]
        offsets = np.searchsorted(pairs[:, 0], np.arange(cells + 1)).astype(np.int64)
        return frozen(offsets), frozen(np.ascontiguousarray(pairs[:, 1]))

    def _plant(self, medians: tuple[int, ...], bound: int, *, first: bool) -> None:
        """Put the node without a parent for these medians on the empty stack."""
        model, memory = self._model, self._memory
        assert memory is not None
        fixed = self._fixed_medians(medians)
        low, high = model.intervals(fixed)
        if any(model.rings):
            longest = 2 * (int(memory.state[BEST]) - model.parity) // model.size
            fewest, most = model.windows_within(medians, longest)
            low, high = np.maximum(low, fewest), np.minimum(high, most)
        memory.stack.low[0], memory.stack.high[0] = low, high
        memory.stack.multipliers[0] = model.multipliers(fixed, SCALE)
        if not first:  # what was learned on rings holds for other medians too: they are unrolled at them
            np.copyto(memory.stack.multipliers[0], memory.root_multipliers, where=model.on_ring)
        memory.stack.status[0] = OPEN
        memory.bounds[0], memory.origins[0] = bound * SCALE, -1
        memory.state[[TOP, ACTIVE, ROOT]] = 1, 0, 1
        self._planted = medians

    def _fixed_medians(self, medians: tuple[int, ...]) -> tuple[int | None, ...]:
        return medians if any(self._model.rings) else (None, *medians[1:])

    def _slices(self, medians: tuple[int, ...]) -> Iterator[tuple[int, IntArray]]:
        """Search the open nodes."""
        model = self._model
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
            yield int(memory.state[BEST]), model.nodes[memory.cells]

    def _make_room(self) -> None:
        """Double what is full: the stack or the log."""
        memory = self._memory
        assert memory is not None
        log = memory.log
        if memory.state[TOP] + 2 > len(memory.bounds):
            low, high, multipliers, status = memory.stack
            stack = Node(
                _doubled(low), _doubled(high), _doubled(multipliers), np.concatenate([status, status])
            )
            bounds, origins = _doubled(memory.bounds), _doubled(memory.origins)
            memory = memory._replace(stack=stack, bounds=bounds, origins=origins)
        elif log.state[KEPT] * log.multipliers.shape[1] + self._logged > _MAX_LOG:
            self._drop_log()
        else:
            longer = log._replace(steps=_doubled(log.steps), multipliers=_doubled(log.multipliers))
            memory = memory._replace(log=longer)
        self._memory = memory


def _doubled(array: IntArray) -> IntArray:
    return np.concatenate([array, np.zeros_like(array)])


def _nodes(positions: int, cells: int, rows: int | None = None) -> Node:
    head = () if rows is None else (rows,)
    return Node(
        low=np.zeros((*head, positions), dtype=np.int64),
        high=np.zeros((*head, positions), dtype=np.int64),
        multipliers=np.zeros((*head, positions), dtype=np.int64),
        status=np.zeros((*head, cells), dtype=np.int8),
    )
