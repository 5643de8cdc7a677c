"""A lower bound on mean completions from prices of steps that fall with time: a function that proves it."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from allocsolve.bounds.evolution import mean_busy_time
from allocsolve.judge import certified_bound
from allocsolve.judge.evolution.falling_prices import most_times

if TYPE_CHECKING:
    from typing import TypeAlias

    from numpy.typing import NDArray

    from allocsolve.model import EvolutionProblem, IntArray

    Floats: TypeAlias = NDArray[np.float64]
    Choices: TypeAlias = NDArray[np.bool_]

#: The moments of the linear program up to about the least makespan, and those of the certificate.
_MOMENTS: Final = 32
_TIMES: Final = 192
#: The moments reach so many times the area by nodes, and from there in growing steps to the sum of durations.
_REACH: Final = 1.3
#: Fewer moments than these say too little.
_LEAST_MOMENTS: Final = 8
#: The most steps: a linear program has two rows for each.
_MOST_STEPS: Final = 300
#: The most rounds, and the configurations that a round prices at each moment.
_MAX_ROUNDS: Final = 60
_CONFIGURATIONS_PER_ROUND: Final = 4
#: How far configurations are priced from the last prices towards the best: it damps oscillation.
_INERTIA: Final = 0.4
#: The search ends when the program is at most this share above the bound.
_TOLERANCE: Final = 1e-3
#: Integers of a certificate are at most 2^53, and sums of prices below 2^62.
_LARGEST: Final = 2**52
_LARGEST_SUM: Final = 2**61


class CompletionBound(NamedTuple):
    """A bound on the sum of all completions in seconds, and what the judge recomputes it from, if it can."""

    value: int
    certificate: dict[str, Any] | None


def strong_completion_bound(problem: EvolutionProblem, *, seconds: float = math.inf) -> CompletionBound:
    """Return the larger of `mean_busy_time` and a bound from falling prices of steps, for exact solvers.

    Parameters
    ----------
    seconds
        Wall time after which no further round begins: the bound is then what was met so far.

    Notes
    -----
    *Proof.* A second of step i that begins at time t costs max(0, p_i - w_i t), for any p, w >= 0 of which
    the w_i times the durations d_i add up to at most 1 in each application. What is paid for all steps is at
    most the integral of P(t), the price of the dearest *configuration*: steps that fit side by side at t, of
    different applications, each after the steps before it. It is at least sum_i d_i (p_i - w_i M_i), M_i the
    middle of the seconds in which step i computes, which is at most the completion less the steps after it
    and d_i / 2. So sum_i w_i d_i M_i, hence the sum of the completions, cannot be less than what the prices
    say (`allocsolve.judge.evolution.falling_prices.falling_price_bound` has it in full).

    With prices in proportion to rates u_i up to a time, of which all configurations have c at most, these are
    the inequalities of `mean_busy_time`, a machine of speed c: that program has three such rates, this one
    the best for each moment. The dual asks for time spent in configurations at each moment so that the sum
    of completions is least that the mean times of all steps allow; steps may be preempted.

    *Safe bound.* The prices are duals of a floating-point solver, at some moments; the value is what the
    judge recomputes from them, rounded to integers, at more moments.

    *Guarantee.* At least `mean_busy_time`. Where that is not exceeded there is no certificate.

    *Complexity*: at most 60 rounds of one linear program with two rows per step, and knapsacks of
    O(steps * nodes) at each of about 40 moments; 0.5-2.5 s for 15-20 applications of 5 steps. The first
    prices are those of areas. Nothing is tried for more than 300 steps, or if the knapsacks are too many for
    the judge.

    References
    ----------
    Farley, "A note on bounding a class of linear programming problems, including cutting stock problems",
    Operations Research 38(5), 1990. Goemans, Queyranne, Schulz, Skutella & Wang, "Single machine scheduling
    with release dates", SIAM Journal on Discrete Mathematics 15(2), 2002. Wentges, "Weighted Dantzig-Wolfe
    decomposition for linear mixed-integer programming", International Transactions in Operational Research
    4(2), 1997 (prices between the last and the best).

    Examples
    --------
    >>> from allocsolve import EvolutionProblem, EvolutionProfile
    >>> from allocsolve.bounds import mean_busy_time
    >>> problem = EvolutionProblem(10, tuple(EvolutionProfile([(7, nodes)]) for nodes in (6, 5, 5, 5)))
    >>> mean_busy_time(problem), strong_completion_bound(problem).value
    (43, 44)
    """
    deadline = time.monotonic() + seconds
    cheap = CompletionBound(mean_busy_time(problem), None)
    moments = min(_MOMENTS, most_times(problem) // 4)
    durations, releases = problem.packed.durations, problem.packed.releases
    if not 0 < len(durations) <= _MOST_STEPS or moments < _LEAST_MOMENTS:
        return cheap
    if 2 * (float(releases.max()) + float(durations.sum())) > _LARGEST:
        return cheap
    program = _program(problem, moments)
    prices = _best_prices(program, deadline)
    certificate = _certificate(problem, program, prices, min(_TIMES, most_times(problem) // 2))
    count = len(problem.applications)
    value = round(certified_bound(problem, certificate, ("completion",)) * count)
    return CompletionBound(value, certificate) if value > cheap.value else cheap


class _Program(NamedTuple):
    """The program: times are shares of `span`, each moment stands for a length of time."""

    #: Application, nodes in units, duration, and the time from the middle to the end of the application.
    apps: IntArray
    nodes: IntArray
    durations: Floats
    after: Floats
    #: Release plus duration of each application.
    floors: Floats
    moments: Floats
    lengths: Floats
    #: Whether a step may be paid at a moment: shape (moments, steps).
    eligible: Choices
    capacity: int
    span: float


class _Prices(NamedTuple):
    """At time 0, and how much less per time; both times the durations."""

    at_first: Floats
    #: They add up to at most 1 in each application.
    weights: Floats


def _program(problem: EvolutionProblem, moments: int) -> _Program:
    offsets, durations, nodes, _, releases = problem.packed
    apps: IntArray = np.repeat(np.arange(len(releases)), np.diff(offsets))
    ends = np.concatenate([[0], np.cumsum(durations)])  # if all applications ran one after the other
    heads = releases[apps] + ends[:-1] - ends[offsets[apps]]
    tails = ends[offsets[apps + 1]] - ends[1:]
    floors = releases + np.diff(ends[offsets])
    first, last = int(releases.min()), int(releases.max() + ends[-1])
    busy = max(_REACH * problem.area / problem.num_nodes, float(floors.max()) - first)
    near = np.linspace(first, min(first + busy, last), moments)
    times = np.unique([*near, *np.geomspace(max(near[-1] - first, 1), max(last - first, 1), 5) + first])
    gaps = np.diff(times)
    span = float(times[-1])
    # All steps find room one after the other at the last moment, so there is a solution from the beginning.
    lengths = (np.append(gaps, 2 * ends[-1]) + np.insert(gaps, 0, 0)) / 2
    unit = int(np.gcd.reduce(nodes)) or problem.num_nodes
    return _Program(
        apps,
        nodes // unit,
        durations / span,
        (tails + durations / 2) / span,
        floors / span,
        times / span,
        lengths / span,
        heads < np.append(times[1:], np.inf)[:, None],
        problem.num_nodes // unit,
        span,
    )


def _best_prices(program: _Program, deadline: float) -> _Prices:
    """Return the best prices met while solving the program; no round begins after the deadline."""
    steps = np.arange(len(program.durations))
    late = len(program.moments) - 1
    columns: dict[tuple[int, bytes], None] = {(late, _packed(steps == step)): None for step in steps}
    best = _prices_of_areas(program)
    bound, found = _priced(program, best)
    columns |= dict.fromkeys(found)
    for _ in range(_MAX_ROUNDS):
        if time.monotonic() >= deadline:
            break
        solved = _master(program, list(columns))
        if solved is None:  # numerical trouble: stop with the prices so far
            break
        value, last = solved
        if value <= bound * (1 + _TOLERANCE):
            break
        before = len(columns)
        for inertia in (_INERTIA, 0.0):
            tried = _Prices(
                *(inertia * old + (1 - inertia) * new for old, new in zip(best, last, strict=True))
            )
            reached, found = _priced(program, tried)
            columns |= dict.fromkeys(found)
            if reached > bound:
                bound, best = reached, tried
            if len(columns) > before:
                break
        if len(columns) == before:
            break
    return best


def _prices_of_areas(program: _Program) -> _Prices:
    """Return the best prices of one machine that works off areas, the smallest application first.

    A node costs r(t), which is 0 in the end and falls by 1 / area a second while an application is worked
    off; the prices of its steps are tangents of r there, times their nodes.
    """
    areas = np.bincount(program.apps, program.nodes * program.durations, len(program.floors))
    order = np.argsort(areas, kind="stable")
    lengths = areas[order] / program.capacity
    begins = program.moments[0] + np.cumsum(lengths) - lengths
    slopes = np.divide(1, areas[order], out=np.zeros(len(order)), where=areas[order] > 0)
    heights = np.cumsum((lengths * slopes)[::-1])[::-1]
    at_first, falls = np.empty(len(order)), np.empty(len(order))
    at_first[order], falls[order] = heights + slopes * begins, slopes
    masses = program.nodes * program.durations
    return _Prices(masses * at_first[program.apps], masses * falls[program.apps])


def _packed(configuration: Choices) -> bytes:
    return np.packbits(configuration).tobytes()


def _master(program: _Program, columns: list[tuple[int, bytes]]) -> tuple[float, _Prices] | None:
    """Return the value and the duals of the program restricted to these configurations at moments."""
    # It is slow to import, and the other bounds need no solver.
    from scipy.optimize import linprog  # noqa: PLC0415 - scipy.optimize is slow to load

    steps, count = len(program.durations), len(program.floors)
    at = np.array([moment for moment, _ in columns])
    bits = np.frombuffer(b"".join(members for _, members in columns), dtype=np.uint8)
    members = np.unpackbits(bits.reshape(len(columns), -1), axis=1, count=steps).T.astype(np.float64)
    # First the completions, then the time in each configuration; rows by step: its duration, its middle.
    rows = np.zeros((2 * steps + len(program.moments), count + len(columns)))
    rows[:steps, count:] = -members
    rows[np.arange(steps, 2 * steps), program.apps] = -1
    rows[steps : 2 * steps, count:] = members * program.moments[at] / program.durations[:, None]
    rows[2 * steps + at, np.arange(count, count + len(columns))] = 1
    limits = np.concatenate([-program.durations, -program.after, program.lengths])
    solved = linprog(
        np.repeat([1.0, 0.0], [count, len(columns)]),
        A_ub=rows,
        b_ub=limits,
        bounds=[*((floor, None) for floor in program.floors.tolist()), *[(0, None)] * len(columns)],
        method="highs",
    )
    if solved.status != 0 or solved.fun is None:
        return None
    duals = np.maximum(-solved.ineqlin.marginals, 0)
    return solved.fun, _Prices(duals[:steps] * program.durations, duals[steps : 2 * steps])


def _priced(program: _Program, prices: _Prices) -> tuple[float, list[tuple[int, bytes]]]:
    """Return the bound of these prices, and the dearest configurations, several for each.

    Those of a moment differ and cover all steps that cost something: steps already covered cost nothing.
    """
    starts = prices.at_first / program.durations
    falls = prices.weights / program.durations
    left = np.maximum(starts - falls * program.moments[:, None], 0) * program.eligible
    charges = np.bincount(program.apps, prices.weights, len(program.floors))
    bound = prices.at_first.sum() + prices.weights @ program.after + (1 - charges) @ program.floors
    found: list[tuple[int, bytes]] = []
    for again in range(_CONFIGURATIONS_PER_ROUND):
        dearest, chosen = _dearest_configurations(program, left)
        if again == 0:
            bound -= dearest @ program.lengths
        found += [(int(moment), _packed(chosen[moment])) for moment in np.flatnonzero(chosen.any(axis=1))]
        left[chosen] = 0
    return float(bound), found


def _dearest_configurations(program: _Program, prices: Floats) -> tuple[Floats, Choices]:
    """Return for each moment the largest price of a configuration and its steps."""
    moments, capacity = len(prices), program.capacity
    best = np.zeros((moments, capacity + 1))  # by capacity
    groups = np.split(np.arange(prices.shape[1]), np.flatnonzero(np.diff(program.apps)) + 1)
    before = []
    for group in groups:
        before.append(best)
        best = best.copy()
        for step in group:
            need = program.nodes[step]
            with_it = before[-1][:, : capacity + 1 - need] + prices[:, step, None]
            np.maximum(best[:, need:], with_it, out=best[:, need:])
    chosen = np.zeros(prices.shape, dtype=bool)
    room = np.full(moments, capacity)
    every = np.arange(moments)
    for group, without in zip(reversed(groups), reversed(before), strict=True):
        needs = program.nodes[group]
        rest = room[:, None] - needs
        values = np.where(rest >= 0, without[every[:, None], np.maximum(rest, 0)] + prices[:, group], -1)
        pick = np.argmax(values, axis=1)
        taken = values[every, pick] > without[every, room]
        chosen[every[taken], group[pick[taken]]] = True
        room = np.where(taken, rest[every, pick], room)
    return best[:, capacity], chosen


def _certificate(
    problem: EvolutionProblem, program: _Program, prices: _Prices, num_times: int
) -> dict[str, Any]:
    """Return these prices in integers, with times as far as there are any."""
    durations, apps = problem.packed.durations, program.apps
    end = 2 * int(program.span)  # nothing is paid from here on
    starts = prices.at_first / durations * program.span
    falls = prices.weights / durations
    dearest, steepest = float(starts.max()), float(falls.max())
    limit = min(
        _LARGEST / max(1.0, dearest),
        _LARGEST_SUM / max(1.0, dearest * len(program.floors), steepest * end),
    )
    unit = 2 ** max(0, math.floor(math.log2(limit)))
    whole_falls: list[int] = [int(fall * unit) for fall in falls.tolist()]
    whole_prices = [
        min(int(start * unit), fall * end) for start, fall in zip(starts.tolist(), whole_falls, strict=True)
    ]
    charges = [0] * len(program.floors)
    for app, duration, fall in zip(apps.tolist(), durations.tolist(), whole_falls, strict=True):
        charges[app] += duration * fall
    pairs = zip(whole_prices, whole_falls, strict=True)
    last = max((-(-price // fall) for price, fall in pairs if fall), default=0)
    first = min(problem.releases)
    last = max(last, first + 1)
    times = np.linspace(first, last, num_times).astype(np.int64)
    cuts = np.cumsum(np.bincount(apps))[:-1]

    def rows(numbers: list[int]) -> list[list[int]]:
        return [row.tolist() for row in np.split(np.array(numbers, dtype=np.int64), cuts)]

    return {
        "kind": "falling-prices",
        "unit": max(unit, *charges),
        "times": np.unique(times).tolist(),
        "prices": rows(whole_prices),
        "falls": rows(whole_falls),
    }
