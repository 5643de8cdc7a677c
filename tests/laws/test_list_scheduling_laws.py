"""Laws of EP heuristics: fitting one application, scheduling a list, annealing the list."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import permutations
from typing import TYPE_CHECKING

import naive
import numpy as np
import pytest
from hypothesis import given, strategies as st
from naive_optimum import optimum
from strategies import EXPAND_LIMITS, evolution_problems, evolution_profiles, occupied_profiles

from allocsolve import Budget, EvolutionProblem, EvolutionProfile, Result, Status
from allocsolve.bounds.evolution import least_values
from allocsolve.errors import InvalidOption, InvalidProblem, UnknownName
from allocsolve.heuristics import (
    ORDERS,
    Annealing,
    Fit,
    ListScheduling,
    Order,
    PlacedProfile,
    Rigid,
    compact,
    fit,
    list_order,
    list_starts,
)
from allocsolve.heuristics._kernels_fit import Segments, add
from allocsolve.heuristics.evolution import order_search
from allocsolve.heuristics.evolution.annealing import reported_value
from allocsolve.heuristics.evolution.list_scheduling import Walk, new_walk, schedule_of
from allocsolve.heuristics.evolution.order_search import (
    anneal,
    anneal_waits,
    mirrored,
    mirrored_starts,
    new_trial,
    staircases,
    starts_value,
)
from allocsolve.instances import klein2011
from allocsolve.judge import confirm, evolution_violations
from allocsolve.kernels import kernel
from allocsolve.model import IntArray, Limit, terms

if TYPE_CHECKING:
    from allocsolve.model import EvolutionObjective


problems = evolution_problems(max_apps=5, max_steps=4, releases=True)


@given(problems, st.randoms(use_true_random=False))
def test_every_order_gives_the_schedule_of_algorithm_1(problem: EvolutionProblem, random: object) -> None:
    order = list(range(len(problem.applications)))
    random.shuffle(order)  # type: ignore[attr-defined]  # hypothesis hands out a random.Random
    starts = list_starts(problem, np.array(order), Fit())
    assert schedule_of(problem, starts) == naive.list_schedule(problem, order)


@given(evolution_problems(max_apps=5, releases=True, expand_limits=(1,)))
def test_the_rigid_rectangles_fit_as_well(problem: EvolutionProblem) -> None:
    answer = Rigid()(problem, Budget()).answer
    assert answer is not None
    rectangles = replace(
        problem,
        applications=tuple(EvolutionProfile([(app.duration, app.peak)]) for app in problem.applications),
    )
    rigid = naive.list_schedule(rectangles, list_order(problem).tolist())
    assert answer.starts.tolist() == rigid.starts.tolist()


@given(problems, st.sampled_from(ORDERS), st.integers(0, 99))
def test_orders_are_permutations_sorted_by_release(
    problem: EvolutionProblem, order: Order, seed: int
) -> None:
    found = list_order(problem, order, seed)
    assert sorted(found.tolist()) == list(range(len(problem.applications)))
    releases = [problem.releases[app] for app in found]
    assert releases == sorted(releases)


def test_orders_sort_by_what_they_are_named_after() -> None:
    apps = [EvolutionProfile([(5, 1), (5, 2)]), EvolutionProfile([(2, 9)]), EvolutionProfile([(12, 1)])]
    problem = EvolutionProblem(9, tuple(apps))  # areas 15, 18, 12; durations 10, 2, 12; peaks 2, 9, 1
    found = {order: list_order(problem, order).tolist() for order in ORDERS}
    assert found.pop("random") in [list(order) for order in permutations(range(3))]
    assert found == {
        "submission": [0, 1, 2],
        "largest": [1, 0, 2],
        "smallest": [2, 0, 1],
        "longest": [2, 0, 1],
        "shortest": [1, 0, 2],
        "highest": [1, 0, 2],
    }


def test_an_unknown_order_is_named() -> None:
    problem = EvolutionProblem(1, (EvolutionProfile([(1, 1)]),))
    with pytest.raises(UnknownName, match="unknown order 'larges'; did you mean largest"):
        list_order(problem, "larges")  # type: ignore[arg-type]  # what a typo does


#: Optimum 6, but every list needs 7 (forward).
COUNTEREXAMPLE = EvolutionProblem(
    3,
    (EvolutionProfile([(1, 2), (2, 2), (2, 3)]), EvolutionProfile([(2, 1)]), EvolutionProfile([(2, 1)])),
    expand_limit=1,
)


def test_no_list_order_need_be_optimal() -> None:
    lists = [
        int(
            schedule_of(
                COUNTEREXAMPLE, list_starts(COUNTEREXAMPLE, np.array(order), Fit(1))
            ).completions.max()
        )
        for order in permutations(range(3))
    ]
    assert min(lists) == 7
    assert optimum(COUNTEREXAMPLE, ("makespan",)) == (6,)


def test_lists_in_mirrored_time_find_what_forward_lists_miss() -> None:
    image = mirrored(COUNTEREXAMPLE)
    found = min(
        (mirrored_starts(COUNTEREXAMPLE, list_starts(image, np.array(order), Fit(1)))).max()
        for order in permutations(range(3))
    )
    *_, (_, backward) = anneal(image, Fit(1), ("makespan",), iterations=100, seed=0)
    starts = mirrored_starts(COUNTEREXAMPLE, backward)
    schedule = schedule_of(COUNTEREXAMPLE, starts)
    assert not evolution_violations(COUNTEREXAMPLE, schedule)
    assert schedule.completions.max() == 6
    assert found == 4  # the last step, of two seconds, starts at 4


@given(evolution_problems(max_apps=4, max_steps=4), st.sampled_from((Fit(1), Fit(), Fit(compacting=True))))
def test_a_mirrored_schedule_is_a_schedule(problem: EvolutionProblem, fit: Fit) -> None:
    image = mirrored(problem)
    starts = mirrored_starts(problem, list_starts(image, list_order(image), fit))
    assert not evolution_violations(problem, schedule_of(problem, starts))


# --- Fit ----------------------------------------------------------------------------------------------

NODES = 4
requests = evolution_profiles(max_steps=4, max_nodes=NODES)
limits = st.sampled_from((*EXPAND_LIMITS, 5))


@given(requests, occupied_profiles(NODES), limits, st.integers(0, 12))
def test_fit_is_the_earliest_placement(
    request: EvolutionProfile, occupied: EvolutionProfile, limit: float, earliest: int
) -> None:
    found = fit(request, occupied, NODES, limit, earliest_start=earliest)
    expected = naive.earliest_fit(request, occupied, NODES, limit, earliest)
    assert (found.start, found.profile.durations) == expected


@given(requests, occupied_profiles(NODES), limits, st.integers(0, 12))
def test_fit_is_the_published_recursion(
    request: EvolutionProfile, occupied: EvolutionProfile, limit: float, earliest: int
) -> None:
    found = fit(request, occupied, NODES, limit, earliest_start=earliest)
    assert (found.start, found.profile.durations) == naive.published_fit(
        request, occupied, NODES, limit, earliest
    )[:2]


@given(requests, occupied_profiles(NODES), limits, st.integers(0, 12))
def test_compacting_starts_as_late_as_the_completion_allows(
    request: EvolutionProfile, occupied: EvolutionProfile, limit: float, earliest: int
) -> None:
    base = fit(request, occupied, NODES, limit, earliest_start=earliest)
    found = compact(request, occupied, NODES, limit, placement=base)
    expected = naive.latest_fit(request, occupied, NODES, limit, base.completion, earliest)
    assert (found.start, found.profile.durations) == expected
    assert found.completion == base.completion
    assert found.start >= base.start


@kernel
def _add(segments: Segments, starts: IntArray, nodes: IntArray, completion: int) -> None:
    add(segments, starts, nodes, completion)


@given(occupied_profiles(NODES), requests, st.integers(0, 30))
def test_add_is_the_sum_of_profiles(occupied: EvolutionProfile, added: EvolutionProfile, start: int) -> None:
    size = len(occupied.steps) + len(added.steps) + 2
    times, usage = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
    before = len(occupied.steps)
    times[1 : before + 1] = np.cumsum(occupied.durations)
    usage[:before] = occupied.nodes
    starts = start + np.cumsum([0, *added.durations[:-1]])
    segments = Segments(times, usage, np.array([before + 1]))
    _add(segments, starts, np.array(added.nodes, dtype=np.int64), start + added.duration)
    count = int(segments.in_use[0])
    steps = zip(np.diff(times[:count]).tolist(), usage[: count - 1].tolist(), strict=True)
    assert EvolutionProfile(tuple(steps)).same_function(occupied + added.delayed(start))
    assert usage[count - 1] == 0


@pytest.mark.parametrize("limit", [1.5, 2, 5])
def test_the_exponential_instance_takes_the_kernel_no_time(limit: float) -> None:
    request, occupied, num_nodes = naive.exponential_instance(32)
    with pytest.raises(naive.TooManyLoops):
        naive.published_fit(request, occupied, num_nodes, limit, max_loops=20_000)
    found = fit(request, occupied, num_nodes, limit)
    # Nothing fits before the cluster is idle but the leading steps, on one node.
    assert found.completion > occupied.duration
    assert found.profile.is_expansion_of(request, limit)


def test_the_exponential_instance_has_the_published_answer_where_that_ends() -> None:
    request, occupied, num_nodes = naive.exponential_instance(5)
    for limit in (1, 1.5, 2, 5, math.inf):
        found = fit(request, occupied, num_nodes, limit)
        assert (found.start, found.profile.durations) == naive.published_fit(
            request, occupied, num_nodes, limit
        )[:2]


def test_nothing_is_placed_on_an_over_committed_cluster() -> None:
    draining = EvolutionProfile([(10, 7)])
    assert fit(EvolutionProfile([(5, 0), (5, 1)]), draining, NODES).start == 10


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: fit(EvolutionProfile(), EvolutionProfile(), 4), "the requested profile has no steps"),
        (
            lambda: fit(EvolutionProfile([(1, 1), (2, 5)]), EvolutionProfile(), 4),
            "step 1: 5 nodes on a cluster of 4",
        ),
        (lambda: fit(EvolutionProfile([(1, 1)]), EvolutionProfile(), 4, 0.5), "expand limit 0.5 is below 1"),
        (
            lambda: compact(
                EvolutionProfile([(3, 1)]),
                EvolutionProfile([(9, 4)]),
                4,
                placement=PlacedProfile(2, EvolutionProfile([(3, 1)])),
            ),
            "nothing fits that ends at 5",
        ),
    ],
)
def test_bad_arguments_are_named(call: object, message: str) -> None:
    assert callable(call)
    with pytest.raises(InvalidProblem, match=message):
        call()


def test_a_negative_earliest_start_is_refused() -> None:
    with pytest.raises(InvalidOption, match="earliest_start -1 is negative"):
        fit(EvolutionProfile([(1, 1)]), EvolutionProfile(), 4, earliest_start=-1)


# --- Annealing ----------------------------------------------------------------------------------------

OBJECTIVES: tuple[EvolutionObjective, ...] = (
    ("makespan",),
    ("completion",),
    ("waste",),
    ("makespan", "waste"),
    ("waste", "completion"),
    ("completion", "makespan", "waste"),
)


@given(
    evolution_problems(min_apps=2, max_apps=5, releases=True),
    st.sampled_from(OBJECTIVES),
    st.sampled_from((Fit(1), Fit(compacting=True))),
)
def test_annealing_is_feasible_seeded_and_no_worse_than_its_start(
    problem: EvolutionProblem, objective: EvolutionObjective, fit: Fit
) -> None:
    runs = [list(anneal(problem, fit, objective, iterations=30, seed=5)) for _ in range(2)]
    assert [tried for tried, _ in runs[0]] == [tried for tried, _ in runs[1]]
    assert sum(tried for tried, _ in runs[0]) == 30
    assert np.array_equal(runs[0][-1][1], runs[1][-1][1])
    starts = runs[0][-1][1]
    found = schedule_of(problem, starts)
    assert not evolution_violations(problem, found)
    judged = confirm(problem, Result(Status.FEASIBLE, found), objective).objective
    assert judged is not None
    values = tuple(
        value / len(problem.applications) if term == "completion" else value
        for term, value in zip(objective, starts_value(problem, starts, objective), strict=True)
    )
    assert terms(judged) == values
    first = starts_value(problem, list_starts(problem, list_order(problem, "largest"), fit), objective)
    if objective[0] != "waste":  # which does not lead the search
        assert starts_value(problem, starts, objective)[0] <= first[0]


@given(evolution_problems(max_apps=5, releases=True), st.sampled_from(OBJECTIVES), st.integers(0, 3000))
def test_the_annealing_solver_is_no_worse_than_sorted_lists(
    problem: EvolutionProblem, objective: EvolutionObjective, iterations: int
) -> None:
    budget = Budget(iterations=len(ORDERS) + iterations, seed=7)
    result, again = Annealing(objective)(problem, budget), Annealing(objective)(problem, budget)
    assert result.answer is not None
    assert result.answer == again.answer
    least = reported_value(least_values(problem, objective), objective, len(problem.applications))
    is_least = result.objective == least
    proven = (Status.OPTIMAL, None) if is_least else (Status.FEASIBLE, Limit.ITERATIONS)
    assert (result.status, result.limit) == proven
    confirm(problem, result, objective)
    assert result.incumbents[-1][1] == result.objective
    assert [value for _, value in result.incumbents] == [value for _, value in again.incumbents]
    for order in ORDERS:
        if order != "random":
            listed = ListScheduling(Fit(1), order)(problem, Budget())
            value = confirm(problem, listed, objective).objective
            assert value is not None
            assert result.objective is not None
            assert terms(result.objective) <= terms(value)


@given(evolution_problems(max_apps=5, releases=True), st.sampled_from(OBJECTIVES), st.integers(2, 4))
def test_the_answer_does_not_depend_on_the_number_of_workers(
    problem: EvolutionProblem, objective: EvolutionObjective, workers: int
) -> None:
    alone = Annealing(objective)(problem, Budget(iterations=500, seed=3))
    many = Annealing(objective)(problem, Budget(iterations=500, seed=3, workers=workers))
    assert (many.answer, many.objective) == (alone.answer, alone.objective)


def test_nor_does_it_in_many_rounds() -> None:
    problem = replace(klein2011(5), expand_limit=1)
    answers = [Annealing()(problem, Budget(iterations=150_000, workers=workers)) for workers in (1, 2, 5)]
    assert answers[0].answer == answers[1].answer == answers[2].answer


def naive_makespan(problem: EvolutionProblem, walk: Walk) -> int:
    """Place the walk's order by the slow fit, each application no earlier than the step that it waits for."""
    offsets, durations, _, _, _ = problem.packed
    occupied = EvolutionProfile()
    ends: dict[int, int] = {}
    for idx in walk.order.tolist():
        app, (step, other) = problem.applications[idx], walk.waits[idx].tolist()
        start = problem.releases[idx]
        if other in ends and step >= 0:
            start = max(start, ends[other] - int(durations[offsets[idx] : step].sum()))
        start = naive.earliest_fit(app, occupied, problem.num_nodes, 1, start).start
        occupied += app.delayed(start)
        held = durations[offsets[idx] : offsets[idx + 1]].cumsum() + start
        ends |= dict(enumerate(held.tolist(), int(offsets[idx])))
    return max(ends.values())


