"""Static admission after Linnert et al. 2024: what is accepted, and what refused."""

from __future__ import annotations

import functools
import math
import pickle
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from allocsolve.bounds.reservation import PriceAscent, node_prices
from allocsolve.errors import AllocsolveError, InvalidAnswer, InvalidOption, InvalidProblem, UnknownName
from allocsolve.exact import ReservationCpSat, ReservationPrices
from allocsolve.exact.reservation._model import connected_sets, scaled_term
from allocsolve.heuristics import Static, admit
from allocsolve.heuristics.reservation import timetable
from allocsolve.heuristics.reservation.shapes import ALLOCATORS
from allocsolve.instances import linnert2024, shape_counterexamples
from allocsolve.instances.generators.examples import random_reservations, reservation_examples
from allocsolve.judge import certified_bound, reservation_violations
from allocsolve.model import (
    SUCCESSFUL,
    Budget,
    DeadlineJob,
    Limit,
    Mesh,
    ReservationProblem,
    ReservationSchedule,
    Status,
    terms,
)
from allocsolve.registry import make_allocator
from allocsolve.registry.names import with_options
from allocsolve.registry.reservation import RESERVATION

if TYPE_CHECKING:
    from collections.abc import Callable

    from allocsolve.model import BoolArray, IntArray, PackedDeadlineJobs, Topology


MESH = Mesh((16, 8))

#: How many jobs of the 1000 are accepted at gaps of 1500, 150 and 1 s: means over 30 seeds, from a prototype.
ACCEPTED = {
    "count": (500, 372, 265),
    "any": (511, 395, 279),
    "hilbert": (523, 449, 324),
    "growth": (530, 411, 314),
    "growth-one": (486, 383, 337),
    "literal": (566, 482, 386),
    "literal-one": (236, 229, 228),
    "literal-set": (560, 468, 340),
    "literal-set-one": (518, 437, 381),
    "literal-exact": (561, 480, 347),
    "literal-exact-one": (465, 431, 380),
}
GAPS = (1500, 150, 1)


@functools.cache
def _stream(seed: int, gap: float) -> PackedDeadlineJobs:
    return linnert2024(seed, gap=gap).packed


@functools.cache
def _accepted(gap: float, allocator: str) -> IntArray:
    """How many jobs of each stream are accepted."""
    streams = [_stream(seed, gap) for seed in range(30)]
    starts = [admit(MESH, *jobs[:4], allocator).starts for jobs in streams]
    return np.array([np.count_nonzero(one >= 0) for one in starts])


@pytest.mark.parametrize("allocator", ACCEPTED)
def test_as_many_jobs_are_accepted_as_by_the_prototype(allocator: str) -> None:
    means = [_accepted(gap, allocator).mean() for gap in GAPS]
    assert means == pytest.approx(ACCEPTED[allocator], abs=0.6)


def test_compact_sets_accept_more_jobs_than_the_count() -> None:
    for allocator, ratios in (("hilbert", (1.05, 1.24, 1.24)), ("literal", (1.14, 1.33, 1.48))):
        found = [(_accepted(gap, allocator) / _accepted(gap, "count")).mean() for gap in GAPS]
        assert found == pytest.approx(ratios, abs=0.006)


def test_every_rule_answers_a_problem() -> None:
    problem = linnert2024(1, gap=1, num_jobs=60)
    for name in ALLOCATORS:
        result = Static(name)(problem, Budget())
        assert result.status is Status.FEASIBLE
        assert result.answer is not None
        accepted = result.answer.accepted
        assert (np.diff(result.answer.offsets)[accepted] == problem.packed.nodes[accepted]).all()
        assert result.objective is None
        assert result.limit is None


def test_solvers_of_partitions_are_allocators_by_name() -> None:
    problem = linnert2024(2, gap=1, num_jobs=80)
    by_name = {
        "curve-fit(method=first-fit)": "hilbert",
        "sorted-free-list": "any",
        "growth(seeds=all)": "town",
        "manhattan-median(centres=grid)": "manhattan-median",
    }
    for name, rule in by_name.items():
        solver = Static(name, make_allocator)
        assert repr(solver) == f"Static(allocator={name!r})"
        assert solver(problem, Budget()).answer == Static(rule)(problem, Budget()).answer
        assert pickle.loads(pickle.dumps(solver))(problem, Budget()).answer is not None  # noqa: S301 - our own


def test_options_of_names_reach_the_solvers_of_partitions() -> None:
    row = next(row for row in RESERVATION.solvers if row.name == "static")
    solver = with_options(row.load(), {"allocator": "curve-fit(order=snake, method=best-fit)"})
    problem = linnert2024(2, gap=1, num_jobs=80)
    expected = Static("curve-fit(order=snake,method=best-fit)", make_allocator)(problem, Budget())
    assert solver(problem, Budget()).answer == expected.answer
    with pytest.raises(InvalidOption, match="snaky"):
        with_options(row.load(), {"allocator": "curve-fit(order=snaky)"})


