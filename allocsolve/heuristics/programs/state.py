"""What an execution knows and holds, as arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from allocsolve.kernels import inner_kernel
from allocsolve.kernels.heap import Entry
from allocsolve.kernels.records import Records, records
from allocsolve.model.arrays import frozen

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allocsolve.heuristics.partition.lattice import Lattice
    from allocsolve.model import FloatArray, IntArray

__all__ = ["Executed", "Machine", "Programs", "Scales", "State", "executed", "new_state", "seconds"]

#: Kinds of events, in the order in which they come at one instant.
COMPUTED, DELIVERED, FORKED, RESULT, KILL, START = range(6)

#: Places in `Machine.rules`.
CORES, SYNCHRONOUS, CONTENTION, CONTIGUOUS, REJECTING, OWN_FIRST, NEED_ALL = range(7)

#: Columns of `State.process`: the next operation; the node; the next process that computes there, -1 behind
#: the last; whether it is there (`ABSENT`, `LIVING` or `ENDED`); whether its parent waits to join it.
NEXT, NODE, BEHIND, STAGE, JOINED = range(5)
ABSENT, LIVING, ENDED = range(3)

#: Columns of `State.process_time`: how far its node has served when it is done; when its result arrives.
DUE, ARRIVES = range(2)

#: Columns of `State.node`: its job, -1 if it is free; how many processes compute on it, the last that began,
#: the one that will be done first; how many live on it.
OWNER, COMPUTING, HEAD, FIRST, TENANTS = range(5)

#: Columns of `State.node_time`: since when its job has it (seconds); how much each process that computes has
#: been served, by the time that follows; since when it computes.
TAKEN, SERVED, SINCE, BUSY = range(4)

#: Columns of `State.job`: `TO_COME`, `WAITING`, `RUNNING` or `OVER`; how many events and living processes it
#: has; what became of it; columns of `State.job_time`: start and end (seconds), its clock, and for how long
#: its nodes have computed by it.
PHASE, EVENTS, ALIVE, OUTCOME = range(4)
TO_COME, WAITING, RUNNING, OVER = range(4)
BEGAN, FINISHED, CLOCK, WORKED = range(4)

#: Columns of `State.message`: who waits for it to arrive.
RECEIVER, SENDER = range(2)

#: Columns of `State.flow` and `State.flow_time`.
FLOW_JOB, FROM, TO, KIND, INDEX = range(5)
LEFT, RATE, AT, NEW_RATE, NOW = range(5)

#: Places in `State.counts`: events of all jobs; free nodes; the queue is ``queue[head:tail]``; rows of holds;
#: flows; whether the set of flows has changed, and whether a waiting job may find what it could not before.
JOB_EVENTS, FREE, QUEUE_HEAD, QUEUE_TAIL, ROWS, FLOWS, FLOWS_CHANGED, RETRY = range(8)

#: What comes so little behind a limit is in time, in seconds: calibrated jobs end at theirs.
LATE: Final = 1e-3


class Machine(NamedTuple):
    """The machine and its rules: read-only arrays."""

    lattice: Lattice
    snake: IntArray  #: shape (nodes,)
    snake_place: IntArray  #: shape (nodes,)
    curve: IntArray  #: shape (nodes,): the order in which processes are laid on nodes
    rules: IntArray
    hop_part: float


class Programs(NamedTuple):
    """Different programs, one behind the other, as read-only arrays."""

    process_at: IntArray  #: shape (programs + 1,)
    channel_at: IntArray  #: shape (programs + 1,)
    num_messages: IntArray  #: shape (programs,)
    operation_at: IntArray  #: shape (processes + 1,)
    code: IntArray  #: shape (operations,)
    target: IntArray  #: shape (operations,): channel or process, counted within the program
    amount: FloatArray  #: shape (operations,)
    parent: IntArray  #: shape (processes,): within the program; -1 of one that is there from the start
    weight: FloatArray  #: shape (processes,): of its input and of its result
    first_message: IntArray  #: shape (channels,): messages are counted channel by channel
    receiver: IntArray  #: shape (channels,): the first process that receives from it; -1 if none does


class Executed(NamedTuple):
    """Jobs to execute, as read-only arrays."""

    program: IntArray  #: shape (jobs,)
    nodes: IntArray  #: shape (jobs,): how many it asks for
    start: FloatArray  #: shape (jobs,), seconds: when it starts, or arrives if it leaks
    limit: FloatArray  #: shape (jobs,), seconds
    factor: FloatArray  #: shape (jobs,): seconds per unit of its clock
    compute: FloatArray  #: shape (jobs,): units of its clock per work
    message: FloatArray  #: shape (jobs,): units of its clock per weight and hop
    set_at: IntArray  #: shape (jobs + 1,): a job whose set is empty leaks
    sets: IntArray  #: nodes in the order in which processes are laid on them
    row: IntArray  #: shape (jobs,): in which row of the snake a leaking job looks for a node
    first: IntArray  #: shape (jobs,): the node on which a leaking job starts; -1 to look for one
    process_at: IntArray  #: shape (jobs,): where its part of the state begins, for processes,
    channel_at: IntArray  #: shape (jobs,): channels,
    message_at: IntArray  #: shape (jobs,): messages,
    slot_at: IntArray  #: shape (jobs,): and events


class State(NamedTuple):
    """What changes; times are by the clock of the job unless they are said to be seconds."""

    process: IntArray
    process_time: FloatArray
    channel: IntArray  #: shape (channels, 2): how many messages have been sent and received
    message: IntArray
    arrival: FloatArray  #: shape (messages,)
    events: Records[Entry]  #: a heap for each job, in its slots
    event_places: IntArray  #: shape (slots,)
    node: IntArray
    node_time: FloatArray
    job: IntArray
    job_time: FloatArray
    job_events: Records[Entry]  #: a heap of at most 2 * jobs, in seconds
    job_event_places: IntArray  #: shape (2 * jobs,): what comes next to a job, then its limit
    counts: IntArray
    queue: IntArray  #: shape (jobs,): waiting jobs, of which some may be over
    ready: IntArray  #: shape (processes,): who goes on now
    rows: IntArray  #: shape (rows, 2): job and node
    row_time: FloatArray  #: shape (rows, 2), seconds: from when until when
    spot: IntArray  #: shape (nodes,): room for a search
    met: IntArray  #: shape (nodes,): room for a search
    flow: IntArray
    flow_time: FloatArray
    flows: IntArray  #: slots of the flows that there are
    link_left: FloatArray  #: shape (links,): room for `set_rates`
    link_users: IntArray  #: shape (links,): room for `set_rates`
    links: IntArray  #: shape (links,): room for `set_rates`


def new_state(machine: Machine, sizes: dict[str, int], num_jobs: int) -> State:
    """Return room for an execution.

    Parameters
    ----------
    machine
        The machine.
    sizes
        How many ``processes``, ``channels``, ``messages``, ``slots`` and ``rows`` there can be.
    num_jobs
        How many jobs.
    """
    nodes, axes = machine.lattice.coordinates.shape
    flows = sizes["slots"] if machine.rules[CONTENTION] else 0
    links = 2 * axes * nodes if machine.rules[CONTENTION] else 0

    def whole(*shape: int) -> IntArray:
        return np.empty(shape, dtype=np.int64)

    return State(
        whole(sizes["processes"], 5),
        np.empty((sizes["processes"], 2)),
        whole(sizes["channels"], 2),
        whole(sizes["messages"], 2),
        np.empty(sizes["messages"]),
        records(Entry, sizes["slots"]),
        whole(sizes["slots"]),
        whole(nodes, 5),
        np.empty((nodes, 4)),
        np.zeros((num_jobs, 4), dtype=np.int64),
        np.zeros((num_jobs, 4)),
        records(Entry, 2 * num_jobs),
        np.full(2 * num_jobs, -1, dtype=np.int64),
        np.zeros(8, dtype=np.int64),
        whole(num_jobs),
        whole(sizes["processes"] + 1),
        whole(sizes["rows"], 2),
        np.empty((sizes["rows"], 2)),
        whole(nodes),
        np.zeros(nodes, dtype=np.int64),
        whole(flows, 5),
        np.empty((flows, 5)),
        whole(flows),
        np.zeros(links),
        np.zeros(links, dtype=np.int64),
        whole(links),
    )


@inner_kernel
def seconds(began: float, limit: float, factor: float, tau: float) -> float:
    """Return when it is tau by the clock of a job, and at its limit a little behind it."""
    at = began + factor * tau
    return limit if limit < at <= limit + LATE else at


class Scales(NamedTuple):
    """What times mean to each job, shape (jobs,)."""

    compute: FloatArray  #: units of its clock per work
    message: FloatArray  #: units of its clock per weight and hop
    factor: FloatArray  #: seconds per unit of its clock


def executed(
    machine: Machine,
    programs: Programs,
    *,
    program: IntArray,
    nodes: IntArray,
    start: FloatArray,
    limit: FloatArray,
    scales: Scales,
    sets: Sequence[IntArray],
    alone: bool,
    row: IntArray | None = None,
    first: IntArray | None = None,
) -> tuple[Executed, State]:
    """Return jobs to execute and room for it; jobs that are alone share one room.

    `sets` are the nodes of each job, in any order; none of one that leaks.
    """
    curve_place = np.argsort(machine.curve)
    ordered = [one[np.argsort(curve_place[one])] for one in sets]
    count = len(program)
    processes = np.diff(programs.process_at)[program]
    channels, messages = np.diff(programs.channel_at)[program], programs.num_messages[program]
    set_sizes = np.array([len(one) for one in sets], dtype=np.int64)
    needed = {
        "processes": processes,
        "channels": channels,
        "messages": messages,
        "slots": processes + messages,
        "rows": np.maximum(processes, set_sizes),
    }
    begins = {}
    sizes = {}
    for name, each in needed.items():
        begins[name] = frozen(np.zeros(count, dtype=np.int64) if alone else np.cumsum(each) - each)
        sizes[name] = int(each.max(initial=0) if alone else each.sum())
    jobs = Executed(
        frozen(program),
        frozen(nodes),
        frozen(start),
        frozen(limit),
        frozen(np.ascontiguousarray(scales.factor)),
        frozen(np.ascontiguousarray(scales.compute)),
        frozen(np.ascontiguousarray(scales.message)),
        frozen(np.cumsum([0, *set_sizes], dtype=np.int64)),
        frozen(np.concatenate([np.zeros(0, dtype=np.int64), *ordered])),
        frozen(np.zeros(count, dtype=np.int64) if row is None else row),
        frozen(np.full(count, -1) if first is None else first),
        begins["processes"],
        begins["channels"],
        begins["messages"],
        begins["slots"],
    )
    return jobs, new_state(machine, sizes, count)
