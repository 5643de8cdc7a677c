from .conservative import (
    COMPRESSIONS as COMPRESSIONS,
    Compression as Compression,
    Conservative as Conservative,
    ConservativePlan as ConservativePlan,
    conservative_plan as conservative_plan,
)
from .easyback import EvolvEasyback as EvolvEasyback
from .evolving_annealing import EvolvingAnnealing as EvolvingAnnealing
from .lina import Lina as Lina
from .list_annealing import ListAnnealing as ListAnnealing
from .malleable import (
    MalleableAverage as MalleableAverage,
    MalleableMin as MalleableMin,
    MalleablePref as MalleablePref,
    MalleablePrefkeeper as MalleablePrefkeeper,
)
from .market import Market as Market
from .policies import EASY_PRESETS as EASY_PRESETS, Easy as Easy, Fcfs as Fcfs, FirstFit as FirstFit
from .profile_fit import ProfileFit as ProfileFit
from .rebalancing import StaticPrice as StaticPrice
from .reinsertion import Reinsertion as Reinsertion
from .serial import SerialGeneration as SerialGeneration
from .slurm_backfill import SlurmBackfill as SlurmBackfill
from .srpt_area import SrptArea as SrptArea
from .starts import (
    conservative_starts as conservative_starts,
    easy_starts as easy_starts,
    fcfs_starts as fcfs_starts,
    first_fit_starts as first_fit_starts,
    queue_order as queue_order,
    slurm_backfill_starts as slurm_backfill_starts,
)
