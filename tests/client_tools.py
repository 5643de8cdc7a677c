"""What the tests of adaptors share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from allocsolve.model import WorkloadProblem
from allocsolve.registry import make_solver
from allocsolve.simulation import simulate

if TYPE_CHECKING:
    from allocsolve.model import WorkloadSchedule


def policy(name: str) -> Any:
    """Return a registered policy."""
    return make_solver(name, WorkloadProblem)


def under_our_engine(problem: WorkloadProblem, name: str) -> WorkloadSchedule:
    """Return the schedule of a workload under a registered policy."""
    return simulate(problem, policy(name))
