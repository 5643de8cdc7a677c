from .errors import AllocsolveError as AllocsolveError
from .model import (
    Budget as Budget,
    DeadlineJob as DeadlineJob,
    EvolutionProblem as EvolutionProblem,
    EvolutionProfile as EvolutionProfile,
    EvolutionSchedule as EvolutionSchedule,
    HyperX as HyperX,
    Job as Job,
    Jobs as Jobs,
    Mesh as Mesh,
    Partition as Partition,
    PartitionProblem as PartitionProblem,
    ReservationProblem as ReservationProblem,
    ReservationSchedule as ReservationSchedule,
    Result as Result,
    Status as Status,
    Topology as Topology,
    Torus as Torus,
    WorkloadProblem as WorkloadProblem,
    WorkloadSchedule as WorkloadSchedule,
)
from .pictures.notebook import plot as plot
from .registry import place as place, solve as solve
from .report import whatif as whatif, when as when
from .version import __version__ as __version__, show_versions as show_versions
