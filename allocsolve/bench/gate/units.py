"""The units of the gate: reference works, one for each kind of work, and what they say of two machines.

A time is written in units of the first reference work, the walk, and so are the times of the other reference
works on the same machine. Between two machines every kind of work changes by a ratio of its own: a processor
with a worse branch predictor scans a random mask more slowly, but walks as fast.

The law of the gate: a solver is a mixture of kinds of work, so if nothing but the machine has changed, its
time has changed by a mean of the ratios of the reference works, which lies between the smallest and the
largest of them. Hence a solver is slower only if its time is above ``time_factor`` times the largest ratio
times its time in the baseline, and faster only if it is below the smallest ratio times that time, divided by
``time_factor``. In other words, it is slower or faster if it is so in units of every reference work. A
mixture of the reference works is never either; what is slower than the factor times the largest ratio always
is. On one machine all ratios are 1, and the law is the plain comparison with ``time_factor``.
"""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Ratios", "References", "median_references", "ratios"]


class References(NamedTuple):
    """The CPU time of each reference work on one machine, in units of the walk."""

    walk: float  #: loads, branches and stores each of which depends on the one before
    scan: float  #: runs of a random mask are looked for: branches that cannot be guessed
    sort: float  #: merge sort of integers
    floats: float  #: a chain of additions, multiplications and divisions of floating-point numbers
    sweep: float  #: sums and peaks of arrays, in part several elements at a time where the processor can
    interpreter: float  #: Python that is not compiled


class Ratios(NamedTuple):
    """By how much the times of the reference works have changed."""

    smallest: float
    largest: float


def ratios(before: References | None, now: References | None) -> Ratios:
    """Return the range of the ratios from one machine to another.

    If one of the two is not known, as in older baselines, the machines count as the same.
    """
    if before is None or now is None:
        return Ratios(1, 1)
    each = [new / old for old, new in zip(before, now, strict=True)]
    return Ratios(min(each), max(each))


def median_references(each: Iterable[References]) -> References | None:
    """Return the median of each reference work, to 4 digits, over several measurements; None without any."""
    columns = [*zip(*each, strict=True)]
    return References(*(float(f"{statistics.median(column):.4g}") for column in columns)) if columns else None
