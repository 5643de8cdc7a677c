"""Laws of reservations: prices, searches, kernels and their slow twins."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import naive_reservation as naive
import numpy as np
import pytest
from hypothesis import example, given, settings, strategies as st
from naive_reservation import naive_counts, naive_greedy, naive_optimum, naive_shape_optimum
from naive_reservation_moves import NaiveSearch
from reservation_strategies import reservation_problems, reservation_schedules
from tiers import examples, some

from allocsolve.bounds.reservation import PricedJobs, cheapest_windows, node_prices, soft_gains
from allocsolve.bounds.reservation_capacity import reservation_capacity_bound
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
from allocsolve.instances.generators.examples import random_reservations, reservation_examples
from allocsolve.judge import certified_bound, reservation_metrics, reservation_value, reservation_violations
from allocsolve.model import (
    RESERVATION_OBJECTIVES,
    Budget,
    DeadlineJob,
    Mesh,
    ReservationProblem,
    ReservationSchedule,
    Status,
    frozen,
    terms,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from allocsolve.model import FloatArray, ReservationObjective, ReservationTerm


def naive_certified_share(problem: ReservationProblem, certificate: Mapping[str, Any], term: str) -> Fraction:
    """The share that is rejected at least, by the formula."""
    slots = list(zip(pairwise(certificate["edges"]), certificate["prices"], strict=True))
    unit = certificate["unit"]

    def cost(begin: int, end: int) -> Fraction:
        paid = sum(max(0, min(end, right) - max(begin, left)) * price for (left, right), price in slots)
        return Fraction(paid, unit)

    counts = naive_counts(problem, term)
    accepted = sum((right - left) * price for (left, right), price in slots) * Fraction(1, unit)
    accepted *= problem.topology.num_nodes
    possible = []
    for job, count in zip(problem.jobs, counts, strict=True):
        starts = range(job.arrival, job.deadline - job.runtime + 1)
        if starts:
            possible.append(count)
            least = min(cost(start, start + job.runtime) for start in starts)
            accepted += max(Fraction(0), count - job.nodes * least)
    if not sum(counts):
        return Fraction(0)
    scale = max((count.denominator for count in counts), default=1)
    step = math.gcd(*(int(count * scale) for count in possible)) or 1
    whole = accepted * scale // step * step
    return 1 - min(sum(possible, Fraction(0)), Fraction(whole, scale)) / sum(counts)


def naive_window_prices(
    job: tuple[float, float, float], edges: Sequence[float], levels: Sequence[float]
) -> list[float]:
    """What the machine costs in windows of a job: those that begin or end at an edge, and the extreme ones.

    The job is arrival, run time and deadline. The first window stands there once, and so does each other one
    as often as it is of a kind.
    """
    arrival, runtime, deadline = job
    last = deadline - runtime
    starts = [arrival, *(edge for edge in edges if arrival < edge < last)]
    starts += [edge - runtime for edge in edges if arrival < edge - runtime < last]
    starts.append(last)

    def until(moment: float) -> float:
        slots = zip(pairwise(edges), levels, strict=True)
        return sum(level * min(1, max(0, (moment - a) / (b - a))) for (a, b), level in slots)

    return [until(start + runtime) - until(start) for start in starts]


def naive_soft_gain(prices: Sequence[float], weight: float, temperature: float) -> float:
    """The soft greatest gain of a job: nothing, or its weight less what a window costs."""
    return temperature * math.log(1 + sum(math.exp((weight - price) / temperature) for price in prices))


SMALL = reservation_problems(max_jobs=5)
TERMS = st.sampled_from(RESERVATION_OBJECTIVES)


@st.composite
def certificates(draw: st.DrawFn) -> dict[str, Any]:
    """Prices of all kinds, on slots anywhere."""
    edges = sorted(draw(st.sets(st.integers(0, 30), min_size=1, max_size=6)))
    count = len(edges) - 1
    prices = draw(st.lists(st.integers(0, 40), min_size=count, max_size=count))
    return {"method": "prices", "edges": edges, "prices": prices, "unit": draw(st.integers(1, 100))}


@example(
    ReservationProblem(Mesh((1,)), tuple(DeadlineJob(0, 1, 1, 1, weight=weight) for weight in (1, 1, 0.5))),
    {"method": "prices", "edges": [0, 1], "prices": [1], "unit": 1},
    "rejected",
)
@given(SMALL, certificates(), TERMS)
def test_the_judge_is_the_formula_and_never_above_the_optimum(
    problem: ReservationProblem, certificate: dict[str, Any], term: ReservationTerm
) -> None:
    bound = certified_bound(problem, certificate, (term,))
    assert bound == float(naive_certified_share(problem, certificate, term))
    assert bound <= naive_optimum(problem, (term,))[0]


@given(SMALL, TERMS)
def test_prices_are_below_the_optimum_and_their_certificate_says_so(
    problem: ReservationProblem, term: ReservationTerm
) -> None:
    bound = node_prices(problem, term)
    certificate = json.loads(json.dumps(bound.certificate))
    assert bound.value == certified_bound(problem, certificate, (term,))
    assert bound.value <= naive_optimum(problem, (term,))[0]


@pytest.mark.parametrize("problem", tuple(reservation_examples()), ids=lambda problem: problem.name)
def test_prices_of_the_edges_of_the_model(problem: ReservationProblem) -> None:
    for term in RESERVATION_OBJECTIVES:
        bound = node_prices(problem, term)
        assert 0 <= bound.value <= naive_optimum(problem, (term,))[0]
        if problem.leaking:
            assert (bound.value, bound.certificate) == (0, None)
        else:
            assert bound.certificate is not None
            assert bound.value == certified_bound(problem, bound.certificate, (term,))


@st.composite
def priced(draw: st.DrawFn) -> tuple[PricedJobs, np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Some jobs, and a grid that begins before them."""
    rows = draw(
        st.lists(
            st.tuples(
                st.integers(0, 9), st.integers(1, 6), st.integers(0, 9), st.floats(0.1, 1), st.floats(0.1, 3)
            ),
            min_size=1,
            max_size=4,
        )
    )
    table = np.array(rows, dtype=float)
    columns = [table[:, 0], table[:, 1], table[:, 0] + table[:, 1] + table[:, 2], table[:, 3], table[:, 4]]
    edges = np.array(sorted({0, *draw(st.sets(st.integers(1, 30), min_size=1, max_size=7))}), dtype=float)
    count = len(edges) - 1
    levels = np.array(draw(st.lists(st.floats(-0.2, 2), min_size=count, max_size=count)))
    copies = [np.ascontiguousarray(column) for column in (*columns, edges, levels)]
    for column in copies:
        column.setflags(write=False)
    return PricedJobs(*copies[:5]), copies[5], copies[6]


