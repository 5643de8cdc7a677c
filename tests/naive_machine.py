"""A slow machine that executes programs, rule by rule: nothing is kept in order.

The next event is looked for among everything that could happen.
"""

from __future__ import annotations

import math
from itertools import chain
from typing import TYPE_CHECKING, Any

from naive_jobs import (
    COMPUTED,
    DELIVERED,
    FORKED,
    KILL,
    RESULT,
    START,
    Flow,
    NaiveJob,
    NaiveRules,
    Node,
    link_id,
    route,
    share,
)

from allocsolve.model import Topology, node_order
from allocsolve.model.reservation import Hold

if TYPE_CHECKING:
    from collections.abc import Callable


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
        """Start those who can, in the order of arrival; return whether any started or was rejected."""
        changed = False
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
            changed = True
            self.queue.pop(0)
        return changed

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
            job.flows[what] = Flow(route(self.topology, one, other), time, since=tau)
            self.flows_changed = True
        else:
            arrives(tau + time)
        return time > 0

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
                key=lambda link: (left[link] / len(users[link]), link_id(self.topology, link)),
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
