"""Jobs that are killed at their limits: the schedule is that of shorter run times, and the judge knows it."""

from __future__ import annotations

import dataclasses
import random
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pytest
from evolving_strategies import evolving_problems
from hypothesis import given, strategies as st
from lina_draws import draw_rules, draw_workload, simulated
from naive_malleable import draw_malleable, naive_malleable, pieces, pieces_of
from naive_malleable_policies import draw_policy, naive_policy
from naive_workload_engine import draw_problem, naive_easy
from strategies import workload_problems
from tiers import draws

from allocsolve.errors import InvalidOption
from allocsolve.heuristics import (
    Conservative,
    Easy,
    EvolvEasyback,
    Fcfs,
    FirstFit,
    Lina,
    MalleableMin,
    ProfileFit,
    StaticPrice,
)
from allocsolve.heuristics.workload import MalleableAverage, MalleablePref, MalleablePrefkeeper
from allocsolve.instances import evotree_batch
from allocsolve.judge.workload.rules import workload_violations
from allocsolve.model import Amdahl, Job, Profile, SpeedupTable, WorkloadProblem
from allocsolve.simulation import EngineRules, Reason, promised_starts, run_policy, simulate
from allocsolve.simulation.outcome import schedule_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from allocsolve.simulation import Decision, QueueView


KILLS = EngineRules(kill_at_limit=True)

#: Those that run whole workloads; each has a driver of its own.
RIGID: tuple[Callable[[], Any], ...] = (
    *(Easy, Fcfs, FirstFit, Conservative, MalleableMin, Lina),
    lambda: Easy(reservations=2),
    lambda: Easy(like="raps"),
)


def cut_by_hand(problem: WorkloadProblem) -> WorkloadProblem:
    """Return the workload whose rows say that no job runs beyond its limit."""
    rows = []
    for job in problem.jobs:
        runtime = job.runtime if job.limit is None else min(job.runtime, job.limit)
        law = job.speedup
        if isinstance(law, SpeedupTable) and runtime < job.runtime:
            part = runtime / job.runtime
            law = SpeedupTable([(n, runtime if n == job.nodes else s * part) for n, s in law.rows])
        rows.append(dataclasses.replace(job, runtime=runtime, speedup=law))
    return WorkloadProblem(problem.num_nodes, rows, problem.name)


@given(st.randoms(use_true_random=False), st.booleans())
def test_a_workload_that_is_cut_has_the_rows_that_are_cut(rng: random.Random, moldable: bool) -> None:
    problem = draw_problem(rng, moldable=moldable)
    cut = problem.cut_at_limits()
    assert cut == cut_by_hand(problem)
    assert cut.cut_at_limits() is cut
    beyond = bool((problem.packed.runtime > problem.jobs.limit).any())
    assert (cut is problem) != beyond
    assert (cut.meta.get("limits") == "cut") == beyond


@given(st.randoms(use_true_random=False))
def test_killing_equals_cutting_under_every_policy(rng: random.Random) -> None:
    problem = draw_problem(rng, moldable=False)
    cut = problem.cut_at_limits()
    for made in RIGID:
        policy = made()
        rules = dataclasses.replace(policy.rules if hasattr(policy, "rules") else KILLS, kill_at_limit=True)
        schedule = simulate(problem, policy, rules)
        assert schedule == simulate(cut, policy), policy
        assert workload_violations(cut, schedule) == ()
        assert bool(workload_violations(problem, schedule)) == (cut is not problem)
        if hasattr(policy, "decide") or hasattr(policy, "online"):
            assert run_policy(problem, policy, rules).schedule == schedule


@given(st.randoms(use_true_random=False), st.booleans())
def test_policies_see_the_end_at_the_limit_as_the_twin_does(rng: random.Random, moldable: bool) -> None:
    problem = draw_problem(rng, moldable=moldable)
    easy = Easy(estimate=rng.choice(["limit", "user-average"]))
    ran = naive_malleable(cut_by_hand(problem), naive_easy(easy)).done
    schedule = simulate(problem, easy, KILLS)
    assert schedule.ends.tolist() == [ran[job].end for job in range(len(problem.jobs))]


def test_what_is_known_is_the_time_until_the_kill() -> None:
    problem = WorkloadProblem(4, [Job(0, 3, 4, limit=3), Job(1, 2, 1, limit=9), Job(2, 1, 4)])
    views = []

    def policy(view: Any) -> Any:
        views.append(view)
        return Fcfs().decide(view)

    run_policy(problem, policy, EngineRules(knowledge="actual", kill_at_limit=True))
    assert [view.now for view in views] == [0, 1, 2, 3, 4, 7]
    assert views[-1].jobs.runtime.tolist() == [3, 1, 4]
    promised = promised_starts(problem, Conservative(), KILLS)
    assert promised.tolist() == promised_starts(problem.cut_at_limits(), Conservative()).tolist()


