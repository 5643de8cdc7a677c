"""Statistics for comparing solvers: plain functions on numbers, each with its source.

Last come *brackets*: what is known of an optimum, or of the ratio of two, that need not be proven.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from itertools import accumulate, pairwise
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, get_args

import numpy as np

from allocsolve.errors import InvalidAnswer, InvalidOption
from allocsolve.judge.quantiles import row_quantiles

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

#: Where a step function changes, in increasing order, and what it is from there on.
Steps: TypeAlias = tuple[tuple[float, float], ...]

#: An end and another, or None if there is no such interval.
Interval: TypeAlias = tuple[float, float] | None

Statistic: TypeAlias = Literal["mean", "median", "p95"]
STATISTICS: Final[tuple[Statistic, ...]] = get_args(Statistic)

_RESAMPLES: Final = 1999

#: At most this number of differences: the distribution of the sum of ranks is computed, not approximated.
_EXACT_PAIRS: Final = 50


def shifted_geometric_mean(values: Sequence[float], shift: float) -> float:
    """Return the geometric mean of the values plus a shift, less the shift (Achterberg 2007, section A.3).

    Against the plain geometric mean, differences far below the shift do not count. There is at least one
    value, each >= 0; the mean lies between the least and the largest, and is infinite if one of them is. The
    shift is above 0.

    Examples
    --------
    >>> round(shifted_geometric_mean([0, 3], 1), 12), shifted_geometric_mean([7, 7], 1)
    (1.0, 7.0)
    """
    if not values or min(values) < 0 or not shift > 0:
        least = min(values, default=None)
        raise InvalidOption(f"no shifted geometric mean of {len(values)} values from {least}, shift {shift}")
    mean = shift * math.expm1(math.fsum(math.log1p(value / shift) for value in values) / len(values))
    return float(min(max(mean, min(values)), max(values)))  # rounding may leave the range


def bootstrap_interval(values: Sequence[float], statistic: Statistic) -> Interval:
    """Return the 95 % percentile bootstrap interval of a statistic (Efron & Tibshirani 1993, chapter 13).

    The percentile method rather than BCa: its interval holds the estimate and is defined for samples of equal
    values, both of which are common here. With few values it is too narrow. Values are independent of each
    other: one per instance, whatever the number of seeds. ``median`` and ``p95`` are
    `allocsolve.judge.quantiles.quantile` at 0.5 and 0.95. There is no interval of less than two values, or if
    one is infinite.
    """
    sample = np.asarray(values, dtype=np.float64)
    if len(sample) < 2 or not np.isfinite(sample).all():
        return None
    from scipy.stats import bootstrap  # noqa: PLC0415 - scipy.stats takes most of a second to load

    functions: dict[str, Callable[..., Any]] = {
        "mean": np.mean,
        "median": lambda values, axis: row_quantiles(values, 0.5),  # noqa: ARG005 - the last axis
        "p95": lambda values, axis: row_quantiles(values, 0.95),  # noqa: ARG005 - the last axis
    }
    interval = bootstrap(
        (sample,),
        functions[statistic],
        vectorized=True,
        method="percentile",
        confidence_level=0.95,
        n_resamples=_RESAMPLES,
        batch=max(1, 2_000_000 // len(sample)),  # 16 MB at a time
        rng=np.random.default_rng(0),
    ).confidence_interval
    return float(interval.low), float(interval.high)


def signed_rank(differences: Sequence[float]) -> float:
    """Return the two-sided p-value of Wilcoxon's signed-rank test of paired differences (Wilcoxon 1945).

    Differences of 0 are left out, as Wilcoxon did; without any other the value is 1. Up to 50 the value is
    exact also when some are equal, which that of scipy is not; beyond, it is that of scipy's normal
    approximation, corrected for equal ones.

    Notes
    -----
    *Complexity*: O(n^3) numbers are added up to 50 differences; O(n log n) beyond.

    Examples
    --------
    >>> signed_rank([3, 5, 1, 1, 0]), signed_rank([-1, 1])
    (0.125, 1.0)
    """
    nonzero = np.asarray([term for term in differences if term], dtype=np.float64)
    if not len(nonzero):
        return 1.0
    from scipy import stats  # noqa: PLC0415 - heavy, and few need it

    if len(nonzero) > _EXACT_PAIRS:
        return float(stats.wilcoxon(nonzero).pvalue)  # an approximation, above `_EXACT_PAIRS`
    ranks = (2 * stats.rankdata(np.abs(nonzero))).astype(np.int64)  # whole, also when some are equal
    # The probability of each sum of the ranks above 0, if every sign is as likely as the other.
    chances = np.zeros(int(ranks.sum()) + 1)
    chances[0] = 1.0
    for rank in ranks.tolist():
        chances[rank:] = chances[rank:] + chances[:-rank]
        chances[:] /= 2
    uneven = np.abs(2 * np.arange(len(chances)) - len(chances) + 1)
    seen = uneven[ranks[nonzero > 0].sum()]
    return min(1.0, float(chances[uneven >= seen].sum()))


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """Return the p-values adjusted for being several tests (Holm 1979), in the order given.

    Rejecting all adjusted values up to alpha makes any false rejection with a probability of at most
    alpha, however the tests depend on each other.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03])
    (0.03, 0.06, 0.06)
    """
    order = sorted(range(len(p_values)), key=lambda idx: p_values[idx])
    raised = (min(1.0, (len(order) - rank) * p_values[idx]) for rank, idx in enumerate(order))
    adjusted = dict(zip(order, accumulate(raised, max), strict=True))
    return tuple(adjusted[idx] for idx in range(len(order)))


def performance_profile(costs: Mapping[str, Sequence[float]]) -> dict[str, Steps]:
    """Return the performance profile of each solver (Dolan & More 2002, section 2).

    Raises `InvalidOption` if the solvers have different numbers of instances. Costs are those of each solver
    on the same instances in the same order, >= 0, less is better, infinite where it has not solved the
    instance. A profile is the points at which it rises: a ratio >= 1 to the least cost of all solvers, and
    the share of the instances on which the solver is within that ratio. Above a least cost of 0 the ratio is
    infinite, and such instances count as not solved.

    Examples
    --------
    >>> performance_profile({"a": [1, 6], "b": [2, 3]})
    {'a': ((1.0, 0.5), (2.0, 1.0)), 'b': ((1.0, 0.5), (2.0, 1.0))}
    """
    if len({len(column) for column in costs.values()}) > 1:
        counts = ", ".join(f"{solver} {len(column)}" for solver, column in costs.items())
        raise InvalidOption(f"a performance profile is of the same instances for all solvers, not {counts}")
    least = [min(column) for column in zip(*costs.values(), strict=True)]
    return {solver: _profile(own_costs, least) for solver, own_costs in costs.items()}


def _profile(costs: Sequence[float], least: Sequence[float]) -> Steps:
    ratios = Counter(_ratio(cost, low) for cost, low in zip(costs, least, strict=True))
    at = sorted(ratio for ratio in ratios if ratio < math.inf)
    reached = accumulate(ratios[ratio] for ratio in at)
    return tuple((ratio, count / len(costs)) for ratio, count in zip(at, reached, strict=True))


def _ratio(cost: float, least: float) -> float:
    if math.isinf(cost):
        return math.inf
    return 1.0 if cost == least else cost / least if least else math.inf


def primal_gap(value: float | None, reference: float) -> float:
    """Return the distance to a reference, relative to the larger: 0 to 1, and 1 without a value.

    It is that of Berthold, Measuring the impact of primal heuristics, Operations Research Letters 41 (2013).
    """
    if value is None or min(value, reference) < 0 < max(value, reference):
        return 1.0
    return 0.0 if value == reference else abs(value - reference) / max(abs(value), abs(reference))


def primal_integral(gaps: Steps, end: float) -> float:
    """Return the integral of the primal gap from 0 to an end (Berthold 2013), in seconds.

    The gaps are seconds, in increasing order, and the primal gap from then on; before, it is 1. What comes
    after the end, which is >= 0, does not count. The integral is in 0..end; divided by that it is the mean
    gap.

    Examples
    --------
    >>> primal_integral(((1, 0.5), (3, 0.0)), 10)
    2.0
    """
    steps = [(0.0, 1.0), *((min(time, end), gap) for time, gap in gaps), (end, 0.0)]
    return math.fsum(gap * (later - time) for (time, gap), (later, _) in pairwise(steps))


#: Of fewer exact ratios no mean is given, unless they are all that there is.
FEWEST: Final = 5


@dataclass(frozen=True, slots=True)
class Bracket:
    """Two numbers >= 0 that something unknown lies between, both included.

    Raises `InvalidAnswer` if `lower` is above `upper`: what is said of it contradicts itself.
    """

    lower: float
    upper: float  #: infinite if nothing is known

    def __post_init__(self) -> None:
        if not 0 <= self.lower <= self.upper:
            msg = f"contradiction: a bound of {self.lower:.10g} and a value of {self.upper:.10g}"
            raise InvalidAnswer(msg)

    @property
    def exact(self) -> bool:
        """Whether both are the same, and so is what they hold."""
        return self.lower == self.upper

    @property
    def gap(self) -> float:
        """How far the upper is above the lower one, relative to it; infinite above 0."""
        return 0.0 if self.exact else (self.upper - self.lower) / self.lower if self.lower else math.inf


@dataclass(frozen=True, slots=True)
class Ratios:
    """Ratios of `count` instances, of which `exact` ones are known and the others lie in brackets.

    The instances that are proven are the easier ones, so their mean need not be that of all. The mean of all
    is certain to be in `within`.
    """

    count: int
    exact: int
    mean: float | None  #: of the exact ones; None of fewer than `FEWEST` unless all are
    interval: Interval  #: of 95 % for `mean`, by bootstrap; None without one
    low: float | None  #: least exact one
    high: float | None  #: largest exact one
    within: tuple[float, float]  #: least and largest mean of all that the brackets allow


def sharpened(brackets: Mapping[float, Bracket], what: str = "the optimum") -> dict[float, Bracket]:
    """Return what brackets of the optimum within several expand limits say of each other.

    What keeps a limit keeps every looser one, too. So the value of an answer holds for all looser limits, and
    a lower bound for all tighter ones. Raises `InvalidAnswer` if a bound within one limit is above a value
    within a tighter one. What is returned is in order of the limits; both ends never increase with them. The
    message calls the optimum `what`.

    Examples
    --------
    >>> sharper = sharpened({1: Bracket(60, 90), 2: Bracket(70, 100)})
    >>> sharper[1], sharper[2]
    (Bracket(lower=70, upper=90), Bracket(lower=70, upper=90))
    """
    limits = sorted(brackets)
    sharper = {}
    for limit in limits:
        lower, bounded = max((brackets[other].lower, other) for other in limits if other >= limit)
        upper, valued = min((brackets[other].upper, other) for other in limits if other <= limit)
        if lower > upper:
            raise InvalidAnswer(
                f"contradiction on {what}: the bound {lower:.10g} within limit {bounded:g} is above "
                f"{upper:.10g}, found within limit {valued:g}"
            )
        sharper[limit] = Bracket(lower, upper)
    return sharper


def ratio(numerator: Bracket, denominator: Bracket, *, cap: float = math.inf) -> Bracket:
    """Return the bracket of the ratio of two unknown numbers, the second above 0.

    The ends are lower/upper and upper/lower: all that can be said if the two are not known to depend on each
    other. The ratio cannot exceed the cap for a reason of its own.

    Examples
    --------
    >>> ratio(Bracket(80, 90), Bracket(100, 100)), ratio(Bracket(80, 90), Bracket(85, 100), cap=1)
    (Bracket(lower=0.8, upper=0.9), Bracket(lower=0.8, upper=1))
    """
    lower = 0.0 if math.isinf(denominator.upper) else numerator.lower / denominator.upper
    upper = numerator.upper / denominator.lower if denominator.lower else math.inf
    return Bracket(lower, min(upper, cap))


def ratios(brackets: Sequence[Bracket]) -> Ratios:
    """Return what can be said of ratios, each of an instance of its own; NaN is within nothing of none."""
    exact = [bracket.lower for bracket in brackets if bracket.exact]
    enough = bool(exact) and (len(exact) >= FEWEST or len(exact) == len(brackets))
    within = math.nan, math.nan
    if brackets:
        within = fmean(b.lower for b in brackets), fmean(b.upper for b in brackets)
    return Ratios(
        count=len(brackets),
        exact=len(exact),
        mean=fmean(exact) if enough else None,
        interval=bootstrap_interval(exact, "mean") if enough else None,
        low=min(exact, default=None),
        high=max(exact, default=None),
        within=within,
    )
