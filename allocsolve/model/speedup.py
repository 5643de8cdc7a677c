"""How much faster a job runs on more nodes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar, Final, TypeAlias

from allocsolve.errors import InvalidProblem
from allocsolve.model.arrays import MAX_INTEGER
from allocsolve.model.checks import integer, items, real, shown

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["AMDAHL", "NO_SPEEDUP", "POWER", "SPEEDUP_TABLE", "Amdahl", "PowerLaw", "Speedup", "SpeedupTable"]

#: Codes of the laws in the arrays of `allocsolve.model.PackedJobs`.
NO_SPEEDUP: Final = 0
AMDAHL: Final = 1
POWER: Final = 2
SPEEDUP_TABLE: Final = 3


@dataclass(frozen=True, slots=True)
class Amdahl:
    """Amdahl's law: of the work on one node the share `parallel` can be divided among nodes.

    On n nodes the speedup is ``1 / (1 - parallel + parallel / n)``.

    Raises
    ------
    InvalidProblem
        If the share is not in 0..1.
    """

    parallel: float
    code: ClassVar[int] = AMDAHL

    def __post_init__(self) -> None:
        object.__setattr__(self, "parallel", _share("amdahl", self.parallel))

    def time_factor(self, nodes: float) -> float:
        """Return the time on so many nodes, in units of that on one node."""
        return 1 - self.parallel + self.parallel / nodes


@dataclass(frozen=True, slots=True)
class PowerLaw:
    """On n nodes the speedup is ``n ** exponent``.

    Raises
    ------
    InvalidProblem
        If the exponent is not in 0..1.
    """

    exponent: float
    code: ClassVar[int] = POWER

    def __post_init__(self) -> None:
        object.__setattr__(self, "exponent", _share("power", self.exponent))

    def time_factor(self, nodes: float) -> float:
        """Return the time on so many nodes, in units of that on one node."""
        return float(nodes**-self.exponent)


@dataclass(frozen=True, slots=True)
class SpeedupTable:
    """Run times that were measured: a job may run on the numbers of nodes in the table, and on no others.

    Parameters
    ----------
    rows
        Pairs of nodes and seconds; the nodes grow, the seconds are above 0.

    Raises
    ------
    InvalidProblem
        If the rows are not so.
    """

    rows: tuple[tuple[int, float], ...]
    code: ClassVar[int] = SPEEDUP_TABLE

    def __init__(self, rows: Iterable[tuple[int, float]]) -> None:
        checked = tuple(_row(row) for row in items("speedup table", rows))
        if not checked:
            msg = "a speedup table has no rows"
            raise InvalidProblem(msg)
        for (before, _), (nodes, _) in pairwise(checked):
            if nodes <= before:
                msg = f"speedup table: {nodes} nodes after {before}"
                raise InvalidProblem(msg)
        object.__setattr__(self, "rows", checked)


#: The laws that a job may follow.
Speedup: TypeAlias = Amdahl | PowerLaw | SpeedupTable


def _share(what: str, value: float) -> float:
    number = real(what, value)
    if not 0 <= number <= 1:
        msg = f"{what} {shown(value)} is not in 0..1"
        raise InvalidProblem(msg)
    return number


def _row(row: tuple[int, float]) -> tuple[int, float]:
    pair = items("row of a speedup table", row)
    if len(pair) != 2:
        msg = f"row {shown(row)} of a speedup table is no pair of nodes and seconds"
        raise InvalidProblem(msg)
    nodes, seconds = integer("nodes of a speedup table", pair[0]), real("seconds of a speedup table", pair[1])
    if not 1 <= nodes <= MAX_INTEGER:
        msg = f"nodes {shown(nodes)} of a speedup table are not in 1..2^53"
        raise InvalidProblem(msg)
    if not (0 < seconds <= MAX_INTEGER and math.isfinite(seconds)):
        msg = f"seconds {shown(pair[1])} of a speedup table are not in 0..2^53, above 0"
        raise InvalidProblem(msg)
    return nodes, seconds
