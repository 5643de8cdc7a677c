"""The resource profile that changes: bad calls, each with one line, and calls that leave no trace."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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


FRACTION = "is not an integer: times are whole, so that sums are exact; "
FRACTION += "round them up, or count all in milliseconds"
EARLY = "is not in 100..2^53 (seconds from the origin on)"
#: Calls that are refused, with what is said of them, by the kind of error.
BAD: dict[type[AllocsolveError], list[tuple[Callable[[Any], object], str]]] = {
    InvalidProblem: [
        (lambda _: ResourceProfile(0), "num_nodes 0 is not in 1..2^53"),
        (lambda _: ResourceProfile(2**53 + 1), "num_nodes 9007199254740993 is not in 1..2^53"),
        (lambda it: it.reserve(100, EvolutionProfile([(1, 9)])), "step 0: 9 nodes on a cluster of 8"),
        (lambda it: it.reserve(100, EvolutionProfile()), "the requested profile has no steps"),
        (lambda it: it.earliest_window(9, 1), "step 0: 9 nodes on a cluster of 8"),
        (lambda it: it.earliest_window(-1, 1), "step 0: nodes -1 is not in 0..2^53"),
        (lambda it: it.earliest_window(1, 0), "step 0: duration 0 is not in 1..2^53"),
        (lambda it: it.earliest_window(1, 1.5), f"duration 1.5 {FRACTION}"),
        (lambda it: it.fit(ONE, 0.5), "expand limit 0.5 is below 1"),
    ],
    InvalidAnswer: [
        (lambda it: it.reserve(100, ONE), "step 1: fewer than 6 of 8 nodes are free on [110, 130)")
    ],
    InvalidOption: [
        (lambda _: ResourceProfile(1.5), "num_nodes 1.5 is not an integer"),  # type: ignore[arg-type]  # without types
        (lambda _: ResourceProfile(1, origin=-1), "origin -1 is not in 0..2^53 (seconds from the origin on)"),
        (lambda it: it.reserve(99, ONE), f"start 99 {EARLY}"),
        (lambda it: it.reserve(2**53 - 29, ONE), f"completion 9007199254740993 {EARLY}"),
        (lambda it: it.reserve(0.5, ONE), f"start 0.5 {FRACTION}"),
        (lambda it: it.earliest_window(1, 1, earliest_start=3), f"earliest_start 3 {EARLY}"),
        (lambda it: it.earliest_window(1, 1, earliest_start=100.5), f"earliest_start 100.5 {FRACTION}"),
        (lambda it: it.used_at(100.5), f"time 100.5 {FRACTION}"),
        (lambda it: it.fit(ONE, earliest_start=-2), f"earliest_start -2 {EARLY}"),
        (lambda it: it.release(2), "reservation 2 is unknown: never made, released or past"),
        (lambda it: it.release(1, since=7), f"since 7 {EARLY}"),
        (lambda it: it.used_at(99), f"time 99 {EARLY}"),
        (lambda it: it.forget(99), f"before 99 {EARLY}"),
    ],
}


@pytest.mark.parametrize(
    ("error", "call", "message"), [(error, *case) for error, cases in BAD.items() for case in cases]
)
def test_bad_calls_are_named_and_change_nothing(
    error: type[AllocsolveError], call: Callable[[ResourceProfile], object], message: str
) -> None:
    cluster = busy()
    before = cluster.occupied()
    with pytest.raises(error) as caught:
        call(cluster)
    assert str(caught.value) == message
    assert cluster.occupied() == before
    cluster.release(1)  # it is still known
    assert cluster.occupied() == EvolutionProfile()


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
