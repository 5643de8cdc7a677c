"""The parts of certificates, read with suspicion: what is not as it should be is refused, by its name.

A certificate is JSON data that may come from anybody. What is read here has the right types and ranges and
nothing more: what it proves the judge of each family recomputes.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, TypeGuard

import numpy as np

from allocsolve.errors import InvalidAnswer
from allocsolve.model import MAX_INTEGER, frozen
from allocsolve.model.checks import shown

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from allocsolve.model import FloatArray, IntArray


def malformed(message: str) -> InvalidAnswer:
    """Return the refusal of a certificate for its shape, which its schema shows, too."""
    return InvalidAnswer(message, breaks_schema=True)


def choice(certificate: Mapping[str, object], key: str, options: Sequence[str]) -> str:
    """Return a word of the certificate that is one of two or more options."""
    value = certificate.get(key)
    for option in options:
        if value == option:
            return option
    *others, last = options
    raise malformed(f"{key} {shown(value)} of the certificate is none of {', '.join(others)} and {last}")


def items(certificate: Mapping[str, object], key: str) -> list[Any]:
    """Return a list of the certificate, whatever is in it."""
    value = certificate.get(key)
    if not isinstance(value, list):
        raise malformed(f"{key} of the certificate are {type(value).__name__}, not a list")
    return value


def positive_integer(certificate: Mapping[str, object], key: str) -> int:
    """Return an integer of the certificate, from 1 to 2^53."""
    value = certificate.get(key)
    if type(value) is not int or not 1 <= value <= MAX_INTEGER:
        raise malformed(f"{key} {shown(value)} of the certificate is not an integer in 1..2^53")
    return value


def integers(certificate: Mapping[str, object], key: str, low: int) -> IntArray:
    """Return a list of integers of the certificate, from `low` to 2^53, as an array."""
    values = items(certificate, key)
    fault = _first_fault(values, low)
    if fault is not None:
        wanted = f"in {low}..2^53" if type(values[fault]) is int else "an integer"
        raise malformed(f"{key}[{fault}] {shown(values[fault])} of the certificate is not {wanted}")
    return np.array(values, dtype=np.int64)


def _first_fault(values: list[Any], low: int) -> int | None:
    """Return where the first value stands that is not an integer from `low` to 2^53; None if all are."""
    # Functions in C look at a million prices three times as fast as a loop.
    if set(map(type, values)) <= {int} and (not values or low <= min(values) <= max(values) <= MAX_INTEGER):
        return None
    return next(
        at for at, value in enumerate(values) if type(value) is not int or not low <= value <= MAX_INTEGER
    )


def are_integers(value: object) -> TypeGuard[list[int]]:
    """Return whether this is a list of integers that fit into 64 bits."""
    if not isinstance(value, list) or not set(map(type, value)) <= {int}:
        return False
    return not value or -(2**63) < min(value) <= max(value) < 2**63


def rows_of_integers(name: str, numbers: object, width: int) -> IntArray:
    """Return a flat list of integers as rows of this width; of width 0 there is one row, which is empty."""
    msg = f"{name} are not a list of integers, {width} at a time"
    if not are_integers(numbers):
        raise malformed(msg)
    table = np.array(numbers, dtype=np.int64)
    if len(table) % max(width, 1):
        raise InvalidAnswer(msg)
    return table.reshape(-1, width) if width else np.zeros((1, 0), dtype=np.int64)


class Prices(NamedTuple):
    """Prices of node-time in slots, in integers; outside of the slots there are none. Read-only."""

    #: Shape (slots + 1,), rising, in units of time.
    edges: IntArray
    #: Shape (slots + 1,): the price of each slot, and 0.
    prices: IntArray
    #: Shape (slots + 1,): what a node costs up to each edge.
    integral: IntArray


class PriceList(NamedTuple):
    """The prices of a certificate: a price q is q / `unit` units of cost per node-second."""

    #: Where the slots begin and end, in seconds, rising: one more than there are prices.
    edges: list[int]
    prices: list[int]
    unit: int

    @property
    def total(self) -> int:
        """What a node costs from the first edge to the last, in prices times seconds."""
        lengths = (later - earlier for earlier, later in pairwise(self.edges))
        return sum(price * length for price, length in zip(self.prices, lengths, strict=True))

    def per(self, units: int) -> Prices:
        """Return the prices as arrays, with this many units of time in a second.

        The caller has checked that the last edge and the total fit into 64 bits in these units.
        """
        edges = np.array(self.edges, dtype=np.int64) * units
        prices = np.array([*self.prices, 0], dtype=np.int64)
        integral = np.concatenate([[0], np.cumsum(prices[:-1] * np.diff(edges))])
        return Prices(frozen(edges), frozen(prices), frozen(integral))


def price_list(certificate: Mapping[str, object]) -> PriceList:
    """Return the ``edges``, the ``prices`` and the ``unit`` of a certificate."""
    edges, prices = (_whole_numbers(name, certificate.get(name)) for name in ("edges", "prices"))
    (unit,) = _whole_numbers("unit", [certificate.get("unit")])
    if len(prices) != len(edges) - 1:
        raise InvalidAnswer(f"{len(prices)} prices between {len(edges)} edges of the certificate")
    for at, (earlier, later) in enumerate(pairwise(edges), start=1):
        if later <= earlier:
            raise InvalidAnswer(f"edges of the certificate: {later} after {earlier}, at position {at}")
    if unit < 1:
        raise malformed(f"unit {unit} of the certificate is below 1")
    return PriceList(edges, prices, unit)


def _whole_numbers(name: str, values: object) -> list[int]:
    """Return a list of integers from 0 to 2^53."""
    if not isinstance(values, list):
        raise malformed(f"{name} {shown(values)} of the certificate are not a list")
    at = _first_fault(values, 0)
    if at is not None:
        msg = f"{name} of the certificate: {shown(values[at])} at position {at} is not an integer in 0..2^53"
        raise malformed(msg)
    return values


def lower_float(value: Fraction) -> float:
    """Return the largest float that is not above the value."""
    nearest = float(value)
    return math.nextafter(nearest, -math.inf) if nearest > value else nearest


def upper_sum_of_products(left: FloatArray, right: FloatArray) -> Fraction:
    """Return the sum of left * right; slightly more if the factors are no multiples of a quarter."""
    if (4 * left % 1 == 0).all() and (4 * right % 1 == 0).all():
        pairs = zip((4 * left).astype(np.int64).tolist(), (4 * right).astype(np.int64).tolist(), strict=True)
        return Fraction(sum(first * second for first, second in pairs), 16)
    return Fraction(math.fsum(left * right) * (1 + 2.0**-50))