@given(
    evolution_problems(min_apps=2, max_apps=6, max_steps=4, releases=True, expand_limits=(1,)),
    st.lists(st.integers(1, 40), min_size=1, max_size=4),
    st.integers(0, 99),
)
def test_a_walk_with_waits_is_its_slow_twin_and_the_same_in_pieces(
    problem: EvolutionProblem, pieces: list[int], seed: int
) -> None:
    apps = staircases(problem.packed)
    trial = new_trial(apps)
    whole, cut = (new_walk(list_order(problem), len(apps.durations), seed) for _ in range(2))
    anneal_waits(whole, apps, problem.num_nodes, (1.0, 0.0), (0.5, 0.5), sum(pieces), trial)
    for piece in pieces:
        anneal_waits(cut, apps, problem.num_nodes, (1.0, 0.0), (0.5, 0.5), piece, trial)
        assert cut.costs[0] == naive_makespan(problem, cut)
        found = schedule_of(problem, cut.best_starts)
        assert not evolution_violations(problem, found)
        assert cut.costs[1] == found.completions.max()
    assert all(np.array_equal(one, other) for one, other in zip(whole, cut, strict=True))


def test_many_applications_are_annealed_without_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = EvolutionProblem(3, (EvolutionProfile([(1, 2), (2, 1)]),) * 5, expand_limit=1)
    monkeypatch.setattr(order_search, "SEGMENT_LIMIT", 0)
    result = Annealing()(problem, Budget(iterations=100))
    confirm(problem, result, ("makespan",))
    assert result.limit is Limit.ITERATIONS
