from .evolution.conflict_search import EvolutionConflictSearch as EvolutionConflictSearch
from .evolution.cpsat import EvolutionCpSat as EvolutionCpSat
from .evolution.lns import EvolutionLns as EvolutionLns
from .evolution.milp import EvolutionMilp as EvolutionMilp
from .evolution.relaxation import pairs_relaxation as pairs_relaxation
from .partition.branch_and_bound import (
    PartitionBranchAndBound as PartitionBranchAndBound,
    cheapest_box as cheapest_box,
)
from .partition.cpsat import PartitionCpSat as PartitionCpSat
from .partition.milp import PartitionMilp as PartitionMilp
from .placement.cpsat import PlacementCpSat as PlacementCpSat
from .placement.tree_knapsack import TreeKnapsack as TreeKnapsack
from .reservation.cpsat import ReservationCpSat as ReservationCpSat
from .reservation.prices import ReservationPrices as ReservationPrices
from .workload import (
    AtOnce as AtOnce,
    DateBranching as DateBranching,
    Prices as Prices,
    WorkloadCpSat as WorkloadCpSat,
    WorkloadMilp as WorkloadMilp,
    most_at_once as most_at_once,
)
