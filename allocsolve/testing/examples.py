"""The problems on which the contract tests try a solver."""

from __future__ import annotations

from typing import TYPE_CHECKING

from allocsolve.families import family_named

if TYPE_CHECKING:
    from allocsolve.model import Problem

__all__ = ["example_problems"]


def example_problems(kind: str) -> tuple[Problem, ...]:
    """Return the problems of a kind on which `check_solver` tries a solver, each with a name that says why.

    They are at the edges of what the model allows: empty and one-element problems, the full machine,
    requests without an answer, times of 2^50 seconds, and some small random ones with fixed seeds. An exact
    solver proves each within a second, unless its model grows with the time.

    Parameters
    ----------
    kind
        That of a family, such as ``evolution``.

    Raises
    ------
    UnknownName
        If there is no such kind.

    Examples
    --------
    >>> [problem.name for problem in example_problems("evolution")][:3]
    ['no application', 'one application, released late', 'one node']
    """
    # Made anew for every call: some solver may have written into those of the last one.
    return tuple(family_named(kind).examples())
