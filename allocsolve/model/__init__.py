"""What a problem and an answer are: plain frozen data, no algorithms, no files."""

from __future__ import annotations

from allocsolve.model.evolution import (
    EVOLUTION_OBJECTIVES,
    EvolutionObjective,
    EvolutionProblem,
    EvolutionSchedule,
    EvolutionTerm,
    PackedApplications,
    parse_evolution_objective,
)
from allocsolve.model.profile import (
    MAX_INTEGER,
    UNLIMITED,
    EvolutionProfile,
    IntArray,
    expand_ratio,
    frozen,
    max_expanded_duration,
    max_expanded_durations,
)
from allocsolve.model.result import Budget, Clock, Limit, Result, Status, Value, terms
from allocsolve.model.solver import Solver

__all__ = [
    "EVOLUTION_OBJECTIVES",
    "MAX_INTEGER",
    "UNLIMITED",
    "Budget",
    "Clock",
    "EvolutionObjective",
    "EvolutionProblem",
    "EvolutionProfile",
    "EvolutionSchedule",
    "EvolutionTerm",
    "IntArray",
    "Limit",
    "PackedApplications",
    "Result",
    "Solver",
    "Status",
    "Value",
    "expand_ratio",
    "frozen",
    "max_expanded_duration",
    "max_expanded_durations",
    "parse_evolution_objective",
    "terms",
]
