"""Slurm's backfill is its definition: the slow twin, the compiled loop and the driver in Python agree."""

from __future__ import annotations

import dataclasses
import math
import random
from typing import TYPE_CHECKING, NamedTuple

from hypothesis import given, strategies as st
from naive_workload_engine import draw_problem, expected_end, limit_of, naive_run, score_of
from tiers import draws

from allocsolve.heuristics import SlurmBackfill
from allocsolve.heuristics.workload.policies import QUEUE_ORDERS
from allocsolve.judge import workload_breaches
from allocsolve.model import WorkloadProblem
from allocsolve.simulation import Reason, Simulation, run_policy

if TYPE_CHECKING:
    from collections.abc import Callable

    from naive_workload_engine import Cluster


class Planned(NamedTuple):
    """A job that is planned: it holds nodes from `start` to `end`; from `first` to `start` some are left."""

    first: float
    start: float
    end: float
    nodes: int
    left: int


def naive_slurm(policy: SlurmBackfill) -> Callable[[Cluster], None]:
    """Slurm's two schedulers; whoever calls it has to do so at all multiples of the interval."""
    step, window = policy.bf_resolution, 60 * policy.bf_window

    def schedule(cluster: Cluster) -> None:
        now = cluster.now
        queue = sorted(
            cluster.queue, key=lambda job: (score_of(cluster, job, policy), cluster.rows[job].submit, job)
        )
        while queue and cluster.rows[queue[0]].nodes <= cluster.free:
            cluster.start(queue[0], cluster.rows[queue.pop(0)].nodes)
        if now % policy.bf_interval:
            return
        holds = [(expected_end(cluster, run, "limit"), run.nodes) for run in cluster.running]
        plans: list[Planned] = []

        def free_at(time: float) -> int:
            free = cluster.num_nodes - sum(nodes for end, nodes in holds if end > time)
            for plan in plans:
                if plan.first <= time < plan.start:
                    free = min(free, plan.left)
                if plan.start <= time < plan.end:
                    free -= plan.nodes
            return free

        window_end = (now + window) // step * step
        for job in queue[: policy.bf_max_job_test]:
            nodes, limit = cluster.rows[job].nodes, limit_of(cluster.rows[job])
            times = sorted({now, *(end for end, _ in holds), *(time for plan in plans for time in plan[:3])})
            start = next(
                time
                for time in times
                if time >= now
                and min(free_at(at) for at in [time, *times, time + limit] if time <= at <= time + limit)
                >= nodes
            )
            if start == now and nodes <= cluster.free:
                holds.append((now + limit, nodes))
                cluster.start(job, nodes, queue[0])
            elif start < window_end:
                end = min(math.ceil((start + limit) / step) * step, window_end)
                plans.append(Planned(start // step * step, start, end, nodes, free_at(start) - nodes))

    return schedule


def draw_rigid(rng: random.Random) -> WorkloadProblem:
    """Return a workload of minutes or of seconds, so that passes, steps and windows are short or long."""
    problem = draw_problem(rng, moldable=False)
    unit = rng.choice([1, 7, 30])
    rows = [
        dataclasses.replace(
            job,
            submit=unit * job.submit,
            runtime=unit * job.runtime,
            limit=None if job.limit is None else unit * job.limit,
        )
        for job in problem.jobs
    ]
    return WorkloadProblem(problem.num_nodes, rows)


def draw_policy(rng: random.Random) -> SlurmBackfill:
    return SlurmBackfill(
        bf_interval=rng.choice([1, 3, 10, 30]),
        bf_window=rng.choice([1, 1, 3, 1440]),
        bf_resolution=rng.choice([1, 4, 25, 60]),
        bf_max_job_test=rng.choice([1, 2, 4, 500]),
        order=rng.choice(QUEUE_ORDERS) if rng.random() < 0.3 else "submission",
    )


def seen(simulation: Simulation) -> tuple[list[tuple[int, int]], list[float]]:
    """Return the starts with the job that each passed, in their order; and all starts by job."""
    log = simulation.log
    order = log.started.tolist()
    assert all((log.reasons[job] == Reason.BACKFILLED) == (log.blocked[job] >= 0) for job in order)
    starts = simulation.schedule.first_starts.tolist()
    return [(job, int(log.blocked[job])) for job in order], starts


def check(problem: WorkloadProblem, policy: SlurmBackfill) -> None:
    ran, order = naive_run(problem, naive_slurm(policy), coalesce=True, interval=policy.bf_interval)
    expected = [(job, blocked) for job, _, blocked in order], [ran[job].start for job in range(len(ran))]
    assert seen(policy.simulated(problem)) == expected, policy
    assert seen(run_policy(problem, policy)) == expected, policy


def test_both_drivers_equal_the_twin() -> None:
    rng = random.Random(0)
    for _ in draws(400):
        check(draw_rigid(rng), draw_policy(rng))


@given(st.randoms(use_true_random=False))
def test_no_pass_delays_the_head_and_no_head_waits_in_vain(rng: random.Random) -> None:
    """Plans of the default window reach beyond the end of these workloads."""
    problem = draw_rigid(rng)
    policy = dataclasses.replace(draw_policy(rng), bf_window=1440, order="submission")
    claims = ("work-conserving", "easy", "capacity", "release", "run-times")
    assert not workload_breaches(problem, policy.simulated(problem).schedule, claims)