def test_a_profile_or_a_size_that_changes_has_no_limit_to_be_killed_at() -> None:
    """What a limit means for these is not said, so nothing is guessed; those within theirs run as always."""
    elastic: dict[str, Any] = {"min_nodes": 1, "max_nodes": 4, "speedup": Amdahl(0.5), "kind": "malleable"}
    problem = WorkloadProblem(4, [Job(0, 2, 9, limit=5, name="long", **elastic)])
    for policy in (MalleableMin(), StaticPrice()):
        with pytest.raises(InvalidOption, match="job 'long' runs for 9 s, beyond its limit of 5 s"):
            simulate(problem, policy, KILLS)
    steps = Profile([(2, 1), (3, 3)])
    problem = WorkloadProblem(4, [Job(0, 1, 5, limit=4, min_nodes=1, max_nodes=3, evolution=steps)])
    with pytest.raises(InvalidOption, match="beyond its limit of 4 s"):
        simulate(problem, ProfileFit(), dataclasses.replace(ProfileFit().rules, kill_at_limit=True))
    within = WorkloadProblem(4, [Job(0, 2, 9, limit=9, **elastic)])
    assert simulate(within, MalleableMin(), KILLS) == simulate(within, MalleableMin())


def test_twenty_thousand_jobs_are_cut_at_once() -> None:
    count = 20_000
    problem = WorkloadProblem(4, [Job(idx, 1, 10, limit=5 + idx % 10) for idx in range(count)])
    expected = np.minimum(10, 5 + np.arange(count) % 10)
    assert (problem.cut_at_limits().packed.runtime == expected).all()


#: Takes the same time on every number of nodes: so its limit is one, too.
SAME = Amdahl(0)


def as_published(moldable: Literal["max", "min", "fit"]) -> Easy:
    return Easy(extra_nodes=False, strict=True, moldable=moldable)


@st.composite
def workloads_of_one_limit(draw: st.DrawFn) -> WorkloadProblem:
    num_nodes = draw(st.integers(1, 8))
    jobs = []
    for _ in range(draw(st.integers(0, 8))):
        low, nodes, high = sorted(draw(st.integers(1, num_nodes)) for _ in range(3))
        row = draw(st.integers(0, 20)), nodes, draw(st.sampled_from([1, 2.5, 10, 30])), 20
        moldable = draw(st.booleans())
        jobs.append(Job(*row, min_nodes=low, max_nodes=high, speedup=SAME) if moldable else Job(*row))
    return WorkloadProblem(num_nodes, jobs)


@given(workloads_of_one_limit(), st.sampled_from(["max", "min", "fit"]))
def test_equal_limits_are_never_backfilled(
    problem: WorkloadProblem, moldable: Literal["max", "min", "fit"]
) -> None:
    run = as_published(moldable).simulated(problem)
    assert Reason.BACKFILLED not in run.log.reasons.tolist()
    if moldable != "fit":
        assert run.schedule == Fcfs(moldable).simulated(problem).schedule
    assert Reason.BACKFILLED not in EvolvEasyback().simulated(problem).log.reasons.tolist()


@pytest.mark.parametrize("moldable", ["max", "min", "fit"])
@pytest.mark.parametrize(("limit", "starts"), [(60, 100), (58, 100), (57.5, 2)])
def test_unequal_limits_are(moldable: Literal["max", "min", "fit"], limit: float, starts: float) -> None:
    """The head can start at 60 s: what is backfilled at 2 s has to end before that, not at it."""
    narrow = Job(2, 1, 10, limit, min_nodes=1, max_nodes=2, speedup=SAME)
    problem = WorkloadProblem(4, [Job(0, 3, 50, 60), Job(1, 4, 50, 60), narrow])
    assert as_published(moldable).simulated(problem).schedule.first_starts.tolist() == [0, 50, starts]


def test_in_the_batches_of_the_paper_easy_is_first_come_first_served() -> None:
    for seed in range(42, 47):
        problem = evotree_batch(seed, share=0)
        served = Fcfs().simulated(problem).schedule
        assert as_published("max").simulated(problem).schedule == served
        assert EvolvEasyback().simulated(problem).schedule == served
        assert Easy().simulated(problem).schedule != served


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
