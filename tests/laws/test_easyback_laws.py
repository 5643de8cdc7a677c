"""evolv-easyback: two slow twins, the EASY that it is without jobs that evolve, and the judge."""

from __future__ import annotations

import random
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

import pytest
from evolving_strategies import evolving_problems
from hypothesis import given, strategies as st
from naive_easyback import NaiveEasyback
from naive_reactive import naive_reactive
from reactive_draws import draw_policy, draw_reactive, schedule_of
from strategies import workload_problems
from tiers import draws

from allocsolve.errors import Deadlock
from allocsolve.heuristics import Easy, EvolvEasyback
from allocsolve.heuristics.workload.easyback import final_states
from allocsolve.judge import workload_violations
from allocsolve.model import Budget
from allocsolve.simulation import EngineRules, run_policy

if TYPE_CHECKING:
    from allocsolve.model import WorkloadProblem
    from allocsolve.simulation.rules import ProfileKnowledge

options = st.builds(
    EvolvEasyback,
    cooldown=st.sampled_from([0, 1, 2.5, 60]),
    polling=st.sampled_from([0.3, 1, 5]),
    wake_up=st.booleans(),
    requests=st.sampled_from(["first", "last"]),
    start_counts=st.booleans(),
)


def joined(pieces: tuple[tuple[float, float, int], ...]) -> list[tuple[float, float, int]]:
    """Return the pieces with neighbours of one size in one."""
    rows: list[tuple[float, float, int]] = []
    for start, end, size in pieces:
        if rows and rows[-1][2] == size:
            rows[-1] = (rows[-1][0], end, size)
        else:
            rows.append((start, end, size))
    return rows


def check_against_twin(rng: random.Random, most: int) -> None:
    problem, policy = draw_reactive(rng, most), draw_policy(rng)
    schedule = EvolvEasyback(**asdict(policy)).simulated(problem).schedule
    twin = schedule_of(naive_reactive(problem, policy))
    for job in range(len(problem.jobs)):
        assert list(schedule.pieces(job)) == joined(twin.pieces(job))
    assert workload_violations(problem, schedule) == ()


def test_300_workloads_of_up_to_60_jobs() -> None:
    for seed in draws(300):
        rng = random.Random(seed)
        check_against_twin(rng, rng.choice([12, 60]))


@given(st.randoms(use_true_random=False))
def test_it_is_called_as_often(rng: random.Random) -> None:
    """Where the clock ticks at 0 s only, at which it calls nobody here."""
    problem, policy = draw_reactive(rng), replace(draw_policy(rng), polling=1e6, wake_up=True)
    calls = naive_reactive(problem, policy).calls
    idle = bool(len(problem.jobs)) and problem.packed.submit.min() > 0
    _, resizing = final_states(problem, EvolvEasyback(**asdict(policy)), EngineRules())
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


def check_in_python(problem: WorkloadProblem, policy: EvolvEasyback) -> None:
    run = policy.simulated(problem)
    twin = run_policy(problem, NaiveEasyback(problem, policy))
    assert run.schedule == twin.schedule
    assert run.log.started.tolist() == twin.log.started.tolist()
    assert workload_violations(problem, run.schedule) == ()


@given(evolving_problems(max_jobs=6), options)
def test_all_kinds_of_jobs(problem: WorkloadProblem, policy: EvolvEasyback) -> None:
    check_in_python(problem, replace(policy, cooldown=0, start_counts=False))


@given(evolving_problems(max_jobs=7, max_nodes=6, readings=("profile",)), options)
def test_profiles_end_whatever_they_need(problem: WorkloadProblem, policy: EvolvEasyback) -> None:
    check_in_python(problem, policy)


@given(
    evolving_problems(max_jobs=7, max_nodes=6, readings=("profile",)),
    st.sampled_from(["next", "all"]),
    options,
)
def test_with_more_knowledge_of_profiles(
    problem: WorkloadProblem, knowledge: ProfileKnowledge, policy: EvolvEasyback
) -> None:
    check_in_python(problem, replace(policy, knowledge=knowledge))


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
