"""Lower bounds for evolution-profile scheduling: each a plain function whose docstring is its proof.

They hold for every expand limit. Expansion only adds to a schedule: each step still spends its requested
duration d computing on its n nodes, so at least area d * n and time d are used; more may be held.
Times are seconds; a completion is the absolute time at which an application ends, the makespan the latest.
"""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from allocsolve.judge import certified_bound
from allocsolve.judge.evolution.step_prices import knapsack_cells

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from allocsolve.model import EvolutionObjective, EvolutionProblem, EvolutionProfile, IntArray

#: Duals are rounded to multiples of 1 / _SCALE.
_SCALE = 2**30
#: The largest price of `step_prices`, and the most to which they add up.
_MOST_PRICE, _MOST_PRICES = 2**20, 2**32 - 1
#: The most configurations that a round prices: about as many as cover all steps once.
_CONFIGURATIONS_PER_ROUND = 16
#: The most rounds of column generation; 100 of 100 instances of 15-20 applications needed fewer.
_MAX_ROUNDS = 200
#: Kinds of steps up to which columns are generated; with more, the area bound is nearly tight.
_MAX_ITEMS = 600
#: The most kinds of steps times capacity in the dynamic program: 1-2 ms and 1 MB.
_MAX_CELLS = 250_000


def energy(problem: EvolutionProblem) -> int:
    """Return the area bound on the makespan, in seconds.

    Notes
    -----
    *Proof.* Let r be a time and A(r) the area of the applications released at r or later. All of it is
    spent after r, at most num_nodes node-seconds per second, so the makespan is at least
    r + ceil(A(r) / num_nodes). A(r) only changes at releases: the largest over the releases is taken, in
    exact integers.

    *Complexity*: O(applications log applications + steps).
    """
    area = bound = 0
    latest_first = sorted(
        zip(problem.releases, problem.applications, strict=True), key=lambda pair: pair[0], reverse=True
    )
    for release, app in latest_first:
        area += app.area
        bound = max(bound, release + -(-area // problem.num_nodes))
    return bound


def longest_application(problem: EvolutionProblem) -> int:
    """Return the largest release plus duration, in seconds: a bound on the makespan.

    Notes
    -----
    *Proof.* The steps of an application run one after the other, each for at least its duration, and not
    before the release.

    *Complexity*: O(steps).
    """
    return max((release + app.duration for release, app in _released(problem)), default=0)


def makespan_bound(problem: EvolutionProblem) -> int:
    """Return the largest of the cheap bounds on the makespan (`energy`, `longest_application`), in seconds.

    *Complexity*: O(applications log applications + steps).
    """
    return max(energy(problem), longest_application(problem))


def total_completion(problem: EvolutionProblem) -> int:
    """Return the trivial bound on the sum of all completions: the sum of release plus duration, in seconds.

    Divided by the number of applications it bounds the mean completion time.

    Notes
    -----
    *Proof.* As for `longest_application`, for each application by itself. Contention is ignored, so it is
    weak: tight only if all applications fit side by side.

    *Complexity*: O(steps).
    """
    return sum(release + app.duration for release, app in _released(problem))


def least_values(problem: EvolutionProblem, objective: EvolutionObjective) -> tuple[int, ...]:
    """Return cheap bounds on the terms of an objective, with completion as the total.

    A schedule that meets all of them is optimal, whatever the order of the terms.

    *Complexity*: as of `makespan_bound`.
    """
    bounds = {"makespan": makespan_bound(problem), "completion": total_completion(problem), "waste": 0}
    return tuple(bounds[term] for term in objective)


def _released(problem: EvolutionProblem) -> zip[tuple[int, EvolutionProfile]]:
    return zip(problem.releases, problem.applications, strict=True)


def configuration_lp(problem: EvolutionProblem) -> int:
    """Return the configuration bound on the makespan, in seconds.

    Notes
    -----
    A configuration is a set of steps that may compute at the same time: at most one of each application,
    together at most num_nodes nodes. The linear program

        minimise sum_c x_c  subject to  sum_(c contains i) x_c >= d_i for every step i,  x >= 0

    asks how long configurations must run to give each step its duration. A step without nodes belongs in:
    it fits beside anything but another step of its application.

    *Proof.* In a schedule, the set of steps that compute (are in the first d_i seconds of their hold) is a
    configuration at any time, also where steps are expanded. The time that a schedule spends in each
    configuration thus satisfies the program, and nothing computes before the least release; so the makespan
    is at least the least release plus the value of the program.

    *Safe bound.* For any prices p >= 0 of the steps let P be the largest price of a configuration. p / P is
    feasible in the dual, so sum_i d_i p_i / P is a lower bound (Farley 1990) whether or not the program was
    solved. The prices are the rounded duals of a floating-point solver, but they are integers, P is the
    exact maximum (a multiple-choice knapsack by dynamic programming) and the division is exact.

    *Guarantee.* At least the least release plus the larger of ceil(area / num_nodes) and the longest
    duration: these are the bounds of the prices p_i = nodes, and p_i = 1 within one application. The full
    value of the program, rounded up, when column generation converges (it did on 100 of 100 instances of
    15-20 applications). Stopped after a fixed number of rounds; for many steps, at those two prices alone.
    If num_nodes is large, nodes are counted in larger units, the needs rounded down (a relaxation, since
    sum n_i <= N implies sum floor(n_i / q) <= floor(N / q)).

    *Complexity*: at most 200 rounds of one linear program with a row per kind of step (same application,
    same nodes) and 16 knapsacks of O(kinds * capacity); 0.05-0.3 s for 17 applications of 5 steps.

    References
    ----------
    Gilmore & Gomory, "A linear programming approach to the cutting-stock problem", Operations Research
    9(6), 1961. Farley, "A note on bounding a class of linear programming problems, including cutting stock
    problems", Operations Research 38(5), 1990.
    """
    if not problem.applications:
        return 0
    bound, _ = _configuration_prices(problem, math.inf)
    return min(problem.releases) + bound


class MakespanBound(NamedTuple):
    """A bound on the makespan in seconds, and the certificate from which the judge recomputes it."""

    value: int
    certificate: dict[str, Any]


def strong_makespan_bound(problem: EvolutionProblem, *, seconds: float = math.inf) -> MakespanBound:
    """Return the larger of `makespan_bound` and `configuration_lp`, with its certificate, for exact solvers.

    Parameters
    ----------
    seconds
        Wall time after which no further columns are generated: the bound is then what was met so far.

    Notes
    -----
    The certificate of the linear program is one of the kind ``step-prices``: the value is what the judge
    recomputes from it. Problems whose knapsack is beyond the judge have that of the areas only.

    *Complexity*: that of `configuration_lp`.
    """
    cheap = MakespanBound(makespan_bound(problem), {"kind": "area"})
    cells = knapsack_cells(problem)
    if not problem.applications or cells is None:
        return cheap
    _, prices = _configuration_prices(problem, seconds)
    if prices is None:
        return cheap
    certificate = {"kind": "step-prices", "prices": prices}
    value = int(certified_bound(problem, certificate, ("makespan",)))
    return MakespanBound(value, certificate) if value > cheap.value else cheap


class StepPrices(NamedTuple):
    """Prices of the steps of each application, per second."""

    of_steps: list[list[int]]
    #: The most that steps pay together which may be held at the same time.
    most: int


def step_prices(problem: EvolutionProblem, prices: Sequence[Sequence[int]]) -> StepPrices:
    """Return prices in smaller numbers, about in proportion, which add up to less than 2^32.

    `prices` are as in a certificate of `strong_makespan_bound`.

    *Complexity*: one knapsack, O(kinds of steps * num_nodes).
    """
    unit = math.gcd(*(price for row in prices for price in row)) or 1
    largest = max(price // unit for row in prices for price in row)
    most = min(_MOST_PRICE, _MOST_PRICES // sum(map(len, prices)))
    share = (1, 1) if largest <= most else (most, largest)
    rows = [[price // unit * share[0] // share[1] for price in row] for row in prices]
    items = _items(problem)
    price = dict.fromkeys(items.kinds, 0)
    for app, (profile, row) in enumerate(zip(problem.applications, rows, strict=True)):
        for (_, nodes), own in zip(profile.steps, row, strict=True):
            price[app, nodes] = max(price[app, nodes], own)
    return StepPrices(rows, _dearest_configuration(items, np.array([*price.values()], dtype=np.int64))[0])


def _configuration_prices(problem: EvolutionProblem, seconds: float) -> tuple[int, list[list[int]] | None]:
    """Return the bound of `configuration_lp` less the least release, and the prices behind it.

    One list of prices per application, of its steps in order; None where other prices give the bound.
    """
    bound = max(-(-problem.area // problem.num_nodes), *(app.duration for app in problem.applications))
    items = _items(problem)
    if len(items.nodes) > _MAX_ITEMS:
        return bound, None
    bound, dearest = _column_generation(items, bound, time.monotonic() + seconds)
    if dearest is None:
        return bound, None
    price = dict(zip(items.kinds, dearest, strict=True))
    return bound, [
        [price[idx, nodes] for _, nodes in app.steps] for idx, app in enumerate(problem.applications)
    ]


class _Items(NamedTuple):
    """Kinds of steps (same application, same nodes): interchangeable in every configuration."""

    #: The application and the nodes of each kind.
    kinds: list[tuple[int, int]]
    #: Seconds to cover, over all steps of the kind.
    demands: list[int]
    #: Nodes in units of the knapsack.
    nodes: list[int]
    #: Kinds of each application.
    groups: list[list[int]]
    #: Nodes of the cluster in units of the knapsack.
    capacity: int


def _items(problem: EvolutionProblem) -> _Items:
    demands: dict[tuple[int, int], int] = {}
    for app_idx, app in enumerate(problem.applications):
        for duration, nodes in app.steps:
            demands[app_idx, nodes] = demands.get((app_idx, nodes), 0) + duration
    unit = int(np.gcd.reduce([nodes for _, nodes in demands])) or problem.num_nodes
    unit = max(unit, -(-problem.num_nodes * len(demands) // _MAX_CELLS))
    groups: list[list[int]] = [[] for _ in problem.applications]
    for item, (app_idx, _) in enumerate(demands):
        groups[app_idx].append(item)
    return _Items(
        [*demands],
        [*demands.values()],
        [nodes // unit for _, nodes in demands],
        groups,
        problem.num_nodes // unit,
    )


def _column_generation(items: _Items, bound: int, deadline: float) -> tuple[int, list[int] | None]:
    """Return the best safe bound met while solving the configuration program, and its price of each kind.

    Without prices, `bound` itself is the best. No round begins after the deadline of the monotonic clock.
    """
    best: list[int] | None = None
    configurations: dict[tuple[int, ...], None] = {(item,): None for item in range(len(items.nodes))}
    for _ in range(_MAX_ROUNDS):
        if time.monotonic() >= deadline:
            break
        value, duals = _master(items, list(configurations))
        # The value of the restricted program is at least that of the full one, so no better bound is left.
        if not value - 1e-6 > bound:
            break
        prices = np.clip(np.rint(duals * _SCALE), 0, _SCALE).astype(np.int64)
        before = len(configurations)
        left = prices.copy()
        for again in range(_CONFIGURATIONS_PER_ROUND):
            dearest, configuration = _dearest_configuration(items, left)
            if dearest == 0:
                break
            if again == 0:
                total = sum(d * p for d, p in zip(items.demands, prices.tolist(), strict=True))
                if -(-total // dearest) > bound:
                    bound, best = -(-total // dearest), prices.tolist()
            configurations[tuple(configuration)] = None
            # Steps already covered cost nothing now: the configurations of a round differ and cover all
            # steps.
            left[configuration] = 0
        if len(configurations) == before:
            break
    return bound, best


def _master(items: _Items, configurations: Sequence[tuple[int, ...]]) -> tuple[float, NDArray[np.float64]]:
    """Return the value and the duals of the program restricted to `configurations`."""
    # It is slow to import, and the other bounds need no solver.
    from scipy.optimize import linprog  # noqa: PLC0415 - scipy.optimize is slow to load

    covers = np.zeros((len(items.nodes), len(configurations)))
    for column, configuration in enumerate(configurations):
        covers[list(configuration), column] = 1
    demands = np.array(items.demands, dtype=np.float64)
    solved = linprog(np.ones(len(configurations)), A_ub=-covers, b_ub=-demands, method="highs")
    if solved.status != 0 or solved.fun is None:  # numerical trouble: stop with the bound so far
        return 0.0, np.zeros(len(items.nodes))
    return solved.fun, -solved.ineqlin.marginals


def _dearest_configuration(items: _Items, prices: IntArray) -> tuple[int, list[int]]:
    """Return the largest price of a configuration and its steps, by a multiple-choice knapsack."""
    best = np.zeros(items.capacity + 1, dtype=np.int64)  # by capacity
    choices = []
    for group in items.groups:
        extended = best.copy()
        choice = np.full(items.capacity + 1, -1, dtype=np.int32)
        for item in group:
            need, price = items.nodes[item], int(prices[item])
            if price > 0:
                candidate = best[: items.capacity + 1 - need] + price
                better = candidate > extended[need:]
                extended[need:][better] = candidate[better]
                choice[need:][better] = item
        best = extended
        choices.append(choice)
    room, configuration = items.capacity, []
    for choice in reversed(choices):
        item = int(choice[room])
        if item >= 0:
            configuration.append(item)
            room -= items.nodes[item]
    return int(best[-1]), sorted(configuration)
