"""Times as Slurm and tables of jobs have them."""

from __future__ import annotations

import functools
import re
from datetime import UTC, datetime, tzinfo
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

import numpy as np

from allocsolve.errors import FormatError, InvalidOption
from allocsolve.model import MAX_INTEGER

if TYPE_CHECKING:
    from allocsolve.model.columns import FloatArray

#: What is printed for a time that is not known, or for no limit.
_UNKNOWN: Final = frozenset(
    {"", "unknown", "none", "n/a", "na", "nan", "nat", "null", "invalid", "unlimited", "infinite"}
    | {"infinity", "partition_limit", "-1", "-1.0", "-1.000000"}
)
_DURATION: Final = re.compile(
    r"(?:(\d{1,7})-)?(?:(\d{1,7}):)?(\d{1,7})(?::(\d{1,7}(?:\.\d{1,9})?))?", re.ASCII
)
_ISO: Final = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:[0-5]\d", re.ASCII)
#: What is read.
_FORMS: Final = "Unix seconds, or as 2024-03-04T08:00:00"
_NUMBER: Final = re.compile(r"\d{1,16}(?:\.\d{0,17})?", re.ASCII)
#: Units of points in time that are plain numbers: seconds in one, and which number is 1970-01-01. Days are
#: those of spreadsheets, which count from 1899-12-30.
TIME_UNITS: Final = MappingProxyType(
    {"s": (1.0, 0), "ms": (1e-3, 0), "us": (1e-6, 0), "ns": (1e-9, 0), "days": (86_400.0, 25_569)}
)
#: Logs of real machines are from 1990 to 2100, in Unix seconds, or they count from an origin of their own.
_FIRST_S: Final = 631_152_000
_LAST_S: Final = 4_102_444_800

#: Slurm's numbers of minutes for no limit.
_NO_LIMIT: Final = frozenset({0, 2**32 - 2, 2**32 - 1})


def zone(name: str) -> tzinfo:
    """Return a time zone such as ``Europe/Berlin`` or ``UTC``."""
    if name.upper() == "UTC":
        return UTC
    import zoneinfo  # noqa: PLC0415 - few logs have local times

    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        msg = f"there is no time zone {name[:40]!r}; names are such as Europe/Berlin or UTC"
        raise InvalidOption(msg) from None


def check_swf_unit(time_unit: str | None) -> None:
    """Refuse a unit of times that the Standard Workload Format does not have.

    Raises `InvalidOption` if it is given and not the second.
    """
    if time_unit not in {None, "s"}:
        raise InvalidOption(f"--time-unit {time_unit}: times of the Standard Workload Format are seconds")


def date_of(seconds: float, local: tzinfo) -> datetime:
    """Return a point in time, in Unix seconds, as a date.

    Raises `InvalidOption` if it is beyond the dates that there are, which end with the year 9999.
    """
    try:
        return datetime.fromtimestamp(seconds, local)
    except (ValueError, OverflowError, OSError):
        msg = f"{seconds:.0f} s after 1970 is beyond the year 9999: there is no such date"
        raise InvalidOption(msg) from None


class Clock:
    """Reads points in time as Unix seconds.

    Times without a zone are of the `local` one. Whether second 0 is a time is for `knows_zero` to say, as
    Slurm writes it for what has not happened. Times that are plain numbers have a unit of `TIME_UNITS`.
    """

    def __init__(self, local: tzinfo, *, knows_zero: bool = False, unit: str = "s") -> None:
        self._local = local
        self._second, self._epoch = TIME_UNITS[unit]
        #: Whether 0 was read as a time that is not known.
        self.passed_zero = False
        self._knows_zero = knows_zero
        #: Whether there were times without a zone.
        self.is_local = False
        self._bases: dict[tuple[str, bool], float] = {}

    def read(self, text: str, *, later: bool = False) -> float | None:
        """Return Unix seconds; None where the text says that the time is not known.

        The text is Unix seconds, or an ISO date and time. When clocks are set back, `later` says which of two
        equal local times is meant.
        """
        if _ISO.fullmatch(text):  # nearly all: zones are looked at once in ten minutes of the log
            key = text[:15], later
            base = self._bases.get(key)
            if base is None:
                base = self._bases[key] = self._moment(f"{text[:15]}0:00", later=later)
            return base + 60 * int(text[15]) + int(text[17:])
        text = text.strip()
        if text.lower() in _UNKNOWN:
            return None
        if _NUMBER.fullmatch(text):
            number = float(text)
            if number > MAX_INTEGER:
                raise ValueError(f"{text[:20]!r} is beyond 2^53")
            if not number and not self._knows_zero:
                self.passed_zero = True
                return None
            return (number - self._epoch) * self._second
        return self._moment(text, later=later)

    def _moment(self, text: str, *, later: bool) -> float:
        try:
            moment = datetime.fromisoformat(text)
            if moment.tzinfo is None:
                self.is_local = True
                moment = moment.replace(tzinfo=self._local, fold=later)
            seconds = moment.timestamp()
        except (ValueError, OverflowError):
            pass
        else:
            if seconds >= 0:
                return seconds
            raise ValueError(f"{text[:30]!r} is before 1970")
        raise ValueError(f"{text[:30]!r} is no time that is read: {_FORMS}")


