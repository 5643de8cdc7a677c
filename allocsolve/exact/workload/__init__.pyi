from .cpsat import WorkloadCpSat as WorkloadCpSat
from .milp import WorkloadMilp as WorkloadMilp
from .prices import Prices as Prices
