"""The data of an execution as arrays: machine, programs, jobs, and the state that changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from allocsolve.kernels import inner_kernel
from allocsolve.kernels.heap import Entry
from allocsolve.kernels.records import Record, Records, record, records
from allocsolve.model.arrays import frozen

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allocsolve.heuristics.partition.allocator import Lattice
    from allocsolve.model import FloatArray, IntArray

#: Kinds of events, in the order in which they are handled at one instant.
COMPUTED, DELIVERED, FORKED, RESULT, KILL, START = range(6)

#: The stages of a process, and the phases of a job.
ABSENT, LIVING, ENDED = range(3)
TO_COME, WAITING, RUNNING, OVER = range(4)

#: What comes at most this much (seconds) after a limit is in time: calibrated jobs end at their limits up to
#: rounding.
LATE: Final = 1e-3


class Machine(NamedTuple):
    """The machine, as read-only arrays, and its rules."""

    lattice: Lattice
    snake: IntArray  #: shape (nodes,): the nodes in the order of the snake
    snake_place: IntArray  #: shape (nodes,): the place of each node on the snake
    curve: IntArray  #: shape (nodes,): the order in which processes are laid on nodes
    #: See `ExecutionRules` and `LeakRules`; `rejecting` says that a job is rejected if it finds no node.
    hop_part: float
    cores: int
    synchronous: bool
    contention: bool
    contiguous: bool
    rejecting: bool
    own_first: bool
    need_all: bool


class Programs(NamedTuple):
    """Different programs, one after the other, as read-only arrays."""

    process_at: IntArray  #: shape (programs + 1,): the first process of each program
    channel_at: IntArray  #: shape (programs + 1,): the first channel of each program
    num_messages: IntArray  #: shape (programs,)
    operation_at: IntArray  #: shape (processes + 1,): the first operation of each process
    code: IntArray  #: shape (operations,): see `reproductions.linnert2024.programs.program`
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


class Process(Record):
    """The state of a process."""

    next: int  #: its next operation
    node: int
    behind: int  #: the next process in the list of those that compute on the node, or -1
    stage: int  #: `ABSENT`, `LIVING` or `ENDED`
    joined: int  #: whether its parent waits to join it
    due: float  #: the value of `NodeState.served` of its node at which it is done
    arrives: float  #: when its result arrives


class Channel(Record):
    """The numbers of messages of a channel."""

    sent: int
    received: int


class Message(Record):
    """The state of a message."""

    receiver: int  #: the processes that wait for its arrival, or -1
    sender: int
    arrives: float  #: when it arrives, infinite if that is not known


class NodeState(Record):
    """The state of a node."""

    owner: int  #: its job, or -1 if it is free
    computing: int  #: the number of processes that compute on it
    head: int  #: the head of their list, which is the last that began
    first: int  #: the process that will be done first
    tenants: int  #: the number of processes that live on it
    taken: float  #: since when its job has it, in seconds
    served: float  #: the work that each process computing on it has received up to `since`
    since: float
    busy: float  #: since when it computes


class JobState(Record):
    """The state of a job."""

    phase: int  #: `TO_COME`, `WAITING`, `RUNNING` or `OVER`
    events: int  #: the number of its events
    alive: int  #: the number of its living processes
    outcome: int
    began: float  #: seconds
    finished: float  #: seconds
    clock: float
    worked: float  #: the time by the clock for which its nodes have computed


class Hold(Record):
    """A node that a job has had, from `start` to `end`, in seconds."""

    job: int
    node: int
    start: float
    end: float


class Flow(Record):
    """A message that shares links, from the node `source` to `sink`."""

    job: int
    source: int
    sink: int
    kind: int  #: of the event at its end
    index: int  #: its place in `State.flows`, or -1
    left: float  #: the work that was left at the time `at`
    rate: float
    at: float
    new_rate: float
    now: float  #: the present by the clock


class Counts(Record):
    """The single numbers of `State`."""

    job_events: int  #: in the heap of jobs
    free: int  #: nodes
    queue_head: int  #: the queue is ``queue[queue_head:queue_tail]``
    queue_tail: int
    rows: int  #: holds
    flows: int
    flows_changed: int  #: whether the set of flows has changed
    retry: int  #: whether a waiting job may now find nodes


class State(NamedTuple):
    """The state of an execution; times are by the clock of the job unless they are given in seconds."""

    process: Records[Process]
    channel: Records[Channel]
    message: Records[Message]
    events: Records[Entry]  #: a heap for each job, in its slots
    event_places: IntArray  #: shape (slots,): the place of each slot on its heap, or -1
    node: Records[NodeState]
    job: Records[JobState]
    job_events: Records[Entry]  #: a heap of at most 2 * jobs, in seconds
    job_event_places: IntArray  #: shape (2 * jobs,): places of the next events, then of the limits
    counts: Counts
    queue: IntArray  #: shape (jobs,): waiting jobs, some of which may be over
    ready: IntArray  #: shape (processes,): the processes that go on now
    holds: Records[Hold]
    spot: IntArray  #: shape (nodes,): for a search
    met: IntArray  #: shape (nodes,): for a search
    flow: Records[Flow]  #: by slot
    flows: IntArray  #: the slots of the present flows
    link_left: FloatArray  #: shape (links,): for `set_rates`
    link_users: IntArray  #: shape (links,): for `set_rates`
    links: IntArray  #: shape (links,): for `set_rates`


def new_state(machine: Machine, sizes: dict[str, int], num_jobs: int) -> State:
    """Return the arrays of an execution before it begins.

    `sizes` are the largest numbers of ``processes``, ``channels``, ``messages``, ``slots`` and ``rows``.
    """
    nodes, axes = machine.lattice.coordinates.shape
    flows = sizes["slots"] if machine.contention else 0
    links = 2 * axes * nodes if machine.contention else 0

    def whole(count: int) -> IntArray:
        return np.zeros(count, dtype=np.int64)

    return State(
        records(Process, sizes["processes"]),
        records(Channel, sizes["channels"]),
        records(Message, sizes["messages"]),
        records(Entry, sizes["slots"]),
        whole(sizes["slots"]),
        records(NodeState, nodes),
        records(JobState, num_jobs),
        records(Entry, 2 * num_jobs),
        np.full(2 * num_jobs, -1, dtype=np.int64),
        record(Counts),
        whole(num_jobs),
        whole(sizes["processes"] + 1),
        records(Hold, sizes["rows"]),
        whole(nodes),
        whole(nodes),
        records(Flow, flows),
        whole(flows),
        np.zeros(links),
        whole(links),
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
