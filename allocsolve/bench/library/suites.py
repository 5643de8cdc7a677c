"""The suites of the instance library that comes with the package."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from allocsolve.instances import Library

if TYPE_CHECKING:
    from allocsolve.model import Problem

__all__ = ["SUITES", "suite"]

#: The suites by name; see `allocsolve.instances.Library`.
SUITES: Final = Library()


def suite(name: str) -> tuple[Problem, ...]:
    """Return the problems of the suite of this name.

    Raises
    ------
    UnknownName
        If there is no such suite; the message offers the nearest names.

    Examples
    --------
    >>> [problem.name for problem in suite("klein-5-l1")[:2]]
    ['klein-5-l1-00', 'klein-5-l1-01']
    """
    return SUITES[name].problems()
