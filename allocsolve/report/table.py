"""Tables as data: what is shown, and what it is sorted by."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from allocsolve.pictures.text import number, percent, probability, time_text

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Table", "TableCell", "count", "in_percent", "p_value", "seconds", "text", "value"]


class TableCell(NamedTuple):
    """What is shown, and the number or text that it is sorted by; NaN goes last."""

    shown: str
    key: float | str


@dataclass(frozen=True, slots=True)
class Table:
    """A table; a column of numbers has numbers as keys throughout."""

    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[TableCell, ...], ...]
    note: str = ""

    @property
    def numeric(self) -> tuple[bool, ...]:
        """For each column whether it holds numbers."""
        return tuple(
            bool(self.rows) and all(isinstance(row[column].key, float) for row in self.rows)
            for column in range(len(self.heads))
        )


def text(shown: str) -> TableCell:
    """Return the cell of a text."""
    return TableCell(shown, shown)


def count(value: int) -> TableCell:
    """Return the cell of a count."""
    return TableCell(str(value), float(value))


def value(terms: Sequence[float] | None) -> TableCell:
    """Return the cell of an objective value: all its terms, sorted by the first."""
    if terms is None:
        return TableCell("-", math.nan)
    return TableCell(", ".join(map(number, terms)), float(terms[0]))


def seconds(time: float) -> TableCell:
    """Return the cell of a duration."""
    return TableCell(time_text(time, exact=True), time)


def in_percent(
    fraction: float | None, interval: tuple[float, float] | None = None, *, digits: int = 2
) -> TableCell:
    """Return the cell of a fraction in per cent, with its interval."""
    if fraction is None:
        return TableCell("-", math.nan)
    if math.isinf(fraction):
        return TableCell("inf", fraction)
    shown = percent(fraction, digits).removesuffix(" %")
    if interval:
        shown += f" [{100 * interval[0]:.{digits}f}, {100 * interval[1]:.{digits}f}]"
    return TableCell(shown, fraction)


def p_value(p: float) -> TableCell:
    """Return the cell of a p-value."""
    return TableCell(probability(p), p)
