"""Rows of the tables of solvers for the classes of this package."""

from __future__ import annotations

from allocsolve.families import SolverRow

__all__ = ["CP_SAT", "exact", "heuristic"]

#: What solvers by CP-SAT need; scipy, for their bounds.
CP_SAT = ("ortools", "scipy")


def heuristic(name: str, summary: str, solver: str) -> SolverRow:
    """Return the row of a class of `allocsolve.heuristics`."""
    return SolverRow(name, "heuristic", summary, f"allocsolve.heuristics:{solver}")


def exact(name: str, summary: str, solver: str, needs: tuple[str, ...] = ()) -> SolverRow:
    """Return the row of a class of `allocsolve.exact`."""
    return SolverRow(name, "exact", summary, f"allocsolve.exact:{solver}", needs)
