"""What comes out of a simulation: a schedule, and why it is so."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from allocsolve.model import WorkloadSchedule
from allocsolve.model.arrays import frozen
from allocsolve.model.evolving import PROFILE

if TYPE_CHECKING:
    from allocsolve.model.arrays import IntArray
    from allocsolve.simulation.state import Resizing, State

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
    started = state.started[: state.engine["started"]]
    job = state.job
    return Log(frozen(started.copy()), frozen(job["reason"].copy()), frozen(job["blocked"].copy()))


def schedule_of(state: State, resizing: Resizing | None = None) -> WorkloadSchedule:
    """Return the schedule so far.

    Jobs that have not started have no pieces; those whose ends are not known, as they evolve, end now.
    """
    job = state.job
    start, end = job["start"], job["end"]
    ran, unfinished = ~np.isnan(start), np.isinf(end)
    if resizing is None or not (resizing.ledger["logged"] or unfinished.any()):
        offsets = np.zeros(len(ran) + 1, dtype=np.int64)
        np.cumsum(ran, out=offsets[1:])
        return WorkloadSchedule(offsets, start[ran], end[ran], job["size"][ran])
    elastic = resizing.job
    log = resizing.log[: resizing.ledger["logged"]]
    reading, started = elastic["reading"], np.flatnonzero(ran)
    jobs = np.concatenate([started, log["job"]])
    order = np.argsort(jobs, kind="stable")  # of each job the start comes first, then changes by time
    jobs = jobs[order]
    times = np.concatenate([start[started], log["time"]])[order]
    sizes = np.concatenate([elastic["first_size"][started], log["size"]])[order]
    # A change back at the instant of a change is none; but each step of a profile is a piece.
    new = np.ones(len(jobs), dtype=bool)
    new[1:] = (jobs[1:] != jobs[:-1]) | (sizes[1:] != sizes[:-1])
    new |= reading[jobs] == PROFILE
    jobs, times, sizes = jobs[new], times[new], sizes[new]
    offsets = np.searchsorted(jobs, np.arange(len(ran) + 1))
    ends = np.where(unfinished[jobs], state.engine["clock"], end[jobs])
    inner = jobs[1:] == jobs[:-1]
    ends[:-1][inner] = times[1:][inner]
    lasting = (ends > times) | ~unfinished[jobs]  # the last change may be one of now
    if not lasting.all():
        offsets = np.concatenate([[0], np.cumsum(lasting)])[offsets]
        times, ends, sizes = times[lasting], ends[lasting], sizes[lasting]
    return WorkloadSchedule(offsets, times, ends, sizes)
