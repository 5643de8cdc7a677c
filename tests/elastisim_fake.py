"""A small ElastiSim: it calls `schedule(jobs, nodes, system)` as the real one does, and dies where that does.

Written from its protocol. Jobs and nodes are made anew whenever they change; of events at one instant each is
a call of its own; what a running job is to gain is reserved, what it is to give up stays with it until its
next scheduling point. One difference: at one instant events come in the order of our engine (completions,
points, submissions, each by job), where SimGrid has an order of its own.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any

from allocsolve.model import Requests
from allocsolve.simulation.view import run_time

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from allocsolve.model import WorkloadProblem


class JobType(Enum):
    """Who may change the size of a job."""

    RIGID = 0
    MOLDABLE = 1
    MALLEABLE = 2
    EVOLVING = 3
    ADAPTIVE = 4


class JobState(Enum):
    """What a job does."""

    PENDING = 1
    RUNNING = 4
    PENDING_RECONFIGURATION = 5
    IN_RECONFIGURATION = 6
    COMPLETED = 7
    KILLED = 8


class NodeState(Enum):
    """Who has a node."""

    FREE = 0
    ALLOCATED = 1
    RESERVED = 2


class InvocationType(Enum):
    """Why the scheduler is called."""

    INVOKE_PERIODIC = 0
    INVOKE_JOB_SUBMIT = 1
    INVOKE_JOB_COMPLETED = 2
    INVOKE_JOB_KILLED = 3
    INVOKE_SCHEDULING_POINT = 4
    INVOKE_EVOLVING_REQUEST = 5
    INVOKE_RECONFIGURATION = 6


class Fatal(Exception):  # noqa: N818 - what the real one does
    """The simulator dies."""


@dataclass(frozen=True)
class Spec:
    """What is simulated: seconds of all the work on so many nodes, in equal iterations."""

    type: JobType
    submit: float
    min_nodes: int
    max_nodes: int
    seconds: Callable[[int], float]
    walltime: int = 0
    iterations: int = 1
    #: By iteration before which it asks: how many nodes more, or fewer.
    requests: Mapping[int, int] = field(default_factory=dict)
    arguments: Mapping[str, str] = field(default_factory=dict)


@dataclass(eq=False)
class _Node:
    identifier: int
    state: NodeState
    assigned_job_ids: set[int]


class Job:
    """What a scheduler is shown of a job."""

    def __init__(self, run: _Run, nodes: list[_Node]) -> None:
        spec = run.spec
        self.identifier, self.type, self.state = run.identifier, spec.type, run.state
        self.walltime, self.submit_time, self.start_time = spec.walltime, spec.submit, run.start
        rigid = spec.type is JobType.RIGID
        self.num_nodes = spec.min_nodes if rigid else None
        self.num_nodes_min = None if rigid else spec.min_nodes
        self.num_nodes_max = None if rigid else spec.max_nodes
        self.num_gpus_per_node_min = self.num_gpus_per_node_max = 0
        self.arguments, self.attributes = dict(spec.arguments), dict[str, str]()
        self.total_phase_count = spec.iterations
        self.assigned_node_ids = set(run.assigned)
        # Hash order, as the real client has it: the order of assignment is lost.
        self.assigned_nodes = [nodes[at] for at in self.assigned_node_ids]
        self.modified = self.kill_flag = False

    def assign(self, nodes: list[_Node]) -> None:
        """Add nodes."""
        self.modified = True
        self.assigned_nodes += [node for node in nodes if node.identifier not in self.assigned_node_ids]
        self.assigned_node_ids |= {node.identifier for node in nodes}

    def remove(self, nodes: list[_Node]) -> None:
        """Take nodes away."""
        self.modified = True
        gone = {node.identifier for node in nodes}
        self.assigned_nodes = [node for node in self.assigned_nodes if node.identifier not in gone]
        self.assigned_node_ids -= gone

    def assign_num_gpus_per_node(self, number: int) -> None:
        """Say how many of the GPUs of each node the job uses."""
        assert number == 0


@dataclass(eq=False)
class _Run:
    """What the simulator knows of a job."""

    identifier: int
    spec: Spec
    state: JobState = JobState.PENDING
    start: float = -1
    end: float = -1
    assigned: list[int] = field(default_factory=list)
    executing: list[int] = field(default_factory=list)
    done: int = 0
    #: Since when on how many nodes.
    pieces: list[tuple[float, int]] = field(default_factory=list)


#: Of events at one instant.
_COMPLETION, _KILL, _POINT, _SUBMISSION, _TICK = range(5)


class FakeElastiSim:
    """The simulator.

    `on_point` and `on_reconfiguration` are its `schedule_on_scheduling_point` and
    `schedule_on_reconfiguration`; `interval` is its `scheduling_interval`, 0 for no periodic calls.
    """

    def __init__(
        self,
        num_nodes: int,
        specs: Iterable[Spec],
        *,
        on_point: bool = True,
        on_reconfiguration: bool = False,
        on_events: bool = True,
        interval: float = 0,
    ) -> None:
        self._specs = sorted(specs, key=lambda spec: spec.submit)
        self._on_point, self._on_reconfiguration = on_point, on_reconfiguration
        self._on_events, self._interval = on_events, interval
        self.now, self.runs = 0.0, list[_Run]()
        self._running: list[int | None] = [None] * num_nodes
        self._expected: list[int | None] = [None] * num_nodes
        self._jobs: list[Job] = []
        self._nodes = [self._node(at) for at in range(num_nodes)]
        self._events = [(spec.submit, _SUBMISSION, at) for at, spec in enumerate(self._specs)]
        heapq.heapify(self._events)
        #: Times and kinds of all calls.
        self.calls: list[tuple[float, InvocationType]] = []

    def run(self, schedule: Callable[[Any, Any, dict[str, Any]], None]) -> list[_Run]:
        """Simulate to the end of all events; return what became of the jobs, by submission."""
        self._schedule = schedule
        if self._interval:
            heapq.heappush(self._events, (self._interval, _TICK, -1))
        while self._events:
            self.now, kind, job = heapq.heappop(self._events)
            if kind == _SUBMISSION:
                self.runs.append(_Run(job, self._specs[job]))
                self._jobs.append(Job(self.runs[job], self._nodes))
                self._event(InvocationType.INVOKE_JOB_SUBMIT, self.runs[job])
            elif kind == _TICK:
                if any(run.end < 0 for run in self.runs) or self._events:
                    heapq.heappush(self._events, (self.now + self._interval, _TICK, -1))
                    self._call(InvocationType.INVOKE_PERIODIC, None)
            elif self.runs[job].end >= 0:
                continue
            elif kind == _POINT:
                self._point(self.runs[job])
            else:
                killed = kind == _KILL
                self._leave(self.runs[job], JobState.KILLED if killed else JobState.COMPLETED)
                self._event(
                    InvocationType.INVOKE_JOB_KILLED if killed else InvocationType.INVOKE_JOB_COMPLETED,
                    self.runs[job],
                )
        return self.runs

    # Calls

    def _event(self, kind: InvocationType, run: _Run) -> None:
        if self._on_events:
            self._call(kind, run)

    def _call(self, kind: InvocationType, run: _Run | None, request: int | None = None) -> None:
        self.calls.append((self.now, kind))
        system: dict[str, Any] = {"time": self.now, "invocation_type": kind}
        if run is not None:
            system["job"] = self._jobs[run.identifier]
        if request is not None:
            system["evolving_request"] = request
        self._schedule(self._jobs, self._nodes, system)
        modified = [job for job in self._jobs if job.modified]
        starting = [change for job in modified if (change := self._take(job)) is not None]
        if run is not None and kind in _STOPPED:
            if run.state is JobState.PENDING_RECONFIGURATION:
                self._reconfigure(run)
                run.state = JobState.RUNNING
            self._go_on(run)
        for start in starting:
            self._start(start)
        for job in modified:
            self._show(self.runs[job.identifier])

    def _take(self, job: Job) -> _Run | None:
        """Take over what the scheduler assigned; return the job if it is to start."""
        run, spec = self.runs[job.identifier], self.runs[job.identifier].spec
        for at in run.assigned:
            self._expect(at, run, expected=False)
        run.assigned = [node.identifier for node in job.assigned_nodes]
        pending = run.state is JobState.PENDING
        if not pending:
            if spec.type in {JobType.RIGID, JobType.MOLDABLE}:
                raise Fatal(f"assigning nodes during runtime is not allowed for job {run.identifier}")
            for at in run.assigned:
                self._expect(at, run, expected=True)
        if not spec.min_nodes <= len(run.assigned) <= spec.max_nodes:
            raise Fatal(f"job {run.identifier} is assigned {len(run.assigned)} nodes")
        if pending:
            return run
        if run.assigned != run.executing and run.state is JobState.RUNNING:
            run.state = JobState.PENDING_RECONFIGURATION
        elif run.assigned == run.executing and run.state is JobState.PENDING_RECONFIGURATION:
            run.state = JobState.RUNNING
        return None

    def _expect(self, at: int, run: _Run, *, expected: bool) -> None:
        if expected:
            for what in (self._running, self._expected):
                if what[at] not in {None, run.identifier}:
                    raise Fatal(f"node {at} is of job {what[at]} and cannot be reserved for {run.identifier}")
        self._expected[at] = run.identifier if expected else None
        self._nodes[at] = self._node(at)

    # Jobs

    def _start(self, run: _Run) -> None:
        for at in run.assigned:
            if self._running[at] is not None:
                raise Fatal(f"node {at} is of job {self._running[at]} and cannot be given {run.identifier}")
        self._hold(run, run.assigned)
        run.state, run.start = JobState.RUNNING, self.now
        if run.spec.walltime:
            heapq.heappush(self._events, (self.now + run.spec.walltime, _KILL, run.identifier))
        self._go_on(run)

    def _go_on(self, run: _Run) -> None:
        """Compute to the end of the next iteration that something can happen after."""
        spec, first = run.spec, run.done
        stops = spec.iterations
        if spec.type is JobType.MALLEABLE:
            stops = first + 1
        elif spec.type is JobType.EVOLVING:
            stops = min((at for at in spec.requests if at > first), default=stops)
        run.done = min(stops, spec.iterations)
        share = (run.done - first) / spec.iterations
        kind = _COMPLETION if run.done == spec.iterations else _POINT
        until = self.now + spec.seconds(len(run.executing)) * share
        heapq.heappush(self._events, (until, kind, run.identifier))

    def _point(self, run: _Run) -> None:
        if run.spec.type is JobType.EVOLVING:
            size = len(run.executing)
            wanted = min(max(size + run.spec.requests[run.done], run.spec.min_nodes), run.spec.max_nodes)
            if wanted != size:
                self._call(InvocationType.INVOKE_EVOLVING_REQUEST, run, wanted)
            else:
                self._go_on(run)
        elif self._on_point:
            self._call(InvocationType.INVOKE_SCHEDULING_POINT, run)
        else:
            changed = run.state is JobState.PENDING_RECONFIGURATION
            if changed:
                self._reconfigure(run)
                self._show(run)
            self._go_on(run)
            if changed and self._on_reconfiguration:
                self._call(InvocationType.INVOKE_RECONFIGURATION, run)
            if changed:
                run.state = JobState.RUNNING
                self._show(run)

    def _reconfigure(self, run: _Run) -> None:
        run.state = JobState.IN_RECONFIGURATION
        for at in run.assigned:
            self._expected[at] = None
        for at in set(run.executing) - set(run.assigned):
            self._running[at] = None
            self._nodes[at] = self._node(at)
        self._hold(run, run.assigned)

    def _hold(self, run: _Run, nodes: list[int]) -> None:
        run.executing = list(nodes)
        run.pieces.append((self.now, len(nodes)))
        for at in nodes:
            self._running[at] = run.identifier
            self._nodes[at] = self._node(at)

    def _leave(self, run: _Run, state: JobState) -> None:
        for at in run.assigned:
            if self._expected[at] == run.identifier:
                self._expected[at] = None
        for at in run.executing:
            self._running[at] = None
        for at in {*run.assigned, *run.executing}:
            self._nodes[at] = self._node(at)
        run.state, run.end = state, self.now
        self._show(run)

    def _show(self, run: _Run) -> None:
        self._jobs[run.identifier] = Job(run, self._nodes)

    def _node(self, at: int) -> _Node:
        state = NodeState.FREE if self._expected[at] is None else NodeState.RESERVED
        running = self._running[at]
        return _Node(at, state, set()) if running is None else _Node(at, NodeState.ALLOCATED, {running})


_STOPPED = {InvocationType.INVOKE_SCHEDULING_POINT, InvocationType.INVOKE_EVOLVING_REQUEST}


def specs_of(problem: WorkloadProblem, *, preferred: bool = True) -> list[Spec]:
    """Return the jobs of a workload as this simulator takes them, without limits.

    Requests have to come between the points that a job of as many equal parts has.
    """
    packed = problem.packed
    specs = []
    for job, row in enumerate(problem.jobs):
        requests, iterations = {}, max(1, int(packed.points[job]))
        if isinstance(row.evolution, Requests):
            iterations = _PARTS
            requests = {round((1 - left) * _PARTS): change for left, change in row.evolution.events}

        def seconds(nodes: int, job: int = job) -> float:
            return run_time(packed, job, nodes)

        specs.append(
            Spec(
                JobType(int(packed.kind[job])),
                float(packed.submit[job]),
                int(packed.min_nodes[job]),
                int(packed.max_nodes[job]),
                seconds,
                iterations=iterations,
                requests=requests,
                arguments={"num_nodes_pref": str(row.nodes)} if preferred else {},
            )
        )
    return specs


#: Into how many parts the work of jobs with requests is cut.
_PARTS = 16
assert math.log2(_PARTS).is_integer()  # shares of it are exact
