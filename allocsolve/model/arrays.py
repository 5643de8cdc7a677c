"""The words for arrays and integers that every model shares."""

from __future__ import annotations

from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["MAX_INTEGER", "UNLIMITED", "BoolArray", "IntArray", "frozen"]

#: Seconds, nodes, node ids and the like: 64-bit integers.
IntArray: TypeAlias = NDArray[np.int64]

#: A mask, such as one over the nodes of a machine.
BoolArray: TypeAlias = NDArray[np.bool_]

#: The largest time, node count or area: integers up to here survive JSON readers that use doubles.
MAX_INTEGER: Final = 2**53

#: Stands for "no limit on the duration of a step"; leaves room for sums in 64 bits.
UNLIMITED: Final = 2**62


def frozen(array: IntArray) -> IntArray:
    """Return the array itself, made read-only.

    Kernels are compiled per type of array, and read-only is part of the type: whoever always passes frozen
    arrays has them compiled once.
    """
    array.setflags(write=False)
    return array
