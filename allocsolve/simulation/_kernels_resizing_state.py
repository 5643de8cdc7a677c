"""What changes while a workload runs whose running jobs change their sizes, besides `State`: arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from allocsolve.kernels.jit import called_kernel
from allocsolve.simulation._kernels_events import RUNNING, State

if TYPE_CHECKING:
    from allocsolve.model.arrays import IntArray
    from allocsolve.model.evolving_columns import PackedEvolving
    from allocsolve.model.jobs import FloatArray

__all__ = [
    "CALLS",
    "FIRST_PROMISE",
    "LAST_PROMISE",
    "LOGGED",
    "MALLEABLE_RUNNING",
    "POOL",
    "REQUESTS",
    "RESERVED",
    "RESIZED",
    "TAKEN_IN",
    "WAITING",
    "Evolving",
    "Resizing",
    "has_room",
    "initial_resizing",
    "roomier",
]

#: Places in `Resizing.counts`: free nodes that are promised to queued jobs; nodes that wait for jobs to grow;
#: open promises are ``promises[first:last]``; jobs with an event of their own to come; malleable jobs that
#: run; logged changes; changes that took effect in the last advance; advances so far; jobs started that are
#: taken in; open requests.
POOL: Final = 0
RESERVED: Final = 1
FIRST_PROMISE: Final = 2
LAST_PROMISE: Final = 3
WAITING: Final = 4
MALLEABLE_RUNNING: Final = 5
LOGGED: Final = 6
RESIZED: Final = 7
CALLS: Final = 8
TAKEN_IN: Final = 9
REQUESTS: Final = 10


class Evolving(NamedTuple):
    """What changes of jobs that evolve, and of those that stall. Shape (jobs,)."""

    #: What is given; read-only.
    plan: PackedEvolving
    #: Jobs with open requests, in the order in which they were made; and by job how many nodes it asks for,
    #: 0 for none.
    requests: IntArray
    request: IntArray
    #: By job: the place of its next event, or its present phase or step.
    row: IntArray
    #: Of a job with phases: its useful nodes; when the next one will be useful, and when one is to be given
    #: back, infinite for never.
    useful: IntArray
    joins: FloatArray
    gives: FloatArray
    #: When nodes that a job has given up will be free, infinite if there are none.
    leaves: FloatArray
    #: Of a job that stalls: when its size last changed, what it had before that instant, and from when on the
    #: stall of that change counts.
    changed: FloatArray
    before: IntArray
    base: FloatArray


class Resizing(NamedTuple):
    """What changes while running jobs change their sizes, besides `State`. Shape (jobs,) or as said."""

    #: Shape (11,), see `POOL` and the constants after it.
    counts: IntArray
    #: What jobs are expected to run on their own nodes, in seconds; read-only.
    estimate: FloatArray
    #: By job that runs: its size after the pending change, or its present one.
    target: IntArray
    #: From when on it works as now (seconds; later than now while it stalls), how much of its work was left
    #: then, and how much it does in a second; work is measured in seconds on its own nodes. Of a job with
    #: phases, work of the present one in node-seconds; with a profile, seconds of the present step.
    since: FloatArray
    left: FloatArray
    rate: FloatArray
    #: Nodes of the pending change that are promised to queued jobs.
    promised: IntArray
    #: In which call the pending change was decided.
    decided: IntArray
    #: Heap of what comes next within running jobs by (time, job): the point of a pending change, the end of a
    #: stall, phase or step, a moment at which a job asks for nodes; and where each job is on it; -1: nowhere.
    point_times: FloatArray
    point_jobs: IntArray
    point_places: IntArray
    #: Jobs with open promises, first in, first out; and by job the nodes that it was promised.
    promises: IntArray
    promise: IntArray
    #: Malleable jobs that run, rising.
    running: IntArray
    #: Jobs whose sizes changed in the last advance.
    resized: IntArray
    #: By job: the size at its start, and its last entry in the log, or -1.
    first_size: IntArray
    last_entry: IntArray
    #: The log of changes in order of time: job, seconds, size from then on. Of any length, see `has_room`.
    log_jobs: IntArray
    log_times: FloatArray
    log_sizes: IntArray
    evolving: Evolving


def initial_resizing(estimate: FloatArray, plan: PackedEvolving, room: int) -> Resizing:
    """Return the state before the first event.

    Parameters
    ----------
    estimate
        What jobs are expected to run on their own nodes, in seconds.
    plan
        How jobs evolve, and what changes cost them: `allocsolve.model.Jobs.evolving`.
    room
        Changes that there is room for in the log at first.
    """
    count = len(estimate)

    def numbers(value: int = 0) -> IntArray:
        return np.full(count, value, dtype=np.int64)

    return Resizing(
        counts=np.zeros(11, dtype=np.int64),
        estimate=estimate,
        target=numbers(),
        since=np.zeros(count),
        left=np.zeros(count),
        rate=np.zeros(count),
        promised=numbers(),
        decided=numbers(-1),
        point_times=np.zeros(count),
        point_jobs=numbers(),
        point_places=numbers(-1),
        promises=numbers(),
        promise=numbers(),
        running=numbers(),
        resized=numbers(),
        first_size=numbers(),
        last_entry=numbers(-1),
        log_jobs=np.zeros(room, dtype=np.int64),
        log_times=np.zeros(room),
        log_sizes=np.zeros(room, dtype=np.int64),
        evolving=Evolving(
            plan=plan,
            requests=numbers(),
            request=numbers(),
            row=plan.offsets[:-1].copy(),
            useful=numbers(),
            joins=np.full(count, np.inf),
            gives=np.full(count, np.inf),
            leaves=np.full(count, np.inf),
            changed=np.full(count, -1.0),
            before=numbers(),
            base=np.zeros(count),
        ),
    )


def roomier(resizing: Resizing, running: int) -> Resizing:
    """Return the same state with room in the log for as many changes again, and one of each running job."""
    more = len(resizing.log_jobs) + running
    return resizing._replace(
        log_jobs=np.concatenate([resizing.log_jobs, np.zeros(more, dtype=np.int64)]),
        log_times=np.concatenate([resizing.log_times, np.zeros(more)]),
        log_sizes=np.concatenate([resizing.log_sizes, np.zeros(more, dtype=np.int64)]),
    )


@called_kernel
def has_room(state: State, resizing: Resizing) -> bool:
    """Return whether the log has room for a change of each running job: no more come at one instant."""
    return bool(resizing.counts[LOGGED] + state.counts[RUNNING] <= len(resizing.log_jobs))
