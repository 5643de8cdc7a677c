"""Compiled, for the judge: the least cost of each rigid job under prices of several resources."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from allocsolve.judge.workload._kernels_prices import HIGHEST, _delay_cost, _product
from allocsolve.kernels import bisect_right, inner_kernel, kernel

if TYPE_CHECKING:
    from allocsolve.judge.workload._kernels_prices import Delays
    from allocsolve.model import IntArray


class ResourcePrices(NamedTuple):
    """Prices of several resources in the same slots, in integers; outside of the slots there are none.

    Read-only.
    """

    #: Shape (slots + 1,), rising, in units of time.
    edges: IntArray
    #: Shape (slots + 1, resources): the prices in each slot, and 0.
    prices: IntArray
    #: Shape (slots + 1, resources): what one of each resource costs up to each edge.
    integral: IntArray


class Runs(NamedTuple):
    """Rigid jobs in units of time, read-only; shape (jobs,) unless another one is given."""

    #: No job starts before.
    release: IntArray
    length: IntArray
    #: The latest end at which the delay costs the floor.
    free: IntArray
    #: Shape (jobs, resources).
    needs: IntArray


@inner_kernel
def _paid(listed: ResourcePrices, moment: int, resource: int) -> int:
    """Return what one of a resource costs up to a moment."""
    slot = bisect_right(listed.edges, len(listed.edges), moment) - 1
    if slot < 0:
        return 0
    within = moment - listed.edges[slot]  # after the last edge the price is 0
    return int(listed.integral[slot, resource] + listed.prices[slot, resource] * within)


@inner_kernel
def _cost(listed: ResourcePrices, delays: Delays, runs: Runs, j: int, start: int) -> int:
    """Return the cost of a job that starts then, all that it holds paid for, at most `HIGHEST`."""
    end = start + runs.length[j]
    cost = _delay_cost(delays, j, end - delays.submit[j])
    for resource in range(runs.needs.shape[1]):
        amount = runs.needs[j, resource]
        if amount > 0:
            paid = _paid(listed, end, resource) - _paid(listed, start, resource)
            cost = min(cost + _product(amount, paid), HIGHEST)
    return cost


@inner_kernel
def _changes(listed: ResourcePrices, runs: Runs, j: int, k: int, sign: int) -> bool:
    """Return whether at an edge some price that the job pays rises (sign 1), or falls (sign -1)."""
    for resource in range(runs.needs.shape[1]):
        before = listed.prices[k - 1, resource] if k > 0 else 0
        if runs.needs[j, resource] > 0 and sign * (listed.prices[k, resource] - before) > 0:
            return True
    return False


@kernel
def least_costs_on_machine(listed: ResourcePrices, delays: Delays, runs: Runs, steps: int) -> tuple[int, int]:
    """Return the sum of the least costs of the jobs as ``(high, low)``: ``high * 2^31 + low``.

    Starts are compared at the release, where the floor is left, at edges at which some price falls, and a run
    time before edges at which some price rises. The search ends when the delay of a start alone costs more.
    After so many steps, which are edges, a job counts with the delay of its next start, a lower bound.
    """
    high, low, edges = 0, 0, listed.edges
    for j in range(len(runs.release)):
        release, length = runs.release[j], runs.length[j]
        best = min(HIGHEST, _cost(listed, delays, runs, j, release))
        if delays.whole[j] == 0 and delays.rest[j] == 0:
            best = delays.floor[j]
        if runs.free[j] - length > release:
            best = min(best, _cost(listed, delays, runs, j, runs.free[j] - length))
        for ends in range(2):
            shift = ends * length
            for k in range(bisect_right(edges, len(edges), release + shift), len(edges)):
                start = edges[k] - shift
                delay = _delay_cost(delays, j, start + length - delays.submit[j])
                if delay >= best:
                    break
                if steps <= 0:
                    best = delay
                    break
                steps -= 1
                if _changes(listed, runs, j, k, 2 * ends - 1):
                    best = min(best, _cost(listed, delays, runs, j, start))
        high += best >> 31
        low += best & (2**31 - 1)
    return high, low
