"""Queue policies are their definitions: the slow twin, the compiled loop and the driver in Python agree."""

from __future__ import annotations

import dataclasses
import random
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest
from hypothesis import given, settings, strategies as st
from naive_malleable import naive_malleable, pieces_of
from naive_slurm import naive_slurm
from naive_workload_engine import (
    draw_problem,
    naive_cqsim,
    naive_easy,
    naive_fcfs,
    naive_first_fit,
    naive_hpcopt,
    naive_mjs2023,
    naive_raps,
    naive_reservations,
)
from resource_strategies import general_problems
from tiers import draws, examples

from allocsolve.heuristics import SlurmBackfill
from allocsolve.heuristics.workload._kernels_queue import RESERVING
from allocsolve.heuristics.workload.conservative import conservative_plan
from allocsolve.heuristics.workload.policies import (
    EASY_PRESETS,
    QUEUE_ORDERS,
    Easy,
    Fcfs,
    FirstFit,
    decide_view,
    run_queue,
)
from allocsolve.judge import workload_breaches, workload_violations
from allocsolve.model import Job, WorkloadProblem
from allocsolve.simulation import EngineRules, Reason, Simulation, run_policy

if TYPE_CHECKING:
    from collections.abc import Callable


QueuePolicy: TypeAlias = Fcfs | FirstFit | Easy


def twin_of(policy: QueuePolicy) -> Callable[..., None]:
    if isinstance(policy, Fcfs):
        return naive_fcfs(policy.moldable)
    if isinstance(policy, FirstFit):
        return naive_first_fit(policy.moldable)
    if policy.reservations != 1:
        return naive_reservations(policy)
    presets: dict[str, Callable[..., None]] = {
        "": naive_easy(policy),
        "flux": naive_easy(Easy(extra_nodes=False)),
        "accasim": naive_first_fit("max"),
        "cqsim": naive_cqsim,
        "mjs2023": naive_mjs2023,
        "hpcopt": naive_hpcopt,
        "raps": naive_raps,
    }
    return presets[policy.like]


def draw_policy(rng: random.Random) -> QueuePolicy:
    moldable = rng.choice(["max", "min"])
    kind = rng.randint(0, 9)
    if kind == 0:
        return Fcfs(moldable)  # type: ignore[arg-type]
    if kind == 1:
        return FirstFit(moldable)  # type: ignore[arg-type]
    if kind <= 3:
        return Easy(like=rng.choice(EASY_PRESETS))
    one = kind <= 7
    several: list[Any] = [2, 3, "all"]
    return Easy(
        reservations=1 if one else rng.choice(several),
        extra_nodes=rng.random() < 0.7 or not one,
        strict=rng.random() < 0.3 and one,
        estimate=rng.choice(["limit", "actual", "user-average"]),
        order=rng.choice(QUEUE_ORDERS) if rng.random() < 0.5 else "submission",
        scan_limit=rng.choice([None, None, 0, 1, 3]),
        moldable=rng.choice(["max", "min", "fit"]),
        coalesce=rng.random() < 0.7,
    )


def seen(simulation: Simulation) -> tuple[list[tuple[int, int, int]], list[Any]]:
    """Return the starts in their order as the twin has them, and the pieces of all jobs."""
    schedule, log = simulation.schedule, simulation.log
    starts = [(job, int(schedule.nodes[job]), int(log.blocked[job])) for job in log.started.tolist()]
    assert all((log.reasons[job] == Reason.BACKFILLED) == (blocked >= 0) for job, _, blocked in starts)
    return starts, [schedule.pieces(job) for job in range(len(log.reasons))]


def check(problem: WorkloadProblem, policy: QueuePolicy, *, coalesce: bool) -> None:
    rules = EngineRules(coalesce, "actual")
    twin = naive_malleable(problem, twin_of(policy), coalesce=coalesce)
    starts = [(job, twin.done[job].size, twin.blocked[job]) for job in twin.starts]
    pieces = [pieces_of(twin, job) for job in range(len(problem.jobs))]
    assert seen(policy.simulated(problem, rules)) == (starts, pieces)
    assert seen(run_policy(problem, policy.decide, rules)) == (starts, pieces)


def test_both_drivers_equal_the_twin_on_a_thousand_problems() -> None:
    rng = random.Random(0)
    for number in draws(1000):
        problem, policy = draw_problem(rng, moldable=number % 2 == 1), draw_policy(rng)
        check(problem, policy, coalesce=rng.random() < 0.7)


@pytest.mark.parametrize("seed", range(3))
def test_gaps_among_many_running_jobs_change_nothing(seed: int) -> None:
    """Most of 200 running jobs end long before the first and the last in the order of expected ends."""
    rng = random.Random(seed)
    rows = [Job(0, 1, 1000, 500), Job(0, 1, 2000, 2000)]
    rows += [Job(0, 1, rng.randint(1, 200), rng.randint(501, 1900)) for _ in range(198)]
    rows += [Job(rng.randint(0, 400), rng.randint(1, 150), rng.randint(1, 90), 100) for _ in range(60)]
    problem = WorkloadProblem(200, rows)
    for policy in (Easy(), Easy(like="raps")):
        check(problem, policy, coalesce=True)


