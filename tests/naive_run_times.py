"""Run times of the past as one would count them by hand, for `allocsolve.prediction.run_times`."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple


class PastJob(NamedTuple):
    """A job of the past; seconds."""

    nodes: int
    limit: int
    span: int
    ended: bool

    @property
    def share(self) -> Fraction:
        """The part of its limit that it used, or has used so far."""
        return min(Fraction(self.span, self.limit), Fraction(1))


def octave(value: int, parts: int) -> int:
    """Return how many times 2^(1/parts) fits into a number, as a product."""
    count = 0
    while 2 ** (count + 1) <= value**parts:
        count += 1
    return count


def naive_survival(past: list[PastJob], nodes: int, limit: int, share: Fraction, prior: int) -> float:
    """Return the chance that a job uses more than a share of its limit: a product over all ends before it."""
    if share >= 1:
        return 0.0
    same_limit = [job for job in past if octave(job.limit, 2) == octave(limit, 2)]

    def weight(job: PastJob) -> Fraction:
        total = Fraction(prior, len(past))
        if job in same_limit:
            total += Fraction(prior, len(same_limit))
            total += octave(job.nodes, 1) == octave(nodes, 1)
        return total

    survived = Fraction(1)
    for end in sorted({job.share for job in past if job.ended and job.share <= share}):
        at_risk = sum(weight(job) for job in past if job.share >= end)
        ended = sum(weight(job) for job in past if job.share == end and job.ended)
        survived *= 1 - Fraction(ended) / Fraction(at_risk)
    return float(survived)


def naive_rank(count: int, missed: Fraction) -> int:
    """Return which of so many values, from 1, a further one exceeds with at most this chance, or the last."""
    rank = 1
    while rank < count and Fraction(rank, count + 1) < 1 - missed:
        rank += 1
    return min(rank, count)


def naive_quantile(waits: list[tuple[int, bool]], rank: int, otherwise: int) -> int:
    """Return the least wait that `rank` are expected not to exceed; of too few ended ones, as if all had."""
    survived = Fraction(1)
    for end in sorted({wait for wait, over in waits if over}):
        at_risk = sum(wait >= end for wait, _ in waits)
        survived *= 1 - Fraction(sum(wait == end and over for wait, over in waits), at_risk)
        if len(waits) * (1 - survived) >= rank:
            return end
    return sorted(wait for wait, _ in waits)[otherwise - 1]


def is_close(first: float, second: float) -> bool:
    """Return whether two chances are equal but for rounding."""
    return math.isclose(first, second, rel_tol=1e-9, abs_tol=1e-9)
