"""The evolution profile (Klein & Perez 2011, section 3.1) and its algebra."""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Annotated, TypeAlias

import numpy as np

from allocsolve.errors import InvalidProblem
from allocsolve.model.arrays import MAX_INTEGER, UNLIMITED, IntArray, frozen
from allocsolve.model.checks import items, real, shown, whole
from allocsolve.model.options import Within

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

#: One step of a profile: (duration in seconds, nodes).
Step: TypeAlias = tuple[int, int]


#: By which factor steps may last longer at most; infinite for no limit.
ExpandLimit: TypeAlias = Annotated[float, Within(1, MAX_INTEGER, infinite=True)]


def expand_ratio(expand_limit: float) -> Fraction | None:
    """Return the expand limit as an exact ratio, None if it is infinite.

    A float is read as the decimal number that it prints: 1.7 allows 17 s for a step of 10 s, although the
    nearest double is a little below 17/10.
    """
    limit = real("expand limit", expand_limit)
    if not limit >= 1:  # also catches NaN
        msg = f"expand limit {expand_limit!r} is below 1"
        raise InvalidProblem(msg)
    if math.isinf(limit):
        return None
    if limit > MAX_INTEGER:
        msg = f"expand limit {limit:g} is beyond 2^53; no limit is inf"
        raise InvalidProblem(msg)
    return Fraction(repr(limit))


