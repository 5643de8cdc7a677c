"""Searching and selecting in arrays, for kernels.

numba's own ``searchsorted`` takes two seconds to compile (most of it checks the text that says on which side)
and its ``sort`` more than one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from allocsolve.kernels.jit import inner_kernel

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@inner_kernel
def bisect_right(values: NDArray[np.int64] | NDArray[np.float64], count: int, value: float) -> int:
    """Return how many of the first `count` values, which are sorted, are at most `value`. O(log count)."""
    low, high = 0, count
    while low < high:
        middle = (low + high) >> 1
        if values[middle] <= value:
            low = middle + 1
        else:
            high = middle
    return low


@inner_kernel
def select(values: NDArray[np.float64], count: int, rank: int) -> float:
    """Return the value of this rank (0: the least) among the first `count`, which are reordered.

    Quickselect (Hoare, Communications of the ACM 4(7), 1961). O(count) on average.
    """
    low, high = 0, count - 1
    while low < high:
        pivot = values[(low + high) >> 1]
        i, j = low, high
        while i <= j:
            while values[i] < pivot:
                i += 1
            while values[j] > pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if rank <= j:
            high = j
        elif rank >= i:
            low = i
        else:
            break
    return float(values[rank])


@inner_kernel
def sort_by_keys(items: NDArray[np.int64], keys: NDArray[np.float64], count: int) -> None:
    """Sort the first `count` items by their keys, which move along; equal keys stay as they are.

    Insertion sort, for a few dozen items: O(count^2).
    """
    for idx in range(1, count):
        item, key = items[idx], keys[idx]
        at = idx
        while at > 0 and keys[at - 1] > key:
            items[at], keys[at] = items[at - 1], keys[at - 1]
            at -= 1
        items[at], keys[at] = item, key
