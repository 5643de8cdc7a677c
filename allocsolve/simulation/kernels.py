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
from allocsolve.simulation._kernels_evolving import answer
from allocsolve.simulation._kernels_heap import lower as heap_lower
from allocsolve.simulation._kernels_heap import raise_up as heap_raise
from allocsolve.simulation._kernels_resizes import (
    advance_resizing,
    promise,
    resize,
    start_promised,
    take_in,
    take_running,
)
from allocsolve.simulation._kernels_resizing_state import (
    CALLS,
    FIRST_PROMISE,
    LAST_PROMISE,
    MALLEABLE_RUNNING,
    POOL,
    REQUESTS,
    RESERVED,
    RESIZED,
    Evolving,
    Resizing,
    has_room,
    initial_resizing,
    roomier,
)
from allocsolve.simulation._kernels_sizes import largest_size, run_time, time_ratio
from allocsolve.simulation._kernels_sizes_held import work_left

__all__ = [
    "ARRIVED",
    "CALLS",
    "COMPLETED",
    "FIRST",
    "FIRST_PROMISE",
    "FREE",
    "HEAD",
    "LAST",
    "LAST_PROMISE",
    "MALLEABLE_RUNNING",
    "POOL",
    "REQUESTS",
    "RESERVED",
    "RESIZED",
    "RUNNING",
    "STARTED",
    "SUBMITTED",
    "TAIL",
    "Evolving",
    "Resizing",
    "State",
    "advance",
    "advance_resizing",
    "answer",
    "begin",
    "has_room",
    "heap_lower",
    "heap_raise",
    "initial_resizing",
    "initial_state",
    "largest_size",
    "leave_queue",
    "promise",
    "resize",
    "roomier",
    "run_time",
    "start_promised",
    "take_in",
    "take_running",
    "time_ratio",
    "work_left",
]
