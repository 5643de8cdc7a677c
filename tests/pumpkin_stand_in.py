"""Stands in for the package `pumpkin_solver`: the few calls that we make, answered by trying all values."""

from __future__ import annotations

import itertools
import os
from dataclasses import dataclass
from types import SimpleNamespace


@dataclass(frozen=True)
class Expression:
    """A variable, by its number, plus a constant."""

    variable: int
    constant: int = 0

    def offset(self, by: int) -> Expression:
        return Expression(self.variable, self.constant + by)

    def under(self, values: tuple[int, ...]) -> int:
        return values[self.variable] + self.constant


@dataclass(frozen=True)
class LessThanOrEquals:
    """A sum has a greatest value."""

    expressions: list[Expression]
    most: int
    tag: object

    def holds(self, values: tuple[int, ...]) -> bool:
        return sum(each.under(values) for each in self.expressions) <= self.most


@dataclass(frozen=True)
class Cumulative:
    """The tasks that run at an instant need at most the capacity."""

    starts: list[Expression]
    durations: list[int]
    needs: list[int]
    capacity: int
    tag: object

    def holds(self, values: tuple[int, ...]) -> bool:
        tasks = [
            (start.under(values), duration, need)
            for start, duration, need in zip(self.starts, self.durations, self.needs, strict=True)
        ]
        return all(
            sum(need for start, duration, need in tasks if start <= instant < start + duration)
            <= self.capacity
            for instant, _, _ in tasks
        )


constraints = SimpleNamespace(LessThanOrEquals=LessThanOrEquals, Cumulative=Cumulative)


class Satisfiable:
    """An answer."""


class Unsatisfiable:
    """An answer."""


class Unknown:
    """An answer."""


class Model:
    """Variables with ranges, and constraints."""

    def __init__(self) -> None:
        self.ranges: list[range] = []
        self.constraints: list[LessThanOrEquals | Cumulative] = []

    def new_constraint_tag(self) -> object:
        return object()

    def new_integer_variable(self, lower_bound: int, upper_bound: int) -> Expression:
        assert lower_bound <= upper_bound
        self.ranges.append(range(lower_bound, upper_bound + 1))
        return Expression(len(self.ranges) - 1)

    def add_constraint(self, constraint: LessThanOrEquals | Cumulative) -> None:
        self.constraints.append(constraint)

    def satisfy(self, timeout: float) -> object:
        assert timeout > 0
        told = {"found": Satisfiable, "slow": Unknown}.get(os.environ.get("STAND_IN", ""))
        if told is not None:
            return told()
        choices = itertools.product(*self.ranges)
        is_found = any(all(each.holds(values) for each in self.constraints) for values in choices)
        return Satisfiable() if is_found else Unsatisfiable()
