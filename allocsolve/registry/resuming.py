"""Going on from an earlier run: solvers that take its answer, or the certificate of its bound."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Final

from allocsolve.errors import InvalidOption

if TYPE_CHECKING:
    from collections.abc import Mapping

    from allocsolve.families import AnySolver
    from allocsolve.model import Answer

__all__ = ["resumed", "unstarted"]

#: The fields of a dataclass of solvers that take what an earlier run has left, and what it is.
_FIELDS: Final = {"start": "answer", "certificate": "certificate"}


def resumed(
    name: str, solver: AnySolver, start: Answer | None, certificate: Mapping[str, object] | None
) -> AnySolver:
    """Return a solver that goes on from what an earlier run has left.

    A solver that can is a dataclass with a field ``start`` for an answer, and one ``certificate`` if it takes
    the certificate of a bound, too; None in them is a run from the beginning, and their repr does not show
    them.

    Parameters
    ----------
    name
        What messages call the solver.
    solver
        The solver.
    start, certificate
        None: there is none.

    Raises
    ------
    InvalidOption
        If the solver takes no such thing.
    """
    given = {"start": start, "certificate": certificate}
    given = {field: value for field, value in given.items() if value is not None}
    missing = next((field for field in given if field not in _taken(solver)), None)
    if missing is not None:
        msg = f"{name} cannot go on from the {_FIELDS[missing]} of an earlier run"
        raise InvalidOption(msg)
    return _replaced(solver, given)


def unstarted(solver: AnySolver) -> AnySolver:
    """Return the same solver without what an earlier run has left, as it is called on other problems."""
    given = {name: None for name in _taken(solver) if getattr(solver, name) is not None}
    return _replaced(solver, given)


def _taken(solver: Any) -> list[str]:  # noqa: ANN401 - whatever is called like a solver
    if not dataclasses.is_dataclass(solver) or isinstance(solver, type):
        return []
    return [field.name for field in dataclasses.fields(solver) if field.name in _FIELDS and not field.repr]


def _replaced(solver: Any, fields: Mapping[str, object]) -> AnySolver:  # noqa: ANN401 - a dataclass if there are fields
    return dataclasses.replace(solver, **fields) if fields else solver  # type: ignore[no-any-return]  # a solver is whatever is called like one
