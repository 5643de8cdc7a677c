"""The outcome of a simulation: a schedule, and a log of why jobs started."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from allocsolve.model import PROFILE, WorkloadSchedule, frozen
from allocsolve.model.checks import shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allocsolve.model.arrays import IntArray
    from allocsolve.simulation.state import Resizing, State


@dataclass(frozen=True, slots=True, eq=False)
class Log:
    """Why jobs started.

    `started` has jobs in the order in which they started, `reasons`, shape (jobs,), codes of `Reason`, 0 also
    for jobs that have not started. `blocked`, shape (jobs,), is for a backfilled job the job that was first
    in the queue and did not fit, else -1.
    """

    started: IntArray
    reasons: IntArray
    blocked: IntArray


class Waiting(NamedTuple):
    """A running job that waits for nodes."""

    job: int
    #: How many nodes it has, and how many it asks for.
    held: int
    asked: int


@dataclass(frozen=True, slots=True)
class Standstill:
    """Running jobs that wait for nodes for ever: nothing will happen any more."""

    #: Since when, in seconds.
    now: float
    free: int
    #: By job.
    waiting: tuple[Waiting, ...]

    def told(self, names: Sequence[str]) -> str:
        """Return one line that says who waits for whom, by the names of all jobs of the workload."""
        jobs = [self._job(waits, names) for waits in self.waiting[:_TOLD]]
        more = len(self.waiting) - len(jobs)
        rest = [f"and {more} more jobs wait"] if more else []
        return f"deadlock at {self.now:.15g} s (free nodes: {self.free}): {'; '.join([*jobs, *rest])}"

    def _job(self, waits: Waiting, names: Sequence[str]) -> str:
        missing = waits.asked - waits.held
        said = f"{shown(names[waits.job])} holds {waits.held} and waits for {missing} more"
        if missing <= self.free:
            return f"{said}, which the policy never grants"
        others = [shown(names[other.job]) for other in self.waiting if other.job != waits.job]
        if len(others) > _TOLD:
            others[_TOLD - 1 :] = [f"{len(others) - _TOLD + 1} others"]
        return f"{said}, of {' and '.join([', '.join(others[:-1]), others[-1]] if others[1:] else others)}"


#: How many jobs are named in a line.
_TOLD: Final = 3


@dataclass(frozen=True, slots=True, eq=False)
class Simulation:
    """A schedule, the log of why its jobs started, and what has kept some from going on, if there is such."""

    schedule: WorkloadSchedule
    log: Log
    standstill: Standstill | None = None


def standstill_of(state: State, resizing: Resizing) -> Standstill | None:
    """Return which running jobs wait for nodes at the end of a run; None if all have ended."""
    job, asked = state.job, resizing.job["request"]
    unfinished = np.flatnonzero(~np.isnan(job["start"]) & np.isinf(job["end"])).tolist()
    if not unfinished:
        return None
    waiting = tuple(Waiting(idx, int(job["size"][idx]), int(asked[idx])) for idx in unfinished)
    return Standstill(float(state.engine["clock"]), int(state.engine["free"]), waiting)


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
