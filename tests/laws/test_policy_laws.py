"""Queue policies are their definitions: the slow twin, the compiled loop and the driver in Python agree."""

from __future__ import annotations

import dataclasses
import random
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pytest
from hypothesis import example, given, settings, strategies as st
from naive_malleable import naive_malleable, pieces_of
from naive_workload_engine import (
    NaiveSlurm,
    draw_problem,
    naive_easy,
    naive_fcfs,
    naive_first_fit,
    naive_hpcopt,
    naive_mjs2023,
    naive_raps,
    naive_reservations,
)
from resource_strategies import limited_problems
from strategies import workload_problems
from tiers import draws, examples

from allocsolve.heuristics import SlurmBackfill
from allocsolve.heuristics.workload._kernels_queue import RESERVING
from allocsolve.heuristics.workload.conservative import COMPRESSIONS, Conservative, conservative_plan
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
from allocsolve.model import ClosedWindow, Job, Jobs, WorkloadProblem
from allocsolve.simulation import EngineRules, Reason, Simulation, run_policy

if TYPE_CHECKING:
    from collections.abc import Callable


QueuePolicy: TypeAlias = Fcfs | FirstFit | Easy | SlurmBackfill
RANDOM = st.randoms(use_true_random=False)


def twin_of(policy: QueuePolicy) -> Callable[..., None]:
    if isinstance(policy, SlurmBackfill):
        return NaiveSlurm(policy)
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
        "cqsim": naive_easy(Easy(), "actual"),
        "mjs2023": naive_mjs2023,
        "hpcopt": naive_hpcopt,
        "raps": naive_raps,
    }
    return presets[policy.like]


def draw_options(rng: random.Random, problem: WorkloadProblem) -> dict[str, Any]:
    """Options of EASY for any number of reservations; who learns run times knows no closed windows."""
    return {
        "estimate": rng.choice(
            ["limit", "actual"] if problem.closed else ["limit", "actual", "user-average"]
        ),
        "order": rng.choice(QUEUE_ORDERS) if rng.random() < 0.5 else "submission",
        "scan_limit": rng.choice([None, None, 0, 1, 3]),
        "moldable": rng.choice(["max", "min", "fit"]),
        "coalesce": rng.random() < 0.7,
    }


def draw_policy(rng: random.Random, problem: WorkloadProblem) -> QueuePolicy:
    """A policy for the problem; those that copy other tools are for plain machines only, but for two."""
    moldable: Any = rng.choice(["max", "min"])
    kind = rng.randint(0, 9)
    if kind == 0:
        return Fcfs(moldable)
    if kind == 1:
        return FirstFit(moldable)
    if kind <= 3:
        return Easy(like=rng.choice(EASY_PRESETS if problem.is_plain else ["flux", "accasim"]))
    one = kind <= 7
    several: list[Any] = [2, 3, "all"]
    return Easy(
        reservations=1 if one else rng.choice(several),
        extra_nodes=rng.random() < 0.7 or not one,
        strict=rng.random() < 0.3 and one,
        **draw_options(rng, problem),
    )


def draw_slurm(rng: random.Random) -> SlurmBackfill:
    return SlurmBackfill(
        bf_interval=rng.choice([1, 3, 10, 30]),
        bf_window=rng.choice([1, 1, 3, 1440]),
        bf_resolution=rng.choice([1, 4, 25, 60]),
        bf_max_job_test=rng.choice([1, 2, 4, 500]),
        order=rng.choice(QUEUE_ORDERS) if rng.random() < 0.3 else "submission",
    )


def seen(simulation: Simulation) -> tuple[list[tuple[int, int, int]], list[Any]]:
    """Return the starts in their order as the twin has them, and the pieces of all jobs."""
    schedule, log = simulation.schedule, simulation.log
    starts = [(job, int(schedule.nodes[job]), int(log.blocked[job])) for job in log.started.tolist()]
    assert all((log.reasons[job] == Reason.BACKFILLED) == (blocked >= 0) for job, _, blocked in starts)
    return starts, [schedule.pieces(job) for job in range(len(log.reasons))]


def check(problem: WorkloadProblem, policy: QueuePolicy, *, coalesce: bool = True) -> None:
    rules = EngineRules(coalesce, "actual")
    polling: dict[str, Any] = {"polling": policy.bf_interval} if isinstance(policy, SlurmBackfill) else {}
    twin = naive_malleable(problem, twin_of(policy), coalesce=coalesce, **polling)
    starts = [(job, twin.done[job].size, twin.blocked[job]) for job in twin.starts]
    expected = starts, [pieces_of(twin, job) for job in range(len(problem.jobs))]
    made = policy.simulated(problem, rules)
    assert seen(made) == expected, policy
    if problem.is_plain:
        assert seen(run_policy(problem, policy.decide, rules)) == expected, policy
    else:
        assert workload_violations(problem, made.schedule) == ()


