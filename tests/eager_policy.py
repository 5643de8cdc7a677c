"""A policy that grants and starts what it can, and resizes malleable jobs: compiled, in Python, and slow.

It grants requests in their order and starts jobs on the most nodes that fit. Malleable jobs that ran before
shrink to their fewest nodes where jobs still wait, and grow as far as they can where none does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from allocsolve.kernels import kernel
from allocsolve.simulation import Answer, EngineRules, Resize, Start
from allocsolve.simulation.kernels import (
    Resizing,
    State,
    advance,
    answer,
    begin,
    has_room,
    initial_resizing,
    initial_state,
    largest_size,
    largest_start,
    leave_queue,
    resize,
    roomier,
    run_time,
    take_in,
    time_ratio,
)
from allocsolve.simulation.outcome import schedule_of

if TYPE_CHECKING:
    from naive_evolving import ElasticCluster

    from allocsolve.model import PackedJobs, WorkloadProblem, WorkloadSchedule
    from allocsolve.simulation import QueueView


@kernel
def run_eager(jobs: PackedJobs, state: State, resizing: Resizing, coalesce: bool) -> bool:
    """Run a workload to its end; False if the log of changes has to grow first."""
    granted = True
    while has_room(state, resizing):
        if not advance(state, np.inf, coalesce, jobs, resizing):
            return True
        at = 0
        while at < resizing.ledger.requests:
            job = resizing.requests[at]
            if resizing.job[job].request - state.job[job].size <= state.engine.free:
                answer(jobs, state, resizing, job, granted)  # takes it off the list
            else:
                at += 1
        for at in range(state.engine.head, state.engine.tail):
            job = state.queue[at]
            nodes = largest_start(jobs, resizing, job, state.engine.free)
            if nodes:
                leave_queue(state, at)
                estimate = resizing.job[job].estimate * time_ratio(jobs, job, nodes)
                key, seconds = state.engine.clock + estimate, run_time(jobs, job, nodes)
                begin(state, job, nodes, seconds, estimate, key, 0, -1)
        waiting = state.engine.head < state.engine.tail
        for at in range(resizing.ledger.malleable_running):
            job = resizing.running[at]
            size = state.job[job].size
            nodes = largest_size(jobs, job, size + state.engine.free)
            if waiting:
                nodes = jobs.min_nodes[job]
            if nodes != size and resizing.job[job].target == size:
                resize(jobs, state, resizing, job, nodes, 0)
        take_in(jobs, state, resizing)
    return False


def eager_schedule(problem: WorkloadProblem, rules: EngineRules) -> WorkloadSchedule:
    """Run the compiled policy."""
    packed, count = problem.packed, len(problem.jobs)
    state = initial_state(problem.num_nodes, packed.submit, ordered=False, resizable=True)
    resizing = initial_resizing(packed.estimate, problem.jobs.evolving, count)
    while not run_eager(packed, state, resizing, rules.coalesce):
        resizing = roomier(resizing, count)
    return schedule_of(state, resizing)


def eager(view: QueueView) -> list[Answer | Start | Resize]:
    """Return what the policy decides on a view."""
    decisions: list[Answer | Start | Resize] = []
    free, held = view.free, dict(zip(view.running.tolist(), view.held.tolist(), strict=True))
    for job, nodes in zip(view.requests.tolist(), view.requested_nodes.tolist(), strict=True):
        if nodes - held[job] <= free:
            decisions.append(Answer(job))
            free -= nodes - held[job]
    waiting = view.queue.tolist()
    for job in view.queue.tolist():
        fitting = [size for size in view.sizes(job) if size <= free]
        if fitting:
            decisions.append(Start(job, fitting[-1]))
            free -= fitting[-1]
            waiting.remove(job)
    targets = dict(zip(view.running.tolist(), view.targets.tolist(), strict=True))
    for job in sorted(held):
        if view.jobs.kind[job] == 2 and targets[job] == held[job]:
            sizes = [size for size in view.sizes(job) if size <= held[job] + free]
            nodes = sizes[0] if waiting else sizes[-1]
            if nodes != held[job]:
                decisions.append(Resize(job, nodes))
                free -= max(0, nodes - held[job])
    return decisions


def naive_eager(cluster: ElasticCluster) -> None:
    """Decide for the slow twin."""
    runs = [run for _, run in sorted(cluster.running.items()) if cluster.rows[run.job].kind == "malleable"]
    for job, nodes in list(cluster.requests):
        if nodes - cluster.running[job].size <= cluster.free:
            cluster.answer(job, granted=True)
    free = cluster.free
    for job in list(cluster.queue):
        sizes = [cluster.rows[job].nodes] if cluster.has_profile(job) else cluster.sizes(job)
        fitting = [size for size in sizes if size <= free]
        if fitting:
            cluster.start(job, fitting[-1])
            free -= fitting[-1]
    for run in runs:
        if run.target == run.size:
            # What profiles give back at their starts is free after the call only.
            sizes = [size for size in cluster.sizes(run.job) if size <= run.size + free]
            nodes = sizes[0] if cluster.queue else sizes[-1]
            free -= max(0, nodes - run.size)
            if nodes != run.size:
                cluster.resize(run, nodes)
