"""Exact solvers: answers with a proof, or a bound when the budget ends first."""

from __future__ import annotations

from allocsolve.exact.evolution_cpsat import CpSat
from allocsolve.exact.evolution_milp import Milp

__all__ = ["CpSat", "Milp"]
