"""Brackets: what is known of an optimum, or of a ratio of two, that need not be proven."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Final

from allocsolve.bench.scores.statistics import bootstrap_interval
from allocsolve.errors import InvalidAnswer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from allocsolve.bench.scores.statistics import Interval

__all__ = ["FEWEST", "Bracket", "Ratios", "ratio", "ratios", "sharpened"]

#: Of fewer exact ratios no mean is given, unless they are all that there is.
FEWEST: Final = 5


@dataclass(frozen=True, slots=True)
class Bracket:
    """Two numbers >= 0 that something unknown lies between, both included.

    Raises
    ------
    InvalidAnswer
        If `lower` is above `upper`: what is said of it contradicts itself.
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
    a lower bound for all tighter ones.

    Parameters
    ----------
    brackets
        By expand limit.
    what
        For the message: whose optimum it is.

    Returns
    -------
    dict
        By expand limit, in increasing order; both ends never increase with the limit.

    Raises
    ------
    InvalidAnswer
        If a bound within one limit is above a value within a tighter one.

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
            msg = (
                f"contradiction on {what}: the bound {lower:.10g} within limit {bounded:g} is above "
                f"{upper:.10g}, found within limit {valued:g}"
            )
            raise InvalidAnswer(msg)
        sharper[limit] = Bracket(lower, upper)
    return sharper


def ratio(one: Bracket, other: Bracket, *, cap: float = math.inf) -> Bracket:
    """Return the bracket of the ratio of two unknown numbers, the second above 0.

    Parameters
    ----------
    one, other
        What is known of both.
    cap
        That the ratio cannot exceed, for a reason of its own.

    Notes
    -----
    The ends are lower/upper and upper/lower: all that can be said if the two are not known to depend on each
    other.

    Examples
    --------
    >>> ratio(Bracket(80, 90), Bracket(100, 100)), ratio(Bracket(80, 90), Bracket(85, 100), cap=1)
    (Bracket(lower=0.8, upper=0.9), Bracket(lower=0.8, upper=1))
    """
    lower = 0.0 if math.isinf(other.upper) else one.lower / other.upper
    upper = one.upper / other.lower if other.lower else math.inf
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
