"""What changes while a workload runs: the state of the engine, as named records that kernels share."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from allocsolve.kernels.heap import Entry
from allocsolve.kernels.records import Record, Records, record, records

if TYPE_CHECKING:
    from allocsolve.model.arrays import IntArray
    from allocsolve.model.evolving import PackedEvolving
    from allocsolve.model.jobs import FloatArray

__all__ = [
    "EngineNumbers",
    "Held",
    "Resizing",
    "State",
    "initial_resizing",
    "initial_state",
    "roomier",
]


class EngineNumbers(Record):
    """What there is one of in `State`."""

    #: Now, in seconds.
    clock: float
    #: Nodes.
    free: int
    #: Jobs that have been submitted.
    arrived: int
    #: The queue is ``queue[head:tail]``.
    head: int
    tail: int
    #: Running jobs.
    running: int
    #: Jobs that completed and that were submitted in the last advance.
    completed: int
    submitted: int
    #: Jobs that have started.
    started: int
    #: Whether running jobs are held in the order of their keys, 1 or 0, and between which places then.
    ordered: int
    first: int
    last: int


class JobState(Record):
    """What changes of a job; times are NaN before it starts, in seconds."""

    start: float
    end: float
    #: When it is expected to end.
    expected: float
    #: Its key among the running jobs.
    key: float
    #: The nodes that it holds.
    size: int
    #: The code of the reason why it started, and the job that it was started before, or -1.
    reason: int
    blocked: int


class Held(Record):
    """Nodes that a running job holds until it is expected to end."""

    key: float
    job: int
    nodes: int


class State(NamedTuple):
    """Everything that changes while a workload runs. Lists have room for all jobs."""

    engine: EngineNumbers
    #: By job.
    job: Records[JobState]
    #: Jobs in the order of their submission; read-only.
    arrivals: Records[Entry]
    #: Submitted jobs that wait, from ``head`` to ``tail``.
    queue: IntArray
    #: Heap of running jobs by (end, job): what comes next.
    ends: Records[Entry]
    #: Where each running job is on that heap; empty if no job changes its end.
    end_places: IntArray
    #: Running jobs by (key, start), the key being when a policy expects them to end: from ``first`` to
    #: ``last``, with gaps where jobs have ended: job -1, no nodes.
    held: Records[Held]
    #: Jobs that completed in the last advance, then jobs that were submitted in it.
    events: IntArray
    #: Jobs in the order in which they started.
    started: IntArray


def initial_state(
    num_nodes: int,
    submit: FloatArray,
    *,
    ordered: bool,
    resizable: bool = False,
    num_jobs: int | None = None,
) -> State:
    """Return the state before the first event.

    Parameters
    ----------
    num_nodes
        Nodes of the cluster.
    submit
        Of the jobs that are to come, seconds.
    num_jobs
        Jobs that there is room for; those that are to come if left out.
    ordered
        Whether running jobs are held in the order of their keys, which costs O(running jobs) a start.
    resizable
        Whether running jobs may change their sizes, and so their ends.
    """
    count = len(submit) if num_jobs is None else num_jobs
    order = np.argsort(submit, kind="stable")
    engine = record(EngineNumbers)
    engine["free"], engine["ordered"] = num_nodes, ordered
    return State(
        engine=engine,
        job=records(JobState, count, start=np.nan, end=np.nan, expected=np.nan, blocked=-1),
        arrivals=records(Entry, len(submit), frozen=True, time=submit[order], item=order),
        queue=np.empty(count, dtype=np.int64),
        ends=records(Entry, count),
        end_places=np.empty(count if resizable else 0, dtype=np.int64),
        held=records(Held, count),
        events=np.empty(count, dtype=np.int64),
        started=np.empty(count, dtype=np.int64),
    )


class Ledger(Record):
    """What there is one of in `Resizing`."""

    #: Free nodes that are promised to queued jobs, and nodes that wait for jobs to grow.
    pool: int
    reserved: int
    #: Open promises are ``promises[first_promise:last_promise]``.
    first_promise: int
    last_promise: int
    #: Jobs with an event of their own to come.
    waiting: int
    malleable_running: int
    #: Changes in the log, and those that took effect in the last advance.
    logged: int
    resized: int
    #: Advances so far.
    calls: int
    #: Jobs started that are taken in.
    taken_in: int
    #: Open requests.
    requests: int


class ElasticJob(Record):
    """What changes of a job whose size changes; times in seconds."""

    #: What it is expected to run on its own nodes; given.
    estimate: float
    #: Its size after the pending change, or its present one.
    target: int
    #: From when on it works as now (later than now while it stalls), how much of its work was left then, and
    #: how much it does in a second; work is measured in seconds on its own nodes. With phases, work of the
    #: present one in node-seconds; with a profile, seconds of the present step.
    since: float
    left: float
    rate: float
    #: Nodes of the pending change that are promised to queued jobs.
    promised: int
    #: In which call the pending change was decided.
    decided: int
    #: The nodes that it was promised while it waited.
    promise: int
    #: The size at its start, and its last entry in the log, or -1.
    first_size: int
    last_entry: int
    #: Given: how it evolves, the place after its last event, phase or step in `Resizing.rows`, whether it
    #: holds the larger number of nodes while it stalls.
    reading: int
    last_row: int
    holds_larger: int
    #: The place of its next event, or its present phase or step.
    row: int
    #: How many nodes it asks for, 0 for none.
    request: int
    #: Its useful nodes.
    useful: int
    #: What it held before the instant of its last change.
    before: int
    #: Given, see `allocsolve.model.PackedEvolving`.
    release_delay: float
    stall_fixed: float
    stall_per_node: float
    stall_shared: float
    join_start: float
    join_grow: float
    join_shrink: float
    #: When the next node will be useful, when one is to be given back, when nodes that were given up will be
    #: free; infinite for never.
    joins: float
    gives: float
    leaves: float
    #: When it was last given nodes or began to give some up, and from when on the stall of that change
    #: counts.
    changed: float
    base: float


class Change(Record):
    """Of the log: the size of a job from an instant on."""

    job: int
    time: float
    size: int


class Row(Record):
    """One event, phase or step of a job that evolves."""

    #: Of an event the share of the work that is left, of a phase its node-seconds, of a step its seconds.
    amount: float
    #: Of an event the change, of a phase its most useful nodes, of a step its nodes.
    nodes: float


class Resizing(NamedTuple):
    """What changes while running jobs change their sizes, besides `State`."""

    ledger: Ledger
    #: By job.
    job: Records[ElasticJob]
    #: Heap of what comes next within running jobs by (time, job): the point of a pending change, the end of a
    #: stall, phase or step, a moment at which a job asks for nodes; and where each job is on it; -1: nowhere.
    points: Records[Entry]
    point_places: IntArray
    #: Jobs with open promises, first in, first out.
    promises: IntArray
    #: Malleable jobs that run, rising.
    running: IntArray
    #: Jobs whose sizes changed in the last advance.
    resized: IntArray
    #: Jobs with open requests, in the order in which they were made.
    requests: IntArray
    #: Changes in order of time. Of any length, see `has_room`.
    log: Records[Change]
    #: Events, phases and steps of jobs that evolve; read-only.
    rows: Records[Row]


def initial_resizing(estimate: FloatArray, plan: PackedEvolving, changes_per_job: int = 4) -> Resizing:
    """Return the state before the first event.

    Parameters
    ----------
    estimate
        What jobs are expected to run on their own nodes, in seconds.
    plan
        How jobs evolve, and what changes cost them: `allocsolve.model.Jobs.evolving`.
    changes_per_job
        Changes of size that the log has room for at first, see `roomier`.
    """
    count = len(estimate)
    given = ("reading", "holds_larger", "release_delay", "stall_fixed", "stall_per_node", "stall_shared")
    joining = ("join_start", "join_grow", "join_shrink")
    job = records(
        ElasticJob,
        count,
        estimate=estimate,
        decided=-1,
        last_entry=-1,
        row=plan.offsets[:-1],
        last_row=plan.offsets[1:],
        changed=-np.inf,
        base=np.inf,
        joins=np.inf,
        gives=np.inf,
        leaves=np.inf,
        **{name: getattr(plan, name) for name in (*given, *joining)},
    )
    places = [np.zeros(count, dtype=np.int64) for _ in range(4)]
    return Resizing(
        ledger=record(Ledger),
        job=job,
        points=records(Entry, count),
        point_places=np.full(count, -1, dtype=np.int64),
        promises=places[0],
        running=places[1],
        resized=places[2],
        requests=places[3],
        log=records(Change, changes_per_job * count + len(plan.amounts)),
        rows=records(Row, len(plan.amounts), frozen=True, amount=plan.amounts, nodes=plan.nodes),
    )


def roomier(resizing: Resizing, running: int) -> Resizing:
    """Return the same state with room in the log for as many changes again, and three of each running job."""
    count = len(resizing.log)
    log = records(Change, 2 * count + 3 * running)
    np.copyto(np.asarray(log)[:count], np.asarray(resizing.log))
    return resizing._replace(log=log)
