"""The limits on sums over several arcs: what follows from them when all else is propagated."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from allocsolve.exact.evolution._kernels_closure import ARC, PRICE_REASON, REASON, WASTE_REASON
from allocsolve.exact.evolution._kernels_prices import explain_prices, hold_prices
from allocsolve.exact.evolution._kernels_sum import (
    LIMIT,
    QUIET,
    UNLIMITED,
    SumLimit,
    explain_sum,
    hold_sum,
)
from allocsolve.exact.evolution._kernels_waste import WasteLimit, explain_waste, hold_waste
from allocsolve.kernels import inner_kernel

if TYPE_CHECKING:
    from allocsolve.exact.evolution._kernels_idle import PriceLimit
    from allocsolve.exact.evolution._kernels_offsets import Engine


class Limits(NamedTuple):
    """The limits on sums over several arcs."""

    starts: SumLimit
    waste: WasteLimit
    prices: PriceLimit


@inner_kernel
def hold_limits(e: Engine, limits: Limits, n: int) -> int:
    """Raise what follows from the first limit from which something does; results as of `hold_sum`."""
    outcome = QUIET
    if limits.starts.state[LIMIT] < UNLIMITED:
        outcome = hold_sum(e, limits.starts, n)
    if outcome == QUIET and len(limits.waste.arcs) > 0:
        outcome = hold_waste(e, limits.waste, n)
    if outcome == QUIET and len(limits.prices.steps) > 0:
        outcome = hold_prices(e, limits.prices, n, PRICE_REASON)
    return outcome


@inner_kernel
def explain_limit(e: Engine, limits: Limits, n: int, entry: int, value: int) -> int:
    """Write premises from before `entry` that imply that its arc has `value`, for raises by a limit."""
    reason = e.trail[entry, REASON]
    if reason <= PRICE_REASON:
        return explain_prices(e, limits.prices, n, PRICE_REASON - reason, entry, value)
    if reason == WASTE_REASON:
        # Arcs within an application have no holes, so the raise is the one that the budget implies.
        return explain_waste(e, limits.waste, entry, e.reverses[e.trail[entry, ARC]], 1 - value)
    return explain_sum(e, limits.starts, n, entry, value)
