"""What comes out of a simulation: a schedule, and why it is so."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from allocsolve.model import WorkloadSchedule
from allocsolve.model.arrays import frozen
from allocsolve.simulation._kernels_events import STARTED

if TYPE_CHECKING:
    from allocsolve.model.arrays import IntArray
    from allocsolve.simulation._kernels_events import State

__all__ = ["Log", "Simulation"]


@dataclass(frozen=True, slots=True, eq=False)
class Log:
    """Why jobs started.

    Parameters
    ----------
    started
        Jobs in the order in which they started.
    reasons
        Shape (jobs,): codes of `Reason`; 0 also for jobs that have not started.
    blocked
        Shape (jobs,): of a backfilled job, the one that was first in the queue and did not fit; else -1.
    """

    started: IntArray
    reasons: IntArray
    blocked: IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Simulation:
    """A schedule, and why it is so."""

    schedule: WorkloadSchedule
    log: Log


def log_of(state: State) -> Log:
    """Return why jobs have started so far."""
    started = state.started[: state.counts[STARTED]]
    return Log(frozen(started.copy()), frozen(state.reason.copy()), frozen(state.blocked.copy()))


def schedule_of(state: State) -> WorkloadSchedule:
    """Return the schedule so far; jobs that have not started have no pieces."""
    ran = ~np.isnan(state.start)
    offsets = np.zeros(len(ran) + 1, dtype=np.int64)
    np.cumsum(ran, out=offsets[1:])
    return WorkloadSchedule(offsets, state.start[ran], state.end[ran], state.size[ran])
