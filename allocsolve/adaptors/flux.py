"""A queue policy of ours as a scheduler of Flux, by the interface that it has for Python since 2026."""

from __future__ import annotations

import copy
import heapq
import math
import time
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from allocsolve.adaptors.policy_driver import NamedPolicy, named_policy
from allocsolve.errors import InvalidOption
from allocsolve.model.checks import shown
from allocsolve.simulation import IllegalDecision, Start, forecast
from allocsolve.simulation.snapshot import stateless_view

if TYPE_CHECKING:
    from collections.abc import Iterator

    from allocsolve.simulation import QueueView


class FluxScheduler:
    """What turns `flux.scheduler.Scheduler` into a scheduler with a policy of ours.

    It stands before that class: ``class Easy(FluxScheduler, Scheduler): policy = "easy"``. What else differs
    from Flux's own schedulers is said by attributes of the class.

    Notes
    -----
    The policy sees pending jobs in Flux's order, that is by priority, then by number, and running jobs with
    the ends that the pool tells. It may not remember anything. A job without a time limit runs for ever, as
    far as anybody knows. A request for a range of nodes is a moldable job, one with steps runs on its least
    nodes. A job that needs more nodes than are up is not shown; it is denied if it can never run. If the pool
    does not find what the policy thought was there, because of constraints, the pass ends.
    *Complexity*: O(pending and running jobs) for each pass, and the cost of the policy.
    """

    #: As `allocsolve.adaptors.policy_driver` takes it.
    policy: ClassVar[Any] = "easy"
    #: What is counted: whole nodes, or cores wherever they are.
    unit: ClassVar[Literal["nodes", "cores"]] = "nodes"
    #: With how many jobs at most start times are estimated: each start or end costs a call of the policy.
    most_forecast: ClassVar[int] = 64
    #: Seconds, as those of the pool.
    clock = staticmethod(time.time)

    #: Of Flux: pending jobs, a heap; the pool; what answers messages.
    _queue: list[Any]
    resources: Any
    handle: Any

    def __init__(self, *args: Any) -> None:  # noqa: ANN401 - the handle of Flux, and arguments of the module
        named = named_policy(self.policy)
        if named.remembers:
            raise InvalidOption(
                f"{shown(self.policy)} remembers what it has seen, but jobs are numbered anew at each call: "
                "use a policy without a method reset"
            )
        self._named: NamedPolicy = named
        #: By number: what each running job holds.
        self._held: dict[int, int] = {}
        super().__init__(*args)

    def hello(self, jobid: int, priority: int, userid: int, t_submit: float, R: Any) -> None:  # noqa: ANN401, N803 - Flux's
        """Note a job that has been running before this scheduler was loaded."""
        super().hello(jobid, priority, userid, t_submit, R)  # type: ignore[misc]  # Flux has it
        self._held[jobid] = self._count(R.to_resource_set())

    def free(self, jobid: int, R: Any, final: bool = False) -> None:  # noqa: ANN401, FBT001, FBT002, N803 - Flux's
        """Note that a job gives back what it held, or a part of it."""
        super().free(jobid, R, final)  # type: ignore[misc]  # Flux has it
        left = self._held.pop(jobid, 0) - self._count(R.to_resource_set())
        if not final and left > 0:
            self._held[jobid] = left

    def expiration(self, msg: Any, jobid: int, expiration: float) -> None:  # noqa: ANN401 - of Flux
        """Note that a running job will end at another time."""
        self.resources.update_expiration(jobid, expiration)
        self.handle.respond(msg, None)

    def schedule(self) -> Iterator[None]:
        """Start the jobs that the policy starts now; between two of them, Flux may do something else."""
        now = self.clock()
        view, jobs = self._view(now)
        free = view.free
        for start in list(self._named.decide(view)) if jobs else ():
            if not isinstance(start, Start) or not 0 <= start.job < len(jobs):
                raise IllegalDecision(None, f"{shown(start)} starts no job that waits")
            low, high = view.jobs.min_nodes[start.job], view.jobs.max_nodes[start.job]
            if not low <= start.nodes <= min(high, free):
                raise IllegalDecision(start.job, f"starts on {start.nodes} {self.unit}, {free} are free")
            free -= start.nodes
            blocked = None if start.blocked is None else jobs[start.blocked].jobid
            if not self._started(jobs[start.job], start, now, blocked):
                return
            yield

    def forecast(self) -> Iterator[None]:
        """Tell when pending jobs will start if jobs run as long as they may, and nobody else submits any."""
        view, jobs = self._view(self.clock())
        if not jobs or len(view.jobs.submit) > self.most_forecast or np.isinf(view.jobs.estimate).any():
            return
        for job, at in zip(jobs, forecast(view, self._named.decide).tolist(), strict=True):
            seconds = None if math.isnan(at) else at
            if job._last_annotation != seconds:  # noqa: SLF001 - Flux documents it
                job._last_annotation = seconds  # noqa: SLF001 - it is Flux's
                job.request.annotate({"sched": {"t_estimate": seconds}})
                yield

    def _count(self, resources: Any) -> int:  # noqa: ANN401 - of Flux
        return int(resources.nnodes if self.unit == "nodes" else resources.ncores)

    def _range(self, request: Any) -> tuple[int, int | None]:  # noqa: ANN401 - of Flux
        """Return the least and the most that a request may get; None for all there are."""
        if self.unit == "cores":
            return int(request.ncores), int(request.ncores)
        steps = getattr(request.node_count, "_values", None) is not None
        return int(request.nnodes), int(request.nnodes) if steps else request.nnodes_max

    def _view(self, now: float) -> tuple[QueueView, list[Any]]:
        """Return what the policy sees, and the jobs that wait in its order; deny what can never run."""
        pool = self.resources
        everything = self._count(pool.to_resource_set())
        free = everything - self._count(pool.copy_allocated() | pool.copy_down())
        ends = ((jobid, end or math.inf) for jobid, end in pool.job_end_times())
        running = sorted((max(end, now), self._held[jobid]) for jobid, end in ends if jobid in self._held)
        up = free + sum(held for _, held in running)
        jobs, rows = [], []
        for job in sorted(self._queue):
            low, high = self._range(job.resource_request)
            if low > up:
                self._denied(job, up)
                continue
            jobs.append(job)
            length = job.resource_request.duration or math.inf
            rows.append((job.t_submit, low, up if high is None else min(high, up), length))
        return stateless_view(now, up, free, rows, running), jobs

    def _denied(self, job: Any, up: int) -> None:  # noqa: ANN401 - of Flux
        """Deny a job that can never run, up or not."""
        try:
            self.resources.check_feasibility(job.resource_request)
        except OSError as error:
            self._forget(job)
            job.request.deny(str(error) or f"needs more than {up} {self.unit}")

    def _started(self, job: Any, start: Start, now: float, blocked: int | None) -> bool:  # noqa: ANN401 - of Flux
        """Start a job, and return whether the pool had what the policy thought."""
        request = job.resource_request
        if self.unit == "nodes" and request.nnodes_max != start.nodes:
            request = copy.copy(request)
            request.node_count = type(request.node_count)(start.nodes, start.nodes)
        try:
            granted = self.resources.alloc(job.jobid, request)
        except OSError as error:
            # Flux has two of them, which only their names tell apart.
            if any(kind.__name__ == "InsufficientResources" for kind in type(error).__mro__):
                return False
            self._forget(job)
            job.request.deny(str(error))
            return True
        granted.set_starttime(now)
        if request.duration:
            granted.set_expiration(now + request.duration)
        self._held[job.jobid] = start.nodes
        self._forget(job)
        said = {"resource_summary": granted.dumps()}
        if blocked is not None:
            said["backfill"] = f"{blocked}"
        job.request.success(granted, {"sched": said})
        return True

    def _forget(self, job: Any) -> None:  # noqa: ANN401 - of Flux
        self._queue.remove(job)
        heapq.heapify(self._queue)