def check_times(seconds: FloatArray, source: str, unit: str | None) -> None:
    """Refuse points in time that cannot be what they are read as.

    Raises `FormatError` if they are neither Unix seconds between 1990 and 2100 nor count from an origin of
    their own, or look like the days of a spreadsheet and nobody said that they are seconds; with the unit
    that would fit. All that are known are given, in seconds; the unit is that of plain numbers, as the user
    says, seconds if nothing is said.
    """
    if not len(seconds):
        return
    low, high = float(seconds.min()), float(seconds.max())
    if (_is_of_this_age(low) and _is_of_this_age(high)) or high < _FIRST_S:
        looks_like_days = unit is None and _LEAST_DAY <= low <= high <= _MOST_DAY
        if unit is None and _are_dates(seconds):
            what = f"times are from {low:.0f} to {high:.0f}, which look like dates without hours"
            raise FormatError(source, [f"{what}: {_FORMS} is read, or say --time-unit s if they are seconds"])
        if not (looks_like_days and (seconds != np.floor(seconds)).any()):
            return
    second, epoch = TIME_UNITS[unit or "s"]
    numbers = low / second + epoch, high / second + epoch
    fitting = [
        name
        for name, (each, first) in TIME_UNITS.items()
        if name != (unit or "s") and all(_is_of_this_age((number - first) * each) for number in numbers)
    ]
    what = f"times are from {numbers[0]:.15g} to {numbers[1]:.15g}"
    if fitting:
        day = datetime.fromtimestamp(
            (numbers[0] - TIME_UNITS[fitting[0]][1]) * TIME_UNITS[fitting[0]][0], UTC
        )
        hint = f"in {_UNIT_NAMES[fitting[0]]} they begin on {day:%Y-%m-%d}: say --time-unit {fitting[0]}"
    else:
        hint = "no unit makes of them times between 1990 and 2100"
    as_seconds = ", or --time-unit s if they are seconds" if high < _FIRST_S else ""
    msg = f"{what}, which are no {_UNIT_NAMES[unit or 's']} between 1990 and 2100; {hint}{as_seconds}"
    raise FormatError(source, [msg])


def _are_dates(numbers: FloatArray) -> bool:
    """Tell whether all numbers are days such as 20240304."""
    years, days = np.divmod(numbers, 10_000)
    months, days = np.divmod(days, 100)
    plausible = (years >= 1990) & (years < 2100) & (months >= 1) & (months <= 12) & (days >= 1) & (days <= 31)
    return bool((plausible & (numbers == np.floor(numbers))).all())


def _is_of_this_age(seconds: float) -> bool:
    return _FIRST_S <= seconds <= _LAST_S


#: The days from 1990 to 2100 as spreadsheets count them.
_LEAST_DAY: Final = _FIRST_S / 86_400 + 25_569
_MOST_DAY: Final = _LAST_S / 86_400 + 25_569
_UNIT_NAMES: Final = {
    "s": "seconds",
    "ms": "milliseconds",
    "us": "microseconds",
    "ns": "nanoseconds",
    "days": "days of a spreadsheet",
}


def duration(text: str) -> float | None:
    """Return seconds of a plain number of them, or of ``[[DD-]HH:]MM:SS``; None if unknown."""
    text = text.strip()
    if text.lower() in _UNKNOWN:
        return None
    if _NUMBER.fullmatch(text):
        return float(text)
    return _clock_duration(text)


def time_limit(text: str) -> float | None:
    """Return seconds of a time limit; None if there is none, or none is known.

    It is a plain number of minutes, or ``MM:SS``, ``HH:MM:SS``, ``DD-HH[:MM[:SS]]``.
    """
    text = text.strip()
    if text.lower() in _UNKNOWN:
        return None
    if not _NUMBER.fullmatch(text):
        return _clock_duration(text) or None
    minutes = float(text)
    return None if minutes in _NO_LIMIT else 60 * minutes


@functools.lru_cache(maxsize=2**16)
def _clock_duration(text: str) -> float:
    match = _DURATION.fullmatch(text)
    if match is None or (":" not in text and "-" not in text):
        raise ValueError(f"{text[:30]!r} is no duration")
    days, *_ = match.groups()
    parts = [float(part) for part in text.partition("-")[2].split(":")] if days else []
    if days:  # from hours on
        hours, minutes, seconds = (*parts, 0.0, 0.0)[:3]
    else:  # down to seconds
        hours, minutes, seconds = (0.0, 0.0, *map(float, text.split(":")))[-3:]
    return 86_400 * float(days or 0) + 3600 * hours + 60 * minutes + seconds
