"""A slow machine that executes programs: the twin of `allocsolve.heuristics.reservation`, rule by rule.

Each job has a clock of its own, in units in which its calibration is about 1 long; a factor turns it into
seconds. Nothing is kept in order: the next event is looked for among everything that could happen.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from allocsolve.heuristics import growth
from allocsolve.model import Program, ReservationProblem, Topology, node_order
from allocsolve.model.reservation_schedule import (
    BOOKED,
    CANCELLED,
    REJECTED,
    SUCCESSFUL,
    Hold,
    ReservationSchedule,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

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


class Machine:
    """Jobs on a mesh or torus, from the first event to the last."""

    def __init__(self, topology: Topology, jobs: list[NaiveJob], rules: NaiveRules) -> None:
        self.topology, self.jobs, self.rules = topology, jobs, rules
        self.curve = {node: at for at, node in enumerate(node_order(topology, "hilbert").tolist())}
        self.snake = node_order(topology, "snake").tolist()
        self.owner: dict[int, NaiveJob] = {}
        self.queue: list[NaiveJob] = []
        self.now = -math.inf
        self.flows_changed = False

    def run(self) -> None:
        """Go from event to event until there is none."""
        while True:
            event = self.next_event()
            if event is None or event[0] > self.now:
                if self.start_waiting_jobs():
                    continue
                if not self.flows_changed:
                    if event is None:
                        return
                    self.now = event[0]
            if self.flows_changed and self.moves_on(event):
                self.set_rates()
                self.flows_changed = False
                continue
            assert event is not None
            _, kind, job_idx = event
            job = self.jobs[job_idx]
            if kind == START:
                self.begin(job)
            elif kind == KILL:
                self.kill(job)
            else:
                self.happen(job)

    def moves_on(self, event: tuple[float, int, int] | None) -> bool:
        """Return whether time moves on with an event, be it by the clock of its job only."""
        if event is None or event[0] > self.now:
            return True
        first = self.jobs[event[2]].first_event(self.rules) if event[1] < KILL else None
        return first is not None and first[0] > self.jobs[event[2]].clock

    def next_event(self) -> tuple[float, int, int] | None:
        """Return when what kind of event happens to which job."""
        events = []
        for idx, job in enumerate(self.jobs):
            if job.state == "to come":
                events.append((job.start, START, idx))
            if job.state in {"waiting", "running"} and job.limit < math.inf:
                events.append((job.limit, KILL, idx))
            event = job.first_event(self.rules) if job.state == "running" else None
            if event is not None and event[0] < math.inf:
                events.append((job.seconds(event[0]), event[1], idx))
        return min(events) if events else None

    # Jobs

    def begin(self, job: NaiveJob) -> None:
        """Start a job on its partition, or let it wait for a node."""
        if job.partition is None:
            job.state = "waiting"
            self.queue.append(job)
        else:
            self.start(job, sorted(job.partition, key=self.curve.__getitem__))

    def start_waiting_jobs(self) -> bool:
        """Start those who can, in the order of arrival; return whether any did."""
        started = False
        while self.queue:
            job = self.queue[0]
            wanted = min(job.size, len(job.initial))
            nodes = self.drop(job, wanted)
            if not nodes or (self.rules.need_all and len(nodes) < wanted):
                if self.rules.waiting == "queue":
                    break
                job.state = "rejected"
            else:
                job.start = self.now
                self.start(job, sorted(nodes, key=self.curve.__getitem__))
                started = True
            self.queue.pop(0)
        return started

    def drop(self, job: NaiveJob, wanted: int) -> list[int]:
        """Return the nodes on which a job starts that leaks."""
        width = self.topology.shape[0]
        row = job.idx % (len(self.snake) // width)
        along = self.snake[row * width :] + self.snake[: row * width]
        if job.first_node is not None:
            along = [job.first_node]
        nodes: list[int] = []
        for seed in along:
            if seed in self.owner or seed in nodes:
                continue
            if nodes and self.rules.contiguous:
                break
            nodes.append(seed)
            at = nodes.index(seed)
            while at < len(nodes):
                for other in self.topology.neighbours(nodes[at]):
                    if other not in self.owner and other not in nodes:
                        nodes.append(other)
                at += 1
        return nodes[:wanted]

    def start(self, job: NaiveJob, nodes: list[int]) -> None:
        """Lay the first processes on the nodes and let them go."""
        job.state = "running"
        for node in nodes:
            self.take(job, node, self.now)
        initial = job.initial
        for i, p in enumerate(initial):
            at = i if len(nodes) >= len(initial) else i * len(nodes) // len(initial)
            job.node_of[p] = nodes[at]
            job.nodes[nodes[at]].living += 1
            job.position[p] = 0
        for p in initial:
            self.go_on(job, p, 0.0)

    def take(self, job: NaiveJob, node: int, at: float) -> None:
        """Give a node to a job."""
        assert node not in self.owner
        self.owner[node] = job
        job.nodes[node] = Node(at)

    def give_back(self, job: NaiveJob, node: int, at: float) -> None:
        """Take a node from a job."""
        job.holds.append(Hold(node, job.nodes.pop(node).taken, at))
        del self.owner[node]

    def kill(self, job: NaiveJob) -> None:
        """Stop a job at its limit."""
        if job.state == "waiting":
            self.queue.remove(job)
        tau = (job.limit - job.start) / job.factor
        for node in sorted(job.nodes):
            if job.nodes[node].computing:
                job.computed += tau - job.nodes[node].busy_since
            self.give_back(job, node, job.limit)
        self.flows_changed |= bool(job.flows)
        job.flows.clear()
        job.state, job.end = "cancelled", job.limit

    # Processes

    def happen(self, job: NaiveJob) -> None:
        """Let the next event of a job happen."""
        event = job.first_event(self.rules)
        assert event is not None
        tau, kind, _, what = event
        job.clock = tau
        if job.flows.pop((kind, what), None) is not None:
            self.flows_changed = True
        if kind == COMPUTED:
            self.computed(job, what, tau)
        elif kind == DELIVERED:
            job.arrivals[what] = tau
            for waiting in (job.receiving, job.sending):
                if what in waiting:
                    self.go_on(job, waiting.pop(what), tau)
        elif kind == FORKED:
            job.starts.pop(what, None)
            self.go_on(job, what, tau)
        else:
            job.results[what] = tau
            if what in job.joining:
                job.joining.remove(what)
                self.go_on(job, job.parents[what][0], tau)

    def computed(self, job: NaiveJob, p: int, tau: float) -> None:
        """End a computation."""
        node = job.nodes[job.node_of[p]]
        node.served, node.since = node.computing.pop(p), tau
        if not node.computing:
            job.computed += tau - node.busy_since
        self.go_on(job, p, tau)

    def go_on(self, job: NaiveJob, p: int, tau: float) -> None:
        """Let a process go on until it has to wait, or ends."""
        operations = job.program.processes[p]
        while job.position[p] < len(operations):
            operation = operations[job.position[p]]
            job.position[p] += 1
            if operation[0] == "compute":
                goes_on = self.compute(job, p, operation[1], tau)
            elif operation[0] == "send":
                goes_on = self.send(job, p, operation[1], operation[2], tau)
            elif operation[0] == "receive":
                goes_on = self.receive(job, p, operation[1], tau)
            elif operation[0] == "fork":
                goes_on = self.fork(job, p, operation[1], operation[2], tau)
            else:
                q = operation[1]
                goes_on = q in job.results and job.results[q] <= tau
                if not goes_on:
                    job.joining.add(q)
            if not goes_on:
                return
        self.end(job, p, tau)

    def compute(self, job: NaiveJob, p: int, work: float, tau: float) -> bool:
        """Begin to compute; without work there is nothing to do."""
        work = job.scales[0] * work
        if work == 0.0:
            return True
        node = job.nodes[job.node_of[p]]
        if node.computing:
            node.served += (tau - node.since) * share(self.rules, len(node.computing))
        else:
            node.served, node.busy_since = 0.0, tau
        node.since = tau
        node.computing[p] = node.served + work
        return False

    def send(self, job: NaiveJob, p: int, channel: int, weight: float, tau: float) -> bool:
        """Send a message; if synchronous, wait until it has arrived."""
        number = job.sent.get(channel, 0)
        job.sent[channel] = number + 1
        message = channel, number
        target = job.receivers.get(channel, p)
        while target not in job.node_of:
            target = job.parents[target][0]

        def arrives(at: float) -> None:
            job.arrivals[message] = at

        travels = self.travel(job, (p, target), weight, tau, (DELIVERED, message), arrives)
        if self.rules.synchronous and travels:
            job.sending[message] = p
            return False
        return True

    def receive(self, job: NaiveJob, p: int, channel: int, tau: float) -> bool:
        """Take the next message of a channel, or wait for it."""
        message = channel, job.received.get(channel, 0)
        job.received[channel] = message[1] + 1
        if message in job.arrivals and job.arrivals[message] <= tau:
            return True
        job.receiving[message] = p
        return False

    def fork(self, job: NaiveJob, p: int, q: int, weight: float, tau: float) -> bool:
        """Find a node for a process and let it start there when its input has arrived."""
        parent = job.node_of[p]
        node = self.room_in_partition(job, parent) if job.partition else self.room(job, parent)
        if node not in job.nodes:
            self.take(job, node, job.seconds(tau))
        job.nodes[node].living += 1
        job.node_of[q], job.position[q] = node, 0

        def arrives(at: float) -> None:
            job.starts[q] = at

        self.travel(job, (p, q), weight, tau, (FORKED, q), arrives)
        return True

    def room_in_partition(self, job: NaiveJob, parent: int) -> int:
        """Return the least loaded node, of these the nearest, of these the first."""
        return min(job.nodes, key=lambda n: (job.nodes[n].living, self.topology.hop_distance(parent, n), n))

    def room(self, job: NaiveJob, parent: int) -> int:
        """Return where a job leaks to."""
        if self.rules.own_first and job.nodes[parent].living < self.rules.cores:
            return parent
        order = [parent]
        for node in order:
            order += [n for n in self.topology.neighbours(node) if n in job.nodes and n not in order]
        order += [n for n in sorted(job.nodes) if n not in order]
        free = [n for n in chain.from_iterable(map(self.topology.neighbours, order)) if n not in self.owner]
        if not free and not self.rules.contiguous:
            at = self.snake.index(parent)
            free = [n for n in self.snake[at:] + self.snake[:at] if n not in self.owner]
        return free[0] if free else parent

    def end(self, job: NaiveJob, p: int, tau: float) -> None:
        """End a process: its result travels, its node may be given back, its job may be done."""
        here = job.node_of[p]
        del job.position[p]
        if p in job.parents:
            parent, weight = job.parents[p]

            def arrives(at: float) -> None:
                job.results[p] = at

            self.travel(job, (p, parent), weight, tau, (RESULT, p), arrives)
        node = job.nodes[here]
        node.living -= 1
        if node.living == 0 and job.partition is None:
            self.give_back(job, here, job.seconds(tau))
        if not job.position:
            job.state, job.end = "successful", job.seconds(tau)
            self.flows_changed |= bool(job.flows)
            job.flows.clear()
            for left in sorted(job.nodes):
                self.give_back(job, left, job.end)

    # Messages

    def travel(
        self,
        job: NaiveJob,
        ends: tuple[int, int],
        weight: float,
        tau: float,
        what: tuple[int, Any],
        arrives: Callable[[float], None],
    ) -> bool:
        """Send something on its way; return whether it is on the way at all."""
        one, other = (job.node_of[p] for p in ends)
        time = 0.0
        if one != other:
            part = self.rules.hop_part
            time = job.scales[1] * weight * (1.0 - part + part * self.topology.hop_distance(one, other))
        if time > 0 and self.rules.contention:
            job.flows[what] = Flow(self.route(one, other), time, since=tau)
            self.flows_changed = True
        else:
            arrives(tau + time)
        return time > 0

    def route(self, one: int, other: int) -> list[tuple[int, int]]:
        """Return the links from node to node, axis by axis, the shorter way round on a ring."""
        here = self.topology.coordinates([one])[0].tolist()
        there = self.topology.coordinates([other])[0].tolist()
        nodes = [one]
        for axis, (side, ring) in enumerate(zip(self.topology.shape, self.topology.wrap, strict=True)):
            ahead = (there[axis] - here[axis]) % side
            forwards = ahead <= side - ahead if ring else there[axis] > here[axis]
            step = 1 if forwards else -1
            while here[axis] != there[axis]:
                here[axis] = (here[axis] + step) % side
                nodes.append(self.topology.node_at(here))
        return list(pairwise(nodes))

    def set_rates(self) -> None:
        """Share all links fairly: link by link, the one with the least for each of its flows first."""
        flows = [(job, flow) for job in self.jobs if job.state == "running" for flow in job.flows.values()]
        left = {link: 1.0 for _, flow in flows for link in flow.route}
        rates: dict[int, float] = {}
        while len(rates) < len(flows):
            waiting = [flow for _, flow in flows if id(flow) not in rates]
            users = {link: [flow for flow in waiting if link in flow.route] for link in left}
            link = min(
                (link for link in left if users[link]),
                key=lambda link: (left[link] / len(users[link]), self.link_id(link)),
            )
            rate = left[link] / len(users[link])
            for flow in users[link]:
                rates[id(flow)] = rate
                for crossed in flow.route:
                    left[crossed] -= rate
        times = [self.local_time(job) for job, _ in flows]
        for (_, flow), tau in zip(flows, times, strict=True):
            if rates[id(flow)] != flow.rate:
                flow.left = max(0.0, flow.left - flow.rate * (tau - flow.since))
                flow.since, flow.rate = tau, rates[id(flow)]

    def local_time(self, job: NaiveJob) -> float:
        """Return what the clock of a job says now."""
        if job.seconds(job.clock) >= self.now:
            return job.clock
        tau = (self.now - job.start) / job.factor
        event = job.first_event(self.rules)
        return max(job.clock, tau if event is None else min(tau, event[0]))

    def link_id(self, link: tuple[int, int]) -> tuple[int, int, int]:
        """Return the place of a link: by node, then axis, forwards first."""
        here, there = self.topology.coordinates(list(link)).tolist()
        axis = next(a for a in range(len(here)) if here[a] != there[a])
        forwards = (there[axis] - here[axis]) % self.topology.shape[axis] == 1
        if not self.topology.wrap[axis]:
            forwards = there[axis] > here[axis]
        return link[0], axis, 0 if forwards else 1


# Calibration and whole problems


def calibrated(
    topology: Topology, program: Program, size: int, rules: NaiveRules
) -> tuple[tuple[float, float], float]:
    """Return the scales of a program and the length that it then has on its reference partition."""
    forks = any(operation[0] == "fork" for operations in program.processes for operation in operations)
    demand = rules.reference == "demand" and forks
    middle = topology.node_at([side // 2 for side in topology.shape])
    nodes = growth(topology, np.ones(topology.num_nodes, dtype=np.bool_), size, seeds="all")
    assert nodes is not None
    alone = rules._replace(contiguous=True, waiting="queue", own_first=True, need_all=False)

    def length(compute: float, message: float) -> float:
        job = NaiveJob(0, program, size, 0.0, math.inf, (compute, message), 1.0)
        if demand:
            job.first_node = middle
        else:
            job.partition = nodes.tolist()
        Machine(topology, [job], alone).run()
        return job.end

    computing, communicating, part = length(1.0, 0.0), length(0.0, 1.0), rules.communication
    if communicating == 0.0:
        scales = 1.0 / computing, 0.0
    elif computing == 0.0:
        scales = 0.0, 1.0 / communicating
    else:
        scales = (1.0 - part) / computing, part / communicating
    return scales, length(*scales)


def _job(
    problem: ReservationProblem, idx: int, programs: Callable[[int], Program], rules: NaiveRules
) -> NaiveJob:
    job, program = problem.jobs[idx], programs(idx)
    scales, length = calibrated(problem.topology, program, job.nodes, rules)
    return NaiveJob(idx, program, job.nodes, job.arrival, job.deadline, scales, job.runtime / length)


def naive_execute(
    problem: ReservationProblem,
    schedule: ReservationSchedule,
    programs: Callable[[int], Program],
    rules: NaiveRules,
    overrun: str = "end",
) -> ReservationSchedule:
    """Execute bookings of jobs, all of which have programs."""
    jobs = {}
    for idx in np.flatnonzero(schedule.outcomes == BOOKED).tolist():
        job = _job(problem, idx, programs, rules)
        holds = schedule.holds(idx)
        job.partition, job.start, job.limit = [hold.node for hold in holds], holds[0].start, holds[0].end
        if overrun == "grace":
            job.limit = min(
                [problem.jobs[idx].deadline]
                + [
                    other.start
                    for j in range(len(problem.jobs))
                    for other in schedule.holds(j)
                    if other.node in job.partition and other.start >= holds[0].end
                ]
            )
        jobs[idx] = job
    Machine(problem.topology, list(jobs.values()), rules).run()
    for idx, job in jobs.items():
        job.holds = [hold._replace(end=max(hold.end, job.end)) for hold in schedule.holds(idx)]
    return _schedule(len(problem.jobs), jobs)


def naive_leak(
    problem: ReservationProblem, programs: Callable[[int], Program], rules: NaiveRules
) -> ReservationSchedule:
    """Let all jobs leak that can be in time."""
    jobs = {
        idx: _job(problem, idx, programs, rules)
        for idx, job in enumerate(problem.jobs)
        if job.arrival + job.runtime <= job.deadline
    }
    Machine(problem.topology, list(jobs.values()), rules).run()
    return _schedule(len(problem.jobs), jobs)


def _schedule(count: int, jobs: dict[int, NaiveJob]) -> ReservationSchedule:
    codes = {"rejected": REJECTED, "successful": SUCCESSFUL, "cancelled": CANCELLED}
    outcomes, ends, computed = [REJECTED] * count, [math.nan] * count, [0.0] * count
    rows: list[list[Hold]] = [[] for _ in range(count)]
    for idx, job in jobs.items():
        outcomes[idx], ends[idx] = codes[job.state], job.end
        computed[idx] = job.computed * job.factor
        rows[idx] = sorted(joined(job.holds), key=lambda hold: (hold.start, hold.node))
    flat = [hold for one in rows for hold in one]
    return ReservationSchedule(
        np.array(outcomes),
        np.array(ends),
        np.cumsum([0, *map(len, rows)]),
        np.array([hold.node for hold in flat], dtype=np.int64),
        np.array([hold.start for hold in flat]),
        np.array([hold.end for hold in flat]),
        np.array(computed),
    )


def joined(holds: Iterable[Hold]) -> list[Hold]:
    """Return stretches in which a node was not given back, those without length left out."""
    rows: list[Hold] = []
    for hold in sorted(holds):
        if rows and rows[-1].node == hold.node and rows[-1].end == hold.start:
            rows[-1] = Hold(hold.node, rows[-1].start, hold.end)
        else:
            rows.append(hold)
    return [hold for hold in rows if hold.start < hold.end]


# Programs of Linnert et al. 2024


def naive_linnert(kind: int, n: int, job_idx: int, seed: int) -> Program:
    """Return the program of a kind, from its description."""
    draw = np.random.default_rng(7919 * job_idx + 104729 * seed + 17).random
    if kind == 0:
        root = [("send", 2 * i, 1) for i in range(n - 1)] + [("compute", 1)]
        root += [("receive", 2 * i + 1) for i in range(n - 1)]
        return Program(
            [root, *([("receive", 2 * i), ("compute", 1), ("send", 2 * i + 1, 1)] for i in range(n - 1))]
        )
    if kind == 1:
        rounds = range(math.ceil(math.log2(n)))
        return Program(
            [
                [
                    operation
                    for _ in range(10)
                    for operation in chain(
                        [("compute", 1)],
                        *([("send", r * n + i, 1), ("receive", r * n + (i - 2**r) % n)] for r in rounds),
                    )
                ]
                for i in range(n)
            ]
        )
    if kind == 2:
        most = 1 + int(draw() * 6)
        targets = []
        for _ in range(10):
            target = list(range(n))
            for i in range(n - 1, 0, -1):
                j = int(draw() * (i + 1))
                target[i], target[j] = target[j], target[i]
            targets.append(target)
        roots: list[list[object]] = []
        children: list[list[object]] = []
        for i in range(n):
            roots.append([])
            for step in range(10):
                count = 1 + int(draw() * most) if draw() < 0.5 else 0
                mine = range(n + len(children), n + len(children) + count)
                children += [[("compute", 0.5 + draw())] for _ in mine]
                roots[i] += [("fork", q, 0.5) for q in mine]
                roots[i] += [("compute", 0.5 + draw())]
                roots[i] += [("join", q) for q in mine]
                source = targets[step].index(i)
                roots[i] += [("send", step * n + i, 1), ("receive", step * n + source)]
        return Program([*roots, *children])
    peak = max(1, round(n * 6 * draw()))
    full = int(draw() * 10)
    sizes = [1 + int(draw() * peak) for _ in range(10)]
    sizes[full] = peak
    processes: list[list[object]] = [[]]

    def wave(p: int, size: int) -> None:
        work = 0.5 + draw()
        forked = []
        operations: list[object] = []
        for part in (size // 2, (size - 1) // 2):
            if part:
                forked.append(len(processes))
                processes.append([])
                wave(forked[-1], part)
        operations += [("fork", q, 1) for q in forked]
        operations += [("compute", work)]
        operations += [("join", q) for q in forked]
        processes[p] += operations

    for size in sizes:
        wave(0, size)
    return Program(processes)
