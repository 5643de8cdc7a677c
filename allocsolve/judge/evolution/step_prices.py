"""Bounds on makespans that the judge recomputes from prices of steps."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, cast

import numpy as np

from allocsolve.errors import InvalidAnswer
from allocsolve.judge.certificates import are_integers, malformed
from allocsolve.model import MAX_INTEGER
from allocsolve.model.checks import shown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from allocsolve.model import EvolutionProblem

#: The most cells of a knapsack: a tenth of a second.
_MOST_CELLS: Final = 20_000_000
#: Sums of one price of each application stay below this, so that they fit 64 bits.
_MOST_TOTAL: Final = 1 << 62


def knapsack_cells(problem: EvolutionProblem) -> int | None:
    """Return the kinds of steps times the nodes that `step_price_bound` looks at; None if that is too much.

    Nodes are counted in units of their greatest common divisor.
    """
    kinds = sum(len({nodes for _, nodes in app.steps}) for app in problem.applications)
    cells = kinds * (problem.num_nodes // _unit(problem) + 1)
    return cells if cells <= _MOST_CELLS else None


def step_price_bound(problem: EvolutionProblem, certificate: Mapping[str, object], term: str) -> int:
    """Return a lower bound on the makespan from prices of steps, per second.

    *Certificate.* ``prices``, for each application a list with the price of each of its steps, integers from
    0 on; one of each application add up to less than 2^62. `InvalidAnswer` if it has not this form, or the
    knapsack has too many cells.

    Notes
    -----
    *Proof.* At any instant of a schedule the steps that are held are at most one of each application, and
    together they have at most all nodes. Let P be the largest price of such steps: each second pays at
    most P. Each step is held for its duration at least, so all seconds together pay at least the sum
    of the durations times the prices; none of them is before the least release. So the makespan is at least
    the least release plus that sum divided by P, rounded up since times are whole.

    P is the value of a multiple-choice knapsack: its choices are the applications, its sizes the nodes in
    units of their greatest common divisor. Computed in integers.

    *Complexity*: O(kinds of steps * nodes).
    """
    del term  # the makespan, the only one
    prices = certificate.get("prices")
    most = most_paid(problem, prices)
    if most == 0:
        return min(problem.releases, default=0)
    total: int = sum(
        duration * price
        for app, row in zip(problem.applications, cast("list[list[int]]", prices), strict=True)
        for (duration, _), price in zip(app.steps, row, strict=True)
    )
    return min(problem.releases) - (-total // most)


def most_paid(problem: EvolutionProblem, prices: object) -> int:
    """Return the largest price of steps that are held at the same time.

    `InvalidAnswer` if these are no prices, or too many; see `step_price_bound`.
    """
    if not (isinstance(prices, list) and all(map(_are_prices, prices))):
        raise malformed(f"prices {shown(prices)} of the certificate are not lists of integers in 0..2^53")
    if [len(row) for row in prices] != [len(app.steps) for app in problem.applications]:
        raise InvalidAnswer("prices of the certificate are not one for each step of each application")
    if sum(max(row) for row in prices) >= _MOST_TOTAL:
        raise InvalidAnswer("prices of the certificate add up to more than 64 bits hold")
    if knapsack_cells(problem) is None:
        raise InvalidAnswer(f"the problem has more than {_MOST_CELLS:,} kinds of steps times nodes")
    return _dearest(problem, prices)


def _are_prices(row: object) -> bool:
    return are_integers(row) and all(0 <= price <= MAX_INTEGER for price in row)


def _unit(problem: EvolutionProblem) -> int:
    nodes = [nodes for app in problem.applications for _, nodes in app.steps]
    return math.gcd(*nodes) or problem.num_nodes


def _dearest(problem: EvolutionProblem, prices: list[list[int]]) -> int:
    """Return the largest price of one step of each application, or none of it, that fit side by side."""
    unit = _unit(problem)
    room = problem.num_nodes // unit
    best = np.zeros(room + 1, dtype=np.int64)  # by room
    for app, row in zip(problem.applications, prices, strict=True):
        dearest: dict[int, int] = {}
        for (_, nodes), price in zip(app.steps, row, strict=True):
            dearest[nodes // unit] = max(price, dearest.get(nodes // unit, 0))
        before = best.copy()
        for need, price in dearest.items():
            np.maximum(best[need:], before[: room + 1 - need] + price, out=best[need:])
    return int(best[room])
