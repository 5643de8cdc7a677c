"""The seam between problems and answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from allocsolve.model.result import Budget, Result

__all__ = ["Solver"]

P_contra = TypeVar("P_contra", contravariant=True)
A = TypeVar("A")


class Solver(Protocol[P_contra, A]):
    """Takes a problem and a budget, returns a result. Never mutates, never prints.

    A frozen dataclass of options with ``__call__`` is the usual form (its ``repr`` is its name in the
    records); a plain function is a solver too. Running out of budget is a result, never an exception.
    """

    def __call__(self, problem: P_contra, budget: Budget, /) -> Result[A]:
        """Solve within the budget."""
        ...
