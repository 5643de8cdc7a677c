"""Tables 1 and 2 of Klein & Perez 2011: their columns, and what is printed in them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike

__all__ = ["COLUMNS", "EPSILON", "PAPER", "Column", "Spread"]


class Spread(NamedTuple):
    """Least, mean and largest value of a column."""

    min: float
    avg: float
    max: float

    @classmethod
    def of(cls, values: ArrayLike) -> Spread:
        """Return the spread of the values that are not NaN; NaN if there are none."""
        numbers = np.asarray(values, dtype=np.float64)
        numbers = numbers[~np.isnan(numbers)]
        if not numbers.size:
            return cls(math.nan, math.nan, math.nan)
        return cls(float(numbers.min()), float(numbers.mean()), float(numbers.max()))


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the tables."""

    name: str  #: key of the column in every row
    title: str  #: as printed
    unit: Literal["%", "relative", "ms"]  #: relative to the rigid schedule of the same test
    table: Literal[1, 2]


#: The columns as printed, from left to right. The last two are over all applications, the others over tests.
COLUMNS: Final = (
    Column("waste", "Waste", "%", 1),
    Column("utilisation", "Utilisation", "relative", 1),
    Column("effective_utilisation", "Eff. Util.", "%", 1),
    Column("makespan", "Makespan", "relative", 1),
    Column("schedule_time", "Sch. Time", "ms", 1),
    Column("completion", "Avg. ACT", "relative", 2),
    Column("waiting", "Avg. AWT", "relative", 2),
    Column("expanded", "Num. expanded", "%", 2),
    Column("expansion", "App expansion", "%", 2),
    Column("application_waste", "Per-app. waste", "%", 2),
)

#: Stands for the printed letter: above 0, but too small to print.
EPSILON: Final = 1e-9

_NO = (0, 0, 0)
_ONE = (1, 1, 1)

# One line per table.
_PRINTED: Final = {
    "rigid": (
        *((43, 70, 116), _ONE, (30, 40, 51), _ONE, (4.64, 6.2, 9.41)),
        *(_ONE, _ONE, _NO, _NO, (0, 67, 681)),
    ),
    "noX": (
        *(_NO, (0.46, 0.58, 0.69), (49, 61, 73), (0.49, 0.65, 0.82), (11.4, 24.7, 55.8)),
        *((0.42, 0.61, 0.84), (0.36, 0.55, 0.81), _NO, _NO, _NO),
    ),
    "2X": (
        *((0, 2, 11), (0.47, 0.60, 0.71), (50, 63, 75), (0.48, 0.64, 0.82), (11.4, 24.4, 45.4)),
        *((0.45, 0.61, 0.84), (0.36, 0.54, 0.80), (0, 22, 56), (0, 4, 76), (0, 2, 75)),
    ),
    "2X+c": (
        *((0, EPSILON, 4), (0.46, 0.59, 0.70), (53, 63, 75), (0.48, 0.63, 0.82), (17.1, 36.7, 88.6)),
        *((0.44, 0.60, 0.84), (0.37, 0.54, 0.81), (0, 7, 40), (0, EPSILON, 60), (0, EPSILON, 41)),
    ),
    "infX": (
        *((0, 7, 22), (0.49, 0.63, 0.78), (52, 64, 73), (0.49, 0.63, 0.78), (11.4, 23.4, 49.2)),
        *((0.43, 0.62, 0.81), (0.27, 0.53, 0.76), (0, 26, 62), (0, 19, 884), (0, 6, 360)),
    ),
    "infX+c": (
        *((0, 1, 11), (0.46, 0.59, 0.71), (55, 64, 74), (0.47, 0.62, 0.78), (17.6, 36, 124)),
        *((0.44, 0.60, 0.81), (0.35, 0.53, 0.76), (0, 13, 47), (0, 5, 1354), (0, 1, 119)),
    ),
}

#: What the paper prints, by algorithm and column name. Its averages are truncated, not rounded.
PAPER: Final[Mapping[str, Mapping[str, Spread]]] = MappingProxyType(
    {
        algorithm: MappingProxyType(
            {column.name: Spread(*spread) for column, spread in zip(COLUMNS, row, strict=True)}
        )
        for algorithm, row in _PRINTED.items()
    }
)
