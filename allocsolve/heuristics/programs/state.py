"""The data of an execution as arrays: machine, programs, jobs, and the state that changes.

Columns of two-dimensional arrays are named by the constants below.
"""

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

#: Kinds of events, in the order in which they are handled at one instant.
COMPUTED, DELIVERED, FORKED, RESULT, KILL, START = range(6)

#: Places in `Machine.rules`.
CORES, SYNCHRONOUS, CONTENTION, CONTIGUOUS, REJECTING, OWN_FIRST, NEED_ALL = range(7)

#: Columns of `State.process`: the next operation; the node; the next process in the list of those that
#: compute on the node, or -1; the stage (`ABSENT`, `LIVING` or `ENDED`); whether its parent waits to join it.
NEXT, NODE, BEHIND, STAGE, JOINED = range(5)
ABSENT, LIVING, ENDED = range(3)

#: Columns of `State.process_time`: the value of `SERVED` of its node at which the process is done; when its
#: result arrives.
DUE, ARRIVES = range(2)

#: Columns of `State.node`: its job, or -1 if it is free; the number of processes that compute on it; the head
#: of their list, which is the last that began; the process that will be done first; the number of processes
#: that live on it.
OWNER, COMPUTING, HEAD, FIRST, TENANTS = range(5)

#: Columns of `State.node_time`: since when its job has it (seconds); the work that each process computing on
#: it has received up to a time; that time; since when the node computes.
TAKEN, SERVED, SINCE, BUSY = range(4)

#: Columns of `State.job`: the phase (`TO_COME`, `WAITING`, `RUNNING` or `OVER`); the numbers of its events
#: and of its living processes; its outcome. Columns of `State.job_time`: start and end (seconds); its clock;
#: the time by the clock for which its nodes have computed.
PHASE, EVENTS, ALIVE, OUTCOME = range(4)
TO_COME, WAITING, RUNNING, OVER = range(4)
BEGAN, FINISHED, CLOCK, WORKED = range(4)

#: Columns of `State.message`: the receiver and the sender if they wait for its arrival, else -1.
RECEIVER, SENDER = range(2)

#: Columns of `State.flow`: the job, the two nodes, the kind of the event at its end, the place in
#: `State.flows` or -1. Columns of `State.flow_time`: the work left at a time, the rate, that time, the new
#: rate, the present by the clock.
FLOW_JOB, FROM, TO, KIND, INDEX = range(5)
LEFT, RATE, AT, NEW_RATE, NOW = range(5)

#: Places in `State.counts`: events in the heap of jobs; free nodes; the ends of the queue,
#: ``queue[head:tail]``; rows of holds; flows; whether the set of flows has changed; whether a waiting job may
#: now find nodes.
JOB_EVENTS, FREE, QUEUE_HEAD, QUEUE_TAIL, ROWS, FLOWS, FLOWS_CHANGED, RETRY = range(8)

#: What comes at most this much (seconds) after a limit is in time: calibrated jobs end at their limits up to
#: rounding.
LATE: Final = 1e-3


class Machine(NamedTuple):
    """The machine and its rules, as read-only arrays."""

    lattice: Lattice
    snake: IntArray  #: shape (nodes,): the nodes in the order of the snake
    snake_place: IntArray  #: shape (nodes,): the place of each node on the snake
    curve: IntArray  #: shape (nodes,): the order in which processes are laid on nodes
    rules: IntArray  #: see `CORES` and the constants after it
    hop_part: float  #: see `ExecutionRules.hop_part`


class Programs(NamedTuple):
    """Different programs, one after the other, as read-only arrays."""

    process_at: IntArray  #: shape (programs + 1,): the first process of each program
    channel_at: IntArray  #: shape (programs + 1,): the first channel of each program
    num_messages: IntArray  #: shape (programs,)
    operation_at: IntArray  #: shape (processes + 1,): the first operation of each process
    code: IntArray  #: shape (operations,): see `allocsolve.model.program`
    target: IntArray  #: shape (operations,): channel or process, numbered within the program
    amount: FloatArray  #: shape (operations,): work or weight
    parent: IntArray  #: shape (processes,): numbered within the program; -1 if there from the start
    weight: FloatArray  #: shape (processes,): the weight of its input and of its result
    first_message: IntArray  #: shape (channels,): the first message; messages are numbered channel by channel
    receiver: IntArray  #: shape (channels,): the first process that receives from it; -1 if there is none


