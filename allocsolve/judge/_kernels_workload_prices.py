"""Compiled, for the judge: the least cost of each job under prices, in integers."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from allocsolve.kernels import bisect_right, inner_kernel, kernel
from allocsolve.model import AMDAHL, MALLEABLE, OVERHEAD, SPEEDUP_TABLE

if TYPE_CHECKING:
    from allocsolve.model import IntArray, PackedJobs

__all__ = ["HIGHEST", "Delays", "Prices", "least_costs"]

#: A cost above this one counts as this one, which is a lower bound of it as well.
HIGHEST = 2**61


class Prices(NamedTuple):
    """Prices of node-time in slots, in integers; there are none outside."""

    #: Shape (slots + 1,), increasing, in units of time.
    edges: IntArray
    #: Shape (slots + 1,): the price of each slot, and 0.
    prices: IntArray
    #: Shape (slots + 1,): what a node costs up to each edge.
    integral: IntArray


class Delays(NamedTuple):
    """What jobs cost by the time from submission to end: ``max(floor, part(numerator * time / divisor))``.

    Shape (jobs,) each; the numerator is ``whole * divisor + rest``, and the part is the whole one.
    """

    #: In units of time.
    submit: IntArray
    whole: IntArray
    rest: IntArray
    divisor: IntArray
    floor: IntArray


@inner_kernel
def _product(a: int, b: int) -> int:
    """Return a * b, for two integers >= 0; or `HIGHEST`, if it is more."""
    return min(a * b, HIGHEST) if float(a) * float(b) < HIGHEST else HIGHEST


@inner_kernel
def _delay_cost(delays: Delays, j: int, time: int) -> int:
    if time <= 0:
        return int(delays.floor[j])
    cost = _product(delays.whole[j], time)
    if float(delays.rest[j]) * float(time) < HIGHEST:
        cost += delays.rest[j] * time // delays.divisor[j]
    return int(max(delays.floor[j], min(cost, HIGHEST)))


@inner_kernel
def _until(prices: Prices, moment: int) -> int:
    """Return what a node costs up to a moment."""
    slot = bisect_right(prices.edges, len(prices.edges), moment) - 1
    if slot < 0:
        return 0
    # After the last edge the price is 0.
    return int(prices.integral[slot] + prices.prices[slot] * (moment - prices.edges[slot]))


@inner_kernel
def _cost(prices: Prices, delays: Delays, j: int, nodes: int, time: int, start: int) -> int:
    used = _until(prices, start + time) - _until(prices, start)
    return _delay_cost(delays, j, start + time - delays.submit[j]) + _product(nodes, used)


@inner_kernel
def _least(
    prices: Prices, delays: Delays, j: int, held: tuple[int, int, int], least: int, steps: int
) -> tuple[int, int]:
    """Return the less of `least` and what a job costs on so many nodes, and the steps that are left.

    `held` is nodes, run time, and the moment after which all starts that pay nothing are no better.
    Starts are at the submission, where the floor is left, at an edge, or so that the end is at one. Later
    starts cost at least their delay, which ends the search; as it does if there are no steps left.
    """
    nodes, time, free = held
    submit, edges = delays.submit[j], prices.edges
    best = min(least, _cost(prices, delays, j, nodes, time, submit))
    if free > submit:
        best = min(best, _cost(prices, delays, j, nodes, time, free))
    for ends in range(2):
        first = submit + ends * time
        for k in range(bisect_right(edges, len(edges), first), len(edges)):
            start = edges[k] - ends * time
            delay = _delay_cost(delays, j, start + time - submit)
            if delay >= best:
                break
            if steps <= 0:
                best = delay
                break
            steps -= 1
            best = min(best, _cost(prices, delays, j, nodes, time, start))
    return best, steps


@inner_kernel
def _speedup_ratio(law: int, parameter: float, nodes: float, reference: float) -> float:
    if law == AMDAHL:
        return (1 - parameter + parameter / nodes) / (1 - parameter + parameter / reference)
    if law == OVERHEAD:
        return (1 / nodes + parameter * nodes) / (1 / reference + parameter * reference)
    return float((reference / nodes) ** parameter)


@kernel
def least_costs(
    jobs: PackedJobs, delays: Delays, free: IntArray, units: tuple[float, float], prices: Prices, steps: int
) -> tuple[int, int]:
    """Return the sum of the least costs of the jobs as ``(high, low)``: ``high * 2^31 + low``.

    Malleable and evolving jobs are passed over.

    Parameters
    ----------
    free
        Shape (jobs,): the latest end at which the delay costs the floor, in units of time.
    units
        Units of time in a second, and how many of them a run is taken shorter.
    steps
        Starts that are looked at; then a job counts with the delay of the next one, which is a lower bound.
    """
    per_second, shorter = units
    high, low = 0, 0
    for j in range(len(free)):
        if jobs.kind[j] >= MALLEABLE:
            continue
        law = jobs.speedup[j]
        first, count = 0, jobs.max_nodes[j] - jobs.min_nodes[j] + 1
        if law == SPEEDUP_TABLE:
            first = jobs.table_offsets[j]
            count = jobs.table_offsets[j + 1] - first
        best = HIGHEST
        for i in range(count):
            # From the largest size down: the delay without any wait only grows, if larger ones are faster.
            row = count - 1 - i
            if law == SPEEDUP_TABLE:
                nodes, seconds = jobs.table_nodes[first + row], jobs.table_seconds[first + row]
            else:
                nodes, seconds = jobs.min_nodes[j] + row, jobs.runtime[j]
                if count > 1:  # what is rounded up is less than what is taken off
                    seconds *= _speedup_ratio(law, jobs.parameter[j], nodes, jobs.nodes[j]) * (1 - 2.0**-50)
            length = seconds * per_second - shorter
            if length < 0 or (delays.whole[j] == 0 and delays.rest[j] == 0):
                best = min(best, delays.floor[j])
                break
            time = int(length)
            delay = _delay_cost(delays, j, time)
            if steps <= 0:
                best = min(best, delay)
            if delay < best:
                held = (nodes, time, free[j] - time)
                best, steps = _least(prices, delays, j, held, best, steps - 1)
            elif law != SPEEDUP_TABLE and law != OVERHEAD:  # noqa: PLR1714 - smaller sizes may be faster
                break
        high += best >> 31
        low += best & (2**31 - 1)
    return high, low