def test_both_drivers_equal_the_twin_on_a_thousand_problems() -> None:
    rng = random.Random(0)
    for number in draws(1000):
        problem = draw_problem(rng, moldable=number % 2 == 1)
        check(problem, draw_policy(rng, problem), coalesce=rng.random() < 0.7)


@settings(max_examples=examples(3000), deadline=None)
@given(problem=limited_problems(moldable=True), rng=RANDOM)
def test_on_machines_they_are_the_twin(problem: WorkloadProblem, rng: random.Random) -> None:
    check(problem, draw_policy(rng, problem))


@pytest.mark.parametrize("seed", range(3))
def test_gaps_among_many_running_jobs_change_nothing(seed: int) -> None:
    """Most of 200 running jobs end long before the first and the last in the order of expected ends."""
    rng = random.Random(seed)
    rows = [Job(0, 1, 1000, 500), Job(0, 1, 2000, 2000)]
    rows += [Job(0, 1, rng.randint(1, 200), rng.randint(501, 1900)) for _ in range(198)]
    rows += [Job(rng.randint(0, 400), rng.randint(1, 150), rng.randint(1, 90), 100) for _ in range(60)]
    problem = WorkloadProblem(200, rows)
    for policy in (Easy(), Easy(like="raps")):
        check(problem, policy)


@settings(deadline=None)
@given(rng=RANDOM, machine=limited_problems(moldable=True), plain=st.booleans())
def test_one_of_many_reservations_is_easy(rng: random.Random, machine: WorkloadProblem, plain: bool) -> None:
    problem = draw_problem(rng, moldable=True) if plain else machine
    easy = Easy(**draw_options(rng, problem))
    made = easy.queue_policy
    counted = dataclasses.replace(made, rule=made.rule._replace(kind=RESERVING))
    rules = EngineRules(easy.coalesce, "actual")
    expected = seen(easy.simulated(problem, rules))
    assert seen(run_queue(problem, counted, rules)) == expected
    if problem.is_plain:
        assert seen(run_policy(problem, lambda view: decide_view(view, counted), rules)) == expected


@settings(deadline=None)
@given(rng=RANDOM, machine=limited_problems(), plain=st.booleans())
def test_reservations_for_all_are_conservative_backfilling_planned_anew(
    rng: random.Random, machine: WorkloadProblem, plain: bool
) -> None:
    """They equal `conservative`, where no job runs longer than estimated, and keep its claim anyway."""
    problem = draw_problem(rng, moldable=False) if plain else machine
    many: Any = rng.choice(["all", len(problem.jobs) + 1])
    if plain:
        claims = ("easy", "conservative", "work-conserving")
        assert not workload_breaches(problem, Easy(reservations=many).simulated(problem).schedule, claims)
        rows = [
            Job(job.submit, job.nodes, job.runtime, job.runtime + rng.choice([0, 0, 5]))
            for job in problem.jobs
        ]
        problem = WorkloadProblem(problem.num_nodes, rows)
    packed, asked = problem.jobs.packed, problem.jobs.requirements
    overtakes = len(asked.boost) or len(asked.eligible)  # who comes late to a place before others
    if not overtakes and not (packed.runtime > packed.estimate).any():
        starts = Easy(reservations=many).simulated(problem).schedule.first_starts
        assert starts.tolist() == conservative_plan(problem, "replan").starts.tolist()


def _queues(rng: np.random.Generator, *, plain: bool) -> WorkloadProblem:
    """Return 60 jobs that wait for each other, and of which most end before their limits."""
    many = 60
    nodes, runtime = rng.choice([1, 1, 2, 4, 8], many), rng.integers(1, 30, many)
    kinds = rng.choice([1, 1.25, 3], many, p=[0.2, 0.4, 0.4])
    jobs = Jobs(rng.integers(0, 200, many), nodes, runtime, runtime * kinds)
    if plain:
        return WorkloadProblem(10, jobs)
    extra: list[dict[str, Any]] = [{"needs": {"gpus": int(rng.integers(0, 3))}} for _ in range(many)]
    if rng.random() < 0.5:  # who comes late, or with a head start, may stand before those that wait
        for more in extra:
            more |= {"boost": int(rng.integers(0, 90)), "eligible": int(rng.choice([0, 0, 150]))}
    rows = [dataclasses.replace(job, **more) for job, more in zip(jobs, extra, strict=True)]
    closed = [ClosedWindow(40, 90, {"nodes": int(rng.integers(1, 11))}), ClosedWindow(150, 170)]
    return WorkloadProblem(10, rows, resources={"gpus": 4}, closed=closed)


