"""What the paper prints in numbers: its table 3. Its other figures are curves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from reproductions.lina2022.reproduction import METRICS

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["TABLE_3", "Printed"]


class Printed(NamedTuple):
    """The orders of victims that differ most, of a workload, an algorithm and a metric."""

    best: str
    worst: str
    difference: float  #: per cent
    share: int  #: of elastic jobs, per cent


#: Turnaround, utilisation and slowdown by workload and algorithm.
_ROWS: Final = {
    ("LLNL", "application"): (
        Printed("gain", "random", 2.62, 40),
        Printed("random", "shrinkable", 8.07, 70),
        Printed("gain", "shrinkable", 10.23, 50),
    ),
    ("LLNL", "system-text"): (
        Printed("gain", "shrinkable", 2.09, 100),
        Printed("random", "shrinkable", 3.65, 70),
        Printed("gain", "random", 6.69, 50),
    ),
    ("LLNL", "default"): (
        Printed("random", "shrinkable", 3.08, 30),
        Printed("random", "shrinkable", 9.0, 90),
        Printed("expansions", "random", 10.44, 90),
    ),
    ("LLNL_shrunk", "application"): (
        Printed("cost", "random", 1.45, 70),
        Printed("random", "remaining", 3.23, 90),
        Printed("cost", "shrinkable", 2.56, 50),
    ),
    ("LLNL_shrunk", "system-text"): (
        Printed("gain", "random", 2.19, 60),
        Printed("random", "remaining", 1.65, 90),
        Printed("gain", "shrinkable", 5.69, 90),
    ),
    ("LLNL_shrunk", "default"): (
        Printed("shrinkable", "random", 2.36, 100),
        Printed("random", "gain", 2.49, 90),
        Printed("gain", "cost", 5.32, 90),
    ),
    ("KIT", "application"): (
        Printed("gain", "random", 3.21, 70),
        Printed("random", "shrinkable", 10.25, 50),
        Printed("cost", "remaining", 14.06, 50),
    ),
    ("KIT", "system-text"): (
        Printed("cost", "random", 3.04, 20),
        Printed("random", "shrinkable", 3.11, 40),
        Printed("cost", "remaining", 13.77, 80),
    ),
    ("KIT", "default"): (
        Printed("gain", "random", 5.7, 70),
        Printed("random", "shrinkable", 10.9, 50),
        Printed("gain", "random", 18.05, 80),
    ),
    ("KIT_shrunk", "application"): (
        Printed("gain", "random", 1.23, 80),
        Printed("random", "shrinkable", 0.85, 90),
        Printed("gain", "shrinkable", 8.56, 60),
    ),
    ("KIT_shrunk", "system-text"): (
        Printed("gain", "remaining", 1.66, 100),
        Printed("random", "shrinkable", 1.33, 60),
        Printed("cost", "random", 7.47, 20),
    ),
    ("KIT_shrunk", "default"): (
        Printed("gain", "random", 2.84, 100),
        Printed("random", "shrinkable", 1.31, 90),
        Printed("cost", "random", 14.03, 80),
    ),
    ("Synthetic", "application"): (
        Printed("gain", "random", 1.51, 60),
        Printed("random", "shrinkable", 8.58, 80),
        Printed("gain", "random", 6.3, 90),
    ),
    ("Synthetic", "system-text"): (
        Printed("gain", "remaining", 1.09, 90),
        Printed("random", "shrinkable", 3.6, 70),
        Printed("gain", "shrinkable", 5.7, 90),
    ),
    ("Synthetic", "default"): (
        Printed("gain", "random", 1.79, 90),
        Printed("random", "shrinkable", 3.47, 70),
        Printed("gain", "remaining", 5.28, 100),
    ),
}

#: By workload, algorithm (System is ``system-text``) and metric.
TABLE_3: Final[Mapping[tuple[str, str, str], Printed]] = {
    (log, algorithm, metric): printed
    for (log, algorithm), row in _ROWS.items()
    for metric, printed in zip(METRICS, row, strict=True)
}
