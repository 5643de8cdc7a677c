"""For authors of solvers: the contract that every solver here keeps, to be run on one's own."""

from __future__ import annotations

from allocsolve.testing.conformance import SolverConformance, check_solver
from allocsolve.testing.examples import example_problems
from allocsolve.testing.policies import PolicyConformance, check_policy, example_workloads

__all__ = [
    "PolicyConformance",
    "SolverConformance",
    "check_policy",
    "check_solver",
    "example_problems",
    "example_workloads",
]
