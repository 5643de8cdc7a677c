"""Exact solvers: answers with a proof, or a bound when the budget ends first."""

from __future__ import annotations

from allocsolve.exact.evolution_conflict import ConflictSearch
from allocsolve.exact.evolution_cpsat import CpSat
from allocsolve.exact.evolution_lns import Lns
from allocsolve.exact.evolution_milp import Milp
from allocsolve.exact.partition_branch_and_bound import BranchAndBound
from allocsolve.exact.partition_cpsat import PartitionCpSat
from allocsolve.exact.partition_milp import PartitionMilp

__all__ = ["BranchAndBound", "ConflictSearch", "CpSat", "Lns", "Milp", "PartitionCpSat", "PartitionMilp"]
