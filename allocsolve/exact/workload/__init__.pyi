from .cpsat import WorkloadCpSat as WorkloadCpSat
from .date_branching import DateBranching as DateBranching
from .milp import WorkloadMilp as WorkloadMilp
from .one_instant import AtOnce as AtOnce, most_at_once as most_at_once
from .prices import Prices as Prices
