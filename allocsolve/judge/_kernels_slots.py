"""Compiled, for the judge: what a node costs up to a moment, under prices in slots of time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from allocsolve.kernels import bisect_right, inner_kernel

if TYPE_CHECKING:
    from allocsolve.judge.certificates import Prices


@inner_kernel
def paid_until(prices: Prices, moment: int) -> int:
    """Return what a node costs up to a moment. O(log slots)."""
    slot = bisect_right(prices.edges, len(prices.edges), moment) - 1
    if slot < 0:
        return 0
    # After the last edge the price is 0.
    return int(prices.integral[slot] + prices.prices[slot] * (moment - prices.edges[slot]))
