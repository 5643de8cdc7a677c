"""Objectives: one term, or several of which the first comes first."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from allocsolve.errors import InvalidOption, UnknownName
from allocsolve.model.checks import items

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["parse_objective"]

Term = TypeVar("Term", bound=str)


def parse_objective(objective: str | Sequence[str], family_terms: Sequence[Term]) -> tuple[Term, ...]:
    """Read an objective such as ``makespan``, ``makespan,waste`` or ``("makespan", "waste")``.

    Parameters
    ----------
    objective
        Terms: a text in which commas part them, or a sequence of texts.
    family_terms
        Those of the family of problems, such as `allocsolve.model.EVOLUTION_OBJECTIVES`.

    Raises
    ------
    UnknownName
        If a term is not one of `family_terms`.
    InvalidOption
        If a term stands twice, or there is none.
    """
    names = (
        objective.split(",") if isinstance(objective, str) else items("objective", objective, InvalidOption)
    )
    if not names:
        msg = "the objective has no terms"
        raise InvalidOption(msg)
    terms: list[Term] = []
    for name in map(str.strip, map(str, names)):
        term = next((one for one in family_terms if one == name), None)
        if term is None:
            raise UnknownName("objective", name, family_terms)
        if term in terms:
            msg = f"objective {','.join(map(str, names))!r} names {term} twice"
            raise InvalidOption(msg)
        terms.append(term)
    return tuple(terms)
