"""What a family of problems is to the commands and the bench: its solvers, objectives and a few functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from allocsolve.model import Budget, Result, parse_objective

__all__ = ["AnySolver", "Entry", "Family", "Feature"]

#: A solver of some family; see `allocsolve.model.Solver`.
AnySolver: TypeAlias = Callable[[Any, Budget], Result[Any]]

#: What a feature of a problem may be: as JSON holds it.
Feature: TypeAlias = str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class Entry:
    """One row of the table of solvers."""

    name: str
    #: The type of problem that it solves.
    problem: type
    method: Literal["heuristic", "exact"]
    summary: str
    #: Imports the backend and makes the solver with its default options.
    load: Callable[[], AnySolver]


@dataclass(frozen=True, slots=True)
class Family:
    """A kind of problems; its judge and its file format are in the rooms of these names.

    The functions take problems of the type `problem` only.
    """

    #: As in the files.
    kind: str
    problem: type
    #: The terms of its objectives, the default first.
    objectives: tuple[str, ...]
    #: The solver that is compared with unless another is named.
    baseline: str
    entries: tuple[Entry, ...]
    #: What tells the problems of a study apart, by name.
    features: Callable[[Any], Mapping[str, Feature]]
    #: A cheap lower bound on one term of an objective.
    bound: Callable[[Any, str], float]
    #: A tiny problem on which a solver compiles and loads what it needs for this one.
    tiny: Callable[[Any], Any]

    def parse_objective(self, text: str | None) -> tuple[str, ...]:
        """Return the terms of an objective such as ``makespan,waste``; the default for None.

        Raises
        ------
        UnknownName
            If a term is none of this family.
        InvalidOption
            If a term stands twice.
        """
        return self.objectives[:1] if text is None else parse_objective(text, self.objectives)
