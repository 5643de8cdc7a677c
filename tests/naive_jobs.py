"""Jobs of the slow machine, each with a clock of its own, and the links that their messages take."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from allocsolve.model import Topology
    from allocsolve.model.reservation import Hold
    from reproductions.linnert2024.programs import Program

COMPUTED, DELIVERED, FORKED, RESULT, KILL, START = range(6)

#: What comes so little behind a limit is in time, in seconds.
LATE = 1e-3


class NaiveRules(NamedTuple):
    """All rules of the machine and of the leak."""

    cores: int = 4
    communication: float = 0.1
    hop_part: float = 1.0
    synchronous: bool = False
    contention: bool = False
    reference: Literal["booked", "demand"] = "booked"
    contiguous: bool = True
    waiting: Literal["queue", "reject"] = "queue"
    own_first: bool = True
    need_all: bool = False


@dataclass(slots=True)
class Flow:
    """What travels over links."""

    route: list[tuple[int, int]]
    left: float
    rate: float = 0.0
    since: float = 0.0

    def end(self) -> float:
        """When it arrives at this rate."""
        return self.since + self.left / self.rate


@dataclass(slots=True)
class Node:
    """A node of a job: its processes share it."""

    taken: float  #: seconds
    living: int = 0
    computing: dict[int, float] = field(default_factory=dict)  #: process -> level at which it is done
    served: float = 0.0
    since: float = 0.0
    busy_since: float = 0.0


@dataclass(slots=True, eq=False)
class NaiveJob:
    """A job on the machine; times of its own clock are called tau."""

    idx: int
    program: Program
    size: int
    start: float
    limit: float
    scales: tuple[float, float]
    factor: float
    partition: list[int] | None = None
    first_node: int | None = None
    state: Literal["to come", "waiting", "running", "rejected", "successful", "cancelled"] = "to come"
    end: float = math.nan
    clock: float = 0.0
    computed: float = 0.0
    position: dict[int, int] = field(default_factory=dict)  #: of living processes: the next operation
    node_of: dict[int, int] = field(default_factory=dict)
    nodes: dict[int, Node] = field(default_factory=dict)
    parents: dict[int, tuple[int, float]] = field(default_factory=dict)
    receivers: dict[int, int] = field(default_factory=dict)
    sent: dict[int, int] = field(default_factory=dict)
    received: dict[int, int] = field(default_factory=dict)
    arrivals: dict[tuple[int, int], float] = field(default_factory=dict)
    receiving: dict[tuple[int, int], int] = field(default_factory=dict)
    sending: dict[tuple[int, int], int] = field(default_factory=dict)
    starts: dict[int, float] = field(default_factory=dict)
    results: dict[int, float] = field(default_factory=dict)
    joining: set[int] = field(default_factory=set)
    flows: dict[tuple[int, Any], Flow] = field(default_factory=dict)
    slots: dict[int, int] = field(default_factory=dict)
    holds: list[Hold] = field(default_factory=list)

    def __post_init__(self) -> None:
        counts: dict[int, int] = {}
        for p, operations in enumerate(self.program.processes):
            for operation in operations:
                if operation[0] == "fork":
                    self.parents[operation[1]] = (p, operation[2])
                elif operation[0] == "receive":
                    self.receivers.setdefault(operation[1], p)
                    counts.setdefault(operation[1], 0)
                elif operation[0] == "send":
                    counts[operation[1]] = counts.get(operation[1], 0) + 1
        last = 0
        for channel in sorted(counts):
            self.slots[channel], last = last, last + counts[channel]

    @property
    def initial(self) -> list[int]:
        """The processes that nobody forks."""
        return [p for p in range(len(self.program.processes)) if p not in self.parents]

    def seconds(self, tau: float) -> float:
        """Return when it is tau by the clock of this job."""
        at = self.start + self.factor * tau
        return self.limit if self.limit < at <= self.limit + LATE else at

    def first_event(self, rules: NaiveRules) -> tuple[float, int, int, Any] | None:
        """Return what happens next to this job: tau, class, place in the order, and to what."""
        events: list[tuple[float, int, int, Any]] = []
        for node in self.nodes.values():
            if node.computing:
                due, p = min((due, p) for p, due in node.computing.items())
                speed = share(rules, len(node.computing))
                events.append((node.since + (due - node.served) / speed, COMPUTED, p, p))
        for (kind, what), flow in self.flows.items():
            events.append((flow.end() if flow.rate else math.inf, kind, self._slot(kind, what), what))
        for message, at in self.arrivals.items():
            if message in self.receiving or message in self.sending:
                events.append((at, DELIVERED, self._slot(DELIVERED, message), message))
        events += [(at, FORKED, p, p) for p, at in self.starts.items()]
        events += [(at, RESULT, p, p) for p, at in self.results.items() if p in self.joining]
        return min(events, key=lambda event: event[:3]) if events else None

    def _slot(self, kind: int, what: Any) -> int:
        if kind == DELIVERED:
            return self.slots[what[0]] + int(what[1])
        return int(what)


def share(rules: NaiveRules, computing: int) -> float:
    """Return the speed of each of so many processes on a node."""
    return 1.0 if computing <= rules.cores else rules.cores / computing


def route(topology: Topology, one: int, other: int) -> list[tuple[int, int]]:
    """Return the links from node to node, axis by axis, the shorter way round on a ring."""
    here = topology.coordinates([one])[0].tolist()
    there = topology.coordinates([other])[0].tolist()
    nodes = [one]
    for axis, (side, ring) in enumerate(zip(topology.shape, topology.wrap, strict=True)):
        ahead = (there[axis] - here[axis]) % side
        forwards = ahead <= side - ahead if ring else there[axis] > here[axis]
        step = 1 if forwards else -1
        while here[axis] != there[axis]:
            here[axis] = (here[axis] + step) % side
            nodes.append(topology.node_at(here))
    return list(pairwise(nodes))


def link_id(topology: Topology, link: tuple[int, int]) -> tuple[int, int, int]:
    """Return the place of a link: by node, then axis, forwards first."""
    here, there = topology.coordinates(list(link)).tolist()
    axis = next(a for a in range(len(here)) if here[a] != there[a])
    forwards = (there[axis] - here[axis]) % topology.shape[axis] == 1
    if not topology.wrap[axis]:
        forwards = there[axis] > here[axis]
    return link[0], axis, 0 if forwards else 1
