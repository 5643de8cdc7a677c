"""Jobs that are killed at their limits: the schedule is that of shorter run times, and the judge knows it."""

from __future__ import annotations

import dataclasses
import random  # noqa: TC003 - hypothesis reads the annotations
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pytest
from hypothesis import given, strategies as st
from naive_malleable import naive_malleable
from naive_workload_engine import draw_problem, naive_easy

from allocsolve.errors import InvalidOption
from allocsolve.heuristics import (
    Conservative,
    Easy,
    EvolvEasyback,
    Fcfs,
    FirstFit,
    MalleableMin,
    ProfileFit,
    StaticPrice,
)
from allocsolve.heuristics.workload.lina import Lina
from allocsolve.instances import evotree_batch
from allocsolve.judge.workload.rules import workload_violations
from allocsolve.model import Amdahl, Job, Profile, SpeedupTable, WorkloadProblem
from allocsolve.simulation import EngineRules, Reason, promised_starts, run_policy, simulate

if TYPE_CHECKING:
    from collections.abc import Callable


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
