"""`Prices` and the clairvoyant heuristics by example."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from naive_workload_optimum import workload_optimum
from resource_strategies import general_problems
from tiers import examples

from allocsolve.errors import InvalidOption
from allocsolve.exact.workload import Prices, prices
from allocsolve.exact.workload._windows import search_window
from allocsolve.heuristics.workload import EvolvEasyback, EvolvingAnnealing, Reinsertion, StaticPrice
from allocsolve.heuristics.workload.order_search import OrderSearch
from allocsolve.heuristics.workload.reinsertion import Reinserter, serial_plans
from allocsolve.heuristics.workload.serial import BestPlan, Plan, job_sizes, serial_order
from allocsolve.judge import certified_bound
from allocsolve.judge.workload.rules import workload_value, workload_violations
from allocsolve.model import (
    WORKLOAD_OBJECTIVES,
    Amdahl,
    Budget,
    ClosedWindow,
    Job,
    Jobs,
    Limit,
    Phases,
    Profile,
    Requests,
    Status,
    WorkloadProblem,
    parse_objective,
)
from allocsolve.model.arrays import frozen
from allocsolve.model.result import terms

if TYPE_CHECKING:
    from allocsolve.model import WorkloadTerm


def log(count: int, seed: int = 0) -> WorkloadProblem:
    """A busy log of narrow jobs with some wide ones."""
    random = np.random.default_rng(seed)
    nodes = np.where(random.random(count) < 0.1, 24, random.integers(1, 9, count))
    runtime = np.maximum(1, np.rint(random.lognormal(5, 1, count)))
    span = (nodes * runtime).sum() / (32 * 0.8)
    return WorkloadProblem(32, Jobs(np.floor(random.random(count) * span), nodes, runtime))


@pytest.mark.parametrize(
    ("workers", "objective"),
    [(1, "turnaround"), (2, "slowdown"), (1, "wait"), (2, "makespan"), (1, "wait,makespan")],
)
def test_schedule_and_certified_bound(objective: str, workers: int) -> None:
    problem, parsed = log(150), parse_objective(objective, WORKLOAD_OBJECTIVES)
    result = Prices(parsed)(problem, Budget(iterations=3_000, workers=workers))
    assert result.answer is not None
    assert workload_violations(problem, result.answer) == ()
    assert terms(workload_value(problem, result.answer, parsed)) == pytest.approx(
        terms(result.objective or 0)
    )
    assert result.certificate is not None
    certified = certified_bound(problem, dict(result.certificate), parsed)
    assert certified == pytest.approx(terms(result.bound)[0], rel=1e-6)
    assert terms(result.bound) <= terms(result.objective or 0)
    assert 0.5 * terms(result.objective or 0)[0] < terms(result.bound)[0] + 1e3 * (parsed[0] == "wait")


def test_the_same_answer_without_a_time_limit() -> None:
    problem = log(130)
    first, second = (Prices()(problem, Budget(iterations=9_000, seed=3)) for _ in range(2))
    assert first.limit is Limit.ITERATIONS
    assert (first.objective, first.answer) == (second.objective, second.answer)


def evolving(*, profiles: bool = False) -> WorkloadProblem:
    """Return a busy workload of rigid and evolving jobs."""
    asks: dict[str, Any] = {"min_nodes": 1, "max_nodes": 6, "evolution": Requests([(0.5, 2)])}
    tree: dict[str, Any] = {"min_nodes": 1, "max_nodes": 4}
    tree["evolution"] = Phases([(40, None), (20, 1), (40, None)])
    jobs = [Job(9 * idx, 2, 60, speedup=Amdahl(0.9), **asks) for idx in range(6)]
    jobs += [Job(7 * idx, 2, 60, **tree) for idx in range(6)]
    if profiles:
        steps = Profile([(20, 2), (10, 6)])
        jobs.append(Job(5, 2, 30, min_nodes=2, max_nodes=6, evolution=steps))
    return WorkloadProblem(8, [Job(0, 6, 30), *jobs])


@pytest.mark.parametrize("objective", ["turnaround", "slowdown,makespan", "makespan", "wait"])
@pytest.mark.parametrize("profiles", [False, True])
def test_a_search_and_a_certified_bound_of_jobs_that_evolve(objective: str, profiles: bool) -> None:
    problem, parsed = evolving(profiles=profiles), parse_objective(objective, WORKLOAD_OBJECTIVES)
    result = Prices(parsed)(problem, Budget())
    assert result.answer is not None
    assert workload_violations(problem, result.answer) == ()
    values, bounds = terms(result.objective or 0), terms(result.bound)
    assert values == terms(workload_value(problem, result.answer, parsed))
    schedules = [EvolvEasyback().simulated(problem).schedule]
    if not profiles:
        schedules.append(StaticPrice().simulated(problem).schedule)
    assert values <= min(terms(workload_value(problem, schedule, parsed)) for schedule in schedules)
    if objective == "turnaround":
        alone = EvolvingAnnealing(parsed)(problem, Budget(iterations=500))
        assert values <= terms(alone.objective or 0)
    assert [value for _, value in result.incumbents][-1] == result.objective
    if objective == "wait":
        assert (bounds[0], result.certificate) == (0, None)
    else:
        assert result.certificate is not None
        certified = certified_bound(problem, dict(result.certificate), parsed)
        assert 0 < certified <= bounds[0] + 1e-9
        assert bounds[0] <= values[0]


def test_no_policy_has_a_feasible_schedule_of_jobs_that_evolve() -> None:
    """Only `evolv-easyback` takes a profile that pauses beside phases, and its schedule breaks a rule."""
    pausing = Job(0, 1, 3, evolution=Profile(((1, 1), (1, 0), (1, 1)), expand_limit=1))
    problem = WorkloadProblem(1, [pausing, Job(0, 1, 1, evolution=Phases([(1, None)]))])
    for objective in ("turnaround", "turnaround,makespan"):
        parsed = parse_objective(objective, WORKLOAD_OBJECTIVES)
        result = Prices(parsed)(problem, Budget(iterations=20))
        assert result.answer is not None
        assert workload_violations(problem, result.answer) == ()
        assert terms(result.objective or 0) == terms(workload_value(problem, result.answer, parsed))


def test_going_on_with_jobs_that_evolve(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = evolving()
    first = Prices()(problem, Budget())
    again = Prices(start=first.answer, certificate=first.certificate)(problem, Budget(seconds=1e-3))
    assert again.objective == first.objective
    assert terms(again.bound)[0] >= terms(first.bound)[0] * (1 - 1e-9)

    def stopped(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(prices, "anneal_service_lists", stopped)
    searched = Prices()(problem, Budget())
    assert (searched.limit, searched.bound) == (Limit.INTERRUPTED, first.bound)
    monkeypatch.setattr(prices, "bound_by_time", stopped)
    result = Prices()(problem, Budget())
    assert (result.limit, result.objective) == (Limit.INTERRUPTED, searched.objective)
    assert terms(first.objective or 0)[0] < terms(result.objective or 0)[0]
    assert 0 < terms(result.bound)[0] <= terms(first.bound)[0]


def test_optimal_if_nobody_waits() -> None:
    problem = WorkloadProblem(100, [Job(10 * idx, 1 + idx % 7, 50) for idx in range(60)])
    result = Prices()(problem, Budget(seconds=600))
    assert result.status is Status.OPTIMAL
    assert result.objective == result.bound == 50


def test_a_bound_of_jobs_that_do_not_count() -> None:
    problem = WorkloadProblem(2, [Job(0, 2, 5, weight=0) for _ in range(50)])
    result = Prices()(problem, Budget(seconds=600))
    assert (result.status, result.objective) == (Status.OPTIMAL, 0.0)


def test_moldable_jobs() -> None:
    random = np.random.default_rng(1)
    jobs = [
        Job(int(submit), 4, 600, min_nodes=1, max_nodes=16, speedup=Amdahl(0.95))
        for submit in np.sort(random.random(60)) * 4_000
    ]
    problem = WorkloadProblem(32, jobs)
    result = Prices()(problem, Budget(iterations=2_000))
    assert result.answer is not None
    assert workload_violations(problem, result.answer) == ()
    assert 0.7 * terms(result.objective or 0)[0] < terms(result.bound)[0] <= terms(result.objective or 0)[0]


@pytest.mark.parametrize("count", [2, 60])
def test_malleable_jobs_have_a_bound_and_a_schedule(count: int) -> None:
    """A schedule is never called optimal, unless nothing could be faster."""
    law = Amdahl(0.95)
    random = np.random.default_rng(1)
    jobs = [
        Job(int(submit), 4, 600, min_nodes=1, max_nodes=16, speedup=law, kind="malleable")
        for submit in np.sort(random.random(count)) * 60 * count
    ]
    problem = WorkloadProblem(16, jobs)
    result = Prices()(problem, Budget(iterations=500))
    assert result.answer is not None
    assert workload_violations(problem, result.answer) == ()
    assert (result.status, result.limit) != (Status.OPTIMAL, None)
    bound = certified_bound(problem, result.certificate or {}, ("turnaround",))
    assert 0.5 * terms(result.objective or 0)[0] < terms(result.bound)[0] == pytest.approx(bound, rel=1e-6)


def test_few_jobs_are_done_long_before_the_time_is_over() -> None:
    problem = WorkloadProblem(4, [Job(0, 3, 100), Job(1, 4, 10), Job(2, 1, 1000)])
    result = Reinsertion()(problem, Budget(seconds=3600))
    assert result.limit is not Limit.TIME
    assert result.objective == pytest.approx((111 + 10 + 1009) / 3)


def test_incumbents_fall() -> None:
    result = Reinsertion()(log(300), Budget(iterations=20_000))
    values = [value for _, value in result.incumbents]
    assert len(values) > 3
    assert values == sorted(values, reverse=True)
    assert values[-1] == result.objective


def test_starts_are_checked() -> None:
    with pytest.raises(InvalidOption, match=r"shape \(3,\), not \(60,\)"):
        serial_order(log(60), starts=np.zeros(3))


def test_many_sizes_are_thinned() -> None:
    wide = Job(0, 10, 100, min_nodes=1, max_nodes=1000, speedup=Amdahl(0.99))
    problem = WorkloadProblem(1000, [wide, Job(0, 5, 7)])
    sizes = job_sizes(problem)
    first = sizes.nodes[: sizes.offsets[1]].tolist()
    assert len(first) <= 17
    assert {1, 10, 1000} <= set(first)
    assert (np.diff(sizes.seconds[: sizes.offsets[1]]) > 0).all()
    assert len(job_sizes(problem, every=True).nodes) == 1001


@pytest.mark.parametrize("objective", ["turnaround", "slowdown"])
def test_windows_are_searched_and_never_worse(objective: str) -> None:
    problem, parsed = log(150), parse_objective(objective, WORKLOAD_OBJECTIVES)
    clock = Budget(seconds=60).start()
    best = BestPlan(problem, parsed, clock)
    for plan in serial_plans(problem):
        best.offer(plan)
    search = Reinserter(best.plan(), parsed, 0)
    random = np.random.default_rng(0)
    before = search.plan.values(parsed)
    for _ in range(3):
        search_window(search, random, clock, lambda: False)
        assert search.plan.values(parsed)[0] <= before[0] * (1 + 1e-12)
    assert workload_violations(problem, search.plan.schedule()) == ()


TERMS: st.SearchStrategy[WorkloadTerm] = st.sampled_from(["turnaround", "slowdown", "wait"])


def in_order(problem: WorkloadProblem) -> Plan:
    """The jobs one after the other in order of submission."""
    sizes = job_sizes(problem)
    return Plan.in_order(problem, sizes, sizes.offsets[:-1].copy(), frozen(np.arange(len(problem.jobs))))


def annealed(problem: WorkloadProblem, term: WorkloadTerm, seed: int, moves: int) -> tuple[Plan, float]:
    """Return the best plan that so many moves meet, and the value of the first one."""
    plan = in_order(problem)
    before = plan.values((term,))[0]
    search = OrderSearch(plan, (term,), seed)
    search.run(Budget().start(), moves, lambda: False)
    return search.best(), before


@settings(max_examples=examples(50), deadline=None)
@given(problem=general_problems(min_jobs=1, max_jobs=12), term=TERMS, seed=st.integers(0, 2**30))
def test_plans_are_feasible_and_never_cost_more(
    problem: WorkloadProblem, term: WorkloadTerm, seed: int
) -> None:
    best, before = annealed(problem, term, seed, 100)
    assert best.values((term,))[0] <= before * (1 + 1e-12)
    assert workload_violations(problem, best.schedule()) == ()
    again, _ = annealed(problem, term, seed, 100)
    assert again.placed.starts.tolist() == best.placed.starts.tolist()


@settings(max_examples=examples(50), deadline=None)
@given(problem=general_problems(min_jobs=1, max_jobs=12), term=TERMS, seed=st.integers(0, 2**30))
def test_a_plan_is_that_of_its_order_whatever_moves_were_undone(
    problem: WorkloadProblem, term: WorkloadTerm, seed: int
) -> None:
    search = OrderSearch(in_order(problem), (term,), seed)
    least = [search.plan.values((term,))[0]]
    for moves in (1, 2, 3, 50, 50, 50):
        search.run(Budget().start(), moves, lambda: False)
        plan = search.plan
        again = Plan.in_order(problem, plan.sizes, plan.placed.chosen, frozen(search.order.copy()))
        assert plan.placed.starts.tolist() == again.placed.starts.tolist()
        free = [each.free.tolist() for each in plan.free.steps(-1.0, math.inf, plan.nodes)]
        assert free == [each.free.tolist() for each in again.free.steps(-1.0, math.inf, plan.nodes)]
        least.append(plan.values((term,))[0])
    assert search.best().values((term,))[0] <= min(least) * (1 + 1e-12)


@settings(max_examples=examples(20), deadline=None)
@given(problem=general_problems(min_jobs=3, max_jobs=5), seed=st.integers(0, 2**30))
def test_optima_of_few_jobs(problem: WorkloadProblem, seed: int) -> None:
    best, _ = annealed(problem, "turnaround", seed, 600)
    optimum = float(workload_optimum(problem, "turnaround"))
    assert best.values(("turnaround",))[0] == pytest.approx(optimum, rel=1e-9)


@pytest.mark.parametrize("there", [7, 2**40])
def test_plans_of_many_jobs_are_those_of_their_orders(there: int) -> None:
    """There are fewer lists of what is free than jobs; of large amounts each takes a word."""
    random = np.random.default_rng(3)
    unit = there // 7
    jobs = [
        Job(float(submit), int(nodes) * unit, float(seconds), needs={"a": int(a) * unit, "b": int(b) * unit})
        for submit, nodes, seconds, a, b in random.integers([0, 1, 1, 1, 1], [60, 8, 20, 8, 4], (40, 5))
    ]
    closed = [ClosedWindow(50, 90, {"nodes": 5 * unit, "b": 6 * unit})]
    problem = WorkloadProblem(there, jobs, resources={"a": there, "b": there}, closed=closed)
    search = OrderSearch(in_order(problem), ("turnaround",), 5)
    least = [search.plan.values(("turnaround",))[0]]
    for moves in (1, 30, 300, 300):
        search.run(Budget().start(), moves, lambda: False)
        plan = search.plan
        again = Plan.in_order(problem, plan.sizes, plan.placed.chosen, frozen(search.order.copy()))
        assert plan.placed.starts.tolist() == again.placed.starts.tolist()
        least.append(plan.values(("turnaround",))[0])
    best = search.best()
    assert best.values(("turnaround",))[0] <= min(least) < least[0]
    assert workload_violations(problem, best.schedule()) == ()


def test_it_stops_when_it_is_told() -> None:
    problem = WorkloadProblem(2, [Job(0, 2, seconds) for seconds in (30, 20, 10)])
    plan = in_order(problem)
    search = OrderSearch(plan, ("turnaround",), 1)
    search.run(Budget().start(), math.inf, lambda: True)
    assert search.best().values(("turnaround",)) == plan.values(("turnaround",))
