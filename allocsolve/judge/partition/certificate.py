"""Bounds of partitions that the judge recomputes from trees of splits or from multipliers, in integers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import numpy as np

from allocsolve.errors import InvalidAnswer
from allocsolve.judge.certificates import are_integers, items, malformed, rows_of_integers
from allocsolve.judge.partition._kernels_tree import (
    CELL,
    LEAF,
    LOWER_FIRST,
    NARROW,
    NEVER,
    OPEN,
    REACH,
    UPPER_FIRST,
    Branch,
    Tables,
    Windows,
    open_leaf,
    relaxed_cost,
)
from allocsolve.judge.partition.rules import component_labels, topology_links

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from allocsolve.model import BoolArray, IntArray, PartitionProblem

#: Entries of a table of 64-bit integers: 512 MB.
_MAX_TABLE: Final = 2**26
#: Units that all sums of costs stay below, so that none of them is taken for `NEVER`.
_MAX_UNITS: Final = 2**58

#: One layer for each axis; if all axes are lines, for each axis but the main one.
Medians: TypeAlias = tuple[int, ...]


def is_ring(problem: PartitionProblem) -> list[bool]:
    """Return for each axis whether it is a ring: wrapped and of more than two layers."""
    topology = problem.topology
    return [wrap and side > 2 for side, wrap in zip(topology.shape, topology.wrap, strict=True)]


def is_complete(problem: PartitionProblem) -> list[bool]:
    """Return for each axis whether it is complete and of more than two layers."""
    topology = problem.topology
    return [full and side > 2 for side, full in zip(topology.shape, topology.complete, strict=True)]


def is_line(problem: PartitionProblem) -> list[bool]:
    """Return for each axis whether it is neither a ring nor complete."""
    return [not ring and not full for ring, full in zip(is_ring(problem), is_complete(problem), strict=True)]


@dataclass(frozen=True, slots=True)
class PartitionAxes:
    """The axes in the order of a certificate, and the cells: the free nodes that may be in an answer."""

    size: int
    scale: int  #: units of a hop
    parity: int  #: a number, 1 or 2, that divides every cost
    sides: tuple[int, ...]
    rings: tuple[bool, ...]
    complete: tuple[bool, ...]
    cells: IntArray  #: nodes, shape (cells,)
    places: IntArray  #: shape (cells, axes)
    links: tuple[IntArray, IntArray]  #: neighbours as (offsets, cells); none if sets need not be connected
    first_median: int  #: the first axis with a median: 0, or 1 if the main axis has none

    @classmethod
    def of(cls, problem: PartitionProblem, axes: Sequence[int], scale: int) -> PartitionAxes:
        """Take a problem and its axes, the main one first; if that is no line, one of one layer precedes."""
        topology, wrapped, full = problem.topology, is_ring(problem), is_complete(problem)
        members, ends = problem.free, topology_links(topology)
        if problem.contiguous:
            component = component_labels(members, *ends)
            sizes = np.bincount(component[members], minlength=len(members))
            members = members & (sizes[component] >= problem.size)
        cells = np.flatnonzero(members)
        sides, rings = [topology.shape[axis] for axis in axes], [wrapped[axis] for axis in axes]
        complete = [full[axis] for axis in axes]
        places = topology.coordinates(cells)[:, axes]
        first_median = 0 if any(rings) or any(complete) else 1
        if rings[0] or complete[0]:
            first_median = 1
            sides, rings, complete = [1, *sides], [False, *rings], [False, *complete]
            places = np.concatenate([np.zeros((len(cells), 1), dtype=np.int64), places], axis=1)
        odd_ring = any(ring and side % 2 for side, ring in zip(sides, rings, strict=True))
        return cls(
            problem.size,
            scale,
            2 if problem.size % 2 and not odd_ring and not any(complete) else 1,
            tuple(sides),
            tuple(rings),
            tuple(complete),
            cells,
            places,
            _neighbours(members, ends) if problem.contiguous else _neighbours(members, ([], [])),
            first_median,
        )

    @property
    def all_lines(self) -> bool:
        """Whether no axis is a ring or complete."""
        return not any(self.rings) and not any(self.complete)

    @property
    def layers(self) -> IntArray:
        """Where the layers of each axis begin, numbered through all axes, and how many there are."""
        return np.cumsum([0, *self.sides])

    @property
    def counts(self) -> IntArray:
        """Where the counts of each axis begin, numbered through all axes, and how many there are."""
        return np.cumsum([0, *(side + 1 for side in self.sides)])

    def stars(self) -> list[tuple[Medians, int]]:
        """Return for all medians the least sum of distances from a node at these medians to `size` cells."""
        totals = stars(self.sides, self.rings, self.complete, self.places, self.size)
        if self.first_median == 1:
            totals = totals.min(axis=0)
        return [(tuple(map(int, medians)), int(star)) for medians, star in np.ndenumerate(totals)]

    def least_cost(self, star: int) -> int:
        """Return the least cost of sets whose distances from their medians add up to `star` or more."""
        return (self.size + 1) // 2 * star if self.all_lines else -(-self.size * star // 2)

    def layers_from(self, medians: Medians) -> IntArray:
        """Return the layer of each cell, shape (cells, axes).

        Rings begin a quarter before their medians, complete axes at them.
        """
        layer_of = self.places + self.layers[:-1]
        for t, m in enumerate(medians, start=self.first_median):
            if self.rings[t] or self.complete[t]:
                before = self.sides[t] // 4 if self.rings[t] else 0
                unrolled = (self.places[:, t] - m + before) % self.sides[t]
                layer_of[:, t] = unrolled + self.layers[t]
        return np.ascontiguousarray(layer_of)

    def windows(self, layer_of: IntArray) -> Windows:
        """Return the axes as kernels take them."""
        layers, counts = self.layers, self.counts
        price, passed = np.zeros(counts[-1], dtype=np.int64), np.zeros(layers[-1], dtype=np.int64)
        enter, leave, apart = np.zeros((3, layers[-1]), dtype=np.int64)
        for t, (side, ring, full) in enumerate(zip(self.sides, self.rings, self.complete, strict=True)):
            begin = counts[t]
            if full:
                apart[layers[t] : layers[t + 1]] = self.scale // 2
            elif not ring:
                price[begin : begin + side] = self.scale  # the first count is 0
            elif side % 2:
                price[begin : begin + side] = self.scale // 2
            else:
                price[begin : begin + side : 2] = self.scale
            for j in range(side):
                first, end = (j + 1, side + 1) if not ring else _stay(j, side)
                layer = layers[t] + j
                enter[layer], leave[layer] = begin + first, begin + end
                if first > 0:
                    passed[layers[t] + first - 1] = layer
                if end <= side:
                    passed[layers[t] + end - 1] = layer
        return Windows(layers, counts, price, passed, enter, leave, apart, layer_of)

    def first_branch(self, counts: tuple[IntArray, IntArray], depth: int) -> Branch:
        """Return room for a branch at each of `depth` depths; the first one has these counts."""
        low, high = np.zeros((2, depth, int(self.counts[-1])), dtype=np.int64)
        low[0], high[0] = counts
        return Branch(low, high, np.full((depth, len(self.cells)), OPEN, dtype=np.int8))

    def tables(self) -> Tables:
        """Return the memory of the kernels."""
        layers, counts, num = int(self.layers[-1]), int(self.counts[-1]), len(self.cells)
        begins = np.searchsorted(np.sort(self.places[:, 0]), np.arange(self.sides[0] + 1))

        def ints(*shape: int) -> IntArray:
            return np.zeros(shape, dtype=np.int64)

        return Tables(
            ahead=ints(counts, self.size + 1),
            behind=ints(counts, self.size + 1),
            least=ints(layers),
            greatest=ints(layers),
            costs=ints(num + self.sides[0]),
            offsets=begins[:-1] + np.arange(self.sides[0]),
            paid=ints(counts),
            sums=ints(counts + 1),
            weights=ints(num),
            order=np.argsort(self.places[:, 0], kind="stable"),
            begins=begins,
            through=ints(self.sides[0], self.size + 1),
            bests=ints(len(self.sides)),
        )

    def first_counts(
        self, medians: Medians, windows: Windows, target: int | None
    ) -> tuple[IntArray, IntArray] | None:
        """Return the least and greatest counts of sets with these medians and a cost of at most `target`.

        None if there is no such set. Without a target: of all sets with these medians.
        """
        k, h = self.size, (self.size + 1) // 2
        low, high = np.zeros((2, self.counts[-1]), dtype=np.int64)
        high[:] = k
        for t, (side, ring, full) in enumerate(zip(self.sides, self.rings, self.complete, strict=True)):
            m = medians[t - self.first_median] if t >= self.first_median else None
            begin = self.counts[t]
            if ring:
                here = begin + 2 * (side // 4)
                low[here + side % 2] = h
                high[here + 2] = k - h
                continue
            if full:
                low[begin + 1 : begin + side] = -(-k // side)
            elif m is not None:
                high[begin : begin + m + 1] = h - 1
                low[begin + m + 1 : begin + side + 1] = h
            high[begin], low[begin + side] = 0, k
        if target is None or self.all_lines:
            return low, high
        away = self._away(medians)
        for t in range(len(self.sides)):
            narrowed = self.rings[t] or self.complete[t]
            for p in range(self.counts[t], self.counts[t + 1]) if narrowed else ():
                layer = windows.layer_of[:, t]
                inside = (windows.enter[layer] <= p) & (p < windows.leave[layer])
                near, beyond = _nearest(away[inside], k), _nearest(away[~inside], k)
                count = np.arange(max(0, k + 1 - len(beyond)), len(near))
                count = count[k * (near[count] + beyond[k - count]) <= 2 * target]
                if not len(count):
                    return None
                low[p], high[p] = max(low[p], count[0]), min(high[p], count[-1])
        return low, high

    def _away(self, medians: Medians) -> IntArray:
        """Return the distance of each cell from the node at the medians."""
        away = np.zeros(len(self.cells), dtype=np.int64)
        for t, m in enumerate(medians, start=self.first_median):
            along = np.abs(self.places[:, t] - m)
            if self.complete[t]:
                along = np.minimum(along, 1)
            away += np.minimum(along, self.sides[t] - along) if self.rings[t] else along
        return away


def _stay(j: int, side: int) -> tuple[int, int]:
    """Return the first count of a ring whose window holds layer j, and the first one after these."""
    half = side // 2
    return max(0, 2 * (j - half) + 1), min(side, 2 * j + 1) + 1


def _nearest(distances: IntArray, limit: int) -> IntArray:
    """Return the sums of the 0, 1, ..., `limit` least distances, or up to all if there are fewer."""
    return np.cumsum([0, *np.sort(distances)[:limit]])


def _neighbours(
    members: BoolArray, ends: tuple[Sequence[int] | IntArray, Sequence[int] | IntArray]
) -> tuple[IntArray, IntArray]:
    """Return where the neighbours of each member begin, and all neighbours; members are numbered through."""
    number = np.cumsum(members) - 1
    left, right = (np.asarray(each, dtype=np.int64) for each in ends)
    within = members[left] & members[right]
    left, right = number[left[within]], number[right[within]]
    sources, targets = np.concatenate([left, right]), np.concatenate([right, left])
    order = np.argsort(sources, kind="stable")
    return np.searchsorted(sources[order], np.arange(members.sum() + 1)), targets[order]


def stars(
    shape: Sequence[int], rings: Sequence[bool], complete: Sequence[bool], places: IntArray, size: int
) -> IntArray:
    """Return for each node of a machine the least sum of distances to `size` of the nodes at `places`."""
    free = np.zeros(tuple(shape), dtype=np.int64)
    free[tuple(places.T)] = 1
    reach = 1  # hops, doubled until each node has enough free nodes within them
    while (shells := _shells(free, rings, complete, reach)).sum(axis=0).min() < size:
        reach *= 2
    within = np.minimum(np.cumsum(shells, axis=0), size)
    # A node that is d hops away is missing within 0, 1, ..., d - 1 hops: d times.
    totals: IntArray = (size - within).sum(axis=0)
    return totals


def _shells(free: IntArray, rings: Sequence[bool], complete: Sequence[bool], reach: int) -> IntArray:
    """Return how many free nodes are 0, 1, ..., `reach` hops from each node; hops are the first axis."""
    shells = np.zeros((reach + 1, *free.shape), dtype=np.int64)
    shells[0] = free
    for axis, (ring, full) in enumerate(zip(rings, complete, strict=True)):
        before = np.moveaxis(shells, axis + 1, 1)
        shells = np.zeros_like(shells)
        after = np.moveaxis(shells, axis + 1, 1)
        side = free.shape[axis]
        if full:
            after += before
            after[1:] += before[:-1].sum(axis=1, keepdims=True) - before[:-1]
            continue
        for step in range(min(reach, side // 2 if ring else side - 1) + 1):
            come = before[: reach + 1 - step]
            if ring:
                after[step:] += np.roll(come, step, axis=1)
                if 0 < 2 * step < side:
                    after[step:] += np.roll(come, -step, axis=1)
                continue
            after[step:, step:] += come[:, : side - step]
            if step:
                after[step:, :-step] += come[:, step:]
    return shells


def checked_axes(problem: PartitionProblem, axes: object) -> list[int]:
    """Return the axes of a certificate: all axes of the problem, a line first if there is one.

    `InvalidAnswer` if axes are missing or wrong, or a ring or complete axis stands before all lines.
    """
    lines = is_line(problem)
    msg = f"axes {axes} of the certificate are not those of {problem.topology}, a line first"
    if not are_integers(axes):
        raise malformed(msg)
    if sorted(axes) != list(range(len(lines))) or lines[axes[0]] < max(lines):
        raise InvalidAnswer(msg)
    return axes


def checked_sums(axes: PartitionAxes, multipliers: IntArray, name: str) -> None:
    """Refuse multipliers, shape (..., counts), with which tables or sums of costs would be too large.

    `InvalidAnswer` has the `name` of the multipliers.
    """
    counts = int(axes.counts[-1])
    if counts * (axes.size + 1) > _MAX_TABLE:
        msg = f"{axes.size} nodes on sides of {[*axes.sides]} are too many for {name}"
        raise InvalidAnswer(msg)
    greatest, least = int(multipliers.max(initial=0)), int(multipliers.min(initial=0))
    paid = 2 * axes.size * multipliers.shape[-1] * max(greatest, -least)
    if paid + axes.scale * axes.size**2 * counts >= _MAX_UNITS:
        msg = f"multipliers or scale of {name} are too large for sums of 64 bits"
        raise InvalidAnswer(msg)


#: Nodes of a machine: the sums of distances from all of them are recomputed, which takes long beyond this.
_MAX_NODES: Final = 2**16
#: Integers of a step: its kind and two arguments.
_STEP: Final = 3


def partition_tree_bound(problem: PartitionProblem, certificate: Mapping[str, object]) -> int:
    """Return a lower bound on the pairwise distance, after checking each leaf of the trees that prove it.

    *Certificate.* ``axes``: all axes, the *main* axis first, which is a line if there is one. ``scale``: the
    units of a hop, an even number. ``bound``: what is proved. ``roots``: a list of records. Each has
    ``medians``, one layer for each axis in the order of ``axes`` (if no axis is a ring, for each but the main
    axis); ``multipliers``, a flat list of any number of vectors, each with an integer for each count of all
    axes but the main axis; and ``steps``, a flat list of three integers per step, see below.

    Any mesh or torus has at most 2^16 nodes; the bound of the certificate is returned.

    `InvalidAnswer` if the certificate does not have this form, or does not prove its bound; the message names
    the root and the step.

    Notes
    -----
    *Counts.* On a line of n layers, count p, 0 <= p <= n, is the number of chosen nodes in the first p
    layers. So on a complete axis (of more than two layers), whose layers are numbered from its median on, and
    on from the first one after the last. The layers of a ring (of more than two layers) are numbered from a
    quarter (n // 4) before its median on; count r, 0 <= r <= n, is the number of chosen nodes in its window,
    the layers from r // 2 to n // 2 + (r + 1) // 2 - 1. If no axis is a line, one of a single layer, which
    holds all nodes, is added as the main axis. Counts are numbered through all axes in their order.

    *Claim.* No set of k free nodes (connected, if the problem asks for that) costs less than the bound. The
    cost is the sum of s (k - s) over all counts s of lines and over the counts with even r < n of even rings,
    plus half the sum over all r < n of odd rings, plus half the sum of q (k - q) over all layers of complete
    axes, q being the chosen nodes of the layer. It is even for odd k, unless a ring is odd or an axis
    complete. Let T be the largest possible cost below the bound.

    *Roots.* Let the median m of an axis be a layer from which the sum of distances to the set is least, on a
    line the first such layer. Let h = ceil(k / 2). Then on a line at most h - 1 nodes lie before m and at
    least h up to m. On a ring at least h lie in the half ring from m on (one layer more on odd rings), and at
    most k - h in the half ring from m + 1 on: otherwise a neighbour of m would have a smaller sum. On a
    complete axis of n layers no layer has more chosen nodes than m, so there are at least k / n. So each set
    belongs to a choice of medians. The sum of its distances from the node v at the medians is at least that
    of the k free nodes nearest to v. On a mesh the cost is at least h times this sum, since s (k - s) >= h
    min(s, k - s). With rings or complete axes it is at least k / 2 times this sum, since the cost is half the
    sum of such sums over the nodes of the set, none of which is smaller. Medians for which this exceeds T
    need no root. With them the sum is thus at most 2 T / k: a count c of such an axis is excluded if the c
    nearest nodes in its window and the k - c nearest nodes outside have a larger sum.

    *Steps.* A branch is an interval for each count and a state for each free node: in no set, in some, or in
    all. The first branch of a root is given by its medians. ``[1, i, 0]`` excludes what costs more than T
    with the multipliers i. ``[2, v, 0]`` excludes the nodes that no connected set reaches from node v; with
    -1 in place of a node, those in components of fewer than k nodes. ``[3, c, s]`` splits the branch into the
    sets whose count c is at most s and the others; ``[4, c, s]`` does the same, the others first. ``[5, v,
    0]`` splits it into the sets with node v and those without. All steps of the first part follow, then those
    of the second. ``[0, 0, 0]`` ends a branch, which has to be empty by then.

    *Exclusion.* For any multipliers u the cost of a set, in units, is the sum over the main axis of scale s
    (k - s), plus the weights of its nodes (the weight of a node is the sum of u over the windows that it is
    in), plus, on each other axis, the sum of scale s (k - s) - u s (on a complete axis, of scale q (k - q) /
    2 over its layers less that of u s): the u cancel. Each of these parts is at least the least cost of a
    walk through the counts. Programs forward and backward give the least cost of walks through each count,
    and on the main axis with each node in the set or not. What makes the sum of the parts exceed T is
    excluded. No step takes away a set that costs T or less. So whatever the multipliers and splits are, a
    tree whose branches are all empty is a proof.

    *Complexity*: O(sum over the layers of counts * choices) for each step, O(nodes * sum of sides) for each
    root. No code is shared with the solver.
    """
    if problem.topology.num_nodes > _MAX_NODES:
        msg = f"a certificate of trees is for at most {_MAX_NODES} nodes, not for {problem.topology}"
        raise InvalidAnswer(msg)
    order, scale, bound = _checked_tree(problem, certificate)
    k = problem.size
    axes = PartitionAxes.of(problem, order, scale)
    target = (bound - 1) // axes.parity * axes.parity
    roots = _roots(items(certificate, "roots"), int(axes.counts[-1] - axes.counts[1]))
    if bound <= k * (k - 1) // 2:  # two nodes are at least one hop apart
        return bound
    for medians, star in axes.stars() if len(axes.cells) >= k else ():
        if axes.least_cost(star) > target:
            continue
        if medians not in roots:
            msg = f"the certificate claims the bound {bound}, but has no root for the medians {list(medians)}"
            raise InvalidAnswer(msg)
        _check_root(axes, roots[medians], medians, target)
    return bound


class _Root(NamedTuple):
    """One of the roots of a certificate."""

    name: str
    steps: IntArray  #: shape (any, 3)
    multipliers: IntArray  #: shape (any, counts)


def _check_root(axes: PartitionAxes, root: _Root, medians: Medians, target: int) -> None:
    """Refuse a root whose tree does not exclude all sets with these medians that cost at most the target."""
    checked_sums(axes, root.multipliers, root.name)
    windows = axes.windows(axes.layers_from(medians))
    first = axes.first_counts(medians, windows, target)
    if first is None:
        return
    steps, depth = _checked_steps(axes, root)
    counts, num = int(axes.counts[-1]), len(axes.cells)
    if depth * (2 * counts + num) > _MAX_TABLE:
        msg = f"{root.name} is {depth} splits deep, too deep to be checked"
        raise InvalidAnswer(msg)
    row = open_leaf(
        windows,
        axes.first_branch(first, depth),
        axes.tables(),
        axes.links,
        steps,
        root.multipliers,
        axes.size,
        target * axes.scale,
        np.zeros(depth, dtype=np.bool_),
    )
    if row >= 0:
        msg = f"{root.name} proves no bound: step {row} ends a branch that may hold sets of cost {target}"
        raise InvalidAnswer(msg)


def _checked_steps(axes: PartitionAxes, root: _Root) -> tuple[IntArray, int]:
    """Return the steps with cells in place of nodes, and the largest number of branches open at a time."""
    steps = root.steps.copy()
    kind, which = steps[:, 0], steps[:, 1]
    splits = kind >= LOWER_FIRST
    left = 1 + np.cumsum(splits.astype(np.int64) - (kind == LEAF))
    if not len(steps) or left[-1] != 0 or (left[:-1] < 1).any() or kind.min() < LEAF or kind.max() > CELL:
        msg = f"{root.name} has steps that make no tree"
        raise InvalidAnswer(msg)
    counts = int(axes.counts[-1])
    numbers = {NARROW: len(root.multipliers), LOWER_FIRST: counts, UPPER_FIRST: counts}
    for step, end in numbers.items():
        wrong = (kind == step) & ((which < 0) | (which >= end))
        if wrong.any():
            row = int(np.flatnonzero(wrong)[0])
            msg = f"{root.name} names {which[row]} in step {row}, which is not in 0..{end - 1}"
            raise InvalidAnswer(msg)
    of_node = (kind == CELL) | (kind == REACH) & (which >= 0)
    cells = np.searchsorted(axes.cells, which[of_node])
    known = axes.cells[np.minimum(cells, len(axes.cells) - 1)] == which[of_node]
    if not known.all():
        msg = f"{root.name} names node {which[of_node][~known][0]}, which is in no answer"
        raise InvalidAnswer(msg)
    steps[of_node, 1] = cells
    return steps, int(left.max(initial=1))


def _checked_tree(problem: PartitionProblem, certificate: Mapping[str, object]) -> tuple[list[int], int, int]:
    """Return the axes, the scale and the bound."""
    axes = checked_axes(problem, certificate.get("axes"))
    scale, bound = certificate.get("scale"), certificate.get("bound")
    if type(scale) is not int or scale < 2 or scale % 2:
        msg = f"scale {scale} of the certificate is not an even integer above 0"
        raise malformed(msg)
    highest = problem.topology.diameter * problem.size**2
    if type(bound) is not int or bound > highest:
        msg = f"bound {bound} of the certificate is not an integer, or above the cost {highest} of all sets"
        raise InvalidAnswer(msg, breaks_schema=type(bound) is not int)
    return axes, scale, bound


def _roots(listed: list[object], width: int) -> dict[Medians, _Root]:
    """Return the roots by their medians; `width` multipliers make a vector."""
    roots = {}
    for i, root in enumerate(listed):
        name = f"root {i} of the certificate"
        if not isinstance(root, dict):
            msg = f"{name} is {type(root).__name__}, not a record"
            raise malformed(msg)
        medians = root.get("medians")
        if not are_integers(medians):
            msg = f"{name} has the medians {medians}, which are not a list of integers"
            raise malformed(msg)
        steps = rows_of_integers(f"steps of {name}", root.get("steps"), _STEP)
        multipliers = rows_of_integers(f"multipliers of {name}", root.get("multipliers"), width)
        roots[tuple(medians)] = _Root(name, steps, multipliers)
    return roots


#: Steps of all programs together: some seconds.
_MAX_STEPS: Final = 10**9


def partition_multiplier_bound(problem: PartitionProblem, certificate: Mapping[str, object]) -> int:
    """Return a lower bound on the pairwise distance, recomputed from multipliers.

    `InvalidAnswer` if the certificate does not have this form, or trees do not prove their bound.

    *Certificate.* Trees, which prove an optimum, have the ``kind`` ``"cut-tree"``; for the rest see
    `partition_tree_bound`. For boxes there is the ``kind`` ``"boxes"``: see `partition_box_bound`.
    Multipliers have ``axes``: all axes, the *main* axis first, which is a line if there is one; ``scale``:
    the units of a hop, at least 1, and even if a ring is odd or an axis complete; ``roots``: a list of
    records. Each has ``medians``, one layer for each axis in the order of ``axes`` (if all are lines, for
    each but the main axis), and ``multipliers``, a list for each axis but the main axis (if none is a line,
    for each axis) with an integer for each of its layers and one more.

    Notes
    -----
    *Proof.* Let S be any set of k free nodes. The counts, the cost of S, the medians that it belongs to and
    the bound by the sum of distances from a node (its star) are those of `partition_tree_bound`. The least
    bound over all choices of medians is a bound.

    *Multipliers.* For any integers u(t, p) the cost, in units of 1/scale, is the sum over the main axis of
    scale s (k - s), plus the sum of the weights of the nodes of S, plus, on each other axis t, the sum of
    scale s (k - s) - u(t, p) s (on a complete axis as in `partition_tree_bound`). The weight of a node is the
    sum of u(t, p) over the windows in which it lies, so the u cancel. Each part is at least its own minimum:
    on axis t over all counts that respect the median and the free nodes of each layer; on the main axis
    together with the weights, where q nodes of a layer weigh at least as much as its q lightest free nodes.

    For odd k the bound is rounded up to an even number, unless a ring is odd or an axis complete.

    *Complexity*: O(choices of medians * sum of sides * k * min(k, nodes of a layer)), and O(nodes * sum of
    sides * r) for the stars, where each node has k free nodes within r hops. A certificate may come from
    anybody: medians are taken in the order of their stars, the least first, and once more than 10^9 steps
    would be needed multipliers are ignored. Beyond 2^16 nodes the bound is 0. No code is shared with the
    solver.
    """
    if problem.topology.num_nodes > _MAX_NODES:
        return 0
    axes, roots = _checked_multipliers(problem, certificate)
    if len(axes.cells) < axes.size:
        return 0
    tables = axes.tables()
    largest_layer = int(np.bincount(axes.places[:, 0]).max())
    steps, bounds = 0, []
    for medians, star in sorted(axes.stars(), key=lambda each: each[1]):
        bound: int | None = axes.least_cost(star)
        steps += int(axes.counts[-1]) * axes.size * min(axes.size, largest_layer)
        if medians in roots and steps <= _MAX_STEPS:
            units = _relaxed(axes, tables, medians, roots[medians])
            bound = None if units is None else max(axes.least_cost(star), -(-units // axes.scale))
        if bound is not None:
            bounds.append(bound)
    return -(-min(bounds, default=0) // axes.parity) * axes.parity


def _relaxed(axes: PartitionAxes, tables: Tables, medians: Medians, multipliers: IntArray) -> int | None:
    """Return a lower bound on the cost, in units, of sets with these medians; None if there are none."""
    windows = axes.windows(axes.layers_from(medians))
    first = axes.first_counts(medians, windows, None)
    if first is None:
        return None
    branches = axes.first_branch(first, 1)
    branch = Branch(branches.low[0], branches.high[0], branches.status[0])
    units = relaxed_cost(windows, branch, tables, multipliers, axes.size)
    return None if units >= NEVER // 2 else units


def _checked_multipliers(
    problem: PartitionProblem, certificate: Mapping[str, object]
) -> tuple[PartitionAxes, dict[Medians, IntArray]]:
    """Return the axes and the multipliers by medians."""
    order = checked_axes(problem, certificate.get("axes"))
    scale = certificate.get("scale")
    halved = any(is_complete(problem)) or any(
        ring and side % 2 for ring, side in zip(is_ring(problem), problem.topology.shape, strict=True)
    )
    if type(scale) is not int or scale < 1 or (scale % 2 and halved):
        msg = (
            f"scale {scale} of the certificate is not an integer above 0, or odd with an odd or complete axis"
        )
        raise InvalidAnswer(msg, breaks_schema=type(scale) is not int or scale < 1)
    listed = items(certificate, "roots")
    axes = PartitionAxes.of(problem, order, scale)
    sides = axes.sides[axes.first_median :]
    roots = {}
    for i, root in enumerate(listed):
        medians, multipliers = (
            (root.get("medians"), root.get("multipliers")) if isinstance(root, dict) else (0, 0)
        )
        if not (
            are_integers(medians)
            and len(medians) == len(sides)
            and all(0 <= median < side for median, side in zip(medians, sides, strict=True))
        ):
            msg = f"root {i} of the certificate has no medians in {[*sides]}"
            raise InvalidAnswer(msg, breaks_schema=not are_integers(medians))
        if not (
            isinstance(multipliers, list)
            and all(map(are_integers, multipliers))
            and [len(each) for each in multipliers] == [side + 1 for side in axes.sides[1:]]
        ):
            msg = (
                f"root {i} of the certificate has not one multiplier for each position of {[*axes.sides[1:]]}"
            )
            are_lists = isinstance(multipliers, list) and all(map(are_integers, multipliers))
            raise InvalidAnswer(msg, breaks_schema=not are_lists)
        flat = np.array([u for each in multipliers for u in each], dtype=np.int64)
        checked_sums(axes, flat, f"root {i} of the certificate")
        roots[tuple(medians)] = flat
    return axes, roots
