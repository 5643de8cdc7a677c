"""A simulator of your own, and in it any policy of allocsolve: the whole loop is the function `run`.

Jobs arrive and end, a policy is called then and when it wants to be, jobs start and change their sizes, and
an allocator chooses their nodes. The starts are compared with those in the engine of allocsolve.

    python embed_loop.py
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from allocsolve.adaptors import PolicyDriver, RunningJob, named_policy, node_chooser
from allocsolve.model import Amdahl, Job, WorkloadProblem
from allocsolve.simulation import simulate

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping

NUM_NODES = 64
END, SUBMIT, WAKE = range(3)  # what happens first at one instant

#: What you call your jobs by, and which nodes each held from when on, in seconds.
Key: TypeAlias = "Hashable"
Held: TypeAlias = "dict[Key, dict[float, list[int]]]"


@dataclass
class Running:
    """A running job: its work is measured in seconds on the nodes that it asked for."""

    start: float
    left: float
    since: float
    speed: float = 1.0
    end: float = math.inf
    nodes: list[int] = field(default_factory=list)


def speed(job: Job, nodes: int) -> float:
    """Return how fast a job runs on `nodes` nodes: your model of speedup."""
    return 1 / job.speedup.time_ratio(nodes, job.nodes) if isinstance(job.speedup, Amdahl) else 1.0


def described(job: Job) -> dict[str, Any]:
    """Return what the policy may know of a job; of a rigid one nodes and limit are enough."""
    what: dict[str, Any] = {"nodes": job.nodes, "estimate": job.limit}
    if job.speedup is not None:
        what |= {"min_nodes": job.min_nodes, "max_nodes": job.max_nodes, "kind": "malleable"}
        what["speedup"] = job.speedup
    return what


# the loop
def run(jobs: Mapping[Key, Job], policy: str, choose: Callable[[set[int], int], list[int] | None]) -> Held:
    """Run all jobs under a policy, on nodes that an allocator chooses."""
    driver, idle = PolicyDriver(policy, NUM_NODES), set(range(NUM_NODES))
    queue: list[Key] = []
    running: dict[Key, Running] = {}
    held: Held = {key: {} for key in jobs}
    events: list[tuple[float, int, Any]] = [(job.submit, SUBMIT, key) for key, job in jobs.items()]
    heapq.heapify(events)
    while events:
        now, called = events[0][0], False
        while events and events[0][0] == now:
            _, event, key = heapq.heappop(events)
            if event == SUBMIT:
                driver.jobs.add(key, submit=now, **described(jobs[key]))
                queue.append(key)
            elif event == END:
                if key not in running or running[key].end != now:
                    continue  # it has changed its size since
                idle.update(running.pop(key).nodes)
            called = True
        if not called:
            continue
        told = [RunningJob(key, len(one.nodes), one.start) for key, one in running.items()]
        for order in driver.decide(now, free=len(idle), queue=queue, running=told):
            key = order.key
            if order.verb == "start":
                queue.remove(key)
                running[key] = Running(now, jobs[key].runtime, now)
            one = running[key]
            if order.nodes > len(one.nodes):
                one.nodes = one.nodes + (choose(idle, order.nodes - len(one.nodes)) or [])
            idle = idle.union(one.nodes[order.nodes :]).difference(one.nodes[: order.nodes])
            one.left -= (now - one.since) * one.speed
            one.since, one.speed, one.nodes = now, speed(jobs[key], order.nodes), one.nodes[: order.nodes]
            one.end = now + one.left / one.speed
            heapq.heappush(events, (one.end, END, key))
            held[key][now] = one.nodes
        if driver.wake < math.inf:
            heapq.heappush(events, (driver.wake, WAKE, -1))
    return held


# end of the loop
def drawn_jobs(count: int, seed: int) -> list[Job]:
    """Draw jobs that ask for up to five times their run time; a third of them is malleable."""
    rng = np.random.default_rng(seed)
    jobs = []
    for submit in np.cumsum(rng.exponential(400, count)).tolist():
        nodes, seconds = int(2 ** rng.integers(0, 6)), float(rng.uniform(10, 4000))
        limit = seconds * float(rng.uniform(1, 5))
        if rng.random() < 1 / 3:
            sizes: dict[str, Any] = {"min_nodes": max(1, nodes // 4), "max_nodes": min(NUM_NODES, 2 * nodes)}
            jobs.append(Job(submit, nodes, seconds, limit, **sizes, speedup=Amdahl(0.98), kind="malleable"))
        else:
            jobs.append(Job(submit, nodes, seconds, limit))
    return jobs


def main() -> None:
    """Run the same jobs here and in the engine, under policies that wake up and that change sizes."""
    jobs, choose = drawn_jobs(300, seed=1), node_chooser("curve-fit(method=best-fit)", NUM_NODES)
    rigid = [job for job in jobs if job.speedup is None]
    for policy, those in (("easy", rigid), ("slurm-backfill", rigid), ("malleable-min", jobs)):
        held = run(dict(enumerate(those)), policy, choose)
        engine = simulate(WorkloadProblem(NUM_NODES, those), named_policy(policy)).first_starts
        same = np.isclose([min(pieces) for pieces in held.values()], engine).sum()
        resizes = sum(len(pieces) - 1 for pieces in held.values())
        print(f"{policy:14}  {resizes:3} changes of size, {same} of {len(those)} jobs start as in the engine")


if __name__ == "__main__":
    main()
