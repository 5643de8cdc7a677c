"""What schedules claim: the judge finds what a slow twin finds, and policies are what they say they are."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from naive_claims import naive_breaches
from naive_workload_engine import draw_problem

from allocsolve.heuristics.workload.conservative import COMPRESSIONS, Conservative
from allocsolve.heuristics.workload.policies import EASY_PRESETS, Easy, Fcfs, FirstFit
from allocsolve.judge import WORKLOAD_CLAIMS, workload_breaches
from allocsolve.judge.workload.rules import workload_violations
from allocsolve.model import Jobs, WorkloadProblem, WorkloadSchedule
from allocsolve.simulation import simulate

if TYPE_CHECKING:
    from collections.abc import Sequence

#: Claims that the twin knows, too; run times, limits, sizes and points are of single jobs.
TWINS = ("capacity", "release", "fcfs", "work-conserving", "non-idling", "easy", "eager", "conservative")
MACHINE = ("capacity", "release", "run-times", "sizes", "points")


def broken(problem: WorkloadProblem, schedule: WorkloadSchedule, claims: Sequence[str]) -> dict[str, Any]:
    breaches = workload_breaches(problem, schedule, claims)
    return {breach.claim: (breach.job, breach.at) for breach in breaches}


def with_limits_above(problem: WorkloadProblem, rng: random.Random, *, exact: bool) -> WorkloadProblem:
    """Return the rigid workload with limits that no job exceeds; `exact`: that they all reach."""
    packed = problem.packed
    limits = [time + (0 if exact else rng.choice([0, 0, 1, 7])) for time in packed.runtime.tolist()]
    jobs = Jobs(packed.submit, packed.nodes, packed.runtime, limits, names=problem.jobs.names)
    return WorkloadProblem(problem.num_nodes, jobs)


def draw_policy(rng: random.Random, *, moldable: bool) -> Any:
    easy = [Easy(), Easy(extra_nodes=False), Easy(strict=True), Easy(estimate="actual"), Easy(coalesce=False)]
    easy += [Easy(like=name) for name in EASY_PRESETS]
    plans = [] if moldable else [Conservative(compression) for compression in COMPRESSIONS]
    return rng.choice([Fcfs(), FirstFit(), *easy, *plans])


def moved(rng: random.Random, schedule: WorkloadSchedule) -> WorkloadSchedule:
    """Return a schedule in which some jobs run at other times, and some perhaps never."""
    starts, ends = schedule.starts.copy(), schedule.ends.copy()
    for job in range(len(starts)):
        if rng.random() < 0.2:
            by = rng.choice([-2, -1, -0.25, 0.25, 1, 5])
            by = max(by, -starts[job])
            starts[job] += by
            ends[job] += by
    keep = [rng.random() > 0.03 for _ in starts]
    offsets = [sum(keep[:job]) for job in range(len(keep) + 1)]
    rows = [job for job, kept in enumerate(keep) if kept]
    return WorkloadSchedule(np.array(offsets), starts[rows], ends[rows], schedule.nodes[rows])


@pytest.mark.parametrize("moldable", [False, True])
def test_the_judge_finds_what_the_twin_finds(moldable: bool) -> None:
    rng = random.Random(moldable)
    seen = dict.fromkeys(TWINS, 0)
    for _ in range(400):
        problem = draw_problem(rng, moldable=moldable)
        schedule = simulate(problem, draw_policy(rng, moldable=moldable))
        if rng.random() < 0.5:
            schedule = moved(rng, schedule)
        expected = naive_breaches(problem, schedule)
        assert broken(problem, schedule, TWINS) == expected
        for claim in expected:
            seen[claim] += 1
    assert min(seen.values()) > 5, seen


def test_policies_keep_their_claims() -> None:
    rng = random.Random(7)
    for _ in range(300):
        problem = draw_problem(rng, moldable=rng.random() < 0.3)
        claims: dict[Any, tuple[str, ...]] = {
            Fcfs(): ("fcfs", "work-conserving", "easy", "conservative"),
            FirstFit(): ("work-conserving", "non-idling"),
            Easy(): ("work-conserving", "easy", "eager"),
            Easy(extra_nodes=False): ("work-conserving", "easy"),
            Easy(strict=True): ("work-conserving", "easy"),
            Easy(scan_limit=1): ("work-conserving", "easy"),
        }
        for policy, kept in claims.items():
            schedule = simulate(problem, policy)
            assert broken(problem, schedule, (*MACHINE, *kept)) == {}, policy


def test_conservative_backfilling_delays_nobody() -> None:
    """Where jobs end early, only planning anew keeps what a plan made anew promises."""
    rng = random.Random(8)
    for _ in range(300):
        problem = with_limits_above(draw_problem(rng, moldable=False), rng, exact=False)
        claims = (*MACHINE, "limits", "conservative")
        assert broken(problem, simulate(problem, Conservative("replan")), claims) == {}
        problem = with_limits_above(problem, rng, exact=True)
        for compression in COMPRESSIONS:
            schedule = simulate(problem, Conservative(compression))
            assert broken(problem, schedule, (*claims, "work-conserving", "easy")) == {}


def test_three_claims_are_easy_backfilling() -> None:
    """A schedule of rigid jobs keeps them if, and only if, it is the one of EASY."""
    rng = random.Random(9)
    others = 0
    for _ in range(400):
        problem = draw_problem(rng, moldable=False)
        expected = simulate(problem, Easy())
        schedule = simulate(problem, draw_policy(rng, moldable=False))
        if rng.random() < 0.2:
            moved_one = moved(rng, schedule)
            schedule = schedule if workload_violations(problem, moved_one) else moved_one
        others += schedule != expected
        assert (broken(problem, schedule, ("easy", "eager", "work-conserving")) == {}) == (
            schedule == expected
        )
    assert others > 60


def test_all_claims_are_broken_by_something() -> None:
    assert set(TWINS) | set(MACHINE) | {"limits"} == set(WORKLOAD_CLAIMS)
