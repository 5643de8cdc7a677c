"""Bounds of reservations that the judge recomputes from certificates, in integers."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Final

import numpy as np

from allocsolve.errors import InvalidAnswer
from allocsolve.judge.certificates import price_list
from allocsolve.judge.reservation._kernels_prices import cheapest_windows
from allocsolve.model import MAX_INTEGER
from allocsolve.model.checks import shown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from allocsolve.model import ReservationProblem

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
        msg = f"method {shown(method)} of the certificate is not 'prices'"
        raise InvalidAnswer(msg)
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
