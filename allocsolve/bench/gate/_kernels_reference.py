"""The unit in which the gate measures time: fixed work, in character like the kernels of the heuristics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from allocsolve.kernels import kernel

if TYPE_CHECKING:
    from allocsolve.model import IntArray

__all__ = ["LENGTH", "RESULT", "reference_work", "walk"]

#: Of the array, which takes 12 KB: as much as the segments of a busy resource profile, or a mesh of 32x32.
LENGTH: Final = 1500
STEPS: Final = 100_000
#: What the work comes to.
RESULT: Final = 49_882_810


@kernel
def walk(array: IntArray, steps: int) -> int:
    """Walk pseudo-randomly over an array of its own indices and change it on the way; return a checksum.

    Each step is a load, a branch that is hard to guess and a store, all of which depend on the step before:
    where the arrays happen to lie in memory makes no difference, as it does to loops that copy.
    """
    length = len(array)
    for idx in range(length):
        array[idx] = (idx * 7_919) % length
    drawn = 2011
    total = 0
    for _ in range(steps):
        drawn = (drawn * 1_103_515_245 + 12_345) % 2_147_483_648
        place = array[drawn % length]
        if place > drawn % length:
            total += place
        else:
            total -= 1
        array[place] = (place + total) % length
    return total


def reference_work() -> None:
    """Do the work once: about half a millisecond."""
    total = walk(np.empty(LENGTH, dtype=np.int64), STEPS)
    assert total == RESULT, f"the reference kernel found {total}, not {RESULT}"
