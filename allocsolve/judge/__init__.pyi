from .evolution.rules import (
    ApplicationMetrics as ApplicationMetrics,
    EvolutionMetrics as EvolutionMetrics,
    application_metrics as application_metrics,
    evolution_metrics as evolution_metrics,
    evolution_value as evolution_value,
    evolution_violations as evolution_violations,
)
from .partition.rules import (
    PartitionMetrics as PartitionMetrics,
    partition_metrics as partition_metrics,
    partition_value as partition_value,
    partition_violations as partition_violations,
)
from .placement.rules import (
    PlacementMetrics as PlacementMetrics,
    placement_metrics as placement_metrics,
    placement_value as placement_value,
    placement_violations as placement_violations,
)
from .reservation.rules import (
    EXECUTION_TOLERANCE_S as EXECUTION_TOLERANCE_S,
    SIZE_CLASSES as SIZE_CLASSES,
    ReservationMetrics as ReservationMetrics,
    reservation_metrics as reservation_metrics,
    reservation_value as reservation_value,
    reservation_violations as reservation_violations,
)
from .verdict import (
    Verdict as Verdict,
    assess as assess,
    certificate_kind as certificate_kind,
    certified_bound as certified_bound,
    certify as certify,
    check_types as check_types,
    confirm as confirm,
    metrics as metrics,
    proof_text as proof_text,
    rounded as rounded,
    value as value,
    violations as violations,
)
from .workload.claims import WORKLOAD_CLAIMS as WORKLOAD_CLAIMS, workload_breaches as workload_breaches
from .workload.history import Breach as Breach
from .workload.rules import (
    WindowMetrics as WindowMetrics,
    WorkloadMetrics as WorkloadMetrics,
    window_metrics as window_metrics,
    workload_metrics as workload_metrics,
    workload_value as workload_value,
    workload_violations as workload_violations,
)
from .workload.tolerance import TIME_TOLERANCE_S as TIME_TOLERANCE_S