def test_when_the_time_is_up_the_rest_is_rejected() -> None:
    problem = linnert2024(1, num_jobs=50)
    result = Static()(problem, Budget(seconds=1e-9))
    assert result.limit is Limit.TIME
    assert result.answer is not None
    assert 0 < len(result.answer.accepted) < 25
    empty = Static()(ReservationProblem(MESH, ()), Budget()).answer
    assert empty is not None
    assert len(empty.outcomes) == 0


def test_long_paths_are_followed_beyond_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = linnert2024(3, gap=150, num_jobs=150).packed
    whole = admit(MESH, *jobs[:4], "literal")
    monkeypatch.setattr(timetable, "_PATHS", 5 * 128)
    short = admit(MESH, *jobs[:4], "literal")
    assert all((one == other).all() for one, other in zip(whole, short, strict=True))


def test_the_timeline_has_as_much_room_as_there_are_bookings() -> None:
    jobs = 3000
    arrival, nodes = np.zeros(jobs, dtype=np.int64), np.full(jobs, 70)
    runtime = np.full(jobs, 3)
    starts = admit(MESH, arrival, nodes, runtime, np.full(jobs, 10**6)).starts
    assert (starts == 3 * np.arange(jobs)).all()


def _wrong(answer: IntArray) -> Callable[[Topology, BoolArray, int], IntArray]:
    return lambda _topology, _free, _size: answer


@pytest.mark.parametrize(
    ("columns", "error", "message"),
    [
        (([5, 4], [1, 1], [1, 1], [9, 9]), InvalidProblem, "job 1: arrival 4 is before that"),
        (([5], [129], [1], [9]), InvalidProblem, r"job 0: nodes 129 is not in 1\.\.128"),
        (([5], [1], [0], [9]), InvalidProblem, r"job 0: runtime 0 is not in 1\."),
        (([5, 6], [1], [1], [9]), InvalidProblem, "columns of jobs have the shapes"),
        (([5], [1.5], [1], [9]), InvalidProblem, "not integers"),
    ],
)
def test_malformed_jobs_are_named(columns: Any, error: type[AllocsolveError], message: str) -> None:
    with pytest.raises(error, match=message):
        admit(MESH, *columns)


def test_malformed_allocators_are_named() -> None:
    job = ([0], [2], [1], [9])
    with pytest.raises(UnknownName, match="hilbert"):
        admit(MESH, *job, "hilber")
    with pytest.raises(UnknownName, match="allocator '7'"):
        admit(MESH, *job, 7)  # type: ignore[arg-type]  # that is refused
    with pytest.raises(UnknownName, match="growth"):
        Static("growht")
    with pytest.raises(AllocsolveError, match="no-such"):
        Static("no-such", make_allocator)
    with pytest.raises(InvalidOption, match=r"count knows no shapes: it cannot give sets .* 'run'"):
        Static("count")(ReservationProblem(MESH, (DeadlineJob(0, 2, 1, 9),), "run"), Budget())
    for nodes in ([0, 0], [0], [-1, 0], [0, 128]):
        with pytest.raises(InvalidAnswer, match="which are not 2 free nodes"):
            admit(MESH, *job, _wrong(np.array(nodes)))


EXAMPLES = tuple(reservation_examples())
CROWDED = random_reservations(3, 200, Mesh((8, 4)), load=4.0)
CERTIFICATE: dict[str, Any] = {"method": "prices", "edges": [0, 10], "prices": [3], "unit": 10}


@pytest.mark.parametrize("case", shape_counterexamples(), ids=lambda case: case.name)
def test_a_contiguous_shape_costs_a_job(case: ReservationProblem) -> None:
    result = ReservationCpSat()(case, Budget(seconds=60))
    assert result.status is Status.OPTIMAL
    accepted = case.meta["accepted"]
    assert isinstance(accepted, int)
    assert result.objective == (7 - accepted) / 7
    assert result.answer is not None
    assert reservation_violations(case, result.answer) == ()


def test_equal_terms_are_proven_together() -> None:
    problem = EXAMPLES[6]
    for objective in (("rejected", "unsuccessful"), ("unsuccessful", "rejected-area", "rejected")):
        result = ReservationCpSat(objective)(problem, Budget())
        assert result.status is Status.OPTIMAL


