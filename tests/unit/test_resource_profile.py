"""The resource profile that changes: bad calls, each with one line, and calls that leave no trace."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from allocsolve.errors import AllocsolveError, InvalidAnswer, InvalidOption, InvalidProblem
from allocsolve.heuristics import ResourceProfile
from allocsolve.model import EvolutionProfile

if TYPE_CHECKING:
    from collections.abc import Callable

ONE = EvolutionProfile([(10, 3), (20, 6)])


def busy() -> ResourceProfile:
    """8 nodes; reservation 1 holds 3 of them on [105, 115) and 6 on [115, 135)."""
    cluster = ResourceProfile(8, origin=100)
    cluster.reserve(105, ONE)
    return cluster


FRACTION = (
    "is not an integer: times are whole, so that sums are exact; round them up, or count all in milliseconds"
)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda _: ResourceProfile(0), InvalidProblem, "num_nodes 0 is not in 1..2^53"),
        (
            lambda _: ResourceProfile(2**53 + 1),
            InvalidProblem,
            "num_nodes 9007199254740993 is not in 1..2^53",
        ),
        (
            lambda _: ResourceProfile(1.5),  # type: ignore[arg-type]  # what a caller without types does
            InvalidOption,
            "num_nodes 1.5 is not an integer",
        ),
        (
            lambda _: ResourceProfile(1, origin=-1),
            InvalidOption,
            "origin -1 is not in 0..2^53 (seconds from the origin on)",
        ),
        (
            lambda cluster: cluster.reserve(100, ONE),
            InvalidAnswer,
            "step 1: fewer than 6 of 8 nodes are free on [110, 130)",
        ),
        (
            lambda cluster: cluster.reserve(99, ONE),
            InvalidOption,
            "start 99 is not in 100..2^53 (seconds from the origin on)",
        ),
        (
            lambda cluster: cluster.reserve(2**53 - 29, ONE),
            InvalidOption,
            "completion 9007199254740993 is not in 100..2^53 (seconds from the origin on)",
        ),
        (
            lambda cluster: cluster.reserve(0.5, ONE),
            InvalidOption,
            f"start 0.5 {FRACTION}",
        ),
        (
            lambda cluster: cluster.reserve(100, EvolutionProfile([(1, 9)])),
            InvalidProblem,
            "step 0: 9 nodes on a cluster of 8",
        ),
        (
            lambda cluster: cluster.reserve(100, EvolutionProfile()),
            InvalidProblem,
            "the requested profile has no steps",
        ),
        (lambda cluster: cluster.earliest_window(9, 1), InvalidProblem, "step 0: 9 nodes on a cluster of 8"),
        (
            lambda cluster: cluster.earliest_window(-1, 1),
            InvalidProblem,
            "step 0: nodes -1 is not in 0..2^53",
        ),
        (
            lambda cluster: cluster.earliest_window(1, 0),
            InvalidProblem,
            "step 0: duration 0 is not in 1..2^53",
        ),
        (
            lambda cluster: cluster.earliest_window(1, 1, earliest_start=3),
            InvalidOption,
            "earliest_start 3 is not in 100..2^53 (seconds from the origin on)",
        ),
        (
            lambda cluster: cluster.earliest_window(1, 1.5),
            InvalidProblem,
            f"duration 1.5 {FRACTION}",
        ),
        (
            lambda cluster: cluster.earliest_window(1, 1, earliest_start=100.5),
            InvalidOption,
            f"earliest_start 100.5 {FRACTION}",
        ),
        (
            lambda cluster: cluster.used_at(100.5),
            InvalidOption,
            f"time 100.5 {FRACTION}",
        ),
        (lambda cluster: cluster.fit(ONE, 0.5), InvalidProblem, "expand limit 0.5 is below 1"),
        (
            lambda cluster: cluster.fit(ONE, earliest_start=-2),
            InvalidOption,
            "earliest_start -2 is not in 100..2^53 (seconds from the origin on)",
        ),
        (
            lambda cluster: cluster.release(2),
            InvalidOption,
            "reservation 2 is unknown: never made, released or past",
        ),
        (
            lambda cluster: cluster.release(1, since=7),
            InvalidOption,
            "since 7 is not in 100..2^53 (seconds from the origin on)",
        ),
        (
            lambda cluster: cluster.used_at(99),
            InvalidOption,
            "time 99 is not in 100..2^53 (seconds from the origin on)",
        ),
        (
            lambda cluster: cluster.forget(99),
            InvalidOption,
            "before 99 is not in 100..2^53 (seconds from the origin on)",
        ),
    ],
)
def test_bad_calls_are_named_and_change_nothing(
    call: Callable[[ResourceProfile], object], error: type[AllocsolveError], message: str
) -> None:
    cluster = busy()
    before = cluster.occupied()
    with pytest.raises(error) as caught:
        call(cluster)
    assert str(caught.value) == message
    assert cluster.occupied() == before
    cluster.release(1)  # it is still known
    assert cluster.occupied() == EvolutionProfile()


def test_what_was_held_stays_on_record() -> None:
    cluster = busy()
    cluster.release(1, since=120)
    assert cluster.occupied().steps == ((5, 0), (10, 3), (5, 6))


def test_a_reservation_that_ended_is_past() -> None:
    cluster = busy()
    cluster.forget(134)
    assert cluster.used_at(134) == 6
    cluster.forget(135)
    with pytest.raises(InvalidOption, match="reservation 1 is unknown"):
        cluster.release(1)


def test_searches_at_the_end_of_time_are_answered() -> None:
    cluster = ResourceProfile(1)
    last = 2**53 - 1
    assert cluster.earliest_window(1, 1, earliest_start=last) == last
    cluster.reserve(last, EvolutionProfile([(1, 1)]))
    assert cluster.used_at(last) == 1
    assert cluster.earliest_window(1, 5) == 0
    assert cluster.free_at(2**53) == 1


def test_a_long_simulation_keeps_the_profile_small() -> None:
    cluster = ResourceProfile(4)
    for now in range(0, 200_000, 10):
        cluster.forget(now)
        cluster.reserve(*cluster.fit(EvolutionProfile([(15, 1 + now // 10 % 2)])))
    assert len(cluster._index.leaves) < 1000
    assert len(cluster._reservations) < 10
