"""Objectives as text: one term, or several of which the first comes first."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from allocsolve.errors import InvalidOption, UnknownName

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["parse_objective"]

Term = TypeVar("Term", bound=str)


def parse_objective(text: str, family_terms: Sequence[Term]) -> tuple[Term, ...]:
    """Read an objective such as ``makespan`` or ``makespan,waste``.

    Parameters
    ----------
    text
        Terms, separated by commas.
    family_terms
        Those of the family of problems, such as `allocsolve.model.EVOLUTION_OBJECTIVES`.

    Raises
    ------
    UnknownName
        If a term is not one of `family_terms`.
    InvalidOption
        If a term stands twice.
    """
    terms: list[Term] = []
    for name in text.split(","):
        term = next((one for one in family_terms if one == name.strip()), None)
        if term is None:
            raise UnknownName("objective", name.strip(), family_terms)
        if term in terms:
            msg = f"objective {text!r} names {term} twice"
            raise InvalidOption(msg)
        terms.append(term)
    return tuple(terms)
