"""The bound on the cost of boxes: the judge looks itself at all boxes that would be cheaper."""

from __future__ import annotations

import math
from itertools import groupby
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from allocsolve.errors import InvalidAnswer
from allocsolve.kernels import kernel

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from allocsolve.model import BoolArray, IntArray, PartitionProblem, Topology


@kernel
def runs_along(members: BoolArray, ring: bool, runs: IntArray) -> None:
    """Write for each place the members from it on along the middle axis, itself first, up to all of a ring.

    `members` and `runs` have the shape (later axes, side, earlier axes). O(places).
    """
    later, side, earlier = members.shape
    for block in range(later):
        for turn in range(2 if ring else 1):
            for x in range(side - 1, -1, -1):
                for i in range(earlier):
                    beyond = 0
                    if x + 1 < side:
                        beyond = runs[block, x + 1, i]
                    elif turn == 1:
                        beyond = runs[block, 0, i]
                    runs[block, x, i] = min(beyond + 1, side) if members[block, x, i] else 0


#: The side of a box along each axis.
Sides: TypeAlias = tuple[int, ...]

#: Nodes times different sides of boxes: beyond this it takes long to look at all of them.
_MAX_WORK: Final = 2**32


def partition_box_bound(problem: PartitionProblem, certificate: Mapping[str, object]) -> int:
    """Return a lower bound on the pairwise distance of a box, after looking at all boxes that cost less.

    The certificate has the ``kind`` ``"boxes"`` and the ``bound``, an integer. `InvalidAnswer` if it has not,
    the problem asks for no box, a free box costs less than the bound, or there are too many different sides
    to look at: 2^32 by the number of nodes.

    Notes
    -----
    *Proof.* Boxes of the same sides cost the same: along an axis with a side of a, each pair of its
    coordinates belongs to (k / a)^2 pairs of nodes. So it is enough that of all sides that cost less than the
    bound no box is free. Sides are taken axis by axis. With those of the first axes chosen, a place is *open*
    if the box of these sides from there on, of one node along the other axes, is free. How many places in a
    row are open along the next axis says which sides there leave open places.

    *Complexity*: O(nodes) for each choice of the sides of the first axes. No code is shared with the solver.
    """
    if not problem.box:
        raise InvalidAnswer("the certificate is for boxes, but the problem asks for none")
    topology, bound = problem.topology, certificate.get("bound")
    highest = topology.diameter * problem.size**2
    if type(bound) is not int or bound > highest:
        msg = f"bound {bound} of the certificate is not an integer, or above the cost {highest} of all sets"
        raise InvalidAnswer(msg, breaks_schema=type(bound) is not int)
    every = [problem.box] if isinstance(problem.box, tuple) else _all_sides(topology, problem.size)
    cheaper = sorted(sides for sides in every if _cost(topology, sides) < bound)
    found = _free_sides(topology, problem.free, cheaper, 0)
    if found is not None:
        cost = _cost(topology, found)
        msg = f"the certificate claims the bound {bound}, but a free box of sides {[*found]} costs {cost}"
        raise InvalidAnswer(msg)
    return bound


def _all_sides(topology: Topology, size: int) -> list[Sides]:
    """Return the sides of all boxes of this many nodes that fit the machine."""
    divisors = [
        [side for side in range(1, min(length, size) + 1) if size % side == 0] for length in topology.shape
    ]
    ways = {1: 1}  # of the axes so far, by the product of their sides
    volumes = [{1}]
    for sides in divisors:
        reached: dict[int, int] = {}
        for volume, number in ways.items():
            for side in sides:
                if size % (volume * side) == 0:
                    reached[volume * side] = reached.get(volume * side, 0) + number
        ways = reached
        volumes.append(set(reached))
    if ways.get(size, 0) * topology.num_nodes > _MAX_WORK:
        msg = f"boxes of {size} nodes have {ways[size]} different sides, too many to be looked at"
        raise InvalidAnswer(msg)
    tails: dict[int, list[Sides]] = {size: [()]}  # sides of the last axes, by the product of those before
    for sides, before in zip(reversed(divisors), reversed(volumes[:-1]), strict=True):
        longer: dict[int, list[Sides]] = {}
        for volume, ends in tails.items():
            for side in sides:
                if volume % side == 0 and volume // side in before:
                    longer.setdefault(volume // side, []).extend((side, *end) for end in ends)
        tails = longer
    return tails.get(1, [])


def _cost(topology: Topology, sides: Sides) -> int:
    """Return the pairwise distance of a box, coordinate by coordinate."""
    size, total = math.prod(sides), 0
    for axis, side in enumerate(sides):
        apart = np.arange(side)  # from the first coordinate
        if topology.complete[axis]:
            apart = np.minimum(apart, 1)
        elif topology.wrap[axis]:
            apart = np.minimum(apart, topology.shape[axis] - apart)
        # Pairs are as far apart as the first coordinate and the one d further on, which side - d pairs are.
        total += int(apart @ (side - np.arange(side))) * (size // side) ** 2
    return total


def _free_sides(topology: Topology, members: BoolArray, every: Sequence[Sides], axis: int) -> Sides | None:
    """Return sides of which a box is free; None if there are none.

    `members` are the open places, in the order of node ids; `every` is sorted, and alike before the axis.
    """
    if not every:
        return None
    side = topology.shape[axis]
    before = math.prod(topology.shape[:axis])
    members = members.reshape(-1, side, before)
    runs = np.empty(members.shape, dtype=np.int64)
    runs_along(members, topology.wrap[axis], runs)
    for wanted, group in groupby(every, key=lambda sides: sides[axis]):
        same, extended = list(group), runs >= wanted
        if not extended.any():
            break  # larger sides have no place either
        if axis + 1 == len(topology.shape):
            return same[0]
        found = _free_sides(topology, extended, same, axis + 1)
        if found is not None:
            return found
    return None
