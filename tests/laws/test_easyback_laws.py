"""Policies of evolving jobs: evolv-easyback and profile-fit are their slow twins."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from draw_evolving import draw_profile
from evolving_strategies import evolving_problems
from hypothesis import given, strategies as st
from naive_easyback import naive_easyback
from naive_malleable import pieces_of
from naive_profile_fit import NaiveProfileFit
from strategies import evolution_problems, workload_problems
from tiers import draws

from allocsolve.errors import Deadlock
from allocsolve.heuristics import Easy, EvolvEasyback, Fit, ListScheduling, ProfileFit, Rigid
from allocsolve.instances import evolution_schedule_of_workload, workload_of_evolution
from allocsolve.judge import evolution_violations, workload_violations
from allocsolve.model import Amdahl, Budget, Job, Join, Phases, Profile, WorkloadProblem
from allocsolve.simulation import EngineRules, run_policy

if TYPE_CHECKING:
    from allocsolve.model import EvolutionProblem, EvolutionSchedule
    from allocsolve.simulation.rules import ProfileKnowledge


def draw_reactive(rng: random.Random, most: int = 12) -> WorkloadProblem:
    """Return a small workload with few distinct times, so that events meet."""
    num_nodes = rng.choice([1, 2, 4, 7, 16])
    unit = rng.choice([1, 1, 0.25])
    span = rng.choice([0, 5, 60])

    def seconds(limit: int, least: int = 0) -> float:
        return unit * rng.randint(least, limit)

    def job() -> Job:
        row: dict[str, Any] = {"submit": seconds(span), "limit": rng.choice([None, 60, seconds(60, 1)])}
        low, nodes, high = sorted(rng.choices(range(1, num_nodes + 1), k=3))
        kind = rng.choice(["rigid", "moldable", "evolving", "evolving", "evolving"])
        if kind == "rigid":
            return Job(nodes=nodes, runtime=seconds(40, 1), **row)
        row |= {"nodes": nodes, "min_nodes": low, "max_nodes": high}
        if kind == "moldable":
            return Job(runtime=seconds(40, 1), speedup=Amdahl(rng.choice([0, 0.5, 0.9, 1])), **row)
        phases = Phases(
            [(seconds(60, 1), rng.choice([None, 1, 1, 2, 5])) for _ in range(rng.randint(1, 5))],
            rng.choice([0, 0, 1, 5, 10]) * unit,
        )
        join = Join(*(rng.choice([0, seconds(6)]) for _ in range(3)))
        runtime = join.start + phases.run_time(nodes)
        return Job(runtime=runtime, evolution=phases, reconfiguration=join, **row)

    return WorkloadProblem(num_nodes, [job() for _ in range(rng.randint(0, most))])


def draw_policy(rng: random.Random) -> EvolvEasyback:
    return EvolvEasyback(
        cooldown=rng.choice([0, 1, 7.5, 60]),
        polling=rng.choice([1, 5, 30]),
        wake_up=rng.random() < 0.7,
        requests=rng.choice(["first", "last"]),
        start_counts=rng.random() < 0.3,
    )


options = st.builds(
    EvolvEasyback,
    cooldown=st.sampled_from([0, 1, 2.5, 60]),
    polling=st.sampled_from([0.3, 1, 5]),
    wake_up=st.booleans(),
    requests=st.sampled_from(["first", "last"]),
    start_counts=st.booleans(),
)


def check_against_twin(problem: WorkloadProblem, policy: EvolvEasyback) -> None:
    run, twin = policy.simulated(problem), naive_easyback(problem, policy)
    for job, row in enumerate(problem.jobs):
        steps = isinstance(row.evolution, Profile)  # two steps of one size are two pieces
        expected = tuple(twin.done[job].pieces) if steps else pieces_of(twin, job)
        assert run.schedule.pieces(job) == expected
    assert run.log.started.tolist() == twin.starts
    assert workload_violations(problem, run.schedule) == ()


def test_300_workloads_of_up_to_60_jobs() -> None:
    for seed in draws(300):
        rng = random.Random(seed)
        check_against_twin(draw_reactive(rng, rng.choice([12, 60])), draw_policy(rng))


@given(st.randoms(use_true_random=False))
def test_it_is_called_as_often(rng: random.Random) -> None:
    """Where the clock ticks at 0 s only, at which it calls nobody here."""
    problem, policy = draw_reactive(rng), replace(draw_policy(rng), polling=1e6, wake_up=True)
    calls = naive_easyback(problem, policy).calls
    idle = bool(len(problem.jobs)) and problem.packed.submit.min() > 0
    _, resizing = policy.final_states(problem, EngineRules())
    assert resizing.ledger["calls"] == calls - idle


@given(workload_problems(max_jobs=9, max_nodes=8), st.sampled_from(["first", "last"]))
def test_without_evolving_jobs_it_is_strict_easy(problem: WorkloadProblem, requests: str) -> None:
    if problem.is_rigid:
        easy = Easy(extra_nodes=False, strict=True).simulated(problem)
        run = EvolvEasyback(requests=requests).simulated(problem)  # type: ignore[arg-type]
        assert run.schedule == easy.schedule
        assert run.log.started.tolist() == easy.log.started.tolist()
        assert run.log.reasons.tolist() == easy.log.reasons.tolist()
        assert run.log.blocked.tolist() == easy.log.blocked.tolist()


@given(evolving_problems(max_jobs=6), options)
def test_all_kinds_of_jobs(problem: WorkloadProblem, policy: EvolvEasyback) -> None:
    check_against_twin(problem, policy)


@given(
    evolving_problems(max_jobs=7, max_nodes=6, readings=("profile",)),
    st.sampled_from(["none", "next", "all"]),
    options,
)
def test_profiles_end_whatever_they_need(
    problem: WorkloadProblem, knowledge: ProfileKnowledge, policy: EvolvEasyback
) -> None:
    check_against_twin(problem, replace(policy, knowledge=knowledge))


@given(evolving_problems(max_jobs=7, readings=("profile", "requested")), options, st.booleans())
def test_unsafe_or_by_event_it_is_feasible_or_no_answer(
    problem: WorkloadProblem, policy: EvolvEasyback, coalesce: bool
) -> None:
    schedule = policy.simulated(problem, EngineRules(coalesce)).schedule
    assert workload_violations(problem, schedule) == ()
    unsafe = replace(policy, safe=False)
    stopped = unsafe.simulated(problem).standstill
    if stopped is None:
        answer = unsafe(problem, Budget()).answer
        assert answer is not None
        assert workload_violations(problem, answer) == ()
    else:  # nobody could be granted what he waits for, and all waiting jobs and free nodes are the cluster
        assert all(waits.asked - waits.held > stopped.free for waits in stopped.waiting)
        assert sum(waits.held for waits in stopped.waiting) + stopped.free == problem.num_nodes
        with pytest.raises(
            Deadlock, match=rf"^deadlock at {stopped.now:.15g} s \(free nodes: {stopped.free}\)"
        ):
            unsafe(problem, Budget())


# --- Profile fit --------------------------------------------------------------------------------------

policies = st.builds(
    ProfileFit,
    knowledge=st.sampled_from(["none", "next", "all"]),
    expand_limit=st.sampled_from([1, float("inf")]),
    compacting=st.booleans(),
)
problems = evolution_problems(max_apps=6, max_steps=4, releases=True)


def check_profile_fit(problem: WorkloadProblem, policy: ProfileFit) -> None:
    """Compare with what the engine makes of decisions by views, which do not show what is not known."""
    run = policy.simulated(problem)
    twin = run_policy(problem, NaiveProfileFit(problem, policy))
    assert workload_violations(problem, run.schedule) == ()
    assert run.schedule == twin.schedule
    assert sorted(run.log.started.tolist()) == list(range(len(problem.jobs)))


def draw_profiles(rng: random.Random, most: int) -> WorkloadProblem:
    """Return a workload of jobs with profiles, whose first steps need nodes, among rigid ones."""
    num_nodes, span = rng.randint(1, 9), rng.choice([3, 30, 4 * most])
    jobs: list[Job] = []
    while len(jobs) < most:
        job = draw_profile(rng, num_nodes, span)
        if rng.random() < 0.2:
            jobs.append(Job(job.submit, rng.randint(1, num_nodes), job.runtime / 4))
        elif isinstance(job.evolution, Profile) and job.evolution.steps[0][1]:
            jobs.append(job)
    return WorkloadProblem(num_nodes, jobs)


@given(evolving_problems(max_jobs=7, max_nodes=6, readings=("profile",)), policies)
def test_it_is_its_definition(problem: WorkloadProblem, policy: ProfileFit) -> None:
    check_profile_fit(problem, policy)


@pytest.mark.parametrize("knowledge", ["none", "next", "all"])
def test_streams_of_40_jobs(knowledge: ProfileKnowledge) -> None:
    for seed in range(10):
        rng = random.Random(seed)
        policy = ProfileFit(knowledge, rng.choice([1, float("inf")]), rng.random() < 0.5)
        check_profile_fit(draw_profiles(rng, 40), policy)


def check_in_both_families(problem: EvolutionProblem, policy: ProfileFit) -> EvolutionSchedule:
    workload = workload_of_evolution(problem)
    answer = policy(workload, Budget()).answer
    assert answer is not None
    assert workload_violations(workload, answer) == ()
    schedule = evolution_schedule_of_workload(answer)
    assert evolution_violations(problem, schedule) == ()
    return schedule


@given(problems, policies, st.sampled_from([1, 1.5, 2, 9, float("inf")]))
def test_judges_of_both_families_accept_it(
    problem: EvolutionProblem, policy: ProfileFit, limit: float
) -> None:
    check_in_both_families(problem, replace(policy, expand_limit=limit))


@given(problems, st.booleans())
def test_all_knowledge_is_list_scheduling(problem: EvolutionProblem, patient: bool) -> None:
    problem = replace(problem, expand_limit=float("inf"))
    limit = float("inf") if patient else 1
    schedule = check_in_both_families(problem, ProfileFit("all", limit))
    assert schedule == ListScheduling(Fit(limit))(problem, Budget()).answer


@given(problems)
def test_no_knowledge_is_the_rigid_baseline(problem: EvolutionProblem) -> None:
    assert check_in_both_families(problem, ProfileFit("none")) == Rigid()(problem, Budget()).answer


@given(evolution_problems(max_apps=5, max_steps=2, releases=True))
def test_of_two_steps_the_next_one_is_all(problem: EvolutionProblem) -> None:
    problem = replace(problem, expand_limit=float("inf"))
    following = check_in_both_families(problem, ProfileFit("next"))
    every = check_in_both_families(problem, ProfileFit("all"))
    assert following.starts.tolist() == every.starts.tolist()
