"""Malleable jobs: the slow twin, the compiled loop and the driver in Python agree; the judge accepts all."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from evolving_strategies import evolving_problems
from hypothesis import given, strategies as st
from lina_draws import draw_rules, draw_workload, simulated
from naive_malleable import draw_malleable, naive_malleable, pieces, pieces_of
from naive_malleable_policies import draw_policy, naive_policy
from naive_workload_engine import draw_problem
from strategies import workload_problems
from tiers import draws

from allocsolve.errors import InvalidOption
from allocsolve.heuristics import Lina
from allocsolve.heuristics.workload import (
    FirstFit,
    MalleableAverage,
    MalleableMin,
    MalleablePref,
    MalleablePrefkeeper,
)
from allocsolve.judge.workload.rules import workload_violations
from allocsolve.simulation import EngineRules, run_policy
from allocsolve.simulation.outcome import schedule_of

if TYPE_CHECKING:
    from allocsolve.model import WorkloadProblem
    from allocsolve.simulation import Decision, QueueView


POLICIES = (MalleableMin, MalleableAverage, MalleablePref, MalleablePrefkeeper)


def check_against_twin(rng: random.Random, most: int) -> None:
    """Run a drawn workload under a drawn policy in three ways."""
    at_once = rng.random() < 0.25
    problem, policy = draw_malleable(rng, most, at_once=at_once), draw_policy(rng)
    rules = EngineRules(rng.random() < 0.8, resize_takes_effect="at_once" if at_once else "next_point")
    twin = naive_malleable(problem, naive_policy(policy), coalesce=rules.coalesce)
    expected = [pieces_of(twin, job) for job in range(len(problem.jobs))]

    state, resizing = policy.final_states(problem, rules)
    assert pieces(schedule_of(state, resizing)) == expected
    assert resizing.ledger["calls"] == twin.calls

    calls = 0

    def counted(view: QueueView) -> tuple[Decision, ...]:
        nonlocal calls
        calls += 1
        check_nodes(view)
        return policy.decide(view)

    driven = run_policy(problem, counted, rules)
    assert pieces(driven.schedule) == expected
    assert (calls, driven.log.started.tolist()) == (twin.calls, twin.starts)
    assert driven.log.reasons.tolist() == policy.simulated(problem, rules).log.reasons.tolist()
    if all(expected):
        assert not workload_violations(problem, driven.schedule)


def check_nodes(view: QueueView) -> None:
    """Count the nodes of a view."""
    assert view.free + view.held.sum() + view.pool + view.reserved == view.num_nodes
    assert view.reserved == np.maximum(view.targets - view.held, 0).sum()
    shrinks = np.maximum(view.held - view.targets, 0).sum()
    assert view.pool <= view.promised_nodes.sum() <= view.pool + shrinks
    if len(view.promises):
        assert view.pool < view.promised_nodes[0]
    assert not set(view.promises.tolist()) & {*view.queue.tolist(), *view.running.tolist()}


def test_300_workloads_of_up_to_200_jobs() -> None:
    for seed in draws(300):
        rng = random.Random(seed)
        check_against_twin(rng, rng.choice([14, 60, 200]))


@given(st.randoms(use_true_random=False), st.sampled_from(POLICIES))
def test_without_malleable_jobs_it_is_first_fit(rng: random.Random, kind: Any) -> None:
    problem = draw_problem(rng, moldable=kind in {MalleableMin, MalleableAverage})
    ran, expected = kind().simulated(problem), FirstFit("min").simulated(problem)
    assert ran.schedule == expected.schedule
    assert ran.log.started.tolist() == expected.log.started.tolist()
    assert ran.log.blocked.tolist() == expected.log.blocked.tolist()


@given(st.randoms(use_true_random=False), st.sampled_from(POLICIES))
def test_without_points_sizes_change_at_once(rng: random.Random, kind: Any) -> None:
    problem = draw_malleable(rng, at_once=True)
    ran, at_once = (
        kind().simulated(problem, EngineRules(resize_takes_effect=effect)).schedule
        for effect in ("next_point", "at_once")
    )
    assert ran == at_once


GENERATORS = st.randoms(use_true_random=False)


def check_lina(rng: random.Random, most: int) -> None:
    problem, options = draw_workload(rng, rng.random() < 0.7, most), draw_rules(rng)
    policy = Lina(**options)
    state, resizing = policy.final_states(problem)
    schedule, twin = schedule_of(state, resizing), simulated(problem, **options)
    for job in range(len(problem.jobs)):
        assert schedule.pieces(job) == pieces_of(twin, job)
    assert resizing.ledger["calls"] == twin.calls
    assert workload_violations(problem, schedule) == ()


def test_300_workloads_of_up_to_60_jobs() -> None:
    for seed in draws(300):
        rng = random.Random(seed)
        check_lina(rng, rng.choice([14, 60]))


@given(workload_problems(max_jobs=9, max_nodes=8), GENERATORS)
def test_without_elastic_jobs_it_backfills(problem: WorkloadProblem, rng: random.Random) -> None:
    if problem.is_rigid:
        run = Lina(**draw_rules(rng)).simulated(problem)
        other = FirstFit().simulated(problem)
        assert run.schedule == other.schedule
        assert run.log.started.tolist() == other.log.started.tolist()
        assert run.log.reasons.tolist() == other.log.reasons.tolist()
        assert run.log.blocked.tolist() == other.log.blocked.tolist()


@given(evolving_problems(max_jobs=8, readings=("requested",)), GENERATORS, st.booleans())
def test_jobs_of_all_kinds_with_points_and_tables(
    problem: WorkloadProblem, rng: random.Random, coalesce: bool
) -> None:
    schedule = Lina(**draw_rules(rng)).simulated(problem, EngineRules(coalesce)).schedule
    assert workload_violations(problem, schedule) == ()


@given(evolving_problems(max_jobs=4, readings=("reactive", "profile")))
def test_phases_and_profiles_are_refused(problem: WorkloadProblem) -> None:
    if problem.jobs.evolving.reading.any():
        with pytest.raises(InvalidOption, match="has phases or a profile"):
            Lina().simulated(problem)
