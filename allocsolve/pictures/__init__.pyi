from .chart import Drawing as Drawing
from .evolution import EVOLUTION_VIEW as EVOLUTION_VIEW
from .notebook import plot as plot
from .partition import PARTITION_VIEW as PARTITION_VIEW
from .reservation import RESERVATION_VIEW as RESERVATION_VIEW
from .workload import WORKLOAD_VIEW as WORKLOAD_VIEW
