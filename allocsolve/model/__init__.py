"""What a problem and an answer are: plain frozen data, no algorithms, no files."""

from __future__ import annotations

from allocsolve.model.arrays import MAX_INTEGER, UNLIMITED, BoolArray, IntArray, frozen
from allocsolve.model.evolution import (
    EVOLUTION_OBJECTIVES,
    EvolutionObjective,
    EvolutionProblem,
    EvolutionSchedule,
    EvolutionTerm,
    PackedApplications,
    parse_evolution_objective,
)
from allocsolve.model.node_orders import NODE_ORDERS, NodeOrder, node_order
from allocsolve.model.objective import parse_objective
from allocsolve.model.partition import PARTITION_OBJECTIVES, Partition, PartitionProblem
from allocsolve.model.problem import Answer, Answerable, Problem
from allocsolve.model.profile import (
    EvolutionProfile,
    expand_ratio,
    max_expanded_durations,
)
from allocsolve.model.result import Budget, Clock, Limit, Result, Status, Value, terms
from allocsolve.model.solver import Solver
from allocsolve.model.topology import Mesh, Topology, Torus

__all__ = [
    "EVOLUTION_OBJECTIVES",
    "MAX_INTEGER",
    "NODE_ORDERS",
    "PARTITION_OBJECTIVES",
    "UNLIMITED",
    "Answer",
    "Answerable",
    "BoolArray",
    "Budget",
    "Clock",
    "EvolutionObjective",
    "EvolutionProblem",
    "EvolutionProfile",
    "EvolutionSchedule",
    "EvolutionTerm",
    "IntArray",
    "Limit",
    "Mesh",
    "NodeOrder",
    "PackedApplications",
    "Partition",
    "PartitionProblem",
    "Problem",
    "Result",
    "Solver",
    "Status",
    "Topology",
    "Torus",
    "Value",
    "expand_ratio",
    "frozen",
    "max_expanded_durations",
    "node_order",
    "parse_evolution_objective",
    "parse_objective",
    "terms",
]
