"""Exact solvers: answers with a proof, or a bound when the budget ends first."""

from __future__ import annotations

from allocsolve.exact.evolution.conflict_search import EvolutionConflictSearch
from allocsolve.exact.evolution.cpsat import EvolutionCpSat
from allocsolve.exact.evolution.lns import EvolutionLns
from allocsolve.exact.evolution.milp import EvolutionMilp
from allocsolve.exact.evolution.relaxation import pairs_relaxation
from allocsolve.exact.partition.branch_and_bound import PartitionBranchAndBound
from allocsolve.exact.partition.cpsat import PartitionCpSat
from allocsolve.exact.partition.milp import PartitionMilp
from allocsolve.exact.reservation import ReservationCpSat, ReservationPrices
from allocsolve.exact.workload import Prices, WorkloadCpSat

__all__ = [
    "EvolutionConflictSearch",
    "EvolutionCpSat",
    "EvolutionLns",
    "EvolutionMilp",
    "PartitionBranchAndBound",
    "PartitionCpSat",
    "PartitionMilp",
    "Prices",
    "ReservationCpSat",
    "ReservationPrices",
    "WorkloadCpSat",
    "pairs_relaxation",
]
