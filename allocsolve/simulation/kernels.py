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
from allocsolve.simulation.continuation import NOBODY, Continuation, Restart, Started
from allocsolve.simulation.state import Resizing, State, initial_resizing, initial_state, roomier
from allocsolve.simulation.view_states import (
    packed_jobs,
    queue_state,
    renumbered,
    resizing_of_view,
    start_of,
    state_of_view,
    waiting_state,
)

__all__ = [
    "NOBODY",
    "Continuation",
    "Resizing",
    "Restart",
    "Started",
    "State",
    "advance",
    "answer",
    "begin",
    "has_room",
    "initial_resizing",
    "initial_state",
    "largest_size",
    "largest_start",
    "leave_queue",
    "packed_jobs",
    "promise",
    "queue_state",
    "renumbered",
    "resize",
    "resizing_of_view",
    "roomier",
    "run_time",
    "start_of",
    "start_promised",
    "state_of_view",
    "take_in",
    "take_running",
    "time_ratio",
    "waiting_state",
    "work_left",
]
