"""Policies on machines with counted resources and closed windows, against their definitions."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any

import naive_resources
import numpy as np
import pytest
from hypothesis import assume, example, given, settings, strategies as st
from resource_strategies import general_problems
from strategies import workload_problems
from tiers import examples

from allocsolve.heuristics import Conservative, Easy, Fcfs, FirstFit, SlurmBackfill
from allocsolve.heuristics.workload._kernels_queue import RESERVING
from allocsolve.heuristics.workload.conservative import COMPRESSIONS, conservative_plan
from allocsolve.heuristics.workload.policies import QUEUE_ORDERS, run_queue
from allocsolve.judge import workload_violations
from allocsolve.model import ClosedWindow, Job, Jobs, WorkloadProblem, WorkloadSchedule

if TYPE_CHECKING:
    from allocsolve.simulation import Simulation

POLICIES = {"fcfs": Fcfs(), "first-fit": FirstFit(), "easy": Easy()}


def seen(made: Simulation) -> tuple[list[float], ...]:
    """Return the starts of jobs, and who started in which order and why."""
    log = made.log
    return made.schedule.first_starts.tolist(), *(
        column.tolist() for column in (log.started, log.reasons, log.blocked)
    )


@st.composite
def general(draw: st.DrawFn, *, moldable: bool = False) -> WorkloadProblem:
    """Draw what policies take: with closed windows no job runs longer than its limit."""
    problem = draw(general_problems(max_jobs=8, overruns=draw(st.booleans()), moldable=moldable))
    packed = problem.jobs.packed
    assume(not problem.is_plain)
    assume(not (problem.closed and (packed.runtime > packed.estimate).any()))
    return problem


@pytest.mark.parametrize("name", POLICIES)
@settings(max_examples=examples(1000), deadline=None)
@given(problem=general())
def test_starts_are_those_of_the_definition(name: str, problem: WorkloadProblem) -> None:
    schedule = POLICIES[name].simulated(problem).schedule
    assert workload_violations(problem, schedule) == ()
    estimates = problem.jobs.packed.estimate.tolist()
    assert schedule.first_starts.tolist() == naive_resources.naive_starts(problem, name, estimates)


@settings(max_examples=examples(300), deadline=None)
@given(problem=general(), scan_limit=st.integers(0, 3))
def test_who_starts_lets_another_one_be_looked_at_in_the_next_call(
    problem: WorkloadProblem, scan_limit: int
) -> None:
    estimates = problem.jobs.packed.estimate.tolist()
    starts = Easy(scan_limit=scan_limit).simulated(problem).schedule.first_starts.tolist()
    assert starts == naive_resources.naive_starts(problem, "easy", estimates, scan_limit=scan_limit)


@settings(max_examples=examples(1000), deadline=None)
@given(problem=general(), data=st.data())
def test_with_reservations_starts_are_those_of_the_definition(
    problem: WorkloadProblem, data: st.DataObject
) -> None:
    many: Any = data.draw(st.sampled_from([2, 2, 3, 5, "all"]))
    scan_limit = data.draw(st.sampled_from([None, None, 0, 1, 3]))
    schedule = Easy(reservations=many, scan_limit=scan_limit).simulated(problem).schedule
    assert workload_violations(problem, schedule) == ()
    assert schedule.first_starts.tolist() == naive_resources.naive_starts(
        problem,
        "reserving",
        problem.jobs.packed.estimate.tolist(),
        reservations=math.inf if many == "all" else many,
        scan_limit=scan_limit,
    )


@settings(max_examples=examples(1000), deadline=None)
@given(problem=general(moldable=True), data=st.data())
def test_moldable_jobs_take_what_they_can_keep(problem: WorkloadProblem, data: st.DataObject) -> None:
    moldable: Any = data.draw(st.sampled_from(["max", "min", "fit"]))
    many = data.draw(st.sampled_from([1, 2, 3]))
    policies: dict[str, Any] = {
        "easy" if many == 1 else "reserving": Easy(moldable=moldable, reservations=many)
    }
    if moldable != "fit":
        policies |= {"fcfs": Fcfs(moldable), "first-fit": FirstFit(moldable)}
    estimates = problem.jobs.packed.estimate.tolist()
    for kind, policy in policies.items():
        schedule = policy.simulated(problem).schedule
        assert workload_violations(problem, schedule) == ()
        assert schedule.first_starts.tolist() == naive_resources.naive_starts(
            problem, kind, estimates, reservations=many, moldable=moldable
        )


@settings(max_examples=examples(1000), deadline=None)
@given(problem=general(), data=st.data())
def test_in_any_order_a_head_start_is_an_earlier_submission(
    problem: WorkloadProblem, data: st.DataObject
) -> None:
    order = data.draw(st.sampled_from(QUEUE_ORDERS))
    many: Any = data.draw(st.sampled_from([1, 1, 2, "all"]))
    source: Any = data.draw(st.sampled_from(["limit", "actual"]))
    scan_limit = data.draw(st.sampled_from([None, None, 0, 2]))
    packed = problem.jobs.packed
    easy = Easy(order=order, reservations=many, estimate=source, scan_limit=scan_limit)
    assert easy.simulated(problem).schedule.first_starts.tolist() == naive_resources.naive_starts(
        problem,
        "easy" if many == 1 else "reserving",
        (packed.estimate if source == "limit" else packed.runtime).tolist(),
        reservations=math.inf if many == "all" else many,
        order=order,
        scan_limit=scan_limit,
    )


@settings(max_examples=examples(300), deadline=None)
@given(problem=general(moldable=True), like=st.sampled_from(["flux", "accasim", "cqsim"]))
def test_tools_that_differ_in_options_only_know_such_machines(problem: WorkloadProblem, like: Any) -> None:
    simulation = Easy(like=like).simulated(problem)
    assert workload_violations(problem, simulation.schedule) == ()
    same = {"flux": Easy(extra_nodes=False), "accasim": FirstFit(), "cqsim": None}[like]
    assert same is None or seen(same.simulated(problem)) == seen(simulation)


@given(problem=general())
def test_of_any_number_of_reservations_one_is_easy_and_all_are_a_plan_made_anew(
    problem: WorkloadProblem,
) -> None:
    easy = Easy().queue_policy
    one = dataclasses.replace(easy, rule=easy.rule._replace(kind=RESERVING))
    assert seen(run_queue(problem, one, easy.rules)) == seen(Easy().simulated(problem))
    packed, asked = problem.jobs.packed, problem.jobs.requirements
    overtakes = len(asked.boost) or len(asked.eligible)  # who comes late to a place before others
    if not overtakes and not (packed.runtime > packed.estimate).any():
        schedule = Easy(reservations="all").simulated(problem).schedule
        assert schedule.first_starts.tolist() == conservative_plan(problem, "replan").starts.tolist()


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


@settings(max_examples=examples(300), deadline=None)
@given(
    problem=workload_problems(max_jobs=9, max_nodes=6, malleable=True),
    easy=st.builds(
        Easy,
        order=st.sampled_from(QUEUE_ORDERS),
        reservations=st.sampled_from([1, 2, 3, "all"]),
        estimate=st.sampled_from(["limit", "actual", "user-average"]),
        coalesce=st.booleans(),
        moldable=st.sampled_from(["max", "min", "fit"]),
    ),
    compression=st.sampled_from(COMPRESSIONS),
)
def test_a_resource_that_nobody_needs_changes_nothing(
    problem: WorkloadProblem, easy: Easy, compression: Any
) -> None:
    """With it, kernels are compiled for machines."""
    beside = dataclasses.replace(problem, resources=(("licences", 1),))
    strict = Easy(extra_nodes=False, strict=True)
    for policy in (Fcfs(), FirstFit("min"), strict, easy, Conservative(compression), SlurmBackfill()):
        assert seen(policy.simulated(beside)) == seen(policy.simulated(problem))


@pytest.mark.parametrize("compression", ["compress", "replan", "none"])
@settings(max_examples=examples(1000), deadline=None)
@given(problem=general(moldable=True))
def test_reservations_are_those_of_the_definition(compression: Any, problem: WorkloadProblem) -> None:
    plan = conservative_plan(problem, compression)
    starts, promised = naive_resources.naive_reservations(
        problem, compression, problem.jobs.packed.estimate.tolist()
    )
    assert plan.promised.tolist() == promised
    assert plan.starts.tolist() == starts
    assert workload_violations(problem, WorkloadSchedule.of(problem, plan.starts)) == ()


@pytest.mark.parametrize("seed", range(3))
def test_reservations_of_many_jobs_are_those_of_the_definition(seed: int) -> None:
    """There are more facts of who finds no place than are kept."""
    rng = np.random.default_rng(seed)
    jobs = [
        Job(
            int(rng.integers(0, 40)),
            int(rng.integers(1, 9)),
            runtime := int(rng.integers(1, 30)),
            runtime * float(rng.choice([1, 1.5, 3])),
            needs={"gpus": int(rng.integers(0, 3))},
            boost=int(rng.integers(-9, 9)),
        )
        for _ in range(50)
    ]
    closed = [ClosedWindow(20, 60, {"nodes": 6}), ClosedWindow(150, 170)]
    problem = WorkloadProblem(10, jobs, resources={"gpus": 4}, closed=closed)
    estimates = problem.jobs.packed.estimate.tolist()
    for compression in COMPRESSIONS:
        plan = conservative_plan(problem, compression)
        starts, promised = naive_resources.naive_reservations(problem, compression, estimates)
        assert (plan.starts.tolist(), plan.promised.tolist()) == (starts, promised)