class Executed(NamedTuple):
    """Jobs to execute, as read-only arrays."""

    program: IntArray  #: shape (jobs,): the index of its program
    nodes: IntArray  #: shape (jobs,): the number of nodes that it asks for
    start: FloatArray  #: shape (jobs,), seconds: when it starts, or arrives if it leaks
    limit: FloatArray  #: shape (jobs,), seconds: when it is cancelled
    factor: FloatArray  #: shape (jobs,): seconds per unit of its clock
    compute: FloatArray  #: shape (jobs,): units of its clock per work
    message: FloatArray  #: shape (jobs,): units of its clock per weight and hop
    set_at: IntArray  #: shape (jobs + 1,): the first node of each set; a job with an empty set leaks
    sets: IntArray  #: the nodes of all sets, in the order in which processes are laid on them
    row: IntArray  #: shape (jobs,): the row of the snake from which on a leaking job looks for a node
    first: IntArray  #: shape (jobs,): the node on which a leaking job starts; -1 to look for one
    process_at: IntArray  #: shape (jobs,): its first process in the state
    channel_at: IntArray  #: shape (jobs,): its first channel in the state
    message_at: IntArray  #: shape (jobs,): its first message in the state
    slot_at: IntArray  #: shape (jobs,): its first slot of events in the state


class State(NamedTuple):
    """The state of an execution; times are by the clock of the job unless they are given in seconds."""

    process: IntArray
    process_time: FloatArray
    channel: IntArray  #: shape (channels, 2): the numbers of messages sent and received
    message: IntArray
    arrival: FloatArray  #: shape (messages,): when each message arrives, infinite if that is not known
    events: Records[Entry]  #: a heap for each job, in its slots
    event_places: IntArray  #: shape (slots,): the place of each slot on its heap, or -1
    node: IntArray
    node_time: FloatArray
    job: IntArray
    job_time: FloatArray
    job_events: Records[Entry]  #: a heap of at most 2 * jobs, in seconds
    job_event_places: IntArray  #: shape (2 * jobs,): places of the next events, then of the limits
    counts: IntArray
    queue: IntArray  #: shape (jobs,): waiting jobs, some of which may be over
    ready: IntArray  #: shape (processes,): the processes that go on now
    rows: IntArray  #: shape (rows, 2): holds, the job and the node
    row_time: FloatArray  #: shape (rows, 2), seconds: start and end of each hold
    spot: IntArray  #: shape (nodes,): for a search
    met: IntArray  #: shape (nodes,): for a search
    flow: IntArray
    flow_time: FloatArray
    flows: IntArray  #: the slots of the present flows
    link_left: FloatArray  #: shape (links,): for `set_rates`
    link_users: IntArray  #: shape (links,): for `set_rates`
    links: IntArray  #: shape (links,): for `set_rates`


def new_state(machine: Machine, sizes: dict[str, int], num_jobs: int) -> State:
    """Return the arrays of an execution before it begins.

    `sizes` are the largest numbers of ``processes``, ``channels``, ``messages``, ``slots`` and ``rows``.
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
    """Return the time in seconds at `tau` by the clock of a job; just after its limit, return the limit."""
    at = began + factor * tau
    return limit if limit < at <= limit + LATE else at


class Scales(NamedTuple):
    """The scales of the clock of each job, shape (jobs,)."""

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
    """Return the jobs to execute and the state; jobs that are alone use the same part of the state.

    `sets` has the nodes of each job, in any order; the set of a leaking job is empty.
    """
    curve_place = np.argsort(machine.curve)
    ordered = [nodes_of_job[np.argsort(curve_place[nodes_of_job])] for nodes_of_job in sets]
    count = len(program)
    processes = np.diff(programs.process_at)[program]
    channels, messages = np.diff(programs.channel_at)[program], programs.num_messages[program]
    set_sizes = np.array([len(nodes_of_job) for nodes_of_job in sets], dtype=np.int64)
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
