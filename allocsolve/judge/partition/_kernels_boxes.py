"""Compiled, for the judge: how far free places go on along an axis."""

from __future__ import annotations

from typing import TYPE_CHECKING

from allocsolve.kernels import kernel

if TYPE_CHECKING:
    from allocsolve.model import BoolArray, IntArray


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
