"""For authors of solvers: the contract that every solver here keeps, to be run on one's own.

That of queue policies is in `allocsolve.testing.policies`, which loads numba.
"""

from __future__ import annotations

from allocsolve.testing.conformance import SolverConformance, check_solver
from allocsolve.testing.examples import example_problems

__all__ = [
    "SolverConformance",
    "check_solver",
    "example_problems",
]
