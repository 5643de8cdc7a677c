"""profile-fit: a slow twin that sees what the rules show, and the list scheduling that it is."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from draw_evolving import draw_profile
from evolving_strategies import evolving_problems
from hypothesis import given, strategies as st
from naive_profile_fit import NaiveProfileFit
from strategies import evolution_problems

from allocsolve.heuristics import Fit, ListScheduling, ProfileFit, Rigid
from allocsolve.instances import evolution_schedule_of_workload, workload_of_evolution
from allocsolve.judge import evolution_violations, workload_violations
from allocsolve.model import Budget, Job, Profile, WorkloadProblem
from allocsolve.simulation import run_policy

if TYPE_CHECKING:
    from allocsolve.model import EvolutionProblem, EvolutionSchedule
    from allocsolve.simulation.rules import ProfileKnowledge

policies = st.builds(
    ProfileFit,
    knowledge=st.sampled_from(["none", "next", "all"]),
    expand_limit=st.sampled_from([1, float("inf")]),
    compacting=st.booleans(),
)
problems = evolution_problems(max_apps=6, max_steps=4, releases=True)


def check_against_twin(problem: WorkloadProblem, policy: ProfileFit) -> None:
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
    check_against_twin(problem, policy)


@pytest.mark.parametrize("knowledge", ["none", "next", "all"])
def test_streams_of_40_jobs(knowledge: ProfileKnowledge) -> None:
    for seed in range(10):
        rng = random.Random(seed)
        policy = ProfileFit(knowledge, rng.choice([1, float("inf")]), rng.random() < 0.5)
        check_against_twin(draw_profiles(rng, 40), policy)


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
