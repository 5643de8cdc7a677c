"""allocsolve: proven optima, fast heuristics and an independent judge for the allocation problem.

Problems and answers are plain frozen data (`allocsolve.model`); solvers are callables from one to the other
(`allocsolve.heuristics`, `allocsolve.exact`); a judge that shares no code with any solver decides what an
answer is worth (`allocsolve.judge`); the bench only believes the judge.
"""

from __future__ import annotations

from importlib.metadata import version

from allocsolve.errors import AllocsolveError
from allocsolve.model import (
    Budget,
    DeadlineJob,
    EvolutionProblem,
    EvolutionProfile,
    EvolutionSchedule,
    Job,
    Jobs,
    Mesh,
    Partition,
    PartitionProblem,
    ReservationProblem,
    ReservationSchedule,
    Result,
    Status,
    Topology,
    Torus,
    WorkloadProblem,
    WorkloadSchedule,
)
from allocsolve.notebook import plot
from allocsolve.registry import solve

__version__ = version("allocsolve")

__all__ = [
    "AllocsolveError",
    "Budget",
    "DeadlineJob",
    "EvolutionProblem",
    "EvolutionProfile",
    "EvolutionSchedule",
    "Job",
    "Jobs",
    "Mesh",
    "Partition",
    "PartitionProblem",
    "ReservationProblem",
    "ReservationSchedule",
    "Result",
    "Status",
    "Topology",
    "Torus",
    "WorkloadProblem",
    "WorkloadSchedule",
    "plot",
    "solve",
]
