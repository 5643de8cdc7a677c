"""What compiled policies use of the engine: its state, and the kernels that change it."""

from __future__ import annotations

from allocsolve.simulation._kernels_events import begin, leave_queue
from allocsolve.simulation._kernels_loop import advance, has_room
from allocsolve.simulation._kernels_resizes import (
    answer,
    largest_start,
    promise,
    resize,
    start_promised,
    take_in,
    take_running,
)
from allocsolve.simulation._kernels_sizes import largest_size, run_time, time_ratio, work_left
from allocsolve.simulation.state import Resizing, State, initial_resizing, initial_state, roomier
from allocsolve.simulation.view_states import (
    NOBODY,
    Continuation,
    Restart,
    Started,
    packed_jobs,
    queue_state,
    renumbered,
    resizing_of_view,
    start_of,
    state_of_view,
    waiting_state,
)

__all__ = ["NOBODY", "Continuation", "Resizing", "Restart", "Started", "State"]
__all__ += ["initial_resizing", "initial_state", "roomier"]
__all__ += [
    "packed_jobs",
    "queue_state",
    "renumbered",
    "resizing_of_view",
    "start_of",
    "state_of_view",
    "waiting_state",
]
__all__ += ["advance", "answer", "begin", "has_room", "leave_queue", "promise", "resize", "start_promised"]
__all__ += ["largest_size", "largest_start", "run_time", "take_in", "take_running", "time_ratio", "work_left"]
