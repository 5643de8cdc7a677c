"""Lower bounds, each a named function with its proof.

Those of workloads are in `allocsolve.bounds.workload`, those of reservations by prices in
`allocsolve.bounds.reservation`; both load numba.
"""

from __future__ import annotations

from allocsolve.bounds.busy_time import mean_busy_time
from allocsolve.bounds.evolution import (
    configuration_lp,
    energy,
    longest_application,
    makespan_bound,
    total_completion,
)
from allocsolve.bounds.partition import partition_bound, star_bound
from allocsolve.bounds.town import town

__all__ = [
    "configuration_lp",
    "energy",
    "longest_application",
    "makespan_bound",
    "mean_busy_time",
    "partition_bound",
    "star_bound",
    "total_completion",
    "town",
]
