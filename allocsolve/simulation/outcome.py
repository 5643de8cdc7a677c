"""The outcome of a simulation: a schedule, and a log of why jobs started."""

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
        Shape (jobs,): for a backfilled job, the job that was first in the queue and did not fit; else -1.
    """

    started: IntArray
    reasons: IntArray
    blocked: IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Simulation:
    """A schedule, and the log of why its jobs started."""

    schedule: WorkloadSchedule
    log: Log


def log_of(state: State) -> Log:
    """Return why jobs have started so far."""
    started = state.started[: state.engine["started"]]
    job = state.job
    return Log(frozen(started.copy()), frozen(job["reason"].copy()), frozen(job["blocked"].copy()))


def schedule_of(state: State, resizing: Resizing | None = None) -> WorkloadSchedule:
    """Return the schedule so far.

    Jobs that have not started have no pieces; evolving jobs whose ends are not known end now.
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
    order = np.argsort(jobs, kind="stable")  # for each job, the start comes first, then its changes by time
    jobs = jobs[order]
    times = np.concatenate([start[started], log["time"]])[order]
    sizes = np.concatenate([elastic["first_size"][started], log["size"]])[order]
    # A change that is undone at its own instant does not count, but each step of a profile is a piece.
    new = np.ones(len(jobs), dtype=bool)
    new[1:] = (jobs[1:] != jobs[:-1]) | (sizes[1:] != sizes[:-1])
    new |= reading[jobs] == PROFILE
    jobs, times, sizes = jobs[new], times[new], sizes[new]
    offsets = np.searchsorted(jobs, np.arange(len(ran) + 1))
    ends = np.where(unfinished[jobs], state.engine["clock"], end[jobs])
    inner = jobs[1:] == jobs[:-1]
    ends[:-1][inner] = times[1:][inner]
    lasting = (ends > times) | ~unfinished[jobs]  # the last change may have happened now
    if not lasting.all():
        offsets = np.concatenate([[0], np.cumsum(lasting)])[offsets]
        times, ends, sizes = times[lasting], ends[lasting], sizes[lasting]
    return WorkloadSchedule(offsets, times, ends, sizes)
