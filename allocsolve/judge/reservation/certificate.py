"""Bounds of reservations that the judge recomputes from certificates, in integers."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Final

import numpy as np

from allocsolve.errors import InvalidAnswer
from allocsolve.judge._kernels_slots import paid_until
from allocsolve.judge.certificates import price_list
from allocsolve.kernels import bisect_right, kernel
from allocsolve.model import MAX_INTEGER
from allocsolve.model.checks import shown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from allocsolve.judge.certificates import Prices
    from allocsolve.model import IntArray, ReservationProblem


@kernel
def cheapest_windows(times: tuple[IntArray, IntArray, IntArray], prices: Prices, least: IntArray) -> None:
    """Fill in for each job the least cost of a node for the run time, between arrival and deadline.

    Jobs that cannot end in time are skipped. The cost is piecewise linear in the start and bends where the
    run begins or ends at an edge: so the cheapest start is one of these, the first or the last possible one.
    O(jobs * slots * log slots).

    `times` are arrivals, run times and deadlines, shape (jobs,) each, `prices` those of a node per second;
    `least`, shape (jobs,), is written.
    """
    arrivals, runtimes, deadlines = times
    edges = prices.edges
    for job in range(len(arrivals)):
        first, length = arrivals[job], runtimes[job]
        last = deadlines[job] - length
        if last < first:
            continue
        best = paid_until(prices, first + length) - paid_until(prices, first)
        cost = paid_until(prices, last + length) - paid_until(prices, last)
        best = min(best, cost)
        for ends in range(2):
            shift = ends * length
            slot = bisect_right(edges, len(edges), first + shift)
            while slot < len(edges) and edges[slot] - shift < last:
                start = edges[slot] - shift
                later = paid_until(prices, start + length)
                best = min(best, later - paid_until(prices, start))
                slot += 1
        least[job] = best


#: Units of prices that the machine costs in all: sums below this fit into 64 bits.
_MAX_PAID: Final = 2**62
#: Jobs times slots: some seconds.
_MAX_STEPS: Final = 10**9
#: Relative rounding of a share of weights whose sums doubles do not hold exactly, with room to spare.
_ROUNDING: Final = Fraction(1, 2**50)


def reservation_price_bound(
    problem: ReservationProblem, certificate: Mapping[str, object], term: str
) -> float:
    """Return a lower bound on a term, recomputed from a certificate.

    `InvalidAnswer` if the certificate does not have this form, its numbers are too large, or jobs may leak.

    *Certificate.* JSON data: ``method`` is ``prices``; ``edges``, rising whole seconds; ``prices``, what a
    node costs in a second of each slot between two edges, integers >= 0 in units of weight / ``unit``.
    Outside of the slots nodes cost nothing.

    The first term of the objective, ``rejected``, ``unsuccessful`` or ``rejected-area``, is bounded, never
    above what the judge computes for a schedule of bookings.

    Notes
    -----
    *Proof.* Let L(t) be what a node costs up to t. At most N nodes are booked at any time, so all bookings
    together cost at most N L(end). Let m_j be what a node costs in the cheapest window of job j: of its run
    time, between its arrival and its deadline. If job j is accepted, its n_j nodes cost at least n_j m_j. So
    the accepted jobs A weigh
    ``sum_A w_j = sum_A (w_j - n_j m_j) + sum_A n_j m_j <= sum_j max(0, w_j - n_j m_j) + N L(end)``,
    for any prices >= 0. What is accepted is a multiple of the greatest common divisor of the weights, so this
    is rounded down to such a multiple.

    *Rounding.* Nothing is rounded if the weights are multiples of some power of two and add up to at most
    2^53 of it: then the judge computes shares as the nearest double, which is never below the nearest double
    of a smaller share. Otherwise the bound is lowered by one part in 2^50 and rounded down.

    *Complexity*: O(jobs * slots * log slots). No code is shared with the solvers.
    """
    method = certificate.get("method")
    if method != "prices":
        raise InvalidAnswer(f"method {shown(method)} of the certificate is not 'prices'")
    listed = price_list(certificate)
    packed, num_nodes = problem.packed, problem.topology.num_nodes
    total, unit = listed.total, listed.unit
    if total * num_nodes >= _MAX_PAID or len(listed.edges) * len(problem.jobs) > _MAX_STEPS:
        msg = (
            f"{len(listed.prices)} prices of the certificate, {shown(total)} for a node, "
            "are too many or too high"
        )
        raise InvalidAnswer(msg)
    least = np.zeros(len(problem.jobs), dtype=np.int64)
    times = (packed.arrival, packed.runtime, packed.deadline)
    cheapest_windows(times, listed.per(1), least)
    costs = (packed.nodes * least).tolist()
    in_time = (packed.arrival + packed.runtime <= packed.deadline).tolist()
    weights, scale, is_exact = _weights(problem, term)
    whole = sum(weights)
    possible = [weight for weight, fits in zip(weights, in_time, strict=True) if fits]
    if not whole:
        return 0.0
    paid = [cost for cost, fits in zip(costs, in_time, strict=True) if fits]
    gains = sum(max(0, weight * unit - scale * cost) for weight, cost in zip(possible, paid, strict=True))
    divisor = math.gcd(*possible) or 1
    accepted = min(sum(possible), (gains + scale * num_nodes * total) // (unit * divisor) * divisor)
    share = Fraction(whole - accepted, whole)
    return float(share) if is_exact else max(0.0, math.nextafter(float(share * (1 - _ROUNDING)), -math.inf))


def _weights(problem: ReservationProblem, term: str) -> tuple[list[int], int, bool]:
    """Return the weights of the jobs as integers, their common factor, and whether doubles hold all sums."""
    counted = [Fraction(job.weight) * (job.area if term == "rejected-area" else 1) for job in problem.jobs]
    scale = max((weight.denominator for weight in counted), default=1)  # all are powers of two
    weights = [int(weight * scale) for weight in counted]
    return weights, scale, sum(weights) <= MAX_INTEGER
