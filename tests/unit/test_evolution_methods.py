"""Solvers of evolution problems, and the model as a MILP."""

from __future__ import annotations

import itertools
import math
import random
import subprocess
import tempfile
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pulp
import pytest
from hypothesis import given, settings, strategies as st
from naive_optimum import optimum
from strategies import evolution_problems
from tiers import examples

from allocsolve.backends import cbc
from allocsolve.backends.cpsat import run_cpsat
from allocsolve.bounds import (
    configuration_lp,
    energy,
    evolution,
    longest_application,
    makespan_bound,
    step_prices,
    strong_makespan_bound,
    total_completion,
)
from allocsolve.errors import InvalidAnswer, SolverUnavailable
from allocsolve.exact import EvolutionCpSat, EvolutionLns, EvolutionMilp, pairs_relaxation
from allocsolve.exact.evolution import milp
from allocsolve.exact.evolution._conflicts import blocks_of, violated_covers
from allocsolve.exact.evolution._order_model import OrderModel
from allocsolve.heuristics import Annealing, ListScheduling
from allocsolve.instances import klein2011
from allocsolve.judge import certified_bound, confirm, evolution_value, evolution_violations
from allocsolve.model import (
    Budget,
    EvolutionObjective,
    EvolutionProblem,
    EvolutionProfile,
    EvolutionSchedule,
    Limit,
    Result,
    Status,
    terms,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from random import Random

    from allocsolve.model import EvolutionObjective


MAKESPAN_BOUNDS = (energy, longest_application, configuration_lp, makespan_bound)
ALL_BOUNDS = (*MAKESPAN_BOUNDS, total_completion)

TINY = evolution_problems(max_apps=3, max_steps=3, max_duration=2, expand_limits=(1,), releases=True)
SMALL = evolution_problems(max_apps=4, max_steps=4, max_duration=9, max_nodes=6, releases=True)


def problem_of(
    num_nodes: int, *apps: list[tuple[int, int]], releases: tuple[int, ...] = ()
) -> EvolutionProblem:
    return EvolutionProblem(num_nodes, tuple(EvolutionProfile(tuple(app)) for app in apps), releases)


def least_without_expansion(problem: EvolutionProblem) -> tuple[int, int]:
    """Makespan and total completion of the best start vectors: try them all."""
    least_makespan = least_total = 10**9
    ranges = [
        range(release, problem.horizon - app.duration + 1)
        for release, app in zip(problem.releases, problem.applications, strict=True)
    ]
    for starts in itertools.product(*ranges):
        used = [0] * problem.horizon
        for start, app in zip(starts, problem.applications, strict=True):
            for t in range(app.duration):
                used[start + t] += app.value(t)
        if max(used) <= problem.num_nodes:
            ends = [start + app.duration for start, app in zip(starts, problem.applications, strict=True)]
            least_makespan, least_total = min(least_makespan, max(ends)), min(least_total, sum(ends))
    return least_makespan, least_total


def test_energy_takes_the_worst_release() -> None:
    early, late = [(10, 4)], [(7, 3), (1, 0)]
    assert energy(problem_of(5, early)) == 8
    assert energy(problem_of(5, early, late)) == 13  # 61 / 5, rounded up
    assert energy(problem_of(5, early, late, releases=(0, 3))) == 13
    assert energy(problem_of(5, early, late, releases=(0, 9))) == 14  # 9 + 21 / 5, rounded up
    assert energy(problem_of(5, [(4, 0)], releases=(9,))) == 9


def test_cheap_bounds_by_hand() -> None:
    apps = [(4, 1), (5, 2)], [(1, 1)]
    assert longest_application(problem_of(3, *apps)) == 9
    assert longest_application(problem_of(3, *apps, releases=(0, 20))) == 21
    assert total_completion(problem_of(3, [(4, 3), (5, 3)], [(1, 3)], releases=(0, 20))) == 30
    assert makespan_bound(problem_of(3, [(9, 1)], [(1, 1)])) == 9
    assert makespan_bound(problem_of(3, [(9, 2)], [(9, 2)])) == 12
    assert [bound(EvolutionProblem(3, ())) for bound in ALL_BOUNDS] == [0] * 5


def test_energy_is_exact_beyond_doubles() -> None:
    area = 3 * (2**58 + 1)
    problem = problem_of(3 * 2**8, [(2**50, 3 * 2**8)], [(1, 3)])
    assert problem.area == area
    assert energy(problem) == 2**50 + 1
    assert float(area) / (3 * 2**8) == 2**50  # what doubles would say


def test_configurations_see_what_does_not_fit_side_by_side() -> None:
    pairs = [[(1, 2)], [(1, 2)], [(1, 2)]]
    assert (energy(problem_of(3, *pairs)), configuration_lp(problem_of(3, *pairs))) == (2, 3)
    assert configuration_lp(problem_of(3, *pairs, releases=(5, 7, 9))) == 8
    # Any two of the three run together, each pair for 5 s.
    assert configuration_lp(problem_of(4, [(10, 2)], [(10, 2)], [(10, 2)])) == 15
    # 5 and 6 of 10 nodes: only two of 5 together. 7 s of 6 alone, the 5s in pairs for 3 * 7 / 2 s.
    assert configuration_lp(problem_of(10, [(7, 6)], [(7, 5)], [(7, 5)], [(7, 5)])) == 18
    # A configuration has one step of each application.
    assert configuration_lp(problem_of(100, [(10, 1), (10, 2)], [(3, 1)])) == 20
    # Steps without nodes fit beside everything but their own application.
    assert configuration_lp(problem_of(2, [(5, 0), (1, 1)], [(2, 2)])) == 6
    # While the first has its 0 nodes, others may run; its 3 nodes exclude them: 4 + 2 * 3.
    assert configuration_lp(problem_of(3, [(2, 0), (4, 3)], [(3, 2)], [(3, 2)])) == 10


@settings(max_examples=examples(40))
@given(TINY)
def test_no_bound_exceeds_the_optimum(problem: EvolutionProblem) -> None:
    makespan, total = least_without_expansion(problem)
    assert all(bound(problem) <= makespan for bound in MAKESPAN_BOUNDS)
    assert total_completion(problem) <= total


@settings(max_examples=examples(25))
@given(problem=TINY, seed=st.integers(0, 99))
def test_the_configuration_bound_does_not_trust_the_linear_program(
    problem: EvolutionProblem, seed: int
) -> None:
    makespan, _ = least_without_expansion(problem)
    rng = np.random.default_rng(seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            evolution, "_master", lambda items, _: (math.inf, rng.normal(0.3, 0.5, len(items.nodes)))
        )
        assert configuration_lp(problem) <= makespan


@given(SMALL)
def test_the_configuration_bound_covers_area_and_length(problem: EvolutionProblem) -> None:
    least = min(problem.releases)
    assert configuration_lp(problem) >= least + -(-problem.area // problem.num_nodes)
    assert configuration_lp(problem) >= least + max(app.duration for app in problem.applications)


@given(problem=SMALL, more=st.integers(1, 5))
def test_more_nodes_never_raise_a_bound(problem: EvolutionProblem, more: int) -> None:
    larger = replace(problem, num_nodes=problem.num_nodes + more)
    assert all(bound(larger) <= bound(problem) for bound in ALL_BOUNDS)


@given(problem=SMALL, factor=st.integers(2, 1000))
def test_time_scales(problem: EvolutionProblem, factor: int) -> None:
    apps = tuple(
        EvolutionProfile(tuple((factor * duration, nodes) for duration, nodes in app.steps))
        for app in problem.applications
    )
    slower = replace(
        problem, applications=apps, releases=tuple(factor * release for release in problem.releases)
    )
    for bound in (longest_application, total_completion):
        assert bound(slower) == factor * bound(problem)
    for bound in (energy, configuration_lp, makespan_bound):  # these round up
        assert factor * (bound(problem) - 1) < bound(slower) <= factor * bound(problem)


@given(problem=SMALL, order=st.randoms(use_true_random=False), limit=st.sampled_from((1, 1.5, math.inf)))
def test_neither_order_nor_expand_limit_matter(
    problem: EvolutionProblem, order: Random, limit: float
) -> None:
    shuffled = list(zip(problem.applications, problem.releases, strict=True))
    order.shuffle(shuffled)
    apps, releases = zip(*shuffled, strict=True)
    other = EvolutionProblem(problem.num_nodes, apps, releases, expand_limit=limit)
    assert [bound(other) for bound in ALL_BOUNDS] == [bound(problem) for bound in ALL_BOUNDS]


@pytest.mark.parametrize("num_nodes", [100, 100_003])
def test_large_clusters_are_counted_in_larger_units(num_nodes: int) -> None:
    rng = np.random.default_rng(7)
    apps = [
        [(int(rng.integers(500, 3600)), int(rng.integers(1, 3 * num_nodes // 4))) for _ in range(5)]
        for _ in range(12)
    ]
    problem = problem_of(num_nodes, *apps)
    items = evolution._items(problem)
    assert len(items.nodes) * (items.capacity + 1) < 2 * evolution._MAX_CELLS
    assert makespan_bound(problem) <= configuration_lp(problem) < 1.2 * makespan_bound(problem)


def test_common_factors_of_the_node_counts_cost_nothing() -> None:
    small = problem_of(7, [(10, 3), (4, 2)], [(10, 4)], [(5, 2)])
    large = problem_of(7 * 2**40 + 5, *([(d, n * 2**40) for d, n in app.steps] for app in small.applications))
    assert evolution._items(large).capacity == 7
    assert configuration_lp(large) == configuration_lp(small)


@settings(max_examples=examples(40))
@given(TINY)
def test_the_strong_bound_is_what_the_judge_recomputes(problem: EvolutionProblem) -> None:
    strong = strong_makespan_bound(problem)
    assert strong.value >= max(makespan_bound(problem), configuration_lp(problem))
    assert strong.value == certified_bound(problem, strong.certificate, ("makespan",))


def test_prices_of_steps_beat_areas_where_steps_exclude_each_other() -> None:
    problem = problem_of(10, [(7, 6)], [(7, 5)], [(7, 5)], [(7, 5)])
    strong = strong_makespan_bound(problem)
    assert (makespan_bound(problem), strong.value, strong.certificate["kind"]) == (15, 18, "step-prices")
    assert strong_makespan_bound(problem, seconds=0).value == 15


@pytest.mark.parametrize(
    ("prices", "small", "most"),
    [
        ([[2**30, 2**29], [2**30]], [[2, 1], [2]], 3),
        ([[0, 0], [0]], [[0, 0], [0]], 0),
        ([[3 * 2**40 + 1, 2**40], [1]], [[2**20, 2**20 // 3], [0]], 2**20),
    ],
)
def test_prices_become_small_numbers(prices: list[list[int]], small: list[list[int]], most: int) -> None:
    problem = problem_of(10, [(7, 6), (4, 5)], [(7, 5)])
    assert step_prices(problem, prices) == (small, most)


def test_what_steps_on_the_same_nodes_pay_is_the_larger_price() -> None:
    problem = problem_of(10, [(7, 6), (4, 6)], [(7, 5)])
    assert step_prices(problem, [[3, 1], [2]]).most == 3


def test_a_knapsack_that_is_too_large_for_the_judge_is_not_tried() -> None:
    nodes = 2**30
    problem = problem_of(nodes, *([(7, 5 * nodes // 8 + more)] for more in range(3)))
    assert configuration_lp(problem) > makespan_bound(problem)
    assert strong_makespan_bound(problem).certificate == {"kind": "area"}


def test_many_steps_are_bounded_by_area_at_once() -> None:
    problem = problem_of(3, *([(1, 2)] for _ in range(evolution._MAX_ITEMS + 1)))
    assert configuration_lp(problem) == energy(problem)


# --- Neighbourhoods -----------------------------------------------------------------------------------


@settings(max_examples=examples(25))
@given(evolution_problems(min_apps=2, max_apps=3, max_duration=2, releases=True))
def test_with_all_applications_free_it_proves_the_optimum(problem: EvolutionProblem) -> None:
    for objective in (("makespan",), ("makespan", "waste")):
        result = EvolutionLns(objective)(problem, Budget(iterations=60))
        confirm(problem, result, objective)
        assert result.status is Status.OPTIMAL
        assert result.objective is not None
        assert terms(result.objective) == optimum(problem, objective)


@settings(max_examples=examples(25))
@given(evolution_problems(min_apps=2, max_apps=4, max_duration=3))
def test_the_orders_of_a_schedule_hold_in_it(problem: EvolutionProblem) -> None:
    """With all orders kept, the model still has an answer that is no worse than the schedule."""
    answer = ListScheduling()(problem, Budget()).answer
    assert answer is not None
    before = answer.durations.cumsum() - answer.durations
    starts = before + (answer.starts - before[answer.offsets[:-1]]).repeat(
        answer.offsets[1:] - answer.offsets[:-1]
    )
    clock = Budget().start()
    model = OrderModel(problem, problem.horizon, clock, largest_cover=3)
    model.model.add_bool_and(
        model.orders(starts, starts + answer.durations, list(range(len(problem.applications))))
    )
    model.model.add(model.term("makespan") <= int(answer.completions.max()))
    assert run_cpsat(model.model, Budget(), clock, lambda _: False).infeasible is False


@pytest.mark.parametrize("limit", [1, 2, math.inf])
def test_it_is_no_worse_than_annealing_and_repeats_itself(limit: float) -> None:
    problem = replace(klein2011([3, 1], num_apps=(8, 8)), expand_limit=limit)
    results = [EvolutionLns()(problem, Budget(iterations=4, seed=2)) for _ in range(2)]
    assert results[0].answer == results[1].answer
    confirm(problem, results[0], ("makespan",))
    annealed = Annealing()(problem, Budget(iterations=64_000, seed=2)).objective
    assert isinstance(annealed, int)
    assert isinstance(results[0].objective, int)
    assert results[0].objective <= annealed
    assert results[0].incumbents[-1][1] == results[0].objective


@pytest.mark.parametrize("objective", [("waste", "makespan"), ("makespan", "waste")])
@pytest.mark.parametrize("release", [10**6, 2**50])
def test_no_waste_is_refuted_whatever_the_horizon(objective: EvolutionObjective, release: int) -> None:
    """Less than none was once looked for second by second: minutes, and all memory."""
    late = EvolutionProfile([(3, 3)])
    long = EvolutionProfile([(10, 5), (10, 3), (10, 1), (1, 0)])
    problem = EvolutionProblem(5, (late, long), releases=(release, 0), expand_limit=2)
    result = EvolutionLns(objective)(problem, Budget(iterations=20))
    assert result.status is Status.OPTIMAL
    assert confirm(problem, result, objective).objective == tuple(
        0 if term == "waste" else release + 3 for term in objective
    )


def test_limits_are_told() -> None:
    problem = klein2011(1)
    assert EvolutionLns()(problem, Budget(seconds=1e-9)).limit is Limit.TIME
    assert EvolutionLns(max_applications=3)(problem, Budget()).limit is Limit.SIZE
    assert EvolutionLns()(klein2011(1, num_apps=(9, 9)), Budget(iterations=1)).limit is Limit.ITERATIONS


# --- CP-SAT -------------------------------------------------------------------------------------------


@given(evolution_problems(min_apps=2, max_apps=4, max_steps=4, max_nodes=6))
def test_covers_are_found_if_and_only_if_the_cluster_is_exceeded(problem: EvolutionProblem) -> None:
    offsets, durations, nodes, _, _ = problem.packed
    starts = np.concatenate([np.cumsum([0, *app.durations[:-1]]) for app in problem.applications])
    ends = starts + durations
    covers = violated_covers(blocks_of(problem), problem.num_nodes, starts, ends)
    peak = max(int(nodes[(starts <= t) & (t < ends)].sum()) for t in starts.tolist())
    assert bool(covers) == (peak > problem.num_nodes)
    for cover in covers:
        assert sum(block.nodes for block in cover) > problem.num_nodes
        begins = [int(starts[offsets[b.app] + b.first]) for b in cover]
        stops = [int(ends[offsets[b.app] + b.last]) for b in cover]
        assert max(begins) < min(stops)  # the answer violates the clause: all blocks overlap


def test_the_cutoffs_of_one_term_do_not_bind_the_next() -> None:
    """The makespan 6 is proven by finding nothing below it; then the least completion is at 6, not below."""
    problem = EvolutionProblem(
        4,
        (
            EvolutionProfile([(1, 2), (2, 1), (2, 3)]),
            EvolutionProfile([(2, 3), (2, 1)]),
            EvolutionProfile([(1, 1)]),
        ),
        releases=(0, 0, 1),
        expand_limit=1,
    )
    result = EvolutionCpSat(("makespan", "completion"))(problem, Budget(seconds=600))
    assert result.objective == (6, 14 / 3)


def test_a_warm_start_is_kept_or_improved() -> None:
    problem = klein2011(3, num_apps=(6, 6))
    start = ListScheduling()(problem, Budget()).answer
    assert start is not None
    result = EvolutionCpSat(start=start)(problem, Budget(seconds=600, workers=2))
    confirm(problem, result, ("makespan",))
    assert isinstance(result.objective, int)
    assert result.objective <= start.completions.max()
    assert "start" not in repr(EvolutionCpSat(start=start))


def test_an_infeasible_warm_start_is_refused() -> None:
    problem = EvolutionProblem(1, (EvolutionProfile([(2, 1)]),) * 2)
    wrong = EvolutionSchedule.of([0, 1], problem.applications)
    with pytest.raises(InvalidAnswer, match="the start schedule is not a feasible schedule"):
        EvolutionCpSat(start=wrong)(problem, Budget())


def test_a_problem_that_is_too_large_gets_a_schedule_and_a_bound() -> None:
    problem = klein2011(1, num_apps=(30, 30))
    result = EvolutionCpSat(max_applications=20)(problem, Budget())
    assert (result.status, result.limit) == (Status.FEASIBLE, Limit.SIZE)
    assert result.bound == makespan_bound(problem)
    assert pairs_relaxation(EvolutionProblem(1, ())) == 0


def test_a_tiny_budget_is_a_result() -> None:
    problem = klein2011(1)
    result = EvolutionCpSat(("makespan", "waste"))(problem, Budget(seconds=1e-9))
    assert (result.status, result.limit) == (Status.FEASIBLE, Limit.TIME)
    assert result.bound == (makespan_bound(problem), -math.inf)
    confirm(problem, result, ("makespan", "waste"))


def test_ctrl_c_ends_the_search_with_what_is_known(press_ctrl_c: Callable[[], None]) -> None:
    problem = klein2011(2, num_apps=(20, 20))
    EvolutionCpSat()(klein2011(2, num_apps=(2, 2)), Budget())  # compiled before the clock matters
    press_ctrl_c()
    result = EvolutionCpSat()(problem, Budget(seconds=120, workers=1))
    assert (result.status, result.limit) == (Status.FEASIBLE, Limit.INTERRUPTED)
    confirm(problem, result, ("makespan",))
    assert result.runtime < 60


@settings(max_examples=examples(20))
@given(evolution_problems(min_apps=2, max_apps=3, releases=True))
def test_the_pairs_relaxation_is_a_bound_and_exact_for_two(problem: EvolutionProblem) -> None:
    bound = pairs_relaxation(problem)
    optimum = EvolutionCpSat()(problem, Budget(seconds=600)).objective
    assert isinstance(optimum, int)
    assert makespan_bound(problem) <= bound <= optimum
    if len(problem.applications) == 2:
        assert bound == optimum


# --- Milp ---------------------------------------------------------------------------------------------


def milp_problem_of(
    num_nodes: int, *apps: list[tuple[int, int]], limit: float = 1, releases: tuple[int, ...] = ()
) -> EvolutionProblem:
    return EvolutionProblem(num_nodes, tuple(EvolutionProfile(tuple(app)) for app in apps), releases, limit)


#: No order of list scheduling finds the optimum, 6.
INCOMPLETE = milp_problem_of(3, [(1, 2), (2, 2), (2, 3)], [(2, 1)], [(2, 1)])


def holes(limit: float) -> EvolutionProblem:
    """Two applications that fit into the holes of a third, if these may grow to 2 and 3 s."""
    return milp_problem_of(4, [(1, 4), (1, 1), (1, 4), (1, 1), (1, 4)], [(2, 3)], [(3, 3)], limit=limit)


def judged(
    problem: EvolutionProblem, objective: EvolutionObjective = ("makespan",), budget: Budget | None = None
) -> Result[EvolutionSchedule]:
    result = EvolutionMilp(objective)(problem, budget or Budget())
    if result.answer is not None:
        assert evolution_violations(problem, result.answer) == ()
        assert result.objective is not None
        assert terms(result.objective) == terms(evolution_value(problem, result.answer, objective))
    return result


def test_time_is_counted_in_the_largest_exact_unit() -> None:
    # 1.5 * 60 = 90 s is a time that matters; the first and the last step do too, for simplicity.
    problem = milp_problem_of(4, [(20, 1), (60, 1), (20, 1)], [(40, 4)], limit=1.5, releases=(0, 100))
    assert milp.time_unit(problem) == 10
    assert milp.time_unit(milp_problem_of(4, [(20, 1), (60, 1), (20, 1)], [(40, 4)], limit=9)) == 20
    hours = milp_problem_of(3, *([(3600 * d, n) for d, n in app.steps] for app in INCOMPLETE.applications))
    result = judged(hours)
    assert (result.status, result.objective) == (Status.OPTIMAL, 6 * 3600)


@pytest.mark.parametrize(
    ("problem", "max_variables"),
    [
        (milp_problem_of(3, [(5, 2)], [(4, 2)]), 8),
        (milp_problem_of(100, *([(3571, 60), (1009, 75)] for _ in range(15))), 60_000),
        (milp_problem_of(10**7, [(5, 10**7)], [(5, 2)]), 60_000),
    ],
)
def test_too_large_is_said_at_once(problem: EvolutionProblem, max_variables: int) -> None:
    result = EvolutionMilp(max_variables=max_variables)(problem, Budget())
    assert (result.status, result.limit, result.answer) == (Status.UNKNOWN, Limit.SIZE, None)
    assert result.bound == makespan_bound(problem)
    assert result.runtime < 1


def hard_problem() -> EvolutionProblem:
    rng = random.Random(5)
    apps = [[(rng.randint(1, 40), rng.randint(1, 7)) for _ in range(5)] for _ in range(10)]
    return milp_problem_of(10, *apps, limit=2)


@pytest.mark.parametrize("seconds", [1e-6, 0.3])
@pytest.mark.parametrize("objective", [("makespan",), ("completion", "waste")])
def test_out_of_time_is_a_result(seconds: float, objective: EvolutionObjective) -> None:
    started = time.perf_counter()
    result = judged(hard_problem(), objective, Budget(seconds=seconds, workers=2))
    assert time.perf_counter() - started < 60  # not a measurement: CBC alone would go on for hours
    assert result.status in (Status.UNKNOWN, Status.FEASIBLE)
    assert result.limit is Limit.TIME


def claim(patch: pytest.MonkeyPatch, *statuses: int) -> None:
    """Let CBC solve each stage, but say in turn that it came to these statuses."""
    left = list(statuses)

    def run(model: object, seconds: float, workers: int) -> int:
        cbc.run_cbc(model, seconds, workers)
        return left.pop(0)

    patch.setattr(milp, "run_cbc", run)


def test_an_incumbent_is_not_called_optimal(monkeypatch: pytest.MonkeyPatch) -> None:
    claim(monkeypatch, pulp.LpSolutionIntegerFeasible)
    result = judged(holes(1), budget=Budget(seconds=600))
    assert (result.status, result.limit, result.objective) == (Status.FEASIBLE, Limit.TIME, 10)
    assert result.bound == makespan_bound(holes(1)) == 8


def test_an_incumbent_at_a_bound_is_optimal(monkeypatch: pytest.MonkeyPatch) -> None:
    claim(monkeypatch, pulp.LpSolutionIntegerFeasible)
    result = judged(INCOMPLETE)
    assert (result.status, result.objective, result.bound) == (Status.OPTIMAL, 6, makespan_bound(INCOMPLETE))


def test_a_later_term_may_stay_open(monkeypatch: pytest.MonkeyPatch) -> None:
    claim(monkeypatch, pulp.LpSolutionOptimal, pulp.LpSolutionNoSolutionFound)
    result = judged(holes(math.inf), ("makespan", "waste"), Budget(seconds=600))
    assert (result.status, result.limit, result.bound) == (Status.FEASIBLE, Limit.TIME, (8, 0))
    assert terms(result.objective or 0)[0] == 8


def test_infeasible_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    claim(monkeypatch, pulp.LpSolutionInfeasible)  # every problem has a schedule
    result = EvolutionMilp()(INCOMPLETE, Budget())
    assert (result.status, result.answer, result.limit) == (Status.UNKNOWN, None, None)


def test_no_word_and_no_file_is_left(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    judged(INCOMPLETE, ("makespan", "completion"))
    judged(hard_problem(), budget=Budget(seconds=0.5))
    assert capfd.readouterr() == ("", "")
    assert list(tmp_path.iterdir()) == []


def test_an_interrupt_is_passed_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(subprocess, "run", interrupted)
    with pytest.raises(KeyboardInterrupt):
        EvolutionMilp()(INCOMPLETE, Budget())
    assert list(tmp_path.iterdir()) == []


def test_a_cbc_that_overruns_is_ended(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    stubborn = tmp_path / "cbc"
    stubborn.write_text("#!/bin/sh\nexec sleep 3600\n")
    stubborn.chmod(0o755)
    monkeypatch.setattr(pulp.PULP_CBC_CMD, "pulp_cbc_path", str(stubborn))
    result = EvolutionMilp()(INCOMPLETE, Budget(seconds=0.3))
    assert (result.status, result.limit) == (Status.UNKNOWN, Limit.TIME)
    assert result.runtime < 60


@pytest.mark.parametrize("script", [None, "#!/bin/sh\nexit 3\n", "#!/bin/sh\nexit 0\n"])
def test_a_cbc_that_does_not_run_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, script: str | None
) -> None:
    broken = tmp_path / "cbc"
    if script is not None:
        broken.write_text(script)
        broken.chmod(0o755)
    monkeypatch.setattr(pulp.PULP_CBC_CMD, "pulp_cbc_path", str(broken))
    with pytest.raises(SolverUnavailable, match="pip install"):
        EvolutionMilp()(INCOMPLETE, Budget())