def max_expanded_duration(duration: int, ratio: Fraction | None) -> int:
    """Return floor(limit * duration), or `UNLIMITED` for no limit (a ratio of None).

    >>> max_expanded_duration(501, Fraction(3, 2))
    751
    """
    if ratio is None:
        return UNLIMITED
    return min(duration * ratio.numerator // ratio.denominator, UNLIMITED)


def max_expanded_durations(durations: IntArray, ratio: Fraction | None) -> IntArray:
    """Return floor(limit * duration) for each duration (seconds), `UNLIMITED` for no limit; read-only."""
    if ratio is None:
        longest = np.full_like(durations, UNLIMITED)
    elif ratio == 1:
        longest = durations.copy()
    elif int(durations.max(initial=1)) * ratio.numerator < UNLIMITED:
        longest = durations * ratio.numerator // ratio.denominator
    else:
        longest = np.array([max_expanded_duration(d, ratio) for d in durations.tolist()], dtype=np.int64)
    return frozen(longest)


def _checked_steps(steps: Iterable[Sequence[int]]) -> tuple[Step, ...]:
    checked = []
    for idx, step in enumerate(items("steps", steps)):
        try:
            duration, nodes = map(whole, step)
        except (TypeError, ValueError):
            msg = f"step {idx}: {shown(step)} is not a pair of integers (duration, nodes)"
            raise InvalidProblem(msg) from None
        if not 1 <= duration <= MAX_INTEGER:
            msg = f"step {idx}: duration {shown(duration)} is not in 1..2^53"
            raise InvalidProblem(msg)
        if not 0 <= nodes <= MAX_INTEGER:
            msg = f"step {idx}: nodes {shown(nodes)} is not in 0..2^53"
            raise InvalidProblem(msg)
        checked.append((duration, nodes))
    return tuple(checked)


@dataclass(frozen=True, slots=True)
class EvolutionProfile:
    """A sequence of steps, each with a duration and a node count: a step function of time from 0 on.

    The same type describes what an application requests, what it is given (its request, delayed and
    expanded) and how busy the cluster is. Outside [0, `duration`) its value is 0.

    Steps are pairs (duration in seconds >= 1, nodes >= 0); there may be none (an idle cluster).

    Notes
    -----
    ``==`` compares steps, so a step split in two differs from the whole (it may be expanded differently);
    `same_function` compares the functions of time.

    References
    ----------
    Klein & Perez, "Towards scheduling evolving applications", CoreGRID/ERCIM workshop 2011, section 3.1.

    Examples
    --------
    >>> request = EvolutionProfile([(500, 5), (3600, 10)])
    >>> request.duration, request.peak, request.area
    (4100, 10, 38500)
    >>> request.expanded([515, 3600]).delayed(2000).steps
    ((2000, 0), (515, 5), (3600, 10))
    """

    #: Always a tuple, for any given sequence.
    steps: Sequence[Step] = ()
    _ends: tuple[int, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        steps = _checked_steps(self.steps)
        object.__setattr__(self, "steps", steps)
        object.__setattr__(self, "_ends", tuple(accumulate(duration for duration, _ in steps)))

    @property
    def durations(self) -> tuple[int, ...]:
        """Durations of the steps in seconds."""
        return tuple(duration for duration, _ in self.steps)

    @property
    def nodes(self) -> tuple[int, ...]:
        """Node counts of the steps."""
        return tuple(nodes for _, nodes in self.steps)

    @property
    def duration(self) -> int:
        """Sum of the durations in seconds."""
        return self._ends[-1] if self._ends else 0

    @property
    def area(self) -> int:
        """Sum of duration times nodes, in node-seconds."""
        return sum(duration * nodes for duration, nodes in self.steps)

    @property
    def peak(self) -> int:
        """Largest node count of a step, 0 for the empty profile."""
        return max((nodes for _, nodes in self.steps), default=0)

    def value(self, t: int) -> int:
        """Return the node count at time `t`; 0 before time 0 and after the last step. O(log steps)."""
        if t < 0 or t >= self.duration:
            return 0
        return self.steps[bisect_right(self._ends, t)][1]

    def max(self, t0: int, t1: int) -> int:
        """Return the largest value on [t0, t1), 0 if the interval is empty. O(log steps + steps met)."""
        return self._last_max(t0, t1)[0]

    def last_max_end(self, t0: int, t1: int) -> int:
        """Return the end of the last stretch of [t0, t1) on which the maximum is taken (the paper's loc).

        The least t with ``max(t0, t) == max(t0, t1) > max(t, t1)``, or `t1` if the maximum lasts to the end.
        """
        return self._last_max(t0, t1)[1]

    def _last_max(self, t0: int, t1: int) -> tuple[int, int]:
        if t0 > t1:
            msg = f"interval [{t0}, {t1}) ends before it begins"
            raise ValueError(msg)
        if t0 == t1:
            return 0, t1
        best, end = 0, t0
        idx = bisect_right(self._ends, max(t0, 0))
        while idx < len(self.steps) and self._ends[idx] - self.steps[idx][0] < t1:
            if self.steps[idx][1] >= best:
                best, end = self.steps[idx][1], min(self._ends[idx], t1)
            idx += 1
        return best, end if best else t1

    def delayed(self, delay: int) -> EvolutionProfile:
        """Return the profile with a leading step of `delay` seconds on 0 nodes (itself if the delay is 0)."""
        if delay < 0:
            msg = f"delay {delay} is negative"
            raise ValueError(msg)
        return EvolutionProfile(((delay, 0), *self.steps)) if delay else self

    def expanded(self, durations: Sequence[int]) -> EvolutionProfile:
        """Return the profile with longer steps on the same nodes.

        `ValueError` if the number of durations differs from the number of steps, or a step would shrink.
        """
        if len(durations) != len(self.steps):
            msg = f"{len(durations)} durations for {len(self.steps)} steps"
            raise ValueError(msg)
        for idx, (new, (old, _)) in enumerate(zip(durations, self.steps, strict=True)):
            if new < old:
                msg = f"step {idx}: duration {new} is shorter than the requested {old}"
                raise ValueError(msg)
        return EvolutionProfile(tuple(zip(durations, self.nodes, strict=True)))

    def is_expansion_of(self, other: EvolutionProfile, expand_limit: float = math.inf) -> bool:
        """Return whether this is `other` with each duration d stretched to at most floor(limit * d).

        Every profile is an expansion of itself. Steps are compared one by one, so neither splitting nor
        merging steps is an expansion.
        """
        ratio = expand_ratio(expand_limit)
        return self.nodes == other.nodes and all(
            old <= new <= max_expanded_duration(old, ratio)
            for new, old in zip(self.durations, other.durations, strict=True)
        )

    def __add__(self, other: EvolutionProfile) -> EvolutionProfile:
        """Return the sum of the two functions of time, in canonical form."""
        cuts = sorted({0, *self._ends, *other._ends})
        steps = ((t1 - t0, self.value(t0) + other.value(t0)) for t0, t1 in pairwise(cuts))
        return EvolutionProfile(tuple(steps)).canonical()

    def canonical(self) -> EvolutionProfile:
        """Return the shortest profile that is the same function (neighbours merged, trailing 0 cut)."""
        merged: list[Step] = []
        for duration, nodes in self.steps:
            if merged and merged[-1][1] == nodes:
                merged[-1] = (merged[-1][0] + duration, nodes)
            else:
                merged.append((duration, nodes))
        if merged and merged[-1][1] == 0:
            merged.pop()
        return EvolutionProfile(tuple(merged))

    def same_function(self, other: EvolutionProfile) -> bool:
        """Return whether both are the same function of time, however they are cut into steps."""
        return self.canonical().steps == other.canonical().steps
