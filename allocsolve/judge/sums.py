"""Sums in the judge that no number of a file makes wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from allocsolve.model import UNLIMITED

if TYPE_CHECKING:
    from allocsolve.model import BoolArray, FloatArray, IntArray


def summable(numbers: IntArray) -> IntArray:
    """Return whole numbers whose sums are exact: themselves, or, where 64 bits might not do, Python integers.

    Sums of any of them are then exact with either sign, and so are differences of two such sums.
    """
    largest = max(int(numbers.max(initial=0)), -int(numbers.min(initial=0)))
    return numbers if largest * numbers.size <= UNLIMITED else numbers.astype(object)


def held_after(moments: int, amounts: IntArray, taken: IntArray, returned: IntArray) -> IntArray:
    """Return how much is held from each moment to the next, shape (moments,), exactly.

    Each hold, shape (holds,), has an amount and the numbers of the moments at which it is taken and given
    back.
    """
    exact = summable(amounts)
    held = np.zeros(moments, dtype=exact.dtype)
    np.add.at(held, taken, exact)
    np.subtract.at(held, returned, exact)
    return np.cumsum(held)


def are_sums(totals: FloatArray, left: FloatArray, right: FloatArray | IntArray) -> BoolArray:
    """Return where a total is the sum of two numbers, and nothing of it was rounded."""
    rounded = left + right
    part = rounded - left
    lost = (left - (rounded - part)) + (right - part)
    exact: BoolArray = (totals == rounded) & (lost == 0)
    return exact
