"""Heuristics for reservation problems."""

from __future__ import annotations

from allocsolve.heuristics.reservation.execution import execute
from allocsolve.heuristics.reservation.leak import ReservationLeak, execute_leaking
from allocsolve.heuristics.reservation.linnert_programs import linnert_program, program_of
from allocsolve.heuristics.reservation.rules import ExecutionRules, LeakRules

__all__ = [
    "ExecutionRules",
    "LeakRules",
    "ReservationLeak",
    "execute",
    "execute_leaking",
    "linnert_program",
    "program_of",
]