@example(seed=145, plain=False, many="all")  # a job with a head start comes and starts beside a plan
@given(seed=st.integers(0, 2**32), plain=st.booleans(), many=st.sampled_from([1, 2, 7, "all"]))
def test_a_plan_that_is_kept_is_one_made_anew(seed: int, plain: bool, many: Any) -> None:
    """With a limit that no scan meets, plans are made anew in each call."""
    problem = _queues(np.random.default_rng(seed), plain=plain)
    policy = Easy(reservations=many).queue_policy
    kept = dataclasses.replace(policy, rule=policy.rule._replace(kind=RESERVING))
    anew = dataclasses.replace(kept, rule=kept.rule._replace(scan_limit=len(problem.jobs)))
    assert seen(run_queue(problem, kept, policy.rules)) == seen(run_queue(problem, anew, policy.rules))


@given(seed=st.integers(0, 2**32), plain=st.booleans())
def test_jobs_that_are_planned_only_for_who_starts_now_start_as_all_were_promised(
    seed: int, plain: bool
) -> None:
    """Where most jobs end early, `replan` looks no further than to the last job that may start."""
    problem = _queues(np.random.default_rng(seed), plain=plain)
    plan, made = conservative_plan(problem, "replan"), Conservative("replan").simulated(problem)
    assert made.schedule.first_starts.tolist() == plan.starts.tolist()
    for column in ("started", "reasons", "blocked"):
        assert getattr(made.log, column).tolist() == getattr(plan.log, column).tolist()


@given(RANDOM)
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
    check(WorkloadProblem(150, rows), Easy(reservations="all" if seed else 40))


@settings(max_examples=examples(300), deadline=None)
@given(problem=limited_problems(moldable=True), like=st.sampled_from(["flux", "accasim", "cqsim"]))
def test_tools_that_differ_in_options_only_know_machines(problem: WorkloadProblem, like: Any) -> None:
    simulation = Easy(like=like).simulated(problem)
    assert workload_violations(problem, simulation.schedule) == ()
    same = {"flux": Easy(extra_nodes=False), "accasim": FirstFit(), "cqsim": None}[like]
    assert same is None or seen(same.simulated(problem)) == seen(simulation)


@settings(max_examples=examples(300), deadline=None)
@given(
    problem=workload_problems(max_jobs=9, max_nodes=6, malleable=True),
    rng=RANDOM,
    reservations=st.sampled_from([1, 2, 3, "all"]),
    compression=st.sampled_from(COMPRESSIONS),
)
def test_a_resource_that_nobody_needs_changes_nothing(
    problem: WorkloadProblem, rng: random.Random, reservations: Any, compression: Any
) -> None:
    """With it, kernels are compiled for machines."""
    beside = dataclasses.replace(problem, resources=(("licences", 1),))
    easy = Easy(reservations=reservations, **draw_options(rng, problem))
    strict = Easy(extra_nodes=False, strict=True)
    for policy in (Fcfs(), FirstFit("min"), strict, easy, Conservative(compression), SlurmBackfill()):
        assert seen(policy.simulated(beside)) == seen(policy.simulated(problem))


# --- Slurm --------------------------------------------------------------------------------------------


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


def test_slurm_is_its_twin() -> None:
    for seed in draws(400):
        rng = random.Random(seed)
        check(draw_rigid(rng), draw_slurm(rng))


@settings(max_examples=examples(300), deadline=None)
@given(problem=limited_problems(), rng=RANDOM)
def test_slurm_on_machines_is_its_twin(problem: WorkloadProblem, rng: random.Random) -> None:
    check(problem, draw_slurm(rng))


@given(RANDOM)
def test_no_pass_delays_the_head_and_no_head_waits_in_vain(rng: random.Random) -> None:
    """Plans of the default window reach beyond the end of these workloads."""
    problem = draw_rigid(rng)
    policy = dataclasses.replace(draw_slurm(rng), bf_window=1440, order="submission")
    claims = ("work-conserving", "easy", "capacity", "release", "run-times")
    assert not workload_breaches(problem, policy.simulated(problem).schedule, claims)
