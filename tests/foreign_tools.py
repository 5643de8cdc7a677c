"""Our engine as if it were that of somebody else: it calls jobs by names and knows no promises."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from allocsolve.adaptors import PolicyDriver, RunningJob
from allocsolve.model.job_kinds import job_kind, size_set
from allocsolve.simulation import Answer, Engine, EngineRules, Resize, Start, Wake

if TYPE_CHECKING:
    from allocsolve.adaptors import Order
    from allocsolve.model import WorkloadProblem, WorkloadSchedule
    from allocsolve.simulation import Decision


def driven(problem: WorkloadProblem, policy: Any, rules: EngineRules | None = None) -> WorkloadSchedule:
    """Return the schedule of a workload whose engine asks a policy through the driver of foreign programs."""
    driver = PolicyDriver(policy, problem.num_nodes, rules=rules)
    engine = Engine(problem, replace(driver.rules, knowledge="actual"))
    while (view := engine.advance()) is not None:
        for job in view.submitted.tolist():
            submit(driver, problem, job, actual=driver.rules.knowledge == "actual")
        running = zip(view.running.tolist(), view.held.tolist(), view.targets.tolist(), strict=True)
        orders = driver.decide(
            view.now,
            free=view.free,
            queue=[_key(job) for job in reversed(view.queue.tolist())],
            running=[
                RunningJob(_key(job), held, float(view.jobs.start[job]), target if target != held else 0)
                for job, held, target in running
            ],
            requests=[
                (_key(job), nodes)
                for job, nodes in zip(view.requests.tolist(), view.requested_nodes.tolist(), strict=True)
            ],
        )
        decisions = [_decision(order) for order in orders]
        if view.now < driver.wake < float("inf"):
            decisions.append(Wake(driver.wake))
        engine.apply(decisions)
    return engine.result()


def submit(driver: PolicyDriver, problem: WorkloadProblem, job: int, *, actual: bool = False) -> None:
    """Tell a driver of a job of a problem."""
    packed, jobs = problem.packed, problem.jobs
    driver.jobs.add(
        _key(job),
        submit=float(packed.submit[job]),
        nodes=int(packed.nodes[job]),
        estimate=float(packed.estimate[job]),
        runtime=float(packed.runtime[job]) if actual else None,
        min_nodes=int(packed.min_nodes[job]),
        max_nodes=int(packed.max_nodes[job]),
        kind=job_kind(int(packed.kind[job])),
        points=int(packed.points[job]),
        size_set=size_set(int(packed.size_step[job])),
        speedup=jobs.speedups[job] if jobs.speedups else None,
        user=jobs.users[job] if jobs.users else None,
        weight=float(packed.weight[job]),
    )


def _key(job: int) -> str:
    return f"job-{job}"


def _decision(order: Order) -> Decision:
    job = int(str(order.key).removeprefix("job-"))
    if order.verb == "start":
        return Start(job, order.nodes)
    if order.verb == "resize":
        return Resize(job, order.nodes)
    return Answer(job, order.verb == "grant")
