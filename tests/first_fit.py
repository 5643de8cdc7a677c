"""Feasible schedules of rigid and moldable workloads, for tests of what is done with schedules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from allocsolve.heuristics import Fcfs, FirstFit
from allocsolve.simulation import simulate

if TYPE_CHECKING:
    from allocsolve.model import WorkloadProblem, WorkloadSchedule


def first_fit(problem: WorkloadProblem) -> WorkloadSchedule:
    """Whenever a job is submitted or ends, all that fit start, in order of submission."""
    return simulate(problem, FirstFit())


def in_order(problem: WorkloadProblem) -> WorkloadSchedule:
    """No job starts before one that was submitted earlier."""
    return simulate(problem, Fcfs())
