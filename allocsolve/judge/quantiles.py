"""Quantiles: one definition for metrics, tables and pictures, so that all of them say the same."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from allocsolve.model import FloatArray


def quantile(values: ArrayLike, share: float) -> float:
    """Return the least of the values that at least this share of them does not exceed.

    At one half it is the median: of an even number of values the mean of the two in the middle.

    One value at least, some may be infinite; a share from 0 to 1: .95 is the 95th percentile.

    Examples
    --------
    >>> quantile([4, 1, 3, 2], 0.5), quantile([4, 1, 3, 2], 0.25), quantile([1, 2, float("inf")], 0.95)
    (2.5, 1.0, inf)
    """
    return float(row_quantiles(np.asarray(values, dtype=np.float64), share))


def row_quantiles(rows: FloatArray, share: float) -> FloatArray:
    """Return the quantile of each row, along the last axis. O(n) for n values."""
    count = rows.shape[-1]
    place = round(share * count, 6)  # 0.95 is no binary fraction, 19 of 20 are 95 %
    high = max(math.ceil(place), 1) - 1
    if share != 0.5 or count % 2:
        found: FloatArray = np.partition(rows, high, axis=-1)[..., high]
        return found
    ordered = np.partition(rows, (high, high + 1), axis=-1)
    middle: FloatArray = (ordered[..., high] + ordered[..., high + 1]) / 2
    return middle
