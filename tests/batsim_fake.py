"""A stand-in for Batsim, made from its documented protocol (version 4): JSON messages, one an instant.

It is the network handler of pybatsim and the simulator behind it in one: `recv` gives the next message,
`send` takes the answer, and everything that the protocol forbids raises.
"""

from __future__ import annotations

import heapq
import json
from typing import TYPE_CHECKING, Any

from allocsolve.model import MOLDABLE
from allocsolve.simulation.view import can_run_on, run_time

if TYPE_CHECKING:
    from allocsolve.model import WorkloadProblem

#: The workload that all jobs are of.
WORKLOAD = "w0"


class BatsimFake:
    """Batsim with one workload: all machines are equal, a job runs for its delay.

    Parameters
    ----------
    problem
        Rigid and moldable jobs. A moldable one has a profile for each size, in its field ``sizes``.
    acknowledged
        Whether dynamic registrations are acknowledged.
    first_machine
        The number of the first machine: there may be others that are none of compute.
    """

    def __init__(
        self, problem: WorkloadProblem, *, acknowledged: bool = False, first_machine: int = 0
    ) -> None:
        self.machines = range(first_machine, first_machine + problem.num_nodes)
        self.dynamic = bool((problem.packed.kind == MOLDABLE).any())
        self.acknowledged = acknowledged
        self.now = 0.0
        self.profiles: dict[str, Any] = {}
        self.described = [self._described(problem, job) for job in range(len(problem.jobs))]
        self.starts: dict[str, float] = {}
        self.sizes: dict[str, int] = {}
        self.allocations: dict[str, tuple[int, ...]] = {}
        self.rejected: list[str] = []
        self._free = set(self.machines)
        self._waiting: dict[str, dict[str, Any]] = {}
        self._registration_finished = not self.dynamic
        self._calls: list[float] = []
        self._to_come = sorted(self.described, key=lambda job: float(job["subtime"]))
        self._ends: list[tuple[float, str]] = []
        self._outbox: list[dict[str, Any]] = [self._event("SIMULATION_BEGINS", self._begin())]
        self._static_over = self._over = False
        self.messages = 0

    def _described(self, problem: WorkloadProblem, job: int) -> dict[str, Any]:
        row, packed = problem.jobs[job], problem.packed
        described: dict[str, Any] = {
            "id": f"{WORKLOAD}!{job}",
            "subtime": float(row.submit),
            "res": int(row.nodes),
            "profile": f"p{job}",
        }
        estimate = float(packed.estimate[job])
        self.profiles[f"p{job}"] = {"type": "delay", "delay": float(row.runtime)}
        described["walltime"] = estimate
        if packed.kind[job] == MOLDABLE:
            described["sizes"] = {}
            low, high = int(packed.min_nodes[job]), int(packed.max_nodes[job])
            for size in range(low, high + 1):
                if not can_run_on(packed, job, size):
                    continue
                runtime = float(run_time(packed, job, size))
                self.profiles[f"p{job}_{size}"] = {"type": "delay", "delay": runtime}
                walltime = runtime * (estimate / float(row.runtime))
                described["sizes"][str(size)] = {"profile": f"p{job}_{size}", "walltime": walltime}
        return described

    def _begin(self) -> dict[str, Any]:
        machines = [
            {"id": machine, "name": f"m{machine}", "state": "idle", "properties": {}, "zone_properties": {}}
            for machine in self.machines
        ]
        config = {
            "redis-enabled": False,
            "profiles-forwarded-on-submission": False,
            "dynamic-jobs-enabled": self.dynamic,
            "dynamic-jobs-acknowledged": self.acknowledged,
            "profile-reuse-enabled": False,
            "sched-config": "",
            "forward-unknown-events": False,
        }
        return {
            "nb_resources": len(machines),
            "nb_compute_resources": len(machines),
            "nb_storage_resources": 0,
            "allow_compute_sharing": False,
            "allow_storage_sharing": True,
            "config": config,
            "compute_resources": machines,
            "storage_resources": [],
            "workloads": {WORKLOAD: "workload.json"},
            "profiles": {WORKLOAD: self.profiles},
        }

    def _event(self, kind: str, data: dict[str, Any]) -> dict[str, Any]:
        return {"timestamp": self.now, "type": kind, "data": data}

    # What pybatsim calls of a network handler.

    def bind(self) -> None:
        """Do nothing: both sides are in one process."""

    def close(self) -> None:
        """Do nothing, either."""

    def recv(self, *, blocking: bool = False) -> dict[str, Any] | None:  # noqa: ARG002 - of the interface
        """Return the next message; None, which is a deadlock, if nothing will ever happen."""
        self._go_on()
        if not self._outbox:
            return None
        message = {"now": self.now, "events": self._outbox}
        self._outbox = []
        self.messages += 1
        parsed: dict[str, Any] = json.loads(json.dumps(message))
        return parsed

    def send(self, message: dict[str, Any]) -> None:
        """Take the answer to the last message."""
        message = json.loads(json.dumps(message))
        stamps = [event["timestamp"] for event in message["events"]]
        assert stamps == sorted(stamps), "timestamps descend"
        assert all(self.now <= stamp <= message["now"] for stamp in stamps), "an event is not of now"
        assert message["now"] == self.now, "these schedulers take no time"
        for event in message["events"]:
            getattr(self, f"_do_{event['type'].lower()}")(event["data"])

    # The simulation.

    def _go_on(self) -> None:
        """Go to the next instant unless something is still to be told of this one."""
        if self._outbox or self._over:
            return
        done = not (self._to_come or self._ends or self._waiting)
        if done and self._registration_finished:
            self._outbox.append(self._event("SIMULATION_ENDS", {}))
            self._over = True
            return
        instants = [float(job["subtime"]) for job in self._to_come[:1]]
        instants += [end for end, _ in self._ends[:1]] + self._calls[:1]
        if not instants:
            return
        self.now = min(instants)
        while self._ends and self._ends[0][0] == self.now:
            self._complete(heapq.heappop(self._ends)[1])
        while self._to_come and self._to_come[0]["subtime"] == self.now:
            job = self._to_come.pop(0)
            self._waiting[job["id"]] = job
            self._outbox.append(self._event("JOB_SUBMITTED", {"job_id": job["id"], "job": job}))
        while self._calls and self._calls[0] == self.now:
            heapq.heappop(self._calls)
            self._outbox.append(self._event("REQUESTED_CALL", {}))
        if not (self._to_come or self._static_over):
            self._static_over = True
            self._outbox.append(self._event("NOTIFY", {"type": "no_more_static_job_to_submit"}))

    def _complete(self, job: str) -> None:
        nodes = self.allocations[job]
        self._free.update(nodes)
        data = {
            "job_id": job,
            "job_state": "COMPLETED_SUCCESSFULLY",
            "return_code": 0,
            "alloc": " ".join(map(str, nodes)),
        }
        self._outbox.append(self._event("JOB_COMPLETED", data))

    def _do_execute_job(self, data: dict[str, Any]) -> None:
        job = self._waiting.pop(data["job_id"])
        nodes = _machines(data["alloc"])
        assert len(nodes) == job["res"], f"{job['id']} asked for {job['res']} machines, not {data['alloc']}"
        assert self._free.issuperset(nodes), f"{job['id']}: {data['alloc']} are not all free"
        self._free.difference_update(nodes)
        name = job["id"]
        self.starts[name], self.sizes[name], self.allocations[name] = self.now, len(nodes), nodes
        heapq.heappush(self._ends, (self.now + self.profiles[job["profile"]]["delay"], name))

    def _do_reject_job(self, data: dict[str, Any]) -> None:
        self._waiting.pop(data["job_id"])
        self.rejected.append(data["job_id"])

    def _do_call_me_later(self, data: dict[str, Any]) -> None:
        assert data["timestamp"] > self.now
        heapq.heappush(self._calls, data["timestamp"])

    def _do_register_profile(self, data: dict[str, Any]) -> None:
        assert self.dynamic, "registration is not enabled"
        self.profiles[data["profile_name"]] = data["profile"]

    def _do_register_job(self, data: dict[str, Any]) -> None:
        assert self.dynamic, "registration is not enabled"
        assert not self._registration_finished, "registration is over"
        job = data["job"]
        assert data["job_id"] == job["id"]
        assert job["id"] not in self.starts.keys() | self._waiting.keys() | set(self.rejected)
        assert job["profile"] in self.profiles
        self._waiting[job["id"]] = job
        if self.acknowledged:
            self._outbox.append(self._event("JOB_SUBMITTED", {"job_id": job["id"], "job": job}))

    def _do_notify(self, data: dict[str, Any]) -> None:
        assert data["type"] == "registration_finished"
        self._registration_finished = True


def _machines(text: str) -> tuple[int, ...]:
    """Return the machines of an interval set such as ``0-2 5``; disjoint, rising, and not adjacent."""
    machines: list[int] = []
    for interval in text.split(" "):
        first, _, last = interval.partition("-")
        low, high = int(first), int(last or first)
        assert low <= high, text
        assert not machines or low > machines[-1] + 1, text
        machines += range(low, high + 1)
    return tuple(machines)
