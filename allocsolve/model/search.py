"""What a search has found so far, and the result that it ends with."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Generic, TypeVar

from allocsolve.model.result import Result, Status, shown_values

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from allocsolve.model.result import Clock, Limit, Value

A = TypeVar("A")


class Best(Generic[A]):
    """The best answer of a search, and when it and those before it were found.

    The clock gives the times of the incumbents; `shown` gives values in the form of results.
    """

    def __init__(self, clock: Clock, shown: Callable[[tuple[float, ...]], Value] = shown_values) -> None:
        self.clock, self.shown = clock, shown
        self.answer: A | None = None
        #: Infinity before there is an answer.
        self.values: tuple[float, ...] = (math.inf,)
        self.incumbents: list[tuple[float, Value]] = []

    def keep(self, answer: A, values: tuple[float, ...]) -> bool:
        """Keep a feasible answer if it is better; return whether it is."""
        if values >= self.values:
            return False
        self.answer, self.values = answer, values
        # Noted last, so that Ctrl-C in between leaves no incumbent without its answer.
        self.incumbents.append((self.clock.elapsed, self.shown(values)))
        return True


def search_result(
    answer: A,
    values: tuple[float, ...],
    bounds: Sequence[float],
    limit: Limit | None,
    clock: Clock,
    incumbents: Sequence[tuple[float, Value]] = (),
    *,
    certificate: Mapping[str, object] | None = None,
    shown: Callable[[tuple[float, ...]], Value] = shown_values,
) -> Result[A]:
    """Return the result of a search: its best answer, optimal if the bounds on all terms are the values.

    `bounds` are proven lower bounds on the first terms; the other terms have none. `limit` is what ended the
    search otherwise, and `shown` gives values in the form of results.
    """
    proven = tuple(bounds) == values
    return Result(
        Status.OPTIMAL if proven else Status.FEASIBLE,
        answer,
        shown(values),
        shown((*bounds, *(-math.inf,) * (len(values) - len(bounds)))),
        None if proven else limit,
        clock.elapsed,
        tuple(incumbents),
        certificate,
    )
