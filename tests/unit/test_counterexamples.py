"""Each counterexample does what its reason says, by slow and independent code."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from itertools import pairwise, permutations
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from naive import TooManyLoops, published_fit
from naive_conservative import Interval, earliest_hole
from naive_optimum import optimum

from allocsolve import judge, solve
from allocsolve.heuristics.evolution.list_scheduling import Fit, list_starts, schedule_of
from allocsolve.heuristics.workload.conservative import Conservative
from allocsolve.heuristics.workload.policies import Easy
from allocsolve.instances import counterexamples
from allocsolve.instances.generators.counterexamples import easy_counterexamples
from allocsolve.judge.workload.rules import workload_violations
from allocsolve.model import Budget, EvolutionProblem, EvolutionProfile, WorkloadSchedule
from allocsolve.simulation import simulate

if TYPE_CHECKING:
    from collections.abc import Callable

    from allocsolve.model import WorkloadProblem


CASES: dict[str, Any] = {problem.name: problem for problem in counterexamples()}


def in_order(problem: EvolutionProblem, fit: Fit) -> tuple[int, list[int]]:
    """Return start and durations of the second application, placed after the first."""
    schedule = schedule_of(problem, list_starts(problem, np.arange(2), fit))
    begin = problem.packed.offsets[1]
    return int(schedule.starts[1]), schedule.durations[begin:].tolist()


def test_each_has_a_reason_and_another_name() -> None:
    assert len(CASES) == len(counterexamples())
    for problem in CASES.values():
        assert str(problem.meta["reason"]).endswith(".")
        assert problem.meta["case"] == problem.name


def test_list_scheduling_is_incomplete() -> None:
    problem = CASES["list-scheduling-incomplete"]
    lists = [list_starts(problem, np.array(order), Fit(1)) for order in permutations(range(3))]
    assert min(schedule_of(problem, starts).completions.max() for starts in lists) == 7


@pytest.mark.parametrize(
    ("name", "limit", "objective", "best"),
    [
        ("list-scheduling-incomplete", None, ("makespan",), (6,)),
        ("expansion-pays", None, ("makespan", "waste"), (6, 2)),
        ("expansion-pays", 1, ("makespan",), (8,)),
        ("limit-is-floored", None, ("makespan",), (5,)),
        ("limit-is-floored", 2, ("makespan",), (4,)),
    ],
)
def test_optima_are_what_they_say(name: str, limit: float | None, objective: Any, best: object) -> None:
    problem = CASES[name] if limit is None else replace(CASES[name], expand_limit=limit)
    assert optimum(problem, objective) == best


def test_steps_are_delayed_and_gaps_are_on_the_left() -> None:
    assert in_order(CASES["misprint-line-17"], Fit()) == (5, [1, 1])
    problem = CASES["compacting-gap-is-left"]
    assert in_order(problem, Fit()) == (0, [2, 6, 2])
    assert in_order(problem, Fit(compacting=True)) == (2, [2, 4, 2])
    assert problem.applications[0].value(6) + problem.applications[1].steps[2][1] > problem.num_nodes


def test_the_published_recursion_is_exponential() -> None:
    problem = CASES["published-recursion-exponential"]
    busy, request = problem.applications
    loops = []
    for leading in range(1, 5):
        fewer = EvolutionProfile(((20, 1),) * leading + tuple(request.steps[-3:]))
        loops.append(published_fit(fewer, busy, 2, problem.expand_limit).loops)
    assert all(after > 2.5 * before for before, after in pairwise(loops[1:]))
    with pytest.raises(TooManyLoops):
        published_fit(request, busy, 2, problem.expand_limit, max_loops=2 * loops[-1])
    assert published_fit(request, busy, 2, math.inf).loops < 50


def test_compacting_can_waste() -> None:
    problem = CASES["compacting-wastes"]
    wastes = []
    for name in ("infX", "infX+c"):
        answer = solve(problem, name).answer
        wastes.append(judge.value(problem, answer, ("waste",)))
    assert wastes == [1, 2]


@pytest.mark.parametrize(
    ("name", "solver", "cost", "best"),
    [
        ("median-is-not-optimal", "manhattan-median", 26, 22),
        ("growth-is-not-median", "growth", 35, 25),
        ("shells-are-not-hops", "mc1x1", 14, 8),
        ("runs-scatter", "hilbert-best-fit+largest-runs", 28, 10),
    ],
)
def test_heuristics_miss_the_optimum(name: str, solver: str, cost: int, best: int) -> None:
    problem = CASES[name]
    assert solve(problem, solver).objective == cost
    assert solve(problem, "cpsat").bound == best == solve(problem, "branch-and-bound").objective


def test_no_run_suffices() -> None:
    problem = CASES["runs-scatter"]
    assert problem.free.sum() == 13
    assert solve(problem, "hilbert-first-fit").answer is None


def test_connected_sets_cost_more() -> None:
    problem = CASES["connected-costs-more"]
    assert problem.contiguous
    for solver in ("cpsat", "branch-and-bound"):
        assert solve(problem, solver).bound == 76
        assert solve(replace(problem, contiguous=False), solver).bound == 62


# --- EASY ---------------------------------------------------------------------------------------------


EASY_CASES = easy_counterexamples()
RULES = ("easy", "fcfs", "first-fit", "conservative")
each = pytest.mark.parametrize("case", EASY_CASES, ids=lambda case: case.name)


def starts_of(case: WorkloadProblem) -> Any:
    return case.meta["starts"]


def play(
    case: WorkloadProblem, may_pass: Callable[[WorkloadProblem, list[Interval], float, int, int], bool]
) -> list[float]:
    """Start jobs in queue order; one behind the first that does not fit needs a leave to pass it."""
    jobs, estimates = list(case.jobs), case.packed.estimate
    starts = [math.nan] * len(jobs)
    now = min(job.submit for job in jobs)
    while any(math.isnan(start) for start in starts):
        queue = [idx for idx, job in enumerate(jobs) if job.submit <= now and math.isnan(starts[idx])]
        head = None
        for idx in queue:
            busy = [j for j, start in enumerate(starts) if start <= now < start + jobs[j].runtime]
            fits = sum(jobs[j].nodes for j in busy) + jobs[idx].nodes <= case.num_nodes
            plan = [Interval(starts[j], starts[j] + estimates[j], jobs[j].nodes) for j in busy]
            if fits and (head is None or may_pass(case, plan, now, head, idx)):
                starts[idx] = now
            elif head is None:
                head = idx
        ends = [start + job.runtime for start, job in zip(starts, jobs, strict=True)]
        now = min(time for time in [*ends, *(job.submit for job in jobs)] if time > now)
    return starts


def head_stays(case: WorkloadProblem, plan: list[Interval], now: float, head: int, idx: int) -> bool:
    """EASY by its definition: a job may pass if the head can be expected to start as early as without it."""
    first, later = case.jobs[head], case.jobs[idx]
    candidate = Interval(now, now + float(case.packed.estimate[idx]), later.nodes)
    before, after = (
        earliest_hole(held, case.num_nodes, first.nodes, math.inf, now) for held in (plan, [*plan, candidate])
    )
    return before == after


def head_stays_in_32_bits(
    case: WorkloadProblem, plan: list[Interval], now: float, head: int, idx: int
) -> bool:
    """EASY that compares times as 32-bit floating-point numbers."""
    rounded = [Interval(one.start, float(np.float32(one.end)), one.nodes) for one in plan]
    shadow = earliest_hole(rounded, case.num_nodes, case.jobs[head].nodes, math.inf, now)
    end = float(np.float32(now + float(case.packed.estimate[idx])))
    held = sum(one.nodes for one in rounded if one.end > shadow)
    extra = case.num_nodes - held - case.jobs[head].nodes
    return end <= shadow or case.jobs[idx].nodes <= extra


def test_they_are_small_and_have_names_of_their_own() -> None:
    assert len({case.name for case in EASY_CASES}) == len(EASY_CASES) >= 8
    for case in EASY_CASES:
        assert 3 <= len(case.jobs) <= 5
        assert str(case.meta["reason"]).endswith(".")
        assert json.loads(json.dumps(dict(case.meta))) == dict(case.meta)


@each
def test_rules_start_the_jobs_when_the_case_says(case: WorkloadProblem) -> None:
    starts = starts_of(case)
    assert play(case, head_stays) == starts["easy"]
    assert play(case, lambda *_: False) == starts["fcfs"]
    assert play(case, lambda *_: True) == starts["first-fit"]
    schedule = Conservative()(case, Budget()).answer
    assert schedule is not None
    assert schedule.first_starts.tolist() == starts["conservative"]


@each
def test_options_start_the_jobs_when_the_case_says(case: WorkloadProblem) -> None:
    """Rules and presets do by the contract of policies."""
    policies = {
        "easy(coalesce=False)": Easy(coalesce=False),
        "easy(extra_nodes=False,strict=True)": Easy(extra_nodes=False, strict=True),
    }
    for rule, starts in starts_of(case).items():
        if rule == "float32":
            assert play(case, head_stays_in_32_bits) == starts
        elif rule in policies:
            assert simulate(case, policies[rule]).first_starts.tolist() == starts


@each
def test_the_tool_is_refuted_by_a_feasible_schedule(case: WorkloadProblem) -> None:
    (tool,) = set(starts_of(case)) - set(RULES)
    schedule = WorkloadSchedule.of(case, starts_of(case)[tool])
    assert schedule.first_starts.tolist() != starts_of(case)["easy"]
    assert not workload_violations(case, schedule)
