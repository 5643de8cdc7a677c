"""How numbers and the texts of others are written for people."""

from __future__ import annotations

import math
import unicodedata
from typing import Final

__all__ = [
    "counted",
    "duration",
    "limit_text",
    "number",
    "percent",
    "probability",
    "short_number",
    "time_text",
    "visible",
]

#: Units of durations that people wait for, with their seconds, the longest first.
_LONG_UNITS: Final = (("d", 86400), ("h", 3600), ("min", 60))


def counted(count: int, noun: str) -> str:
    """Return a count with its noun."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def duration(seconds: float) -> str:
    """Return a duration in the unit in which it has few digits.

    >>> duration(59), duration(90), duration(5400), duration(200_000)
    ('59 s', '1.5 min', '1.5 h', '2.3 d')
    """
    unit, size = next((one for one in _LONG_UNITS if seconds >= one[1]), ("s", 1))
    return f"{float(f'{seconds / size:.1f}'):g} {unit}"


def limit_text(limit: float) -> str:
    """Return an expand limit as it is given on the command line."""
    return str(int(limit)) if float(limit).is_integer() else str(limit)


def percent(fraction: float | None, digits: int = 1) -> str:
    """Return a fraction in per cent, - if there is none."""
    return "-" if fraction is None or not math.isfinite(fraction) else f"{100 * fraction:.{digits}f} %"


def time_text(seconds: float, *, exact: bool = False) -> str:
    """Return a duration in a unit in which it is easy to read; with three digits in all if exact."""
    unit, size = ("us", 1e-6) if seconds < 0.001 else ("ms", 1e-3) if seconds < 1 else ("s", 1.0)
    digits = max(0, 2 - math.floor(math.log10(max(seconds / size, 1.0)))) if exact else int(unit == "s")
    return f"{seconds / size:.{digits}f} {unit}"


def number(value: float) -> str:
    """Return a number with six digits at most behind the point, and whole ones with all their digits."""
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return f"{value:.0f}" if value == round(value) else f"{value:.6g}" if abs(value) < 1e6 else f"{value:.1f}"


def short_number(value: float) -> str:
    """Return a number with one digit behind the point, below 10 with three; whole ones as they are.

    >>> short_number(4641.23), short_number(0.14285), short_number(12.0)
    ('4641.2', '0.143', '12')
    """
    digits = 1 if abs(value) >= 10 else 3
    return str(int(value)) if float(value).is_integer() else f"{value:.{digits}f}"


def probability(p: float) -> str:
    """Return a p-value, three digits behind the point."""
    return f"{p:.3f}" if p >= 0.001 else "<0.001"


def visible(text: str) -> str:
    r"""Return a text without what would command a terminal or turn a line round: that is escaped.

    Names of files, problems and solvers come from anybody.

    >>> visible("a\x1b[2J\u202eb c")
    'a\\x1b[2J\\u202eb c'
    """
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() or unicodedata.category(char) == "Zs" else _escaped(char) for char in text
    )


def _escaped(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")