@given(st.randoms(use_true_random=False), st.booleans())
def test_one_of_many_reservations_is_easy(rng: random.Random, moldable: bool) -> None:
    problem = draw_problem(rng, moldable=moldable)
    easy = Easy(
        estimate=rng.choice(["limit", "actual", "user-average"]),
        order=rng.choice(QUEUE_ORDERS),
        scan_limit=rng.choice([None, None, 0, 1, 3]),
        moldable=rng.choice(["max", "min", "fit"]),
        coalesce=rng.random() < 0.7,
    )
    made = easy.queue_policy
    counted = dataclasses.replace(made, rule=made.rule._replace(kind=RESERVING))
    rules = EngineRules(easy.coalesce, "actual")
    expected = seen(easy.simulated(problem, rules))
    assert seen(run_queue(problem, counted, rules)) == expected
    assert seen(run_policy(problem, lambda view: decide_view(view, counted), rules)) == expected


@given(st.randoms(use_true_random=False))
def test_reservations_for_all_are_conservative_backfilling_planned_anew(rng: random.Random) -> None:
    """They equal `conservative`, where no job runs longer than estimated, and keep its claim anyway."""
    problem = draw_problem(rng, moldable=False)
    many: Any = rng.choice(["all", len(problem.jobs) + 1])
    claims = ("easy", "conservative", "work-conserving")
    assert not workload_breaches(problem, Easy(reservations=many).simulated(problem).schedule, claims)
    rows = [
        Job(job.submit, job.nodes, job.runtime, job.runtime + rng.choice([0, 0, 5])) for job in problem.jobs
    ]
    problem = WorkloadProblem(problem.num_nodes, rows)
    schedule = Easy(reservations=many).simulated(problem).schedule
    assert schedule.first_starts.tolist() == conservative_plan(problem, "replan").starts.tolist()


@given(st.randoms(use_true_random=False))
def test_no_number_of_reservations_delays_the_head(rng: random.Random) -> None:
    problem = draw_problem(rng, moldable=False)
    numbers: tuple[Any, ...] = (2, 3, "all")
    for number in numbers:
        easy = Easy(reservations=number)
        assert not workload_breaches(
            problem, easy.simulated(problem).schedule, ["easy", "work-conserving", "capacity"]
        )


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.release)])
def test_long_plans_are_those_of_the_twin(seed: int) -> None:
    """The plan has several hundred steps, more than one chunk of free nodes holds."""
    rng = random.Random(seed)
    rows = [Job(0, 1, rng.randint(1, 900), rng.randint(1, 900)) for _ in range(150)]
    rows += [Job(rng.randint(0, 60), rng.randint(1, 90), rng.randint(1, 90), 100) for _ in range(60)]
    check(WorkloadProblem(150, rows), Easy(reservations="all" if seed else 40), coalesce=True)


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


def draw_slurm(rng: random.Random) -> SlurmBackfill:
    return SlurmBackfill(
        bf_interval=rng.choice([1, 3, 10, 30]),
        bf_window=rng.choice([1, 1, 3, 1440]),
        bf_resolution=rng.choice([1, 4, 25, 60]),
        bf_max_job_test=rng.choice([1, 2, 4, 500]),
        order=rng.choice(QUEUE_ORDERS) if rng.random() < 0.3 else "submission",
    )


def seen_by_slurm(simulation: Simulation) -> tuple[list[tuple[int, int]], list[float]]:
    """Return the starts with the job that each passed, in their order; and all starts by job."""
    log = simulation.log
    order = log.started.tolist()
    assert all((log.reasons[job] == Reason.BACKFILLED) == (log.blocked[job] >= 0) for job in order)
    starts = simulation.schedule.first_starts.tolist()
    return [(job, int(log.blocked[job])) for job in order], starts


def check_slurm(problem: WorkloadProblem, policy: SlurmBackfill) -> None:
    order = naive_slurm(problem, policy)
    starts = [start for _, start, _ in sorted(order)]
    expected = [(job, blocked) for job, _, blocked in order], starts
    assert seen_by_slurm(policy.simulated(problem)) == expected, policy
    if problem.is_plain:
        assert seen_by_slurm(run_policy(problem, policy)) == expected, policy


@given(st.randoms(use_true_random=False))
def test_both_drivers_equal_the_twin(rng: random.Random) -> None:
    check_slurm(draw_rigid(rng), draw_slurm(rng))


@pytest.mark.parametrize("part", range(4))
def test_both_drivers_equal_the_twin_on_many_problems(part: int) -> None:
    rng = random.Random(part)
    for _ in range(100):
        check_slurm(draw_rigid(rng), draw_slurm(rng))


@given(st.randoms(use_true_random=False))
def test_no_pass_delays_the_head_and_no_head_waits_in_vain(rng: random.Random) -> None:
    """Plans of the default window reach beyond the end of these workloads."""
    problem = draw_rigid(rng)
    policy = dataclasses.replace(draw_slurm(rng), bf_window=1440, order="submission")
    claims = ("work-conserving", "easy", "capacity", "release", "run-times")
    assert not workload_breaches(problem, policy.simulated(problem).schedule, claims)


@settings(max_examples=examples(300), deadline=None)
@given(problem=general_problems(max_jobs=8, overruns=False), rng=st.randoms(use_true_random=False))
def test_on_machines_it_is_the_twin(problem: WorkloadProblem, rng: random.Random) -> None:
    check_slurm(problem, draw_slurm(rng))
    schedule = draw_slurm(rng).simulated(problem).schedule
    assert workload_violations(problem, schedule) == ()
