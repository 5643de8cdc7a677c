"""What changes while a workload runs whose running jobs change their sizes, besides `State`: arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from allocsolve.kernels import inner_kernel
from allocsolve.model.columns import frozen_floats
from allocsolve.simulation._kernels_events import RUNNING, State

if TYPE_CHECKING:
    from allocsolve.model.arrays import IntArray
    from allocsolve.model.evolving_columns import PackedEvolving
    from allocsolve.model.jobs import FloatArray

__all__ = [
    "AMOUNT",
    "BASE",
    "BEFORE",
    "CALLS",
    "CHANGED",
    "FIRST_PROMISE",
    "GIVES",
    "HOLDS_LARGER",
    "JOINS",
    "JOIN_GROW",
    "JOIN_SHRINK",
    "JOIN_START",
    "LAST_PROMISE",
    "LAST_ROW",
    "LEAVES",
    "LOGGED",
    "MALLEABLE_RUNNING",
    "NODES",
    "POOL",
    "READING",
    "RELEASE_DELAY",
    "REQUEST",
    "REQUESTS",
    "RESERVED",
    "RESIZED",
    "ROW",
    "STALL_FIXED",
    "STALL_PER_NODE",
    "STALL_SHARED",
    "TAKEN_IN",
    "USEFUL",
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


#: Columns of `Evolving.numbers`. What is given: how a job evolves, the place after its last event, phase or
#: step, whether it holds the larger number of nodes while it stalls. Then the place of its next event, or its
#: present phase or step; how many nodes it asks for, 0 for none; its useful nodes; and what it held before
#: the instant of its last change.
READING: Final = 0
LAST_ROW: Final = 1
HOLDS_LARGER: Final = 2
ROW: Final = 3
REQUEST: Final = 4
USEFUL: Final = 5
BEFORE: Final = 6

#: Columns of `Evolving.times`, in seconds. What is given: see `allocsolve.model.PackedEvolving`. Then when
#: the next node will be useful, when one is to be given back, when nodes that were given up will be free,
#: infinite for never; when the job was last given nodes or began to give some up, and from when on the stall
#: of that change counts.
RELEASE_DELAY: Final = 0
STALL_FIXED: Final = 1
STALL_PER_NODE: Final = 2
STALL_SHARED: Final = 3
JOIN_START: Final = 4
JOIN_GROW: Final = 5
JOIN_SHRINK: Final = 6
JOINS: Final = 7
GIVES: Final = 8
LEAVES: Final = 9
CHANGED: Final = 10
BASE: Final = 11

#: Columns of `Evolving.rows`: of an event the share of the work that is left and the change, of a phase its
#: node-seconds and most useful nodes, of a step its seconds and nodes.
AMOUNT: Final = 0
NODES: Final = 1


class Evolving(NamedTuple):
    """What changes of jobs that evolve or stall: few arrays, as kernels hand them on often."""

    #: Shape (jobs, 7), see `READING` and the constants after it.
    numbers: IntArray
    #: Shape (jobs, 12), see `RELEASE_DELAY` and the constants after it.
    times: FloatArray
    #: Shape (rows, 2), see `AMOUNT`; read-only.
    rows: FloatArray
    #: Shape (jobs,): jobs with open requests, in the order in which they were made.
    requests: IntArray


def _initial_evolving(plan: PackedEvolving) -> Evolving:
    numbers = np.zeros((len(plan.reading), 7), dtype=np.int64)
    numbers[:, READING], numbers[:, HOLDS_LARGER] = plan.reading, plan.holds_larger
    numbers[:, ROW], numbers[:, LAST_ROW] = plan.offsets[:-1], plan.offsets[1:]
    times = np.full((len(numbers), 12), np.inf)
    for column, values in (
        (RELEASE_DELAY, plan.release_delay),
        (STALL_FIXED, plan.stall_fixed),
        (STALL_PER_NODE, plan.stall_per_node),
        (STALL_SHARED, plan.stall_shared),
        (JOIN_START, plan.join_start),
        (JOIN_GROW, plan.join_grow),
        (JOIN_SHRINK, plan.join_shrink),
    ):
        times[:, column] = values
    times[:, CHANGED] = -np.inf
    return Evolving(
        numbers=numbers,
        times=times,
        rows=frozen_floats(np.column_stack([plan.amounts, plan.nodes])),
        requests=np.zeros(len(numbers), dtype=np.int64),
    )


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
    count, room = len(estimate), room + len(plan.amounts)

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
        evolving=_initial_evolving(plan),
    )


def roomier(resizing: Resizing, running: int) -> Resizing:
    """Return the same state with room in the log for as many changes again, and three of each running job."""
    more = len(resizing.log_jobs) + 3 * running
    return resizing._replace(
        log_jobs=np.concatenate([resizing.log_jobs, np.zeros(more, dtype=np.int64)]),
        log_times=np.concatenate([resizing.log_times, np.zeros(more)]),
        log_sizes=np.concatenate([resizing.log_sizes, np.zeros(more, dtype=np.int64)]),
    )


@inner_kernel
def has_room(state: State, resizing: Resizing) -> bool:
    """Return whether the log has room for the changes of an advance.

    Two of each running job at its instant, if its stall is over and it changes again; and before that,
    unnoticed, one of each that begins to stall and steps of profiles that need no other nodes.
    """
    needed = resizing.counts[LOGGED] + 3 * state.counts[RUNNING] + len(resizing.evolving.rows)
    return bool(needed <= len(resizing.log_jobs))
