"""Slurm's backfill is its definition: the slow twin, the compiled loop and the driver in Python agree."""

from __future__ import annotations

import dataclasses
import random

import pytest
from hypothesis import given, settings, strategies as st
from naive_slurm import naive_slurm
from naive_workload_engine import draw_problem
from resource_strategies import general_problems
from tiers import examples

from allocsolve.heuristics import SlurmBackfill
from allocsolve.heuristics.workload.policies import QUEUE_ORDERS
from allocsolve.judge import workload_breaches, workload_violations
from allocsolve.model import WorkloadProblem
from allocsolve.simulation import Reason, Simulation, run_policy


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
    order = naive_slurm(problem, policy)
    starts = [start for _, start, _ in sorted(order)]
    expected = [(job, blocked) for job, _, blocked in order], starts
    assert seen(policy.simulated(problem)) == expected, policy
    if problem.is_plain:
        assert seen(run_policy(problem, policy)) == expected, policy


@given(st.randoms(use_true_random=False))
def test_both_drivers_equal_the_twin(rng: random.Random) -> None:
    check(draw_rigid(rng), draw_policy(rng))


@pytest.mark.parametrize("part", range(4))
def test_both_drivers_equal_the_twin_on_many_problems(part: int) -> None:
    rng = random.Random(part)
    for _ in range(100):
        check(draw_rigid(rng), draw_policy(rng))


@given(st.randoms(use_true_random=False))
def test_no_pass_delays_the_head_and_no_head_waits_in_vain(rng: random.Random) -> None:
    """Plans of the default window reach beyond the end of these workloads."""
    problem = draw_rigid(rng)
    policy = dataclasses.replace(draw_policy(rng), bf_window=1440, order="submission")
    claims = ("work-conserving", "easy", "capacity", "release", "run-times")
    assert not workload_breaches(problem, policy.simulated(problem).schedule, claims)


@settings(max_examples=examples(300), deadline=None)
@given(problem=general_problems(max_jobs=8, overruns=False), rng=st.randoms(use_true_random=False))
def test_on_machines_it_is_the_twin(problem: WorkloadProblem, rng: random.Random) -> None:
    check(problem, draw_policy(rng))
    schedule = draw_policy(rng).simulated(problem).schedule
    assert workload_violations(problem, schedule) == ()
