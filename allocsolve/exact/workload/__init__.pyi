from .cpsat import WorkloadCpSat as WorkloadCpSat
from .date_branching import DateBranching as DateBranching
from .milp import WorkloadMilp as WorkloadMilp
from .prices import Prices as Prices
