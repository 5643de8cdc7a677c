"""Times as integers, for solvers that know no others."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from allocsolve.model import SLOWDOWN_FLOOR_S

if TYPE_CHECKING:
    from allocsolve.heuristics.workload.serial import Sizes
    from allocsolve.model import WorkloadProblem, WorkloadTerm

__all__ = ["Grid", "grid_of", "term_slopes", "value_step"]

#: Grid points per second where times are no multiples of a quarter.
_FINE = 1024
#: Sums of quarters are exact up to here in doubles.
_MOST_SECONDS = 2.0**50


class Grid(NamedTuple):
    """Times as integers: (seconds - origin) / unit, rounded down where they are no multiples."""

    origin: Fraction
    unit: Fraction
    #: Whether nothing is rounded.
    exact: bool

    def down(self, seconds: float) -> int:
        """Return a duration in units, rounded down."""
        return math.floor(Fraction(seconds) / self.unit)

    def point(self, seconds: float) -> int:
        """Return an instant in units from the origin, rounded down."""
        return math.floor((Fraction(seconds) - self.origin) / self.unit)

    def seconds(self, point: int) -> float:
        """Return an instant in seconds."""
        return float(self.origin + point * self.unit)


def grid_of(problem: WorkloadProblem, sizes: Sizes) -> Grid:
    """Return the coarsest grid on which some optimal schedule lies.

    In some optimal schedule of each term a job starts when it is submitted or when another one ends, so all
    starts are submissions plus sums of run times. Where these are no multiples of a quarter of a second the
    grid is fine and rounds down: what is optimal on it is a lower bound, since every schedule stays one when
    jobs come earlier and run for less.
    """
    packed = problem.packed
    if not len(packed.submit):
        return Grid(Fraction(0), Fraction(1), exact=True)
    origin = Fraction(float(packed.submit.min()))
    # What users asked for does not matter here, so this is less than `WorkloadProblem.is_exact`.
    exact = all(bool((4 * times % 1 == 0).all()) for times in (packed.submit, sizes.seconds))
    if not exact or problem.horizon > _MOST_SECONDS:
        return Grid(Fraction(math.floor(origin)), Fraction(1, _FINE), exact=False)
    quarters = [SLOWDOWN_FLOOR_S * 4]
    quarters += [
        int(np.gcd.reduce((4 * times).astype(np.int64)))
        for times in (packed.submit - float(origin), sizes.seconds)
    ]
    return Grid(origin, Fraction(math.gcd(*quarters), 4), exact=True)


def term_slopes(problem: WorkloadProblem, term: WorkloadTerm, grid: Grid) -> list[Fraction]:
    """Return by how much a mean over the jobs grows with a unit of the delay of each job, exactly."""
    packed = problem.packed
    weights = [Fraction(weight) for weight in packed.weight.tolist()]
    total = sum(weights) or Fraction(1)
    slopes = [weight * grid.unit / total for weight in weights]
    if term == "slowdown":
        runtimes = packed.runtime.tolist()
        slopes = [
            slope / max(Fraction(runtime), Fraction(SLOWDOWN_FLOOR_S))
            for slope, runtime in zip(slopes, runtimes, strict=True)
        ]
    return slopes


def value_step(slopes: list[Fraction]) -> Fraction:
    """Return the greatest number of which all slopes are multiples: values of a term differ by such ones."""
    slopes = [slope for slope in slopes if slope]
    if not slopes:
        return Fraction(1)
    return Fraction(
        math.gcd(*(slope.numerator for slope in slopes)), math.lcm(*(slope.denominator for slope in slopes))
    )
