"""How much faster a job runs on more nodes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar, Final, TypeAlias, TypeVar

from allocsolve.errors import InvalidProblem
from allocsolve.model.arrays import MAX_INTEGER
from allocsolve.model.checks import in_range, integer, items, real, shown

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy as np
    from numpy.typing import NDArray

_Real = TypeVar("_Real", float, "NDArray[np.float64]")

#: Codes of the laws in the arrays of `allocsolve.model.PackedJobs`.
NO_SPEEDUP: Final = 0
AMDAHL: Final = 1
POWER: Final = 2
SPEEDUP_TABLE: Final = 3
OVERHEAD: Final = 4


def time_factor(law: int, parameter: _Real, nodes: _Real) -> _Real:
    """Return the time on `nodes` nodes by `AMDAHL`, `POWER` or `OVERHEAD`, in a unit of the job's own.

    For numbers and arrays; kernels compile it. The parameter is that of `allocsolve.model.PackedJobs`.
    """
    if law == AMDAHL:
        return 1 - parameter + parameter / nodes
    if law == OVERHEAD:
        return 1 / nodes + parameter * nodes
    power: _Real = nodes**-parameter
    return power


@dataclass(frozen=True, slots=True)
class Amdahl:
    """Amdahl's law: of the work on one node the share `parallel` can be divided among nodes.

    On n nodes the speedup is ``1 / (1 - parallel + parallel / n)``.
    """

    parallel: float
    code: ClassVar[int] = AMDAHL

    def __post_init__(self) -> None:
        object.__setattr__(self, "parallel", _share("amdahl", self.parallel))

    def time_ratio(self, nodes: float, reference: float) -> float:
        """Return the run time on `nodes` nodes over that on `reference` nodes."""
        return time_factor(AMDAHL, self.parallel, nodes) / time_factor(AMDAHL, self.parallel, reference)


@dataclass(frozen=True, slots=True)
class PowerLaw:
    """On n nodes the speedup is ``n ** exponent``."""

    exponent: float
    code: ClassVar[int] = POWER

    def __post_init__(self) -> None:
        object.__setattr__(self, "exponent", _share("power", self.exponent))

    def time_ratio(self, nodes: float, reference: float) -> float:
        """Return the run time on `nodes` nodes over that on `reference` nodes."""
        return time_factor(POWER, self.exponent, nodes) / time_factor(POWER, self.exponent, reference)


@dataclass(frozen=True, slots=True)
class Overhead:
    """Perfect speedup of the work, and an overhead that grows with the nodes (Lina et al. 2022, section 3).

    Of the run time on the nodes of the job, P, the share `overhead` is parallel overhead; on n nodes that
    part takes n / P times as long, the rest P / n times. The job is fastest on P sqrt((1 - x) / x) nodes, x
    being the share.
    """

    overhead: float
    code: ClassVar[int] = OVERHEAD

    def __post_init__(self) -> None:
        object.__setattr__(self, "overhead", _share("overhead", self.overhead))
        if self.overhead == 1:
            msg = "overhead 1 leaves no work"
            raise InvalidProblem(msg)

    def time_ratio(self, nodes: float, reference: float) -> float:
        """Return the run time on `nodes` nodes over that on `reference` nodes, the nodes of the job."""
        per_node = self.per_node(reference)
        return time_factor(OVERHEAD, per_node, nodes) / time_factor(OVERHEAD, per_node, reference)

    def per_node(self, reference: float) -> float:
        """Return y such that the run time on n nodes is a multiple of ``1 / n + y n``."""
        return self.overhead / ((1 - self.overhead) * reference * reference)


@dataclass(frozen=True, slots=True)
class SpeedupTable:
    """Measured run times: a job may run on the numbers of nodes in the table, and on no others.

    Parameters
    ----------
    rows
        Pairs of nodes and seconds; the nodes grow, the seconds are above 0.
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
Speedup: TypeAlias = Amdahl | PowerLaw | SpeedupTable | Overhead


def _share(what: str, value: float) -> float:
    number = real(what, value)
    in_range(what, value, 0, 1)
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
