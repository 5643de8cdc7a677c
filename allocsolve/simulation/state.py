"""The state of the engine, all that changes while a workload runs: named records that kernels share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from allocsolve.kernels.heap import Entry
from allocsolve.kernels.records import Record, Records, record, records

if TYPE_CHECKING:
    from allocsolve.model import FloatArray, IntArray, PackedEvolving


class EngineNumbers(Record):
    """The single numbers of `State`."""

    #: Now, in seconds.
    clock: float
    #: Free nodes.
    free: int
    #: Number of jobs that have been submitted.
    arrived: int
    #: The queue is ``queue[head:tail]``.
    head: int
    tail: int
    #: Number of running jobs.
    running: int
    #: Number of jobs that completed and that were submitted in the last advance.
    completed: int
    submitted: int
    #: Number of jobs that have started.
    started: int
    #: Whether `State.held` lists running jobs in the order of their keys, 1 or 0, and the places of that
    #: list, ``held[first:last]``.
    ordered: int
    first: int
    last: int


class JobState(Record):
    """The state of a job; times are in seconds, NaN before the job starts."""

    start: float
    end: float
    #: When it is expected to end.
    expected: float
    #: Its key in the order of the running jobs.
    key: float
    #: The nodes that it holds.
    size: int
    #: The code of the reason for its start, and the blocked job that it was started before, or -1.
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
    #: Jobs that wait, from ``head`` to ``tail``.
    queue: IntArray
    #: Heap of running jobs by (end, job): the job that ends next comes first.
    ends: Records[Entry]
    #: Where each running job is on that heap; empty if no job changes its end.
    end_places: IntArray
    #: Running jobs by (key, start), from ``first`` to ``last``. The key is when a policy expects the job to
    #: end. A job that ended leaves a gap: job -1, no nodes. None for kernels that need no such list: what
    #: keeps it is not compiled then.
    held: Records[Held]
    #: Jobs that completed in the last advance, then jobs that were submitted in it.
    events: IntArray
    #: Jobs in the order in which they started.
    started: IntArray


def initial_state(
    num_nodes: int,
    submit: FloatArray,
    *,
    ordered: bool | None,
    resizable: bool = False,
    num_jobs: int | None = None,
) -> State:
    """Return the state before the first event.

    Jobs are to come at `submit`, in seconds; the state has room for `num_jobs`, for those to come if left
    out. `ordered` says whether running jobs are listed in the order of their keys, which costs O(running
    jobs) a start; None if the kernels that take the state never need the list. With `resizable` running jobs
    may change their sizes, and so their ends.
    """
    count = len(submit) if num_jobs is None else num_jobs
    engine = record(EngineNumbers)
    engine["free"], engine["ordered"] = num_nodes, bool(ordered)
    return State(
        engine=engine,
        job=records(JobState, count, start=np.nan, end=np.nan, expected=np.nan, blocked=-1),
        arrivals=_arrivals(submit) if len(submit) else _NO_ARRIVALS,
        queue=np.empty(count, dtype=np.int64),
        ends=records(Entry, count),
        end_places=np.empty(count if resizable else 0, dtype=np.int64),
        held=records(Held, count) if ordered is not None else None,  # type: ignore[arg-type]  # see `State`
        events=np.empty(count, dtype=np.int64),
        started=np.empty(count, dtype=np.int64),
    )


def _arrivals(submit: FloatArray) -> Records[Entry]:
    order = np.argsort(submit, kind="stable")
    return records(Entry, len(submit), frozen=True, time=submit[order], item=order)


_NO_ARRIVALS: Final = records(Entry, 0, frozen=True)


class Ledger(Record):
    """The single numbers of `Resizing`."""

    #: Nodes set aside for queued jobs with promises, and nodes set aside for running jobs that will grow.
    pool: int
    reserved: int
    #: Open promises are ``promises[first_promise:last_promise]``.
    first_promise: int
    last_promise: int
    #: Number of running jobs with an event of their own to come, and of malleable ones.
    waiting: int
    malleable_running: int
    #: Number of changes in the log, and of jobs whose sizes changed in the last advance.
    logged: int
    resized: int
    #: Number of advances so far.
    calls: int
    #: Number of started jobs whose elastic state has been set.
    taken_in: int
    #: Number of open requests.
    requests: int


class ElasticJob(Record):
    """The state of a job whose size changes; times in seconds."""

    #: Its expected run time on its own number of nodes; given.
    estimate: float
    #: Its size after the pending change, or its present one.
    target: int
    #: Since when it has worked at its present rate (later than now while it stalls), the work that was left
    #: then, and the work that it does in a second. Work is measured in seconds on its own number of nodes;
    #: for a job with phases, it is that of the present phase in node-seconds; for a job with a profile, the
    #: seconds of the present step.
    since: float
    left: float
    rate: float
    #: Nodes of the pending change that are promised to queued jobs.
    promised: int
    #: The call in which the pending change was decided.
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
    #: The number of nodes on which it asks to run, 0 if it has no open request.
    request: int
    #: The number of nodes that have joined its work.
    useful: int
    #: The nodes that it held before the instant of its last change.
    before: int
    #: Given, see `allocsolve.model.PackedEvolving`.
    release_delay: float
    stall_fixed: float
    stall_per_node: float
    stall_shared: float
    join_start: float
    join_grow: float
    join_shrink: float
    #: When the next node will join its work, when a node is to be given back, and when nodes that were given
    #: up will be free; infinite for never.
    joins: float
    gives: float
    leaves: float
    #: When it was last given nodes or began to give some up, and when the stall of that change begins.
    changed: float
    base: float


class Change(Record):
    """An entry of the log: the size of a job from an instant on."""

    job: int
    time: float
    size: int


class Row(Record):
    """One event, phase or step of a job that evolves."""

    #: For an event, the share of the work that is left; for a phase, its node-seconds; for a step, its
    #: seconds.
    amount: float
    #: For an event, the change of nodes; for a phase, the nodes that it can use; for a step, its nodes.
    nodes: float


class Resizing(NamedTuple):
    """The state that workloads whose jobs change their sizes have besides `State`."""

    ledger: Ledger
    #: By job.
    job: Records[ElasticJob]
    #: Heap of the next events within running jobs by (time, job): the point of a pending change, the end of a
    #: stall, phase or step, or a moment at which a job asks for nodes; and the place of each job on it, or
    #: -1.
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
    #: Changes in the order of time. The log grows when needed, see `has_room`.
    log: Records[Change]
    #: Events, phases and steps of jobs that evolve; read-only.
    rows: Records[Row]


def initial_resizing(estimate: FloatArray, plan: PackedEvolving, changes_per_job: int = 4) -> Resizing:
    """Return the state before the first event.

    `estimate` are the expected run times of jobs on their own numbers of nodes, in seconds, `plan` is how
    they evolve (`allocsolve.model.Jobs.evolving`). The log has room for so many changes of size for each job
    at first, see `roomier`.
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
    """Return the same state with a log of twice the length, and three more changes for each running job."""
    count = len(resizing.log)
    log = records(Change, 2 * count + 3 * running)
    np.copyto(np.asarray(log)[:count], np.asarray(resizing.log))
    return resizing._replace(log=log)
