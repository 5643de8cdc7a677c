"""The judge: recomputes what answers are worth, and shares no code with any solver."""

from __future__ import annotations

from allocsolve.judge.evolution import (
    ApplicationMetrics,
    EvolutionMetrics,
    application_metrics,
    evolution_metrics,
    evolution_value,
    evolution_violations,
)
from allocsolve.judge.partition import (
    PartitionMetrics,
    partition_metrics,
    partition_value,
    partition_violations,
)
from allocsolve.judge.reservation import (
    EXECUTION_TOLERANCE_S,
    SIZE_CLASSES,
    ReservationMetrics,
    reservation_metrics,
    reservation_value,
    reservation_violations,
)
from allocsolve.judge.verdict import (
    Verdict,
    assess,
    certify,
    check_types,
    confirm,
    metrics,
    value,
    violations,
)
from allocsolve.judge.workload import (
    TIME_TOLERANCE_S,
    WindowMetrics,
    WorkloadMetrics,
    window_metrics,
    workload_metrics,
    workload_value,
    workload_violations,
)
from allocsolve.judge.workload_claims import WORKLOAD_CLAIMS, Breach, workload_breaches

__all__ = [
    "EXECUTION_TOLERANCE_S",
    "SIZE_CLASSES",
    "TIME_TOLERANCE_S",
    "WORKLOAD_CLAIMS",
    "ApplicationMetrics",
    "Breach",
    "EvolutionMetrics",
    "PartitionMetrics",
    "ReservationMetrics",
    "Verdict",
    "WindowMetrics",
    "WorkloadMetrics",
    "application_metrics",
    "assess",
    "certify",
    "check_types",
    "confirm",
    "evolution_metrics",
    "evolution_value",
    "evolution_violations",
    "metrics",
    "partition_metrics",
    "partition_value",
    "partition_violations",
    "reservation_metrics",
    "reservation_value",
    "reservation_violations",
    "value",
    "violations",
    "window_metrics",
    "workload_breaches",
    "workload_metrics",
    "workload_value",
    "workload_violations",
]
