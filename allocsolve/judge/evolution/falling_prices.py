"""Bounds on mean completions that the judge recomputes from prices of steps that fall with time."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple, cast

import numpy as np

from allocsolve.errors import InvalidAnswer
from allocsolve.judge.certificates import are_integers, malformed, positive_integer
from allocsolve.model import MAX_INTEGER
from allocsolve.model.checks import shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from allocsolve.model import EvolutionProblem, IntArray

#: The most cells of all knapsacks: about a second.
_MOST_CELLS: Final = 100_000_000
#: Sums of one price of each application stay below this, so that they fit 64 bits.
_MOST_TOTAL: Final = 1 << 62


def most_times(problem: EvolutionProblem) -> int:
    """Return how many times a certificate of `falling_price_bound` may have; below 2, there is none."""
    steps = sum(len(app.steps) for app in problem.applications)
    return _MOST_CELLS // (2 * max(steps, 1) * (problem.num_nodes // _unit(problem) + 1)) + 1


def falling_price_bound(problem: EvolutionProblem, certificate: Mapping[str, object], term: str) -> float:
    """Return a lower bound on the mean completion, in seconds, from prices of steps that fall with time.

    *Certificate.* ``prices`` and ``falls``, for each application lists with p_i and w_i of each of its steps:
    a second of step i that begins at time t costs max(0, p_i - w_i t), in parts of ``unit`` U; and ``times``,
    the rising seconds between which the prices of all steps together are looked at, none before the first
    and none left at the last. `InvalidAnswer` if it has not this form, the w_i times the durations of an
    application add up to more than U, numbers are beyond 64 bits, or the knapsacks have too many cells.

    Notes
    -----
    *Proof.* Step i, with d_i seconds, has a head h_i (the release and the steps before it) and a tail t_i
    (the steps after it); let C_a be the completion of its application a. It computes in the first d_i seconds
    of its hold. Their middle M_i is at most C_a - t_i - d_i / 2, as the tail follows. These seconds cost at
    least the integral of p_i - w_i t, which is d_i p_i - w_i d_i M_i. On the other hand the steps that
    compute at time t are at most one of each application, have at most all nodes together, and their heads
    are over; let P(t) be the largest price of such steps. So

        sum_i w_i d_i (C_a(i) - t_i - d_i / 2)  >=  sum_i d_i p_i - integral of P(t).

    To this add U - sum_(i of a) w_i d_i, which is not below 0, times C_a >= release plus duration, for
    each application a. On the left, that is U times the sum of all completions.

    Between two times let any step compute whose head is over before the later one. The most that such steps
    cost is a maximum of sums of maxima of linear functions, thus convex in t: its integral is at most the
    mean of what it is at both times, multiplied by their distance. It is the value of a multiple-choice
    knapsack, its choices the applications, its sizes the nodes in units of their greatest common divisor. All
    is computed in integers, and the sum of all completions rounded up.

    *Complexity*: O(times * steps * nodes).
    """
    del term  # the mean completion, the only one
    unit = positive_integer(certificate, "unit")
    given = _steps(problem, certificate)
    times = _times(problem, certificate, given)
    count = len(problem.applications)
    if not count:
        return 0
    left = [unit] * count
    twice = 0  # the sum of all completions, times twice the unit
    for app, duration, tail, price, fall in zip(
        given.apps.tolist(),
        given.durations,
        given.tails,
        given.prices.tolist(),
        given.falls.tolist(),
        strict=True,
    ):
        left[app] -= fall * duration
        twice += duration * (2 * price + fall * (duration + 2 * tail))
    if min(left) < 0:
        msg = f"falls of application {left.index(min(left))} of the certificate are together above its unit"
        raise InvalidAnswer(msg)
    floors = (
        release + app.duration for release, app in zip(problem.releases, problem.applications, strict=True)
    )
    twice += 2 * sum(rest * floor for rest, floor in zip(left, floors, strict=True))
    for earlier, later in pairwise(times):
        begin, end = _dearest(problem, given, earlier, later)
        twice -= (later - earlier) * (begin + end)
    return -(-twice // (2 * unit)) / count


class _Steps(NamedTuple):
    """The steps of all applications, and what the certificate says of them."""

    apps: IntArray
    nodes: IntArray
    heads: IntArray
    durations: list[int]
    tails: list[int]
    prices: IntArray
    falls: IntArray


def _steps(problem: EvolutionProblem, certificate: Mapping[str, object]) -> _Steps:
    sizes = [len(app.steps) for app in problem.applications]
    flat: list[IntArray] = []
    for name in ("prices", "falls"):
        rows = certificate.get(name)
        if not (isinstance(rows, list) and all(map(_are_numbers, rows))):
            raise malformed(f"{name} {shown(rows)} of the certificate are not lists of integers in 0..2^53")
        if [len(row) for row in rows] != sizes:
            raise InvalidAnswer(f"{name} of the certificate are not one for each step of each application")
        flat.append(np.array([number for row in rows for number in row], dtype=np.int64))
    rows = cast("list[list[int]]", certificate["prices"])
    if sum(map(max, rows)) >= _MOST_TOTAL:
        raise InvalidAnswer("prices of the certificate add up to more than 64 bits hold")
    heads: list[int] = []
    tails: list[int] = []
    for release, app in zip(problem.releases, problem.applications, strict=True):
        head, tail = release, app.duration
        for duration, _ in app.steps:
            tail -= duration
            heads.append(head)
            tails.append(tail)
            head += duration
    steps = [step for app in problem.applications for step in app.steps]
    return _Steps(
        np.repeat(np.arange(len(sizes)), sizes),
        np.array([nodes for _, nodes in steps], dtype=np.int64) // _unit(problem),
        np.array(heads, dtype=np.int64),
        [duration for duration, _ in steps],
        tails,
        *flat,
    )


def _are_numbers(row: object) -> bool:
    return are_integers(row) and all(0 <= number <= MAX_INTEGER for number in row)


def _times(problem: EvolutionProblem, certificate: Mapping[str, object], given: _Steps) -> list[int]:
    """Return the times of the certificate; the prices end with them, and their numbers fit 64 bits."""
    times = certificate.get("times")
    if not (_are_numbers(times) and times):
        raise malformed(f"times {shown(times)} of the certificate are not a list of integers in 0..2^53")
    whole = cast("list[int]", times)
    if any(later <= earlier for earlier, later in pairwise(whole)):
        raise InvalidAnswer("times of the certificate do not rise")
    if whole[0] > min(problem.releases, default=0):
        raise InvalidAnswer(f"times of the certificate begin at {whole[0]}, after a release")
    if len(whole) > most_times(problem):
        raise InvalidAnswer(f"the times need more than {_MOST_CELLS:,} steps times nodes")
    if whole[-1] * int(given.falls.max(initial=0)) >= _MOST_TOTAL:
        raise InvalidAnswer("falls of the certificate times its times are more than 64 bits hold")
    if (given.prices > given.falls * whole[-1]).any():
        raise InvalidAnswer(f"prices of the certificate are not down to 0 at {whole[-1]}, its last time")
    return whole


def _unit(problem: EvolutionProblem) -> int:
    nodes = [nodes for app in problem.applications for _, nodes in app.steps]
    return math.gcd(*nodes) or problem.num_nodes


def _dearest(problem: EvolutionProblem, given: _Steps, earlier: int, later: int) -> tuple[int, int]:
    """Return the largest price at both times of steps side by side whose heads are over before the later."""
    moments = np.array([[earlier], [later]])
    prices = np.maximum(given.prices - given.falls * moments, 0)
    paying = np.flatnonzero((prices > 0).any(axis=0) & (given.heads < later))
    room = problem.num_nodes // _unit(problem)
    best = np.zeros((2, room + 1), dtype=np.int64)  # by moment and room
    for members in _by_application(paying, given.apps):
        before = best.copy()
        for step in members:
            need = int(given.nodes[step])
            with_it = before[:, : room + 1 - need] + prices[:, step, None]
            np.maximum(best[:, need:], with_it, out=best[:, need:])
    return int(best[0, room]), int(best[1, room])


def _by_application(steps: IntArray, apps: IntArray) -> Iterable[list[int]]:
    """Return the steps, which are in order, application by application."""
    members: dict[int, list[int]] = {}
    for step in steps.tolist():
        members.setdefault(int(apps[step]), []).append(step)
    return members.values()
