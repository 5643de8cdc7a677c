"""A stand-in for Flux, made from the documentation of its Python schedulers: pool, requests, base class.

Nodes are all that there is. Classes that Flux has too have its names, and of their members those that are
documented.
"""

from __future__ import annotations

import functools
import heapq
import inspect
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from allocsolve.model import WorkloadProblem


class InsufficientResources(OSError):  # noqa: N818 - Flux's name
    """Not now."""


class InfeasibleRequest(OSError):  # noqa: N818 - Flux's name
    """Never."""


class ResourceSet:
    """Nodes, by rank."""

    def __init__(self, ranks: frozenset[int]) -> None:
        self.ranks = ranks

    @property
    def nnodes(self) -> int:
        return len(self.ranks)

    @property
    def ncores(self) -> int:
        return len(self.ranks)

    def __or__(self, other: ResourceSet) -> ResourceSet:
        return ResourceSet(self.ranks | other.ranks)


class Grant:
    """What a job holds: in Flux a pool of its own, which is no set."""

    def __init__(self, ranks: frozenset[int]) -> None:
        self.ranks = ranks
        self.times: dict[str, float] = {}

    def to_resource_set(self) -> ResourceSet:
        return ResourceSet(self.ranks)

    def dumps(self) -> str:
        return "rank" + ",".join(map(str, sorted(self.ranks)))

    def set_starttime(self, at: float) -> None:
        self.times["starttime"] = at

    def set_expiration(self, at: float) -> None:
        self.times["expiration"] = at


class ResourceCount:
    """A number of nodes, or a range of it."""

    def __init__(self, mn: int, mx: int | None, values: frozenset[int] | None = None) -> None:
        self.min, self.max, self._values = mn, mx, values


@dataclass
class ResourceRequest:
    """What a job asks for; 0 seconds: no limit."""

    node_count: ResourceCount
    duration: float
    constraint: frozenset[int] | None = None

    @property
    def nnodes(self) -> int:
        return self.node_count.min

    @property
    def nnodes_max(self) -> int | None:
        return self.node_count.max

    @property
    def ncores(self) -> int:
        return self.node_count.min


class ResourcePool:
    """The nodes of a cluster, and who has them."""

    def __init__(self, num_nodes: int) -> None:
        self.all = frozenset(range(num_nodes))
        self.down: set[int] = set()
        self.jobs: dict[int, tuple[float, Grant]] = {}
        self.clock = 0.0

    @property
    def allocated(self) -> frozenset[int]:
        return frozenset().union(*(held.ranks for _, held in self.jobs.values()))

    def alloc(self, jobid: int, request: ResourceRequest) -> Grant:
        assert jobid not in self.jobs
        allowed = self.all if request.constraint is None else request.constraint
        free = sorted(allowed - self.allocated - self.down)
        if len(free) < request.nnodes:
            self.check_feasibility(request)
            raise InsufficientResources("insufficient resources")
        granted = Grant(frozenset(free[: request.nnodes_max]))
        end = self.clock + request.duration if request.duration else 0.0
        self.jobs[jobid] = (end, granted)
        return granted

    def check_feasibility(self, request: ResourceRequest) -> None:
        allowed = self.all if request.constraint is None else request.constraint
        if len(allowed) < request.nnodes:
            raise InfeasibleRequest(f"unsatisfiable request: need {request.nnodes} node(s)")

    def free(self, jobid: int, R: Grant, final: bool = False) -> None:  # noqa: FBT002, N803 - Flux's
        end, held = self.jobs.pop(jobid)
        assert held.ranks >= R.ranks
        assert not final or held.ranks == R.ranks
        if not final:
            self.jobs[jobid] = (end, Grant(held.ranks - R.ranks))

    def register_alloc(self, jobid: int, R: Grant) -> None:  # noqa: N803 - Flux's
        self.jobs[jobid] = (R.times.get("expiration", 0.0), R)

    def update_expiration(self, jobid: int, expiration: float) -> None:
        self.jobs[jobid] = (expiration, self.jobs[jobid][1])

    def job_end_times(self) -> list[tuple[int, float]]:
        return [(jobid, end) for jobid, (end, _) in self.jobs.items()]

    def to_resource_set(self) -> ResourceSet:
        return ResourceSet(self.all)

    def copy_allocated(self) -> ResourceSet:
        return ResourceSet(self.allocated)

    def copy_down(self) -> ResourceSet:
        return ResourceSet(frozenset(self.down))


