"""Random workloads of jobs of all kinds, and random decisions that are legal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from naive_malleable import draw_malleable

from allocsolve.model import (
    Amdahl,
    Job,
    Join,
    Overhead,
    Phases,
    PowerLaw,
    Profile,
    Requests,
    Stall,
    WorkloadProblem,
)
from allocsolve.simulation import Answer, Promise, Resize, Start

if TYPE_CHECKING:
    import random

    from allocsolve.model import Speedup
    from allocsolve.simulation import Decision, QueueView


def draw_stall(rng: random.Random) -> Stall | None:
    def seconds() -> float:
        return rng.choice([0, 0.5, 2, rng.randint(1, 99) / 100])

    cost = Stall(seconds(), seconds(), seconds(), rng.choice(["new", "larger"]))
    return rng.choice([None, cost, cost])


def draw_evolving(
    rng: random.Random, most: int = 14, *, stalls_only: bool = False, profiles: bool = True
) -> WorkloadProblem:
    """Return a workload of jobs of all kinds, with few distinct times, so that events meet."""
    problem = draw_malleable(rng, most)
    num_nodes = problem.num_nodes
    jobs = [
        _with(job, reconfiguration=draw_stall(rng)) if job.kind == "malleable" else job
        for job in problem.jobs
    ]
    if not stalls_only:
        span = rng.choice([3, 30, 4 * most])
        draws = (draw_requests, draw_phases, draw_profile) if profiles else (draw_requests, draw_phases)
        jobs = [rng.choice(draws)(rng, num_nodes, span) if rng.random() < 0.6 else job for job in jobs]
        jobs.append(rng.choice(draws)(rng, num_nodes, span))  # at least one
    return WorkloadProblem(num_nodes, [_with(job, name=f"j{idx}") for idx, job in enumerate(jobs)])


def _with(job: Job, **changes: Any) -> Job:
    return Job(**{name: getattr(job, name) for name in Job.__slots__} | changes)


def _row(rng: random.Random, span: int, runtime: float) -> dict[str, Any]:
    return {
        "submit": rng.choice([1, 0.5]) * rng.randint(0, span),
        "runtime": runtime,
        "limit": rng.choice([None, runtime, float(rng.randint(1, 60))]),
    }


def draw_requests(rng: random.Random, num_nodes: int, span: int) -> Job:
    low, pref, high = sorted(rng.choices(range(1, num_nodes + 1), k=3))
    shares = sorted(
        {rng.choice([0.25, 0.5, 0.75, rng.randint(1, 99) / 100]) for _ in range(rng.randint(1, 4))},
        reverse=True,
    )
    events = [(share, rng.choice([-1, 1]) * rng.randint(1, num_nodes)) for share in shares if 0 < share < 1]
    laws: list[Speedup] = [
        Amdahl(1),
        Amdahl(rng.random()),
        PowerLaw(rng.random()),
        Overhead(rng.random() / 10),
    ]
    law = rng.choice(laws)
    return Job(
        **_row(rng, span, rng.choice([1, 0.25]) * rng.randint(1, 40)),
        nodes=pref,
        min_nodes=low,
        max_nodes=high,
        speedup=law,
        evolution=Requests(events or [(0.5, 1)]),
        reconfiguration=draw_stall(rng),
    )


def draw_phases(rng: random.Random, num_nodes: int, span: int) -> Job:
    low, pref, high = sorted(rng.choices(range(1, num_nodes + 1), k=3))
    phases = Phases(
        [
            (
                rng.choice([1, 8, 0.1 + rng.randint(1, 99) / 100]) * rng.randint(1, 20),
                rng.choice([None, 1, rng.randint(1, num_nodes)]),
            )
            for _ in range(rng.randint(1, 4))
        ],
        release_delay=rng.choice([0, 1, 5]),
    )
    join = Join(*(rng.choice([0, 1, 3, rng.randint(1, 99) / 100]) for _ in range(3)))
    return Job(
        **_row(rng, span, join.start + phases.run_time(pref)),
        nodes=pref,
        min_nodes=low,
        max_nodes=high,
        evolution=phases,
        reconfiguration=join,
    )


def draw_profile(rng: random.Random, num_nodes: int, span: int) -> Job:
    least = rng.choice([0, 1])
    steps = [(rng.randint(1, 12), rng.randint(least, num_nodes)) for _ in range(rng.randint(1, 5))]
    sizes = [max(1, nodes) for _, nodes in steps]
    return Job(
        **_row(rng, span, sum(seconds for seconds, _ in steps)),
        nodes=sizes[0],
        min_nodes=min(sizes),
        max_nodes=max(sizes),
        evolution=Profile(steps),
    )


def draw_decisions(view: QueueView, rng: random.Random) -> list[Decision]:
    """Return decisions that are legal: answers, starts, shrinks for a promise, growth and other shrinks."""
    decisions: list[Decision] = []
    free, queue, jobs = view.free, view.queue.tolist(), view.jobs
    held = dict(zip(view.running.tolist(), view.held.tolist(), strict=True))
    targets = dict(zip(view.running.tolist(), view.targets.tolist(), strict=True))
    eager = rng.choice([0.5, 0.9])
    for job, nodes in zip(view.requests.tolist(), view.requested_nodes.tolist(), strict=True):
        if nodes - held[job] <= free and rng.random() < eager:
            decisions.append(Answer(job))
            free -= nodes - held[job]
        elif jobs.reading[job] == 1 and rng.random() < 0.3:
            decisions.append(Answer(job, granted=False))
    for job in rng.sample(queue, len(queue)):
        sizes = [size for size in view.sizes(job) if size <= free]
        if sizes and rng.random() < eager:
            nodes = rng.choice(sizes)
            decisions.append(Start(job, nodes))
            free -= nodes
            queue.remove(job)
    steady = [job for job in held if held[job] == targets[job] and jobs.kind[job] == 2]
    rng.shuffle(steady)
    if queue and rng.random() < 0.6:
        shrinks, promise = draw_promise(view, rng, steady, queue[0], free)
        decisions += shrinks
        if promise is not None:
            decisions.append(promise)
            free -= max(0, promise.nodes - sum(held[shrink.job] - shrink.nodes for shrink in shrinks))
    for job in steady:
        sizes = [size for size in view.sizes(job) if size != held[job] and size - held[job] <= free]
        if sizes and rng.random() < 0.5:
            nodes = rng.choice(sizes)
            decisions.append(Resize(job, nodes))
            free -= max(0, nodes - held[job])
            smaller = [size for size in sizes if size < nodes < held[job]]
            if smaller and rng.random() < 0.3:  # further in the same direction
                decisions.append(Resize(job, rng.choice(smaller)))
    return decisions


def draw_promise(
    view: QueueView, rng: random.Random, steady: list[int], waiting: int, free: int
) -> tuple[list[Resize], Promise | None]:
    """Return shrinks of some jobs, which are steady no more, for one that waits; or nothing."""
    held, given = dict(zip(view.running.tolist(), view.held.tolist(), strict=True)), 0
    shrinks: list[Resize] = []
    while steady and rng.random() < 0.7:
        job = steady.pop()
        smaller = [size for size in view.sizes(job) if size < held[job]]
        if smaller:
            shrinks.append(Resize(job, rng.choice(smaller), for_job=waiting))
            given += held[job] - shrinks[-1].nodes
    fitting = [size for size in view.sizes(waiting) if size <= given + free]
    return (shrinks, Promise(waiting, rng.choice(fitting))) if fitting else ([], None)
