"""Searching in sorted arrays, for kernels.

numba's own ``searchsorted`` takes two seconds to compile: most of it checks the text that says on which side.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from allocsolve.kernels.jit import inner_kernel

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["bisect_right"]


@inner_kernel
def bisect_right(values: NDArray[np.int64], count: int, value: int) -> int:
    """Return how many of the first `count` values, which are sorted, are at most `value`. O(log count)."""
    low, high = 0, count
    while low < high:
        middle = (low + high) >> 1
        if values[middle] <= value:
            low = middle + 1
        else:
            high = middle
    return low
