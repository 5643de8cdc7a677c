"""lina: its slow twin, the policies that it is without elastic jobs, and the judge."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from evolving_strategies import evolving_problems
from hypothesis import given, strategies as st
from lina_draws import draw_rules, draw_workload, simulated
from naive_malleable import pieces_of
from strategies import workload_problems
from tiers import draws

from allocsolve.errors import InvalidOption
from allocsolve.heuristics import FirstFit, Lina
from allocsolve.judge import workload_violations
from allocsolve.simulation import EngineRules
from allocsolve.simulation.outcome import schedule_of

if TYPE_CHECKING:
    from allocsolve.model import WorkloadProblem

GENERATORS = st.randoms(use_true_random=False)


def check_against_twin(rng: random.Random, most: int) -> None:
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
        check_against_twin(rng, rng.choice([14, 60]))


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
