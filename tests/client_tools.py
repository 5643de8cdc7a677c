"""What the tests of adaptors share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from allocsolve.model import Job, WorkloadProblem
from allocsolve.registry import make_solver
from allocsolve.simulation import simulate

if TYPE_CHECKING:
    import random

    from allocsolve.model import WorkloadSchedule


def policy(name: str) -> Any:
    """Return a registered policy."""
    return make_solver(name, WorkloadProblem)


def rigid(
    draw: random.Random, nodes: int | None = None, *, most_spare: int = 12, unlimited: float = 0
) -> WorkloadProblem:
    """Return jobs whose instants coincide often; of many nodes they are narrow.

    Limits are up to `most_spare` seconds above run times; a share `unlimited` of the jobs has none.
    """
    nodes = nodes or draw.randint(2, 12)
    rows = []
    for _ in range(draw.randint(1, 25)):
        runtime = draw.randint(1, 12)
        limit = None if draw.random() < unlimited else runtime + draw.randint(0, most_spare)
        rows.append(Job(draw.randint(0, 40), draw.randint(1, min(nodes, 12)), runtime, limit))
    return WorkloadProblem(nodes, rows)


def under_our_engine(problem: WorkloadProblem, name: str) -> WorkloadSchedule:
    """Return the schedule of a workload under a registered policy."""
    return simulate(problem, policy(name))
