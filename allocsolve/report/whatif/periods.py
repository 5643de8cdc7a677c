"""Days or weeks of a log: of the calendar if the log tells when it was made."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from datetime import tzinfo

    from allocsolve.model import FloatArray, IntArray

__all__ = ["Periods", "periods_of"]

_DAY_S: Final = 86400.0
_WEEK: Final = 7
#: A log over more days is told by weeks.
_BY_DAY: Final = 21
#: Days: no calendar beyond, as times of so long a log are no times.
_LONGEST: Final = 36_525


class Periods(NamedTuple):
    """The days or weeks of a log."""

    unit: str  #: ``day`` or ``week``
    labels: dict[int, str]  #: of each period in which a job is submitted; of a week its first day
    of_jobs: IntArray  #: shape (jobs,)


def periods_of(submits: FloatArray, epoch: object, zone: tzinfo) -> Periods:
    """Return the days of a log of up to three weeks, else its weeks, which begin on Mondays.

    Parameters
    ----------
    submits
        Shape (jobs,), seconds, at least one.
    epoch
        Unix time of second 0; anything else than a number counts days and weeks from the first submission.
    zone
        In which days begin.
    """
    first, last = float(submits.min()), float(submits.max())
    unit, days = ("day", 1) if last - first <= _BY_DAY * _DAY_S else ("week", _WEEK)
    if isinstance(epoch, int | float) and last - first <= _LONGEST * _DAY_S:
        try:
            begins, names = _calendar(first + epoch, last + epoch, days, zone)
        except (OverflowError, ValueError, OSError):  # beyond what calendars know
            pass
        else:
            of_jobs: IntArray = np.searchsorted(begins, submits + epoch, side="right") - 1
            return Periods(unit, {int(one): names[one] for one in np.unique(of_jobs)}, of_jobs)
    counted: IntArray = np.floor((submits - first) / (days * _DAY_S)).astype(np.int64)
    distinct, places = np.unique(counted, return_inverse=True)
    labels = {idx: f"{unit} {number + 1}" for idx, number in enumerate(distinct.tolist())}
    return Periods(unit, labels, places.astype(np.int64))


def _calendar(first: float, last: float, days: int, zone: tzinfo) -> tuple[list[float], list[str]]:
    """Return when each period begins, in Unix seconds, and its first day."""
    day = datetime.fromtimestamp(first, zone).replace(hour=0, minute=0, second=0, microsecond=0)
    day -= timedelta(days=day.weekday()) if days == _WEEK else timedelta()
    begins: list[float] = []
    names: list[str] = []
    while not begins or day.timestamp() <= last:
        begins.append(day.timestamp())
        names.append(day.date().isoformat())
        day += timedelta(days=days)
    return begins, names
