"""Time on axes, in units that people read, and means of step functions over it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from allocsolve.pictures.chart import Axis

if TYPE_CHECKING:
    from allocsolve.model import FloatArray


class TimeUnit(NamedTuple):
    """A unit of time with its seconds, and up to how many seconds it is used on an axis."""

    name: str
    seconds: float
    up_to: float

    def axis(self, low: float, high: float, *, title: bool = True) -> Axis:
        """Return the axis from one time to another, both in seconds."""
        end = high if high > low else low + self.seconds
        return Axis(f"time [{self.name}]" if title else "", low / self.seconds, end / self.seconds)


_UNITS: Final = (
    TimeUnit("s", 1, 600),
    TimeUnit("min", 60, 7200),
    TimeUnit("h", 3600, 4 * 86400),
    TimeUnit("d", 86400, float("inf")),
)


def time_unit(seconds: float) -> TimeUnit:
    """Return the unit of an axis of this length, in seconds."""
    return next(unit for unit in _UNITS if seconds < unit.up_to)


def binned(times: FloatArray, changes: FloatArray, edges: FloatArray) -> FloatArray:
    """Return the means of a step function over the bins between edges.

    The function, 0 at first and at last, changes at these times; edges rise, shape (bins + 1,). O(changes log
    changes + bins log changes).
    """
    if not len(times):
        return np.zeros(len(edges) - 1)
    order = np.argsort(times, kind="stable")
    moments, level = times[order], np.cumsum(changes[order])
    area = np.concatenate([[0.0], np.cumsum(level[:-1] * np.diff(moments))])
    means: FloatArray = np.diff(np.interp(edges, moments, area)) / np.diff(edges)
    return np.maximum(means, 0.0)  # sums of many terms may end a rounding below 0
