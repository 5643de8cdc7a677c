"""Times as Slurm and tables of jobs have them."""

from __future__ import annotations

import functools
import re
from datetime import UTC, datetime, tzinfo
from typing import Final

from allocsolve.errors import InvalidOption
from allocsolve.model import MAX_INTEGER

__all__ = ["Clock", "duration", "time_limit", "zone"]

#: What is printed for a time that is not known, or for no limit.
_UNKNOWN: Final = frozenset(
    {"", "unknown", "none", "n/a", "na", "nan", "nat", "null", "invalid", "unlimited", "infinite"}
    | {"partition_limit", "-1"}
)
_DURATION: Final = re.compile(
    r"(?:(\d{1,7})-)?(?:(\d{1,7}):)?(\d{1,7})(?::(\d{1,7}(?:\.\d{1,9})?))?", re.ASCII
)
_ISO: Final = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:[0-5]\d", re.ASCII)
_NUMBER: Final = re.compile(r"\d{1,16}(?:\.\d{0,9})?", re.ASCII)
#: Slurm's numbers of minutes for no limit.
_NO_LIMIT: Final = frozenset({0, 2**32 - 2, 2**32 - 1})


def zone(name: str) -> tzinfo:
    """Return a time zone such as ``Europe/Berlin`` or ``UTC``.

    Raises
    ------
    InvalidOption
        If there is none of this name.
    """
    if name.upper() == "UTC":
        return UTC
    import zoneinfo  # noqa: PLC0415 - few logs have local times

    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        msg = f"there is no time zone {name[:40]!r}; names are such as Europe/Berlin or UTC"
        raise InvalidOption(msg) from None


class Clock:
    """Reads points in time as Unix seconds.

    Parameters
    ----------
    local
        The zone of times without one.
    knows_zero
        Whether second 0 is a time; Slurm writes it for what has not happened.
    """

    def __init__(self, local: tzinfo, *, knows_zero: bool = False) -> None:
        self._local = local
        self._knows_zero = knows_zero
        #: Whether there were times without a zone.
        self.is_local = False
        self._bases: dict[tuple[str, bool], float] = {}

    def read(self, text: str, *, later: bool = False) -> float | None:
        """Return Unix seconds; None where the text says that the time is not known.

        Parameters
        ----------
        text
            Unix seconds, or an ISO date and time.
        later
            Which of two equal local times is meant when clocks are set back.

        Raises
        ------
        ValueError
            If it is neither.
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
            seconds = float(text)
            if seconds > MAX_INTEGER:
                msg = f"{text[:20]!r} is beyond 2^53"
                raise ValueError(msg)
            return seconds if seconds or self._knows_zero else None
        return self._moment(text, later=later)

    def _moment(self, text: str, *, later: bool) -> float:
        try:
            moment = datetime.fromisoformat(text)
            if moment.tzinfo is None:
                self.is_local = True
                moment = moment.replace(tzinfo=self._local, fold=later)
            seconds = moment.timestamp()
        except (ValueError, OverflowError):
            seconds = -1.0
        if seconds < 0:
            msg = f"{text[:30]!r} is no time after 1970"
            raise ValueError(msg)
        return seconds


def duration(text: str) -> float | None:
    """Return seconds of a plain number of them, or of ``[[DD-]HH:]MM:SS``; None if unknown.

    Raises
    ------
    ValueError
        If it is neither.
    """
    text = text.strip()
    if text.lower() in _UNKNOWN:
        return None
    if _NUMBER.fullmatch(text):
        return float(text)
    return _clock_duration(text)


def time_limit(text: str) -> float | None:
    """Return seconds of a time limit; None if there is none, or none is known.

    It is a plain number of minutes, or ``MM:SS``, ``HH:MM:SS``, ``DD-HH[:MM[:SS]]``.

    Raises
    ------
    ValueError
        If it is none of these.
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
        msg = f"{text[:30]!r} is no duration"
        raise ValueError(msg)
    days, *_ = match.groups()
    parts = [float(part) for part in text.partition("-")[2].split(":")] if days else []
    if days:  # from hours on
        hours, minutes, seconds = (*parts, 0.0, 0.0)[:3]
    else:  # down to seconds
        hours, minutes, seconds = (0.0, 0.0, *map(float, text.split(":")))[-3:]
    return 86_400 * float(days or 0) + 3600 * hours + 60 * minutes + seconds
