"""Checks of values from outside: each returns the checked value, or raises one line that names it."""

from __future__ import annotations

import contextlib
import math
import operator
import reprlib
from numbers import Real
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from allocsolve.errors import AllocsolveError, InvalidOption, InvalidProblem, UnknownName

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

T = TypeVar("T")
N = TypeVar("N", int, float)


def whole(value: object) -> int:
    """Return a whole number as a Python integer: any kind of integer, and floats such as 4.0.

    `TypeError` if it is not a whole number.
    """
    try:
        return int(operator.index(value))  # type: ignore[arg-type]  # True is 1
    except TypeError:
        if isinstance(value, float | np.floating) and value.is_integer():
            return int(value)
        raise


def integer(what: str, value: object, error: type[AllocsolveError] = InvalidProblem) -> int:
    """Return a whole number as `whole` does."""
    try:
        return whole(value)
    except TypeError:
        raise error(f"{what} {shown(value)} is not an integer") from None


def whole_time(what: str, value: object, error: type[AllocsolveError] = InvalidProblem) -> int:
    """Return a time as a whole number; the message of what is none says why and what to do."""
    try:
        return whole(value)
    except TypeError:
        msg = (
            f"{what} {shown(value)} is not an integer: times are whole, so that sums are exact; "
            "round them up, or count all in milliseconds"
        )
        raise error(msg) from None


def natural(what: str, value: object) -> int:
    """Return an option that is a whole number of at least 0."""
    number = integer(what, value, InvalidOption)
    if number < 0:
        raise InvalidOption(f"{what} {shown(number)} is negative")
    return number


def real(what: str, value: object, error: type[AllocsolveError] = InvalidProblem) -> float:
    """Return a number as a float, the infinite ones and NaN included."""
    try:
        return float(instance(what, value, Real, error))  # type: ignore[type-abstract]  # only used in a check
    except OverflowError:
        raise error(f"{what} {shown(value)} is not a float") from None


def moment(what: str, value: object) -> float:
    """Return a time, in seconds, that is finite."""
    number = real(what, value)
    if not math.isfinite(number):
        raise InvalidProblem(f"{what} {number} is no time")
    return number


def in_range(
    what: str,
    number: N,
    low: float,
    high: float = 2**53,
    error: type[AllocsolveError] = InvalidProblem,
    where: str = "",
) -> N:
    """Return a number that is in a range; `where` says more about the range."""
    if not low <= number <= high:
        raise error(f"{what} {shown(number)} is not in {low}..{'2^53' if high == 2**53 else high}{where}")
    return number


def flag(what: str, value: object, error: type[AllocsolveError] = InvalidOption) -> bool:
    """Return a flag as a boolean; texts are refused, since the word ``no`` would be true."""
    if not isinstance(value, str):
        with contextlib.suppress(ValueError):  # of an array
            return bool(value)
    raise error(f"{what} {shown(value)} is not True or False")


def choice(what: str, value: T, choices: Sequence[T]) -> T:
    """Return a value that is one of the choices."""
    if not (isinstance(value, str) and value in choices):
        raise UnknownName(what, value if isinstance(value, str) else shown(value), map(str, choices))
    return value


def instance(what: str, value: object, type_: type[T], error: type[AllocsolveError] = InvalidProblem) -> T:
    """Return a value that has this type."""
    if isinstance(value, type_):
        return value
    raise error(f"{what} {shown(value)} is not of the type {type_.__name__}")


def items(what: str, values: Iterable[T], error: type[AllocsolveError] = InvalidProblem) -> tuple[T, ...]:
    """Return the items of a sequence."""
    try:
        return tuple(values)
    except TypeError:
        raise error(f"{what} {shown(values)} is not a sequence") from None


def shown(value: object) -> str:
    """Return a value as messages show it: on one short line."""
    if isinstance(value, int) and abs(value) >= 10**18:
        return "beyond 10^18" if value > 0 else "below -10^18"
    try:
        return " ".join(reprlib.repr(value).split())
    except ValueError:  # it has an integer with more digits than Python writes
        return f"of the type {type(value).__name__}"
