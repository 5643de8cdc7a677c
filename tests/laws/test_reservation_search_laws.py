"""Offline schedules of reservations: kernels against their twins, solvers against brute force."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from naive_reservation import naive_greedy, naive_optimum, naive_shape_optimum
from naive_reservation_moves import NaiveSearch
from reservation_strategies import reservation_problems
from tiers import examples, some

from allocsolve.exact import ReservationCpSat, ReservationPrices
from allocsolve.heuristics.reservation.greedy import (
    RESERVATION_ORDERS,
    BestBookings,
    ReservationGreedy,
    greedy_starts,
    new_capacity,
    placed,
    reservation_order,
)
from allocsolve.heuristics.reservation.schedule_search import (
    Guide,
    ScheduleSearch,
    Walk,
    eject,
    fill,
    search_orders,
)
from allocsolve.instances.generators.examples import random_reservations
from allocsolve.judge import reservation_value, reservation_violations
from allocsolve.model import RESERVATION_OBJECTIVES, Budget, Mesh, Status, frozen, terms

if TYPE_CHECKING:
    from allocsolve.model import FloatArray, ReservationObjective, ReservationProblem

OBJECTIVES = st.permutations(RESERVATION_OBJECTIVES).flatmap(
    lambda order: st.integers(1, 3).map(lambda count: tuple(order[:count]))
)


@given(reservation_problems(max_jobs=8), st.randoms(use_true_random=False))
def test_placing_in_an_order_is_its_definition(problem: ReservationProblem, random: object) -> None:
    order = list(range(len(problem.jobs)))
    random.shuffle(order)  # type: ignore[attr-defined]  # a random.Random
    starts = greedy_starts(problem, np.array(order, dtype=np.int64))
    assert starts.tolist() == naive_greedy(problem, order)


@given(reservation_problems(max_jobs=8))
def test_orders_are_orders_and_schedules_are_feasible(problem: ReservationProblem) -> None:
    for name in RESERVATION_ORDERS:
        order = reservation_order(problem, name)
        assert sorted(order.tolist()) == list(range(len(problem.jobs)))
        starts = greedy_starts(problem, order)
        schedule = placed(problem, starts)
        assert reservation_violations(problem, schedule) == ()
        if problem.shape == "any":
            assert schedule.accepted.tolist() == np.flatnonzero(starts >= 0).tolist()


def read_only(array: FloatArray) -> FloatArray:
    """Return an array of reals that kernels take as input."""
    array.flags.writeable = False
    return array


@st.composite
def walks(draw: st.DrawFn) -> tuple[ReservationProblem, Guide, Walk]:
    """Some jobs, what they count and cost, and a walk that begins with a greedy schedule or with nothing."""
    problem = draw(reservation_problems(max_jobs=9, shapes=["any"]))
    count = len(problem.jobs)
    reals = st.sampled_from([0.0, 0.5, 1.0, 0.3, 2.5])

    def column(length: int) -> FloatArray:
        return read_only(np.array(draw(st.lists(reals, min_size=length, max_size=length)), dtype=np.float64))

    edges = np.array(sorted(draw(st.sets(st.integers(0, 20), min_size=1, max_size=5))), dtype=np.int64)
    until = read_only(np.cumsum(np.append(0.0, column(len(edges) - 1))))
    counts = read_only(column(2 * count).reshape(2, count))
    gains = read_only(column(count) - 1.0)
    guide = Guide(counts, column(count), gains, frozen(edges), until, column(1))
    starts = np.full(count, -1, dtype=np.int64)
    if draw(st.booleans()):
        starts = greedy_starts(problem, np.arange(count)).copy()
    rejected, ejected, old, added = (np.zeros(count + 2, dtype=np.int64) for _ in range(4))
    random = np.array([draw(st.integers(1, 2**63 - 1))], dtype=np.uint64)
    return (
        problem,
        guide,
        Walk(starts, starts.copy(), np.zeros((2, 2)), rejected, ejected, old, added, random),
    )


def where(walk: Walk) -> tuple[object, ...]:
    """Return all that a walk has come to."""
    return walk.starts.tolist(), walk.best_starts.tolist(), walk.reached.tolist(), int(walk.random[0])


@given(walks(), st.integers(0, 40), st.sampled_from([0.05, 0.5]))
def test_ejection_is_its_moves(
    begun: tuple[ReservationProblem, Guide, Walk], moves: int, temperature: float
) -> None:
    problem, guide, walk = begun
    naive = NaiveSearch.of(problem, guide, walk)
    capacity = new_capacity(problem.topology.num_nodes, len(problem.jobs))
    fill(problem.packed, guide, problem.topology.num_nodes, capacity, walk)
    left = eject(problem.packed, guide, capacity, walk, temperature, moves)
    assert left == naive.eject(temperature, moves)
    assert where(walk) == (naive.starts, naive.best_starts, [naive.reached, naive.best], naive.random)


@given(walks(), st.integers(0, 12), st.randoms(use_true_random=False))
def test_order_search_is_its_rounds(
    begun: tuple[ReservationProblem, Guide, Walk], rounds: int, random: object
) -> None:
    problem, guide, walk = begun
    naive = NaiveSearch.of(problem, guide, walk)
    capacity = new_capacity(problem.topology.num_nodes, len(problem.jobs))
    fill(problem.packed, guide, problem.topology.num_nodes, capacity, walk)
    jobs = list(range(len(problem.jobs)))
    random.shuffle(jobs)  # type: ignore[attr-defined]  # a random.Random
    order = np.array(jobs, dtype=np.int64)
    left = search_orders(problem.packed, guide, problem.topology.num_nodes, capacity, walk, order, rounds)
    assert left == naive.search_orders(jobs, rounds)
    assert order.tolist() == jobs
    assert where(walk) == (naive.starts, naive.best_starts, [naive.reached, naive.best], naive.random)


@given(reservation_problems(max_jobs=8, shapes=["any"]), OBJECTIVES, st.integers(0, 9), st.integers(0, 600))
def test_a_search_is_never_worse_than_greedy_and_ends_where_it_says(
    problem: ReservationProblem, objective: ReservationObjective, seed: int, moves: int
) -> None:
    clock = Budget().start()
    best, greedy = (BestBookings(problem, objective, clock) for _ in range(2))
    for name in RESERVATION_ORDERS:
        greedy.offer_starts(greedy_starts(problem, reservation_order(problem, name)))
    assert ScheduleSearch(best, None, seed).run(clock, moves)
    assert best.values <= greedy.values
    assert best.answer is not None
    assert reservation_violations(problem, best.answer) == ()
    assert terms(reservation_value(problem, best.answer, objective)) == best.values


@given(reservation_problems(max_jobs=5, shapes=["any"]), OBJECTIVES)
def test_solvers_by_count_against_brute_force(
    problem: ReservationProblem, objective: ReservationObjective
) -> None:
    optimum = naive_optimum(problem, objective)
    exact = ReservationCpSat(objective)(problem, Budget(seconds=60))
    assert exact.status is Status.OPTIMAL
    assert terms(exact.objective or 0.0) == optimum
    for solver in (ReservationPrices(objective), ReservationGreedy(objective)):
        result = solver(problem, Budget(iterations=500))
        assert result.objective is not None
        assert terms(result.bound)[0] <= optimum[0]
        assert optimum <= terms(result.objective)
        assert result.answer is not None
        assert reservation_violations(problem, result.answer) == ()
        assert reservation_value(problem, result.answer, objective) == result.objective


@settings(max_examples=examples(30))
@given(
    reservation_problems(max_jobs=3, max_nodes=6, longest=3, shapes=["run", "connected"]),
    st.sampled_from(RESERVATION_OBJECTIVES),
)
def test_shapes_against_brute_force(problem: ReservationProblem, term: str) -> None:
    objective = (term,)
    optimum = naive_shape_optimum(problem, objective)
    exact = ReservationCpSat(objective)(problem, Budget(seconds=60))  # type: ignore[arg-type]  # of texts
    assert exact.status is Status.OPTIMAL
    assert terms(exact.objective or 0.0) == optimum
    assert exact.answer is not None
    assert reservation_violations(problem, exact.answer) == ()


@pytest.mark.parametrize("term", ["rejected", "rejected-area"])
def test_bound_optimum_and_search_are_in_this_order(term: str) -> None:
    objective = (term,)
    for seed in some(range(25)):
        problem = random_reservations(seed, 10 + seed % 21, Mesh((4, 4)), load=3.0)
        lower = ReservationPrices(objective)(problem, Budget(iterations=2000))  # type: ignore[arg-type]  # of texts
        exact = ReservationCpSat(objective)(problem, Budget(seconds=60))  # type: ignore[arg-type]  # of texts
        assert exact.status is Status.OPTIMAL
        assert lower.objective is not None
        assert exact.objective is not None
        assert terms(lower.bound)[0] <= terms(exact.objective)[0] <= terms(lower.objective)[0]
