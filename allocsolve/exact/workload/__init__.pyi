from .cpsat import WorkloadCpSat as WorkloadCpSat
from .prices import Prices as Prices
