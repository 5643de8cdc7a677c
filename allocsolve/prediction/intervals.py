"""Intervals of waits that held as often as they say: quantiles, conformal calibration, interval scores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from allocsolve.model import BoolArray, FloatArray

#: The share of waits that an interval misses, half of them on each side.
MISSED: Final = 0.1
#: Lower end, middle and upper end of an interval.
LEVELS: Final = (MISSED / 2, 0.5, 1 - MISSED / 2)
#: By how much a sum of chances may be off, of 1.
_ROUNDING: Final = 1e-6
#: Waits are compared on a scale that is linear below and logarithmic above so many seconds.
_UNIT_S: Final = 60.0


def log_wait(wait: FloatArray) -> FloatArray:
    """Return log(1 + wait / 60 s) of waits in seconds."""
    scaled: FloatArray = np.log1p(wait / _UNIT_S)
    return scaled


def _wait(scaled: FloatArray) -> FloatArray:
    seconds: FloatArray = _UNIT_S * np.expm1(scaled)
    return seconds


class Shifts(NamedTuple):
    """By how much the two ends of intervals are moved outwards, on the scale of `log_wait`."""

    lower: float
    upper: float

    def applied(self, quantiles: FloatArray) -> FloatArray:
        """Return intervals of waits in seconds with moved ends.

        Quantiles are `LEVELS` of the waits as predicted, shape (n, 3), in seconds.
        """
        scaled = log_wait(quantiles)
        scaled[:, 0] -= self.lower
        scaled[:, 2] += self.upper
        moved = _wait(np.maximum(scaled, 0.0))
        moved[:, 1] = quantiles[:, 1]
        moved[:, 0] = np.minimum(moved[:, 0], quantiles[:, 1])
        moved[:, 2] = np.maximum(moved[:, 2], quantiles[:, 1])
        return moved


def conformal_shifts(quantiles: FloatArray, waits: FloatArray, ended: BoolArray) -> Shifts:
    """Return the shifts with which earlier intervals would have held as often as they say, side by side.

    Quantiles, shape (n, 3), were predicted; waits, shape (n,), are how long the wait was; of a job that still
    waits, how long it has waited since the question; both in seconds. Of a wait that has not `ended`, shape
    (n,), it is not known how far off an end was, only at least how long the wait is: Kaplan and Meier's
    estimator counts such jobs.

    Notes
    -----
    *Guarantee*: if earlier and new questions are exchangeable and all earlier ones are answered, each end
    holds with a probability of at least 1 - `MISSED` / 2. With fewer than 19 questions no finite shift
    promises that; the largest seen is taken. *Complexity*: O(n log n).
    *References*: Romano, Patterson & Candès, Conformalized quantile regression, NeurIPS 2019; Kaplan & Meier,
    Journal of the American Statistical Association 53(282), 1958.

    Examples
    --------
    >>> quantiles = np.tile([60.0, 120.0, 180.0], (99, 1))
    >>> ended = np.ones(99, dtype=bool)
    >>> conformal_shifts(quantiles, np.full(99, 420.0), ended).applied(quantiles[:1]).round(6).tolist()
    [[120.0, 120.0, 420.0]]
    """
    count = len(waits)
    if not count:
        return Shifts(0.0, 0.0)
    predicted, seen = log_wait(quantiles), log_wait(waits)
    rank = min(int(np.ceil((1 - MISSED / 2) * (count + 1))), count)
    lower = _least_above(seen - predicted[:, 0], ended, count - rank + 1, count - rank + 1)
    upper = _least_above(seen - predicted[:, 2], ended, rank, count)
    return Shifts(-lower, upper)


def _least_above(values: FloatArray, ended: BoolArray, rank: int, otherwise: int) -> float:
    """Return the value that `rank` of all are expected not to exceed, if those not ended may be any larger.

    If too few have ended to tell, the one of rank `otherwise`, as if all had.
    """
    order = np.lexsort((~ended, values))
    count = len(order)
    expected = count * (1 - np.cumprod(1 - ended[order] / (count - np.arange(count))))
    reached = np.flatnonzero(expected >= rank - _ROUNDING)
    place = int(reached[0]) if len(reached) else otherwise - 1
    return float(values[order[place]])


def interval_scores(intervals: FloatArray, waits: FloatArray) -> FloatArray:
    """Return the interval score of each answer: width, and 2 / `MISSED` for each unit by which it misses.

    Intervals have the shape (n, 3), waits (n,), both in seconds. Shape (n,), on the scale of `log_wait`; less
    is better.

    Notes
    -----
    *Guarantee*: a proper score: on average the true quantiles have the least.
    *References*: Gneiting & Raftery, Journal of the American Statistical Association 102(477), 2007.
    """
    ends, seen = log_wait(intervals), log_wait(waits)
    below, above = np.maximum(ends[:, 0] - seen, 0.0), np.maximum(seen - ends[:, 2], 0.0)
    scores: FloatArray = ends[:, 2] - ends[:, 0] + (below + above) * (2 / MISSED)
    return scores
