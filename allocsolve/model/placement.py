"""Placement on switch trees: node sets below few and near switches.

Such trees are fat trees, Slurm's trees and blocks, Kueue's topologies, and, as an approximation, dragonflies.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, NamedTuple, TypeAlias

import numpy as np

from allocsolve.errors import InvalidProblem, UnsupportedProblem
from allocsolve.model.arrays import MAX_INTEGER, IntArray, array_of, frozen
from allocsolve.model.checks import flag, in_range, instance, integer, items, shown
from allocsolve.model.problem import (
    KeyedByFields,
    NodeSet,
    checked_free,
    checked_labels,
    mask_without,
    objective_option,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from allocsolve.model.arrays import BoolArray

#: The most nodes, switches and levels of a tree, half hops of a link, and its capacity: sums of pairwise
#: distances then fit 53 bits.
MAX_TREE_NODES = 2**20
MAX_TREE_LEVELS = 16
MAX_HALF_HOPS = 2**10
MAX_CAPACITY = 2**20


class RegularForm(NamedTuple):
    """What `SwitchTree.regular` makes a tree of."""

    sizes: tuple[int, ...]
    hops: tuple[int, ...]
    capacities: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class SwitchTree(KeyedByFields):
    """Nodes on switches, and switches below switches: a fat tree, racks in pods, blocks, dragonfly groups.

    The *level* of a switch is 1 if there is no switch below it, else one above the highest of its children.
    Two nodes are as far apart as the links between them weigh: up to their lowest common switch and down
    again. A tree may have several roots, fabrics between which there is no link.

    `InvalidProblem` if an entry is out of range, a switch is below itself or has nodes and switches, there
    are no nodes or more than 2^20, more than 16 levels, or the distance of two nodes is not a whole number of
    hops.

    Parameters
    ----------
    parent
        The switch above each switch, -1 for a root; shape (switches,).
    switch
        The switch of each node, one without switches below it; shape (nodes,).
    weight
        Of the link of each switch to its parent, in half hops, 0 to 2^10; shape (switches,). One hop if
        empty. That of a root has no meaning and is set to 0.
    node_weight
        Of the link of each node to its switch, in half hops.
    capacity
        Of the link of each switch to its parent, in units of the user, 1 to 2^20; shape (switches,). 1 if
        empty. That of a root has no meaning and is set to 1.

    Examples
    --------
    >>> pods = SwitchTree.regular((2, 3, 4))  # two pods of three racks of four nodes
    >>> pods.num_nodes, pods.num_switches, pods.level.tolist()
    (24, 9, [3, 2, 2, 1, 1, 1, 1, 1, 1])
    >>> pods.hop_distance(0, 3), pods.hop_distance(0, 4), pods.hop_distance(0, 23)
    (2, 4, 6)
    """

    parent: IntArray
    switch: IntArray
    weight: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    node_weight: int = 2
    capacity: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    #: Of each switch; shape (switches,).
    level: IntArray = field(init=False, repr=False)
    #: All switches, each after its parent; shape (switches,).
    top_down: IntArray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        parent = _entries("parent", self.parent, None, -1)
        count = len(parent)
        if not 1 <= count <= MAX_TREE_NODES:
            raise InvalidProblem(f"parent has {count} entries, not one for each of 1 to 2^20 switches")
        _refuse(parent >= count, "parent", parent, f"is above the last switch {count - 1}")
        switch = _entries("switch", self.switch, None, 0)
        if not 1 <= len(switch) <= MAX_TREE_NODES:
            raise InvalidProblem(f"switch has {len(switch)} entries, not one for each of 1 to 2^20 nodes")
        _refuse(switch >= count, "switch", switch, f"is above the last switch {count - 1}")
        weight = _entries("weight", self.weight, np.full(count, 2, dtype=np.int64), 0, MAX_HALF_HOPS)
        capacity = _entries("capacity", self.capacity, np.ones(count, dtype=np.int64), 1, MAX_CAPACITY)
        node_weight = integer("node_weight", self.node_weight)
        in_range("node_weight", node_weight, 0, MAX_HALF_HOPS)
        for what, entries in ("weight", weight), ("capacity", capacity):
            if len(entries) != count:
                raise InvalidProblem(f"{what} has {len(entries)} entries for {count} switches")
        is_root, depth = parent < 0, _depths(parent)
        has_children = np.zeros(count, dtype=np.bool_)
        has_children[parent[~is_root]] = True
        _refuse(has_children[switch], "switch", switch, "has switches below it")
        for name, value in (
            ("parent", parent),
            ("switch", switch),
            ("weight", np.where(is_root, 0, weight)),
            ("node_weight", node_weight),
            ("capacity", np.where(is_root, 1, capacity)),
            ("top_down", np.argsort(depth, kind="stable")),
        ):
            object.__setattr__(self, name, frozen(value) if isinstance(value, np.ndarray) else value)
        ranks = [np.flatnonzero(depth == at) for at in range(int(depth.max()), 0, -1)]
        object.__setattr__(self, "level", frozen(self._levels(ranks)))
        self._check_parity(ranks)

    @classmethod
    def regular(
        cls, sizes: Sequence[int], hops: Sequence[int] = (), capacities: Sequence[int] = ()
    ) -> SwitchTree:
        """Build a tree in which all switches of a level have equally many children.

        `InvalidProblem` if a size is below 1, the hops fall, or the numbers of entries do not belong
        together.

        Parameters
        ----------
        sizes
            How many children a switch has, from the root down: ``(8, 192, 2)`` are 8 pods of 192 racks of 2
            nodes. Nodes and switches are numbered level by level, so neighbours have neighbouring numbers.
        hops
            How far two nodes are apart, by the level of their lowest common switch, from the lowest up;
            2, 4, 6, ... if empty. It must not fall.
        capacities
            Of the links from the switches of each level to their parents, from the lowest up; 1 if empty.
        """
        sizes = tuple(integer("size", size) for size in items("sizes", sizes))
        levels = len(sizes)
        if not 1 <= levels <= MAX_TREE_LEVELS or min(sizes) < 1:
            msg = f"sizes {shown(list(sizes))} are not 1 to {MAX_TREE_LEVELS} sizes of at least 1"
            raise InvalidProblem(msg)
        if math.prod(sizes) > MAX_TREE_NODES:
            raise InvalidProblem(f"sizes {shown(list(sizes))} give more than 2^20 nodes")
        hops = tuple(integer("hop", hop) for hop in items("hops", hops)) or tuple(range(2, 2 * levels + 1, 2))
        capacities = items("capacities", capacities) or (1,) * (levels - 1)
        if len(hops) != levels or len(capacities) != levels - 1:
            msg = (
                f"sizes {list(sizes)}: {len(hops)} hops and {len(capacities)} capacities, "
                f"not {levels} and {levels - 1}"
            )
            raise InvalidProblem(msg)
        if any(low > high for low, high in zip((0, *hops), hops, strict=False)):
            raise InvalidProblem(f"hops {list(hops)} fall, or begin below 0")
        counts = [math.prod(sizes[:depth]) for depth in range(levels)]
        starts = np.concatenate([[0], np.cumsum(counts)])
        parents, weights, links = [np.full(1, -1)], [np.zeros(1)], [np.ones(1)]
        for depth in range(1, levels):
            parents.append(starts[depth - 1] + np.arange(counts[depth]) // sizes[depth - 1])
            level = levels - depth  # of the switches of this depth
            weights.append(np.full(counts[depth], hops[level] - hops[level - 1]))
            links.append(np.full(counts[depth], capacities[level - 1]))
        leaves = starts[-2] + np.repeat(np.arange(counts[-1]), sizes[-1])
        return cls(np.concatenate(parents), leaves, np.concatenate(weights), hops[0], np.concatenate(links))

    def regular_form(self) -> RegularForm | None:
        """Return the arguments of `SwitchTree.regular` that make this tree; None if there are none."""
        counts = [int((self.level == level).sum()) for level in range(self.height, 0, -1)]
        counts.append(self.num_nodes)
        if counts[0] != 1 or any(below % count for count, below in itertools.pairwise(counts)):
            return None
        firsts = np.cumsum([0, *counts[:-2]])[::-1][:-1]  # of each level but the highest, from the lowest up
        form = RegularForm(
            tuple(below // count for count, below in itertools.pairwise(counts)),
            tuple(np.cumsum([self.node_weight, *self.weight[firsts]]).tolist()),
            tuple(self.capacity[firsts].tolist()),
        )
        return form if SwitchTree.regular(*form) == self else None

    @property
    def num_nodes(self) -> int:
        """Number of nodes."""
        return len(self.switch)

    @property
    def num_switches(self) -> int:
        """Number of switches."""
        return len(self.parent)

    @property
    def height(self) -> int:
        """The level of the highest switch."""
        return int(self.level.max())

    def path_up(self, node: int) -> list[int]:
        """Return the switches above a node, from its own to the root."""
        switch, path = int(self.switch[node]), []
        while switch >= 0:
            path.append(switch)
            switch = int(self.parent[switch])
        return path

    def common_switch(self, one: int, other: int) -> int:
        """Return the lowest switch above two nodes, -1 if there is none."""
        above = set(self.path_up(one))
        return next((switch for switch in self.path_up(other) if switch in above), -1)

    def hop_distance(self, one: int, other: int) -> int:
        """Return the hops between two nodes, 0 from a node to itself.

        `ValueError` if no switch is above both.
        """
        if one == other:
            return 0
        top = self.common_switch(one, other)
        if top < 0:
            raise ValueError(f"no switch is above node {one} and node {other}")
        halves = 2 * self.node_weight
        for path in self.path_up(one), self.path_up(other):
            halves += sum(int(self.weight[switch]) for switch in path[: path.index(top)])
        return halves // 2

    def nodes_below(self, free: BoolArray) -> IntArray:
        """Return how many of the masked nodes are below each switch, shape (switches,)."""
        return self.sums_below(np.bincount(self.switch[free], minlength=self.num_switches))

    def sums_below(self, own: IntArray) -> IntArray:
        """Return for each switch the sum of its own number and those of all switches below it."""
        below = own.copy()
        for level in range(1, self.height):
            at = np.flatnonzero((self.level == level) & (self.parent >= 0))
            below += np.bincount(self.parent[at], below[at], self.num_switches).astype(np.int64)
        return below

    def _levels(self, ranks: list[IntArray]) -> IntArray:
        """Return the level of each switch; `ranks` are the switches of each depth, the deepest first."""
        level = np.ones(self.num_switches, dtype=np.int64)
        for rank in ranks:
            np.maximum.at(level, self.parent[rank], level[rank] + 1)
        return level

    def _check_parity(self, ranks: list[IntArray]) -> None:
        """Refuse half hops between nodes: of all nodes below a switch, the way up has the same parity."""
        parity = np.full(self.num_switches, -1)
        parity[self.switch] = self.node_weight % 2
        for rank in ranks:
            used = rank[parity[rank] >= 0]
            above, way = self.parent[used], (parity[used] + self.weight[used]) % 2
            parity[above] = way
            odd = np.flatnonzero(parity[above] != way)
            if len(odd):
                msg = (
                    f"weight[{used[odd[0]]}]: some nodes below switch {above[odd[0]]} "
                    "are half a hop more than whole hops apart"
                )
                raise InvalidProblem(msg)


def _entries(
    what: str, values: object, default: IntArray | None, low: int, high: int = MAX_INTEGER
) -> IntArray:
    """Return whole numbers in a range as a new array."""
    array = array_of(values)
    if default is not None and array.shape == (0,):
        return default
    if array.ndim != 1 or array.dtype.kind not in "iuf" or (array != (whole := array.astype(np.int64))).any():
        raise InvalidProblem(f"{what} {shown(values)} is not a list of integers")
    _refuse(whole < low, what, whole, f"is below {low}")
    _refuse(whole > high, what, whole, f"is above {high}")
    return whole


def _refuse(wrong: BoolArray, what: str, values: IntArray, why: str) -> None:
    if wrong.any():
        first = int(np.argmax(wrong))
        raise InvalidProblem(f"{what}[{first}]: {values[first]} {why}")


def _depths(parent: IntArray) -> IntArray:
    """Return how many switches are above each."""
    depth, below = np.where(parent < 0, 0, -1), parent < 0
    for reached in range(MAX_TREE_LEVELS):
        below = (depth < 0) & below[parent]
        if not below.any():
            break
        depth[below] = reached + 1
    else:
        raise InvalidProblem(f"the tree has more than {MAX_TREE_LEVELS} levels of switches")
    if (depth < 0).any():
        first = int(np.argmax(depth < 0))
        while first not in (seen := _above(parent, first)):
            first = seen[-1]
        raise InvalidProblem(f"parent[{first}]: switch {first} is below itself")
    return depth


def _above(parent: IntArray, switch: int) -> list[int]:
    """Return the switches above one, up to a root or to the first that is there twice."""
    seen: list[int] = []
    switch = int(parent[switch])
    while switch >= 0 and switch not in seen:
        seen.append(switch)
        switch = int(parent[switch])
    return seen


#: What to minimise: ``pairwise``, the sum of the hop distances over all pairs of chosen nodes; ``domains``,
#: the switches of level 1 with a chosen node, ``domains-2`` and ``domains-3`` those of levels 2 and 3;
#: ``leftover``, the free nodes that stay at the switches of level 1 with a chosen node; ``bottleneck``, the
#: largest load s (k - s) / capacity of a link with s of the k chosen nodes below it.
PLACEMENT_OBJECTIVES: tuple[str, ...] = (
    "pairwise",
    "domains",
    "domains-2",
    "domains-3",
    "leftover",
    "bottleneck",
)

#: Several terms are minimised lexicographically.
PlacementObjective: TypeAlias = Annotated[tuple[str, ...], objective_option(PLACEMENT_OBJECTIVES)]


def domains_level(term: str) -> int:
    """Return the level of the switches that a term of the objective counts, such as 2 of ``domains-2``.

    `UnsupportedProblem` if it counts none: a solver asks for what it has no other model of.
    """
    if term not in PLACEMENT_OBJECTIVES or not term.startswith("domains"):
        raise UnsupportedProblem(f"objective {term!r}: this solver has no model of it")
    return int(term.partition("-")[2] or 1)


@dataclass(frozen=True, slots=True, eq=False)
class PlacementProblem(KeyedByFields):
    """Choose `size` free nodes of a switch tree, all below one root.

    Parameters
    ----------
    free
        Which nodes may be chosen: a mask, shape (nodes,). `PlacementProblem.of` takes the busy nodes instead.
    size
        How many nodes to choose, from 1 to the number of free ones.
    within
        The highest level that the lowest common switch of the chosen nodes may have; 0 for any.
    segment
        If above 0, the chosen nodes fall into groups of this many, each below one switch of level
        `segment_level`; it must divide `size`.
    segment_level
        The highest level that the lowest common switch of a segment may have.
    balanced
        Whether each switch of level 1 with a chosen node must have the same number of them.
    name
        For people; two problems that differ in name only have the same digest.
    meta
        Where the problem comes from: carried along, never read by a solver.

    Raises
    ------
    InvalidProblem
        If the mask has another length than the tree has nodes, `size`, a level or `segment` is out of range,
        or `segment` does not divide `size`. A problem that has no answer is not an error: that is for a
        solver to find out.

    Examples
    --------
    >>> problem = PlacementProblem.of(SwitchTree.regular((2, 4)), busy=[1, 6], size=4, within=1)
    >>> problem.busy, int(problem.free.sum())
    ((1, 6), 6)
    """

    tree: SwitchTree
    free: BoolArray
    size: int
    within: int = 0
    segment: int = 0
    segment_level: int = 1
    balanced: bool = False
    name: str = ""
    meta: Mapping[str, object] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        tree = instance("tree", self.tree, SwitchTree)
        free, size = checked_free(self.free, self.size, tree.num_nodes, "the tree")
        numbers = {}
        for what, low, high in (
            ("within", 0, MAX_TREE_LEVELS),
            ("segment", 0, size),
            ("segment_level", 1, MAX_TREE_LEVELS),
        ):
            numbers[what] = in_range(what, integer(what, getattr(self, what)), low, high)
        if numbers["segment"] and size % numbers["segment"]:
            raise InvalidProblem(f"size {size} is no multiple of the segment {numbers['segment']}")
        if not numbers["segment"]:
            numbers["segment_level"] = 1
        for name, value in (("free", free), ("size", size), *numbers.items()):
            object.__setattr__(self, name, value)
        object.__setattr__(self, "balanced", flag("balanced", self.balanced, InvalidProblem))
        object.__setattr__(self, "meta", checked_labels(self.name, self.meta))

    @classmethod
    def of(
        cls,
        tree: SwitchTree,
        *,
        busy: Sequence[int] = (),
        size: int,
        within: int = 0,
        segment: int = 0,
        segment_level: int = 1,
        balanced: bool = False,
        name: str = "",
        meta: Mapping[str, object] | None = None,
    ) -> PlacementProblem:
        """Build a problem from the busy nodes."""
        free = mask_without(busy, instance("tree", tree, SwitchTree).num_nodes)
        return cls(tree, free, size, within, segment, segment_level, balanced, name, meta or {})

    @property
    def answer_type(self) -> type[Placement]:
        """The type of its answers."""
        return Placement

    @property
    def busy(self) -> tuple[int, ...]:
        """The nodes that may not be chosen, in increasing order."""
        return tuple(np.flatnonzero(~self.free).tolist())


@dataclass(frozen=True, slots=True, eq=False)
class Placement(NodeSet):
    """A set of nodes of a switch tree, kept in increasing order."""