def test_a_run_goes_on_from_an_earlier_one() -> None:
    first = ReservationPrices()(CROWDED, Budget(iterations=2000))
    again = ReservationPrices(start=first.answer, certificate=first.certificate)(
        CROWDED, Budget(iterations=10)
    )
    assert first.objective is not None
    assert again.objective is not None
    assert terms(again.objective) <= terms(first.objective)
    assert terms(again.bound) >= terms(first.bound)
    assert first.limit is Limit.ITERATIONS
    assert list(again.incumbents) == sorted(again.incumbents)


def test_what_cannot_be_gone_on_from_is_refused() -> None:
    problem = ReservationProblem(Mesh((2,)), (DeadlineJob(0, 2, 5, 5),))
    outside = ReservationSchedule.of(problem, {0: (1, [0, 1])})
    with pytest.raises(InvalidAnswer, match="not feasible"):
        ReservationPrices(start=outside)(problem, Budget())
    outcome, holds = (np.array([SUCCESSFUL]), np.array([4.0])), (np.array([0, 2]), np.array([0, 1]))
    executed = ReservationSchedule(*outcome, *holds, np.zeros(2), np.full(2, 5.0), np.array([8.0]))
    with pytest.raises(InvalidAnswer, match="executed"):
        ReservationCpSat(start=executed)(problem, Budget())
    with pytest.raises(InvalidAnswer, match="method"):
        ReservationPrices(certificate={"method": "luck"})(problem, Budget())


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"edges": [10, 0]}, "edges of the certificate: 0 after 10, at position 1"),
        ({"prices": [1, 1]}, "2 prices between 2 edges"),
        ({"edges": [0, 2**52], "prices": [2**52]}, "too high"),
    ],
)
def test_certificates_of_no_form_are_refused(change: dict[str, Any], told: str) -> None:
    problem = ReservationProblem(Mesh((2,)), (DeadlineJob(0, 2, 5, 5),))
    with pytest.raises(InvalidAnswer, match=told):
        certified_bound(problem, {**CERTIFICATE, **change}, ("rejected",))
    with pytest.raises(InvalidAnswer, match="not turnaround"):
        certified_bound(problem, CERTIFICATE, ("turnaround",))


def test_a_bound_by_hand() -> None:
    jobs = (DeadlineJob(0, 2, 10, 10), DeadlineJob(0, 2, 10, 10), DeadlineJob(0, 2, 10, 20))
    problem = ReservationProblem(Mesh((2,)), jobs)
    price = {"method": "prices", "edges": [0, 10], "prices": [1], "unit": 20}
    assert certified_bound(problem, price, ("rejected",)) == pytest.approx(1 / 3)
    assert node_prices(problem, "rejected").value == pytest.approx(1 / 3)


def test_weights_that_no_power_of_two_divides_are_bounded_with_care() -> None:
    jobs = tuple(DeadlineJob(0, 1, 10, 10, weight=weight) for weight in (0.1, 0.2, 0.3, 1e-300))
    problem = ReservationProblem(Mesh((2,)), jobs)
    result = ReservationCpSat()(problem, Budget())
    assert result.objective == pytest.approx(1 / 6)
    assert isinstance(result.bound, float)
    assert isinstance(result.objective, float)
    assert 1 / 6 - 1e-9 < result.bound <= result.objective
    assert scaled_term(problem, "rejected").rounding == 4


def test_large_problems_are_not_modelled() -> None:
    result = ReservationCpSat(max_jobs=10)(CROWDED, Budget())
    assert result.status is Status.FEASIBLE
    assert result.limit is Limit.SIZE
    far = ReservationProblem(Mesh((600,)), (DeadlineJob(2**52, 400, 9, 2**52 + 9),) * 3)
    assert ReservationCpSat()(far, Budget()).status is Status.OPTIMAL  # by prices alone


def test_connected_sets_are_counted() -> None:
    sets = connected_sets(Mesh((3, 3)), set(range(1, 10)), 1000)
    assert sets is not None
    assert [len(sets[size]) for size in range(1, 10)] == [9, 12, 22, 36, 49, 48, 32, 9, 1]
    assert connected_sets(Mesh((3, 3)), {5}, 40) is None


def test_prices_rise_with_time() -> None:
    values = []
    for seconds in (1e-6, math.inf):
        ascent = PriceAscent(CROWDED, "rejected")
        ascent.climb(Budget(seconds=seconds).start())
        values.append(ascent.bound().value)
    assert values[0] <= values[1]
    assert values[1] > 0


def test_ctrl_c_ends_the_search(press_ctrl_c: Callable[[], None]) -> None:
    ReservationPrices()(CROWDED, Budget(iterations=100))  # compiled
    press_ctrl_c()
    result = ReservationPrices()(CROWDED, Budget(seconds=120))
    assert result.limit is Limit.INTERRUPTED
    assert result.answer is not None
    assert reservation_violations(CROWDED, result.answer) == ()
    assert result.runtime < 100
