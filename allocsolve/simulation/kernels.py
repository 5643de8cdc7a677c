"""What compiled policies take from the engine: its state, and the kernels that change it."""

from __future__ import annotations

from allocsolve.simulation._kernels_events import (
    ARRIVED,
    COMPLETED,
    FIRST,
    FREE,
    HEAD,
    LAST,
    RUNNING,
    STARTED,
    SUBMITTED,
    TAIL,
    State,
    advance,
    begin,
    initial_state,
    leave_queue,
)
from allocsolve.simulation._kernels_sizes import largest_size, run_time, time_ratio

__all__ = [
    "ARRIVED",
    "COMPLETED",
    "FIRST",
    "FREE",
    "HEAD",
    "LAST",
    "RUNNING",
    "STARTED",
    "SUBMITTED",
    "TAIL",
    "State",
    "advance",
    "begin",
    "initial_state",
    "largest_size",
    "leave_queue",
    "run_time",
    "time_ratio",
]
