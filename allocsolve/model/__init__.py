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
from allocsolve.model.job_kinds import (
    ALL_SIZES,
    JOB_KINDS,
    MALLEABLE,
    MOLDABLE,
    POWERS_OF_TWO,
    RIGID,
    JobKind,
    SizeSet,
)
from allocsolve.model.jobs import DEFAULT_LIMIT_FACTOR, FloatArray, Job, Jobs, PackedJobs
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
from allocsolve.model.speedup import (
    AMDAHL,
    NO_SPEEDUP,
    POWER,
    SPEEDUP_TABLE,
    Amdahl,
    PowerLaw,
    Speedup,
    SpeedupTable,
)
from allocsolve.model.topology import Mesh, Topology, Torus
from allocsolve.model.workload import (
    SLOWDOWN_FLOOR_S,
    WORKLOAD_OBJECTIVES,
    WorkloadObjective,
    WorkloadProblem,
    WorkloadSchedule,
    WorkloadTerm,
    parse_workload_objective,
)

__all__ = [
    "ALL_SIZES",
    "AMDAHL",
    "DEFAULT_LIMIT_FACTOR",
    "EVOLUTION_OBJECTIVES",
    "JOB_KINDS",
    "MALLEABLE",
    "MAX_INTEGER",
    "MOLDABLE",
    "NODE_ORDERS",
    "NO_SPEEDUP",
    "PARTITION_OBJECTIVES",
    "POWER",
    "POWERS_OF_TWO",
    "RIGID",
    "SLOWDOWN_FLOOR_S",
    "SPEEDUP_TABLE",
    "UNLIMITED",
    "WORKLOAD_OBJECTIVES",
    "Amdahl",
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
    "FloatArray",
    "IntArray",
    "Job",
    "JobKind",
    "Jobs",
    "Limit",
    "Mesh",
    "NodeOrder",
    "PackedApplications",
    "PackedJobs",
    "Partition",
    "PartitionProblem",
    "PowerLaw",
    "Problem",
    "Result",
    "SizeSet",
    "Solver",
    "Speedup",
    "SpeedupTable",
    "Status",
    "Topology",
    "Torus",
    "Value",
    "WorkloadObjective",
    "WorkloadProblem",
    "WorkloadSchedule",
    "WorkloadTerm",
    "expand_ratio",
    "frozen",
    "max_expanded_durations",
    "node_order",
    "parse_evolution_objective",
    "parse_objective",
    "parse_workload_objective",
    "terms",
]