@given(priced(), st.floats(0.05, 1))
def test_kernels_of_windows_are_their_twins(
    case: tuple[PricedJobs, np.ndarray[Any, Any], np.ndarray[Any, Any]], temperature: float
) -> None:
    jobs, edges, levels = case
    rows = list(zip(*(column.tolist() for column in jobs), strict=True))
    expected = [naive_window_prices(row[:3], edges.tolist(), levels.tolist()) for row in rows]
    prices, starts = np.empty(len(rows)), np.empty(len(rows))
    cheapest_windows(jobs, edges, levels, prices, starts)
    least = [min(windows) * row[3] for windows, row in zip(expected, rows, strict=True)]
    assert prices == pytest.approx(least, abs=1e-12)
    gradient = np.empty(len(levels))
    value = soft_gains(jobs, edges, levels, temperature, gradient)

    def gain(at: np.ndarray[Any, Any]) -> float:
        return sum(
            naive_soft_gain(
                [row[3] * price for price in naive_window_prices(row[:3], edges.tolist(), at.tolist())],
                row[4],
                temperature,
            )
            for row in rows
        )

    assert value == pytest.approx(gain(levels), rel=1e-9)
    for slot in range(len(levels)):
        ahead, behind = levels.copy(), levels.copy()
        ahead[slot] += 1e-5
        behind[slot] -= 1e-5
        assert gradient[slot] == pytest.approx((gain(ahead) - gain(behind)) / 2e-5, abs=1e-4)


@st.composite
def cases(draw: st.DrawFn) -> tuple[ReservationProblem, ReservationSchedule]:
    problem = draw(reservation_problems(may_leak=True))
    return problem, draw(reservation_schedules(problem))


@given(cases())
def test_the_judge_is_its_definition(case: tuple[ReservationProblem, ReservationSchedule]) -> None:
    problem, schedule = case
    faults = reservation_violations(problem, schedule)
    assert (faults == ()) == naive.is_feasible(problem, schedule), faults
    for term in RESERVATION_OBJECTIVES:
        expected = naive.value(problem, schedule, term)
        assert reservation_value(problem, schedule, [term]) == pytest.approx(expected, rel=1e-12)


@given(cases())
def test_mean_hops_are_over_all_pairs(case: tuple[ReservationProblem, ReservationSchedule]) -> None:
    problem, schedule = case
    sets = [{hold.node for hold in schedule.holds(idx)} for idx in range(len(problem.jobs))]
    expected = [naive.mean_hops(problem.topology, nodes) for nodes in sets if len(nodes) > 1]
    measured = reservation_metrics(problem, schedule).mean_hops
    assert measured == pytest.approx(np.mean(expected) if expected else 0)


@given(cases())
def test_the_capacity_bound_is_below_every_schedule(
    case: tuple[ReservationProblem, ReservationSchedule],
) -> None:
    problem, schedule = case
    if naive.is_feasible(problem, schedule):
        for term in RESERVATION_OBJECTIVES:
            assert reservation_capacity_bound(problem, term) <= naive.value(problem, schedule, term)


# --- Reservation search -------------------------------------------------------------------------------

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