class AllocRequest:
    """The open request of a job, answered once."""

    def __init__(self) -> None:
        self.answer: tuple[str, Any] | None = None
        self.granted: Grant | None = None
        self.annotations: list[dict[str, Any]] = []

    def _finalize(self, answer: str, value: object) -> None:
        assert self.answer is None, "a request is answered once"
        self.answer = (answer, value)

    def success(self, R: Grant, annotations: dict[str, Any] | None = None) -> None:  # noqa: N803 - Flux's
        self._finalize("success", annotations)
        self.granted = R

    def deny(self, note: str | None = None) -> None:
        self._finalize("deny", note)

    def annotate(self, annotations: dict[str, Any]) -> None:
        if self.answer is None:
            self.annotations.append(annotations)


@functools.total_ordering
@dataclass(eq=False)
class PendingJob:
    """A job in the queue: higher priorities first, then lower numbers."""

    jobid: int
    priority: int
    t_submit: float
    request: AllocRequest
    resource_request: ResourceRequest
    _last_annotation: float | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PendingJob) and (self.priority, self.jobid) == (other.priority, other.jobid)

    def __hash__(self) -> int:
        return hash(self.jobid)

    def __lt__(self, other: PendingJob) -> bool:
        return (-self.priority, self.jobid) < (-other.priority, other.jobid)


class Scheduler:
    """The base class: its default methods, without messages."""

    def __init__(self, pool: ResourcePool) -> None:
        self.resources, self.handle = pool, _Handle()
        self._queue: list[PendingJob] = []

    def alloc(self, job: PendingJob) -> None:
        heapq.heappush(self._queue, job)

    def free(self, jobid: int, R: Grant, final: bool = False) -> None:  # noqa: FBT002, N803 - Flux's
        self.resources.free(jobid, R, final)

    def hello(self, jobid: int, priority: int, userid: int, t_submit: float, R: Grant) -> None:  # noqa: ARG002, N803 - Flux's
        self.resources.register_alloc(jobid, R)

    def schedule(self) -> object:
        raise NotImplementedError

    def forecast(self) -> object:
        """Tell nothing."""


@dataclass
class _Handle:
    responses: list[Any] = field(default_factory=list)

    def respond(self, msg: object, payload: object) -> None:
        self.responses.append((msg, payload))


class FluxFake:
    """Flux with one instance: what job-manager does with a workload of rigid and moldable jobs.

    Parameters
    ----------
    problem
        The workload; a moldable job asks for a range, its run time is that on however many nodes.
    scheduler
        A class that stands on `Scheduler`.
    """

    def __init__(self, problem: WorkloadProblem, scheduler: Any) -> None:
        self.problem, self.pool = problem, ResourcePool(problem.num_nodes)
        fake = self

        class Timed(scheduler):  # type: ignore[misc]  # its base is given at run time
            @staticmethod
            def clock() -> float:
                return fake.pool.clock

        self.scheduler = Timed(self.pool)
        self.jobs: list[PendingJob] = []
        self.passes = 0
        self.starts: list[float] = [-1.0] * len(problem.jobs)

    def run(self) -> None:
        """Run the workload to its end. Jobs get their numbers as they are submitted."""
        packed = self.problem.packed
        self.order = sorted(range(len(packed.submit)), key=lambda job: (packed.submit[job], job))
        events = [(float(packed.submit[job]), 1, jobid) for jobid, job in enumerate(self.order)]
        for jobid, job in enumerate(self.order):
            count = ResourceCount(int(packed.min_nodes[job]), int(packed.max_nodes[job]))
            wanted = ResourceRequest(count, float(packed.estimate[job]))
            self.jobs.append(PendingJob(jobid, 16, float(packed.submit[job]), AllocRequest(), wanted))
        while events:
            self.pool.clock = events[0][0]
            while events and events[0][0] == self.pool.clock:
                _, submitted, jobid = heapq.heappop(events)
                if submitted:
                    self.scheduler.alloc(self.jobs[jobid])
                else:
                    granted = self.jobs[jobid].request.granted
                    assert granted is not None
                    self.scheduler.free(jobid, granted, final=True)
            for jobid in self.one_pass():
                job = self.order[jobid]
                self.starts[job] = self.pool.clock
                heapq.heappush(events, (self.pool.clock + float(packed.runtime[job]), 0, jobid))

    def one_pass(self) -> list[int]:
        """Run one pass of the scheduler to its end, then its forecast, and return which jobs have started."""
        self.passes += 1
        before = {*self.pool.jobs}
        for method in (self.scheduler.schedule, self.scheduler.forecast):
            result = method()
            if inspect.isgenerator(result):
                for _ in result:
                    """Other events may come here."""
        queue = self.scheduler._queue
        assert queue == sorted(queue)[:1] + queue[1:], "the queue is no heap any more"
        return [job for job in self.pool.jobs if job not in before]
