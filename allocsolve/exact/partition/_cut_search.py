"""The cut model of a mesh or torus, and the branch-and-bound search over its counts, in slices.

On a mesh the sum of pairwise distances is the sum of s(k - s) over the axes and over the n - 1 cuts of each,
s being the chosen nodes on the low side. On an even ring the n/2 half rings take the place of the low sides
(exactly d of them separate two nodes at ring distance d). On an odd ring the n windows of (n - 1)/2 layers
do, each with weight 1/2. On a complete axis, where all coordinates are one hop apart, the layers do, each
with weight 1/2.

On an axis that is a line, the count of the first p layers, 0 <= p <= n, is that of a *position*. A ring is
unrolled at a layer of our choice and has as many counts, those of its *windows*, see `_kernels_relaxation`. A
complete axis has the counts of a line, which cost nothing, and begins at a layer of our choice, too; what
costs there are the nodes of each layer, the change from one count to the next.

*Medians*. Every set has a least star, per axis: a layer m from which the sum of distances to its nodes is
least. Moving from m to a neighbour does not lower that sum, which bounds the counts next to m: with h =
ceil(k/2), on a line at most h - 1 nodes lie below m (the lowest such layer) and at least h up to m; on a ring
at least h lie in the half ring that begins at m (odd rings: one layer more) and at most k - h in the one that
begins at m + 1; on a complete axis of n layers, m has the most nodes, at least k/n. So the search may treat
every m on its own, each with narrow intervals for the counts. If not all axes are lines: no node of a set has
a smaller sum of distances than the medians, so the set costs at least k/2 times theirs. Below a given cost
theirs is bounded, and with it the count of each window.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from allocsolve.exact.partition import _kernels_search as kernels
from allocsolve.exact.partition._kernels_relaxation import OPEN, SCALE, Node, Walks, new_work
from allocsolve.heuristics.partition.allocator import lattice
from allocsolve.kernels import kernel
from allocsolve.model import Topology, frozen

if TYPE_CHECKING:
    from collections.abc import Iterator

    from allocsolve.heuristics.partition.allocator import Lattice
    from allocsolve.model import BoolArray, Clock, IntArray, PartitionProblem


@kernel
def stars(lattice: Lattice, free: BoolArray, size: int, begin: int, end: int, totals: IntArray) -> None:
    """Write the least total distance from nodes ``begin..end - 1`` to `size` free nodes into `totals`.

    The search is breadth-first from each node, through busy nodes too. O(nodes reached * axes) per node.
    """
    _, _, _, offsets, neighbours = lattice
    num_nodes = len(free)
    seen = np.empty(num_nodes, dtype=np.int64)
    for node in range(num_nodes):
        seen[node] = -1
    away = np.empty(num_nodes, dtype=np.int64)
    queue = np.empty(num_nodes, dtype=np.int64)
    for centre in range(begin, end):
        queue[0] = centre
        seen[centre] = centre
        away[centre] = 0
        head, tail, left, total = 0, 1, size, 0
        while head < tail and left > 0:
            node = queue[head]
            head += 1
            if free[node]:
                left -= 1
                total += away[node]
            for e in range(offsets[node], offsets[node + 1]):
                other = neighbours[e]
                if seen[other] != centre:
                    seen[other] = centre
                    away[other] = away[node] + 1
                    queue[tail] = other
                    tail += 1
        totals[centre] = total


@dataclass(frozen=True, slots=True)
class CutModel:
    """The axes in the order in which the search takes them, and the cells (free nodes) by node id.

    The first axis is the main one, whose walk is solved together with the choice of the cells. It is a line,
    so that its walk always has the right number of nodes.
    """

    size: int
    nodes: IntArray  #: shape (cells,)
    layers: IntArray  #: shape (cells, axes)
    sides: tuple[int, ...]
    rings: tuple[bool, ...]
    complete: tuple[bool, ...]
    axes: tuple[int, ...]  #: the axes of the topology, in the order of the search

    @property
    def parity(self) -> int:
        """A divisor of every cost: s(k - s) is even for odd k; odd rings and complete axes halve it."""
        odd_ring = any(ring and side % 2 for ring, side in zip(self.rings, self.sides, strict=True))
        return 2 if self.size % 2 and not odd_ring and not any(self.complete) else 1

    @property
    def all_lines(self) -> bool:
        """Whether no axis is a ring or complete."""
        return not any(self.rings) and not any(self.complete)

    def walks(self, medians: tuple[int, ...]) -> Walks:
        """Return the axes, rings unrolled a quarter before the median layer, complete axes at it."""
        halves, layer_of = [], self.layers.copy()
        for t, (side, ring, full, m) in enumerate(
            zip(self.sides, self.rings, self.complete, medians, strict=True)
        ):
            if full:
                layer_of[:, t] = (self.layers[:, t] - m) % side
                halves.append(np.zeros(side + 1, dtype=np.int64))
            elif ring:
                layer_of[:, t] = (self.layers[:, t] - m + side // 4) % side
                halves.append(np.array([*([1] * side if side % 2 else [2, 0] * (side // 2)), 0]))
            else:
                halves.append(np.array([0, *[2] * (side - 1), 0]))
        layers = np.concatenate([[0], np.cumsum(self.sides)]).astype(np.int64)
        return Walks(
            frozen(np.array(self.rings) + 2 * np.array(self.complete)),
            frozen(layers),
            frozen(np.concatenate([[0], np.cumsum(self.lengths)]).astype(np.int64)),
            frozen(np.concatenate(halves).astype(np.int64)),
            frozen(layer_of + layers[:-1]),
        )

    @property
    def lengths(self) -> tuple[int, ...]:
        """The number of counts of each axis."""
        return tuple(side + 1 for side in self.sides)

    def intervals(self, medians: tuple[int | None, ...]) -> tuple[IntArray, IntArray]:
        """Return the least and greatest counts of sets with these medians (None: any)."""
        k = self.size
        h = (k + 1) // 2
        lows, highs = [], []
        for side, ring, full, m, length in zip(
            self.sides, self.rings, self.complete, medians, self.lengths, strict=True
        ):
            low, high = np.zeros(length, dtype=np.int64), np.full(length, k, dtype=np.int64)
            if ring:
                stage = 2 * (side // 4)  # its window begins at m
                low[stage + side % 2] = h
                high[stage + 2] = k - h
            else:
                high[0], low[side] = 0, k
                if full:
                    low[1:side] = -(-k // side)
                elif m is not None:
                    high[1 : m + 1] = np.minimum(high[1 : m + 1], h - 1)
                    low[m + 1 :] = np.maximum(low[m + 1 :], h)
            lows.append(low)
            highs.append(high)
        return np.concatenate(lows), np.concatenate(highs)

    def multipliers(self, medians: tuple[int | None, ...], scale: int) -> IntArray:
        """Return multipliers that weigh a cell by about k/2 times its distance from the medians."""
        k = self.size
        h = (k + 1) // 2
        parts = []
        for side, ring, full, m, length in zip(
            self.sides, self.rings, self.complete, medians, self.lengths, strict=True
        ):
            slopes = np.zeros(length, dtype=np.int64)
            if full:  # the first layer is the median
                slopes[1] = -(k * scale // 2)
            elif ring:
                middle = side // 4
                for r in range(side):
                    inside = r // 2 <= middle < side // 2 + (r + 1) // 2
                    weight = (-(k - h + 1) if inside else h) * scale
                    slopes[r] = weight // 2 if side % 2 else weight * (r % 2 == 0)
            elif m is not None:
                slopes[1 : m + 1] = (k - h + 1) * scale
                slopes[m + 1 : side] = -h * scale
            parts.append(slopes)
        return np.concatenate(parts)

    def windows_within(self, medians: tuple[int, ...], longest: int) -> tuple[IntArray, IntArray]:
        """Return the least and greatest counts of sets whose sum of distances from the medians is bounded.

        Each window is taken by itself: the c cells in it and the k - c outside it that are nearest to the
        medians must not be farther than `longest` in total. A window of a complete axis is its first layers.
        Counts of lines stay as they are. O(cells * counts).
        """
        k, walks = self.size, self.walks(medians)
        low = np.zeros(walks.positions[-1], dtype=np.int64)
        high = np.full(walks.positions[-1], k, dtype=np.int64)
        away = np.zeros(len(self.nodes), dtype=np.int64)
        kinds = list(zip(self.sides, self.rings, self.complete, strict=True))
        for t, ((side, ring, full), m) in enumerate(zip(kinds, medians, strict=True)):
            along = np.abs(self.layers[:, t] - m)
            if full:
                along = np.minimum(along, 1)
            away += np.minimum(along, side - along) if ring else along
        order = np.argsort(away, kind="stable")
        away = away[order]
        for t, (side, ring, full) in enumerate(kinds):
            if not ring and not full:
                continue
            layer = walks.layer_of[order, t] - walks.layers[t]
            for r in range(side + 1):
                inside = (layer >= r // 2) & (layer < side // 2 + (r + 1) // 2) if ring else layer < r
                near, beyond = _sums(away[inside], k), _sums(away[~inside], k)
                counts = np.arange(max(0, k + 1 - len(beyond)), len(near))
                counts = counts[near[counts] + beyond[k - counts] <= longest]
                p = walks.positions[t] + r
                low[p], high[p] = (counts[0], counts[-1]) if len(counts) else (1, 0)
        return low, high

    @property
    def on_ring(self) -> BoolArray:
        """Which counts are those of rings."""
        return np.repeat(np.array(self.rings, dtype=np.bool_), self.lengths)


def with_line(topology: Topology) -> Topology:
    """Return the topology, with one more axis of a single node if none of its axes is a line.

    On that axis all cells are one layer, so its walk only fixes the number of nodes to choose.
    """
    kinds = zip(topology.shape, topology.wrap, topology.complete, strict=True)
    if all((wrap or full) and side > 2 for side, wrap, full in kinds):
        return Topology((*topology.shape, 1), (*topology.wrap, False), (*topology.complete, False))
    return topology


def cut_model(topology: Topology, free: BoolArray, size: int) -> CutModel:
    """Return the cut model of choosing `size` nodes among the free ones of a topology that has a line."""
    # with one or two layers any axis is a line
    rings, complete = (
        [kind and side > 2 for kind, side in zip(kinds, topology.shape, strict=True)]
        for kinds in (topology.wrap, topology.complete)
    )
    axes = sorted(range(len(rings)), key=lambda t: (rings[t] or complete[t], -topology.shape[t]))
    nodes = np.flatnonzero(free).astype(np.int64)
    return CutModel(
        size,
        frozen(nodes),
        frozen(np.ascontiguousarray(topology.coordinates(nodes)[:, axes])),
        tuple(topology.shape[t] for t in axes),
        tuple(rings[t] for t in axes),
        tuple(complete[t] for t in axes),
        tuple(axes),
    )


def _sums(distances: IntArray, limit: int) -> IntArray:
    """Return the sums of the first 0, 1, .. `limit` distances, as far as there are any."""
    return np.concatenate([[0], np.cumsum(distances[:limit])]).astype(np.int64)


#: Seconds between two looks at the clock, as the kernel estimates its work.
_SLICE = 0.01
#: The most entries of the tables of the kernels, 64 MB: larger problems are not searched.
_MAX_TABLE = 2**23
#: The most nanoseconds of one evaluation, since nothing can stop it.
_MAX_EVALUATION = 5e8
#: Open nodes for which there is room at the start; the room is doubled when it is full.
_FIRST_ROOM = 32
#: The most multipliers in the log, 8 bytes each; a search that needs more leaves no tree.
_MAX_LOG = 2**22


class CutSearch:
    """The search for the best set of one problem."""

    def __init__(self, problem: PartitionProblem, free: BoolArray) -> None:
        """Set up the search for a problem whose answers may use these free nodes."""
        self._topology, self._free = with_line(problem.topology), free
        self._contiguous = problem.contiguous
        self._model = model = cut_model(self._topology, free, problem.size)
        self._axes = [axis for axis in model.axes if axis < len(problem.topology.shape)]
        #: The cell of each node.
        self._cell_of = np.full(len(free), -1, dtype=np.int64)
        self._cell_of[model.nodes] = np.arange(len(model.nodes))
        self._memory: kernels.Search | None = None
        self._pending = 0
        #: The multipliers of the nodes without a parent, by medians, and the medians of the last such node.
        self._roots: dict[tuple[int, ...], IntArray] = {}
        self._planted: tuple[int, ...] | None = None
        #: The steps and multipliers of the finished trees, by medians, and the number of these multipliers.
        self._trees: dict[tuple[int, ...], tuple[IntArray, IntArray]] = {}
        self._logged = 0
        self._complete = False

    def fits(self) -> bool:
        """Whether the tables are small enough and one evaluation is short enough."""
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
        if model.all_lines:
            grid = grid.min(axis=0, keepdims=True)  # the main axis of a mesh is not split by medians
        self._grid = grid.shape
        # s(k - s) >= ceil(k/2) s for s < k/2; else no D(v) is below the star of the medians
        k = model.size
        costs = (k + 1) // 2 * grid if model.all_lines else -(-k * grid // 2)
        self._stars = np.ascontiguousarray(costs).ravel()
        self._order = np.argsort(self._stars, kind="stable")
        self._pending = int(self._stars[self._order[0]])
        return True

    def run(self, value: int, nodes: IntArray) -> Iterator[tuple[int, IntArray]]:
        """Search for sets below `value`, that of `nodes`; yield the best value and nodes now and then."""
        self._allocate(value, nodes)
        assert self._memory is not None
        state = self._memory.state
        for n, i in enumerate(self._order):
            self._pending = int(self._stars[i])
            if self._pending >= state[kernels.BEST]:
                break
            medians = tuple(int(m) for m in np.unravel_index(i, self._grid))
            self._plant(medians, self._pending, first=n == 0)
            last = n + 1 == len(self._order)
            self._pending = int(state[kernels.BEST] if last else self._stars[self._order[n + 1]])
            yield from self._slices(medians)
            self._record_root()
            self._record_tree(medians)
        self._pending = int(state[kernels.BEST])
        self._complete = True

    @property
    def spent(self) -> float:
        """The seconds of the search as the kernel estimates them: the same on every machine."""
        return 0.0 if self._memory is None else float(self._memory.state[kernels.SPENT]) / 1e9

    def bound(self) -> int:
        """Return a lower bound on all sets."""
        if self._memory is None:
            return self._pending
        state, parity = self._memory.state, self._model.parity
        bounds = self._memory.bounds[: state[kernels.TOP]].tolist()
        if state[kernels.ACTIVE]:
            bounds.append(int(state[kernels.BOUND]))
        hops = [-(-int(bound) // (SCALE * parity)) * parity for bound in bounds]
        return min(int(state[kernels.BEST]), self._pending, *hops)

    def certificate(self) -> dict[str, object] | None:
        """Return a certificate for the judge: the trees of a search that came to its end.

        For other searches, or if the trees are too large, it has the multipliers of the nodes without a
        parent. See `allocsolve.judge.partition.certificate.certified_bound`.
        """
        size, memory = self._model.size, self._memory
        if memory is None:
            return None
        best = int(memory.state[kernels.BEST])
        if best <= size * (size - 1) // 2:
            self._trees.clear()  # there is nothing to prove: no two nodes are closer than one hop
        elif not (self._complete and memory.log.state[kernels.ON]):
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
        """Return the medians of the axes that have them, without a line that was added."""
        listed = [m for m, axis in zip(medians, self._model.axes, strict=True) if axis in self._axes]
        return listed[1:] if self._model.all_lines else listed

    def _proof(self, value: int) -> dict[str, object]:
        """Return the trees, which together prove that no set is below `value`."""
        model = self._model
        roots = []
        for medians, (logged, multipliers) in self._trees.items():
            steps = logged.copy()
            of_cell = np.isin(steps[:, 0], (kernels.REACH, kernels.CELL)) & (steps[:, 1] >= 0)
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
        """Keep the log of the finished node without a parent, unless the logs are too large."""
        assert self._memory is not None
        log = self._memory.log
        if log.state[kernels.ON]:
            steps, multipliers = (
                log.steps[: log.state[kernels.STEPS]],
                log.multipliers[: log.state[kernels.KEPT]],
            )
            self._logged += multipliers.size
            self._trees[medians] = steps.copy(), multipliers.copy()
            log.state[[kernels.STEPS, kernels.KEPT]] = 0
            if self._logged > _MAX_LOG:
                self._drop_log()

    def _drop_log(self) -> None:
        assert self._memory is not None
        self._trees.clear()
        self._memory.log.state[[kernels.ON, kernels.STEPS, kernels.KEPT]] = 0

    def _record_root(self) -> None:
        """Record the multipliers of a node without a parent: the best if it was split, else the last."""
        memory = self._memory
        if self._planted is not None and memory is not None:
            undivided = bool(memory.state[kernels.ROOT])
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

        self._memory = kernels.Search(
            state=np.zeros(11, dtype=np.int64),
            node=_nodes(positions, cells),
            stack=_nodes(positions, cells, _FIRST_ROOM),
            bounds=np.zeros(_FIRST_ROOM, dtype=np.int64),
            origins=np.zeros(_FIRST_ROOM, dtype=np.int64),
            multipliers=ints(),
            root_multipliers=ints(),
            mean_counts=np.zeros(positions),
            mean_values=np.zeros(positions),
            mean_held=np.zeros(positions),
            direction=np.zeros(positions),
            pace=np.ones(1),
            cells=self._cell_of[nodes],
            log=kernels.new_log(positions - model.lengths[0]),
        )
        self._memory.state[kernels.BEST] = value

    def _cell_links(self) -> tuple[IntArray, IntArray]:
        """Return the neighbouring cells of each cell; none if the set need not be connected."""
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
        if not model.all_lines:
            longest = 2 * (int(memory.state[kernels.BEST]) - model.parity) // model.size
            fewest, greatest = model.windows_within(medians, longest)
            low, high = np.maximum(low, fewest), np.minimum(high, greatest)
        memory.stack.low[0], memory.stack.high[0] = low, high
        memory.stack.multipliers[0] = model.multipliers(fixed, SCALE)
        if not first:  # multipliers of rings also serve other medians, at which rings are unrolled
            np.copyto(memory.stack.multipliers[0], memory.root_multipliers, where=model.on_ring)
        memory.stack.status[0] = OPEN
        memory.bounds[0], memory.origins[0] = bound * SCALE, -1
        memory.state[[kernels.TOP, kernels.ACTIVE, kernels.ROOT]] = 1, 0, 1
        self._planted = medians

    def _fixed_medians(self, medians: tuple[int, ...]) -> tuple[int | None, ...]:
        return (None, *medians[1:]) if self._model.all_lines else medians

    def _slices(self, medians: tuple[int, ...]) -> Iterator[tuple[int, IntArray]]:
        """Search the open nodes."""
        model = self._model
        walks = model.walks(medians)
        outcome = kernels.MORE
        while outcome != kernels.DONE:
            memory = self._memory
            assert memory is not None
            nanoseconds = int(1e9 * _SLICE)
            outcome = kernels.search(
                walks, memory, self._work, model.size, model.parity, self._links, nanoseconds
            )
            if outcome == kernels.FULL:
                self._make_room()
            yield int(memory.state[kernels.BEST]), model.nodes[memory.cells]

    def _make_room(self) -> None:
        """Double the stack or the log when it is full."""
        memory = self._memory
        assert memory is not None
        log = memory.log
        if memory.state[kernels.TOP] + 2 > len(memory.bounds):
            low, high, multipliers, status = memory.stack
            stack = Node(
                _doubled(low), _doubled(high), _doubled(multipliers), np.concatenate([status, status])
            )
            bounds, origins = _doubled(memory.bounds), _doubled(memory.origins)
            memory = memory._replace(stack=stack, bounds=bounds, origins=origins)
        elif log.state[kernels.KEPT] * log.multipliers.shape[1] + self._logged > _MAX_LOG:
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
