"""CQSim and RAPS as far as their schedulers see them: a loop of events, and one of ticks."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from allocsolve.adaptors import RapsScheduler, cqsim_modules

if TYPE_CHECKING:
    from collections.abc import Callable

    from allocsolve.model import WorkloadProblem


class _Trace:
    """The job module of CQSim."""

    def __init__(self, problem: WorkloadProblem) -> None:
        packed = problem.packed
        self._rows: dict[int, dict[str, Any]] = {
            job: {
                "submit": float(packed.submit[job]),
                "run": float(packed.runtime[job]),
                "reqProc": int(packed.nodes[job]),
                "reqTime": float(packed.estimate[job]),
                "userID": 1,
                "start": -1,
            }
            for job in range(len(problem.jobs))
        }
        self.waiting: list[int] = []
        self.running: list[int] = []

    def job_info(self, index: int) -> dict[str, Any]:
        return self._rows[index]

    def run_list(self) -> list[int]:
        return self.running

    def forget(self, index: int) -> None:
        """Drop a job that has ended: it cannot be asked for any more."""
        self.running.remove(index)
        del self._rows[index]


class _Nodes:
    """The node module of CQSim: it counts, and does nothing if a job does not fit."""

    def __init__(self, total: int) -> None:
        self.total = self.idle = total

    def get_tot(self) -> int:
        return self.total

    def get_avail(self) -> int:
        return self.idle

    def is_available(self, proc_num: int) -> int:
        return int(self.idle >= proc_num)

    def node_allocate(self, proc_num: int) -> None:
        assert self.is_available(proc_num)
        self.idle -= proc_num


def cqsim_starts(problem: WorkloadProblem, policy: Any) -> list[float]:
    """Return when jobs start: one call an event, ends first, and the head starts as long as it fits."""
    trace, nodes = _Trace(problem), _Nodes(problem.num_nodes)
    modules = cqsim_modules({"job": trace, "node": nodes, "backfill": None}, policy)
    rows = [trace.job_info(job) for job in range(len(problem.jobs))]
    events = [(row["submit"], 2, job, job) for job, row in enumerate(rows)]
    heapq.heapify(events)
    starts, serial = [-1.0] * len(rows), 0

    def start(job: int, now: float) -> None:
        nonlocal serial
        modules["node"].node_allocate(rows[job]["reqProc"])
        rows[job]["start"] = starts[job] = now
        trace.waiting.remove(job)
        trace.running.append(job)
        heapq.heappush(events, (now + rows[job]["run"], 1, serial, job))
        serial += 1

    while events:
        now, kind, _, job = heapq.heappop(events)
        if kind == 1:
            nodes.idle += rows[job]["reqProc"]
            trace.forget(job)
        else:
            trace.waiting.append(job)
        for head in [*trace.waiting]:
            if modules["node"].is_available(rows[head]["reqProc"]):
                start(head, now)
                continue
            queue = [{"index": one, "proc": rows[one]["reqProc"]} for one in trace.waiting]
            for one in modules["backfill"].backfill(queue, {"time": now}):
                start(one, now)
            break
    return starts


@dataclass
class _Job:
    """A job of RAPS."""

    id: int
    submit_time: int
    nodes_required: int
    time_limit: int
    expected_run_time: int
    account: str = "a"
    start_time: int | None = None
    current_run_time: int = 0
    scheduled_nodes: list[int] = field(default_factory=list)


class RapsManager:
    """The resource manager of RAPS: a list of free nodes, of which a job gets the first."""

    def __init__(self, total_nodes: int) -> None:
        self.total_nodes = total_nodes
        self.available_nodes = [*range(total_nodes)]


class _Default:
    """The scheduler that RAPS makes."""

    def __init__(self, manager: RapsManager) -> None:
        self.policy, self.bfpolicy, self.resource_manager = "fcfs", "easy", manager

    def place_job_and_manage_queues(
        self, job: _Job, queue: list[_Job], running: list[_Job], current_time: int
    ) -> None:
        free = self.resource_manager.available_nodes
        assert len(free) >= job.nodes_required
        job.scheduled_nodes = free[: job.nodes_required]
        self.resource_manager.available_nodes = free[job.nodes_required :]
        job.start_time = current_time
        running.append(job)
        queue.remove(job)

    def schedule(
        self,
        queue: list[_Job],
        running: list[_Job],
        current_time: int,
        *,
        accounts: Any,  # noqa: ARG002 - as RAPS has it
        sorted: bool,  # noqa: A002, ARG002 - as RAPS has it
    ) -> None:
        for job in [*queue]:
            self.place_job_and_manage_queues(job, queue, running, current_time)


def raps_starts(
    problem: WorkloadProblem, policy: Any, choose: Callable[[Any, int], list[int] | None] | None = None
) -> list[int | None]:
    """Return when jobs start: a tick a second, in which a job is seen to have ended a second too late."""
    packed, manager = problem.packed, RapsManager(problem.num_nodes)
    scheduler = RapsScheduler(_Default(manager), policy, choose=choose)
    columns = zip(packed.submit, packed.nodes, packed.estimate, packed.runtime, strict=True)
    jobs = [
        _Job(job, int(submit), int(nodes), int(limit), int(runtime))
        for job, (submit, nodes, limit, runtime) in enumerate(columns)
    ]
    queue: list[_Job] = []
    running: list[_Job] = []
    to_come, now = sorted(jobs, key=lambda job: job.submit_time), 0
    while to_come or queue or running:
        ended = [job for job in running if job.current_run_time >= job.expected_run_time]
        for job in ended:
            running.remove(job)
            manager.available_nodes = sorted([*manager.available_nodes, *job.scheduled_nodes])
        new = [job for job in to_come if job.submit_time <= now]
        to_come = to_come[len(new) :]
        queue += new
        if new or ended:
            scheduler.schedule(queue, running, now, accounts=None, sorted=not new)
        for job in running:
            assert job.start_time is not None
            job.current_run_time = now - job.start_time
        now += 1
    return [job.start_time for job in jobs]
