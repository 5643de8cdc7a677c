from .evolution.annealing import Annealing as Annealing
from .evolution.list_scheduling import (
    ORDERS as ORDERS,
    Fit as Fit,
    ListScheduling as ListScheduling,
    Order as Order,
    Rigid as Rigid,
    list_order as list_order,
    list_starts as list_starts,
)
from .evolution.resource_profile import (
    PlacedProfile as PlacedProfile,
    ResourceProfile as ResourceProfile,
    compact as compact,
    fit as fit,
)
from .partition.blocks import (
    MultipleBuddy as MultipleBuddy,
    Paging as Paging,
    RandomNodes as RandomNodes,
    multiple_buddy as multiple_buddy,
    paging as paging,
    random_nodes as random_nodes,
)
from .partition.curve_fit import (
    CurveFit as CurveFit,
    best_fit_run as best_fit_run,
    first_fit_run as first_fit_run,
    largest_runs as largest_runs,
    min_span as min_span,
    sorted_free_list as sorted_free_list,
)
from .partition.growth import Growth as Growth, Leak as Leak, growth as growth, leak as leak
from .partition.nearest import (
    GenAlg as GenAlg,
    ManhattanMedian as ManhattanMedian,
    Mc1x1 as Mc1x1,
    gen_alg as gen_alg,
    manhattan_median as manhattan_median,
    mc1x1 as mc1x1,
)
from .partition.submesh import Submesh as Submesh, submesh as submesh
from .placement.first_free import (
    FirstFree as FirstFree,
    RandomFree as RandomFree,
    first_free as first_free,
    random_free as random_free,
)
from .placement.fluxion import (
    FLUXION_POLICIES as FLUXION_POLICIES,
    Fluxion as Fluxion,
    FluxionPolicy as FluxionPolicy,
    fluxion as fluxion,
)
from .placement.kai import Kai as Kai, kai as kai
from .placement.kueue import (
    KUEUE_MODES as KUEUE_MODES,
    Kueue as Kueue,
    KueueMode as KueueMode,
    kueue as kueue,
)
from .placement.lowest_switch import LowestSwitch as LowestSwitch, lowest_switch as lowest_switch
from .placement.pbs import PbsPlacement as PbsPlacement, pbs_placement as pbs_placement
from .placement.slurm import (
    SlurmBlock as SlurmBlock,
    SlurmTree as SlurmTree,
    slurm_block as slurm_block,
    slurm_tree as slurm_tree,
)
from .placement.spur import Spur as Spur, spur as spur
from .placement.volcano import Volcano as Volcano, volcano as volcano
from .reservation.admission import Admission as Admission, Static as Static, admit as admit
from .reservation.calendar import ReservationCalendar as ReservationCalendar, Slot as Slot
from .reservation.greedy import (
    RESERVATION_ORDERS as RESERVATION_ORDERS,
    ReservationGreedy as ReservationGreedy,
    ReservationOrder as ReservationOrder,
    greedy_starts as greedy_starts,
    reservation_order as reservation_order,
)
from .workload import (
    Conservative as Conservative,
    Easy as Easy,
    EvolvEasyback as EvolvEasyback,
    EvolvingAnnealing as EvolvingAnnealing,
    Fcfs as Fcfs,
    FirstFit as FirstFit,
    Lina as Lina,
    ListAnnealing as ListAnnealing,
    MalleableAverage as MalleableAverage,
    MalleableMin as MalleableMin,
    MalleablePref as MalleablePref,
    MalleablePrefkeeper as MalleablePrefkeeper,
    Market as Market,
    ProfileFit as ProfileFit,
    Reinsertion as Reinsertion,
    SerialGeneration as SerialGeneration,
    SlurmBackfill as SlurmBackfill,
    SrptArea as SrptArea,
    StaticPrice as StaticPrice,
)
from .workload.starts import (
    conservative_starts as conservative_starts,
    easy_starts as easy_starts,
    fcfs_starts as fcfs_starts,
    first_fit_starts as first_fit_starts,
    queue_order as queue_order,
    slurm_backfill_starts as slurm_backfill_starts,
)
