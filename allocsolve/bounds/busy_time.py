"""A lower bound on the sum of completions of evolution profiles, from the mean busy times of their steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from allocsolve.bounds.evolution import total_completion

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import TypeAlias

    from numpy.typing import NDArray

    from allocsolve.model import EvolutionProblem, IntArray

    Floats: TypeAlias = NDArray[np.float64]

#: Duals are rounded down to multiples of about 1 / _SCALE.
_SCALE = 2**30
#: The most rounds of cuts, and the most rounds times steps: 20 applications converge, 100 nearly.
_MAX_ROUNDS, _MAX_STEP_ROUNDS = 60, 60_000
#: Number of thresholds: cuts are sought among the steps whose head is at least a threshold.
_THRESHOLDS = 8
#: Weight of the old point in the mean at which cuts are sought: it damps oscillation.
_INERTIA = 0.7
#: Rounds in a row in which a cut may be slack before it is dropped.
_MAX_AGE = 6
#: Rounds without a gain after which the search ends.
_PATIENCE = 10
#: The least violation, slack or gain that counts, as a share of the mean of release plus duration.
_TOLERANCE = 1e-6


def mean_busy_time(problem: EvolutionProblem) -> int:
    """Return the mean-busy-time bound on the sum of all completions, in seconds.

    Divided by the number of applications it bounds the mean completion time.

    Notes
    -----
    Let C_a be the completion of application a, r_a its release and p_a its duration. Step i of it takes at
    least d_i seconds on n_i nodes, after a head h_i (r_a and the durations before i) and before a tail t_i
    (the durations after i). The linear program

        minimise sum_a C_a  subject to  C_a >= r_a + p_a  and, for sets Q of steps and rates u,
        sum_(i in Q) w_i (C_a(i) - t_i - d_i / 2) >= w(Q) h(Q) + w(Q)^2 / (2 c),

    where w_i = u_i d_i, w(Q) is the sum of them and h(Q) the least head in Q, is solved by cutting planes. Of
    the nodes n_i and the N of the cluster, the rates and their capacity c = 2 N are, with a cut for each:

    - u_i = 2 n_i;
    - u_i = 2 N if 2 n_i > N, else 0: of these steps one runs at a time;
    - u_i = N if 3 n_i > N, else 0: of these steps two run at a time.

    *Proof.* Let step i compute in the first d_i seconds of its hold, at rate u_i. At any time all rates
    together are at most c. M_i, the middle of these seconds, is at most C_a(i) - t_i - d_i / 2, since the
    steps after i take t_i more seconds. Let f(t) be the rate of all of Q at time t, so that the integral of
    f(t) t is sum_(i in Q) w_i M_i. f is 0 before h(Q), it is at most c, and its integral is w(Q). Among such
    functions the integral of f(t) t is least if f is c from h(Q) on, for w(Q) / c seconds: anything else is
    that with mass moved to later times. These seconds have their middle at h(Q) + w(Q) / (2 c), so the least
    value is w(Q) (h(Q) + w(Q) / (2 c)). Thus the completions of every schedule satisfy the program.

    *Safe bound.* Any prices y_Q >= 0 that charge each application at most 1, that is
    q_a = sum_Q y_Q w(Q intersected with a) <= 1, give a bound, whether or not the program was solved: add up
    y_Q times each inequality and 1 - q_a times C_a >= r_a + p_a. The prices are the duals of a floating-point
    solver, rounded down and scaled until q_a <= 1; all else is in exact integers.

    *Guarantee.* At least `total_completion`. If all releases are equal and each step needs more than half of
    the nodes, the full program is tight: the optimum is one application after the other, the shortest first.

    *Separation.* For given M, rates u and threshold h, the most violated Q among the steps with a head of at
    least h consists of those with M_i below some value (else exchange), so prefixes by M_i suffice.

    *Complexity*: at most 60 rounds of one linear program with a column per application and O(steps log steps)
    for the cuts; about 0.1 s for 20 applications, 0.5 s for 100 (5-10 steps each).

    References
    ----------
    Queyranne, "Structure of a simple scheduling polyhedron", Mathematical Programming 58, 1993. Goemans,
    Queyranne, Schulz, Skutella & Wang, "Single machine scheduling with release dates", SIAM Journal on
    Discrete Mathematics 15(2), 2002.

    Examples
    --------
    >>> from allocsolve import EvolutionProblem, EvolutionProfile
    >>> problem = EvolutionProblem(8, (EvolutionProfile([(60, 8)]), EvolutionProfile([(30, 8)])))
    >>> mean_busy_time(problem)  # 30 and 90
    120
    """
    trivial = total_completion(problem)
    steps = _steps(problem)
    if not len(steps.durations):
        return trivial
    return max(trivial, _safe_bound(steps, _priced_cuts(steps)))


class _Steps(NamedTuple):
    """The steps with nodes."""

    #: Application of each step.
    apps: IntArray
    durations: IntArray
    heads: IntArray
    tails: IntArray
    #: Rates of each kind, by step; the capacity is twice the number of nodes.
    rates: list[IntArray]
    num_nodes: int
    #: Release plus duration of each application.
    floors: IntArray


class _Cut(NamedTuple):
    """The inequality of the steps of a set, at positive rates of one kind."""

    kind: int
    #: In the order of the problem.
    members: IntArray


def _steps(problem: EvolutionProblem) -> _Steps:
    offsets, durations, nodes, _, releases = problem.packed
    apps: IntArray = np.repeat(np.arange(len(releases)), np.diff(offsets))
    ends = np.concatenate([[0], np.cumsum(durations)])  # if all applications ran one after the other
    before = ends[:-1] - ends[offsets[apps]]
    after = ends[offsets[apps + 1]] - ends[1:]
    size = problem.num_nodes
    zero = np.zeros_like(nodes)
    kinds = (2 * nodes, np.where(2 * nodes > size, 2 * size, zero), np.where(3 * nodes > size, size, zero))
    used = nodes > 0
    return _Steps(
        apps[used],
        durations[used],
        (releases[apps] + before)[used],
        after[used],
        [rates[used] for rates in kinds if rates.any()],
        size,
        releases + np.diff(ends[offsets]),
    )


def _priced_cuts(steps: _Steps) -> list[tuple[_Cut, float]]:
    """Return cuts and the duals of the normalised cuts, whose coefficients are shares of the mass."""
    unit = float(steps.floors.mean())
    cuts: dict[tuple[int, bytes], _Cut] = {}
    ages: dict[tuple[int, bytes], int] = {}
    priced: list[tuple[_Cut, float]] = []
    completions = point = steps.floors / unit
    values = [0.0]
    for _ in range(max(1, min(_MAX_ROUNDS, _MAX_STEP_ROUNDS // len(steps.durations)))):
        before = len(cuts)
        for where in (point, completions):
            if len(cuts) == before:
                cuts |= {(cut.kind, cut.members.tobytes()): cut for cut in _violated(steps, where, unit)}
        if len(cuts) == before:
            break
        solved = _solve(steps, list(cuts.values()), unit)
        if solved is None:  # numerical trouble: stop with the prices so far
            break
        completions, duals, slack = solved
        point = _INERTIA * point + (1 - _INERTIA) * completions
        priced = [(cut, dual) for cut, dual in zip(cuts.values(), duals.tolist(), strict=True) if dual > 0]
        for key, room in zip(list(cuts), slack.tolist(), strict=True):
            ages[key] = ages.get(key, 0) + 1 if room > _TOLERANCE else 0
            if ages[key] == _MAX_AGE:
                del cuts[key], ages[key]
        values.append(float(completions.mean()))
        if len(values) > _PATIENCE and values[-1] < values[-1 - _PATIENCE] + _TOLERANCE:
            break
    return priced


def _violated(steps: _Steps, completions: Floats, unit: float) -> Iterator[_Cut]:
    """Yield the most violated cut of each kind and threshold, all times in multiples of `unit`."""
    durations, heads = steps.durations / unit, steps.heads / unit
    middles = completions[steps.apps] - steps.tails / unit - durations / 2
    order = np.argsort(middles, kind="stable")
    distinct = np.unique(heads)
    picked = np.unique(np.linspace(0, len(distinct) - 1, _THRESHOLDS).astype(np.int64))
    thresholds = distinct[picked, np.newaxis]
    eligible = heads[order] >= thresholds
    for kind, rates in enumerate(steps.rates):
        # Masses are divided by the capacity: they are seconds at full rate.
        shares = eligible * (rates * durations / (2 * steps.num_nodes))[order]
        masses = np.cumsum(shares, axis=1)
        excess = masses**2 / 2 - np.cumsum(shares * (middles[order] - thresholds), axis=1)
        lasts = np.argmax(excess, axis=1)
        for row, last in enumerate(lasts.tolist()):
            if excess[row, last] > _TOLERANCE * masses[row, last]:
                yield _Cut(kind, np.sort(order[: last + 1][shares[row, : last + 1] > 0]))


def _solve(steps: _Steps, cuts: Sequence[_Cut], unit: float) -> tuple[Floats, Floats, Floats] | None:
    """Return completions, duals and slacks of the program with these cuts, times in multiples of `unit`."""
    # It is slow to import, and the other bounds need no solver.
    from scipy.optimize import linprog  # noqa: PLC0415 - scipy.optimize is slow to load

    num_apps = len(steps.floors)
    shares = np.empty((len(cuts), num_apps))
    lower = np.empty(len(cuts))
    for row, (kind, members) in enumerate(cuts):
        masses = steps.rates[kind][members] * (steps.durations[members] / unit)
        weights = masses / masses.sum()
        shares[row] = np.bincount(steps.apps[members], weights, num_apps)
        after = steps.tails[members] + steps.durations[members] / 2
        lower[row] = (steps.heads[members].min() + weights @ after) / unit
        lower[row] += masses.sum() / (4 * steps.num_nodes)
    bounds = [(floor, None) for floor in (steps.floors / unit).tolist()]
    solved = linprog(np.ones(num_apps), A_ub=-shares, b_ub=-lower, bounds=bounds, method="highs")
    if solved.status != 0 or solved.x is None or solved.slack is None:
        return None
    return solved.x, -solved.ineqlin.marginals, solved.slack


def _safe_bound(steps: _Steps, priced: Sequence[tuple[_Cut, float]]) -> int:
    """Return the bound that the prices give, in exact integers, whatever the solver proposed."""
    columns: list[list[int]] = [
        column.tolist() for column in (steps.apps, steps.durations, steps.heads, steps.tails)
    ]
    apps, durations, heads, tails = columns
    size = steps.num_nodes
    ceiling = 2 * size * sum(durations)  # no mass is larger
    floors: list[int] = steps.floors.tolist()
    charges = [0] * len(floors)
    value = 0  # of all cuts, times 4 size
    for (kind, members), dual in priced:
        rates: list[int] = steps.rates[kind].tolist()
        masses = {i: rates[i] * durations[i] for i in members.tolist()}
        mass = sum(masses.values())
        price = int(dual * _SCALE) * ceiling // mass
        for i, own in masses.items():
            charges[apps[i]] += price * own
        later = sum(own * (2 * tails[i] + durations[i]) for i, own in masses.items())
        value += price * (4 * size * mass * min(heads[i] for i in masses) + mass**2 + 2 * size * later)
    whole = max(_SCALE * ceiling, *charges)  # scales the prices so that no charge is above 1
    rest = sum((whole - charge) * floor for charge, floor in zip(charges, floors, strict=True))
    return -(-(value + 4 * size * rest) // (4 * size * whole))
