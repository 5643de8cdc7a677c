from .arrays import (
    MAX_INTEGER as MAX_INTEGER,
    UNLIMITED as UNLIMITED,
    BoolArray as BoolArray,
    IntArray as IntArray,
    frozen as frozen,
)
from .columns import FloatArray as FloatArray
from .evolution import (
    EVOLUTION_OBJECTIVES as EVOLUTION_OBJECTIVES,
    EvolutionObjective as EvolutionObjective,
    EvolutionProblem as EvolutionProblem,
    EvolutionSchedule as EvolutionSchedule,
    EvolutionTerm as EvolutionTerm,
    PackedApplications as PackedApplications,
)
from .evolving import (
    NOT_EVOLVING as NOT_EVOLVING,
    PROFILE as PROFILE,
    REACTIVE as REACTIVE,
    REQUESTED as REQUESTED,
    Evolution as Evolution,
    Join as Join,
    PackedEvolving as PackedEvolving,
    Phases as Phases,
    Profile as Profile,
    Reconfiguration as Reconfiguration,
    Requests as Requests,
    Stall as Stall,
)
from .job_kinds import (
    ALL_SIZES as ALL_SIZES,
    EVOLVING as EVOLVING,
    JOB_KINDS as JOB_KINDS,
    MALLEABLE as MALLEABLE,
    MOLDABLE as MOLDABLE,
    POWERS_OF_TWO as POWERS_OF_TWO,
    RIGID as RIGID,
    JobKind as JobKind,
    SizeSet as SizeSet,
)
from .jobs import DEFAULT_LIMIT_FACTOR as DEFAULT_LIMIT_FACTOR, Job as Job, Jobs as Jobs
from .machine import (
    NODES as NODES,
    Amounts as Amounts,
    ClosedWindow as ClosedWindow,
    Requirements as Requirements,
)
from .node_orders import NODE_ORDERS as NODE_ORDERS, NodeOrder as NodeOrder, node_order as node_order
from .packed_jobs import PackedJobs as PackedJobs
from .packed_machine import PackedMachine as PackedMachine, packed_machine as packed_machine
from .packed_places import PackedPlaces as PackedPlaces, packed_places as packed_places
from .partition import (
    PARTITION_OBJECTIVES as PARTITION_OBJECTIVES,
    HyperX as HyperX,
    Mesh as Mesh,
    Partition as Partition,
    PartitionProblem as PartitionProblem,
    Topology as Topology,
    Torus as Torus,
)
from .placement import (
    PLACEMENT_OBJECTIVES as PLACEMENT_OBJECTIVES,
    Placement as Placement,
    PlacementProblem as PlacementProblem,
    SwitchTree as SwitchTree,
)
from .places import NodeType as NodeType, Shape as Shape
from .problem import (
    Answer as Answer,
    Answerable as Answerable,
    Problem as Problem,
    parse_objective as parse_objective,
)
from .profile import (
    EvolutionProfile as EvolutionProfile,
    expand_ratio as expand_ratio,
    max_expanded_durations as max_expanded_durations,
)
from .reservation import (
    BOOKED as BOOKED,
    CANCELLED as CANCELLED,
    OUTCOMES as OUTCOMES,
    PROGRAM_KINDS as PROGRAM_KINDS,
    REJECTED as REJECTED,
    RESERVATION_OBJECTIVES as RESERVATION_OBJECTIVES,
    RESERVATION_SHAPES as RESERVATION_SHAPES,
    SUCCESSFUL as SUCCESSFUL,
    DeadlineJob as DeadlineJob,
    Hold as Hold,
    PackedDeadlineJobs as PackedDeadlineJobs,
    ReservationObjective as ReservationObjective,
    ReservationProblem as ReservationProblem,
    ReservationSchedule as ReservationSchedule,
    ReservationShape as ReservationShape,
    ReservationTerm as ReservationTerm,
)
from .result import (
    Budget as Budget,
    Clock as Clock,
    Limit as Limit,
    Result as Result,
    Solver as Solver,
    Status as Status,
    Value as Value,
    shown_values as shown_values,
    terms as terms,
)
from .speedup import (
    AMDAHL as AMDAHL,
    NO_SPEEDUP as NO_SPEEDUP,
    OVERHEAD as OVERHEAD,
    POWER as POWER,
    SPEEDUP_TABLE as SPEEDUP_TABLE,
    Amdahl as Amdahl,
    Overhead as Overhead,
    PowerLaw as PowerLaw,
    Speedup as Speedup,
    SpeedupTable as SpeedupTable,
)
from .workload import (
    SLOWDOWN_FLOOR_S as SLOWDOWN_FLOOR_S,
    WORKLOAD_OBJECTIVES as WORKLOAD_OBJECTIVES,
    WorkloadObjective as WorkloadObjective,
    WorkloadProblem as WorkloadProblem,
    WorkloadSchedule as WorkloadSchedule,
    WorkloadTerm as WorkloadTerm,
)
