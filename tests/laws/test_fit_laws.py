"""Laws of fit and compacting: the kernels against the slow twins, whatever the resource profile."""

from __future__ import annotations

import math

import naive
import numpy as np
import pytest
from hypothesis import given, strategies as st
from strategies import EXPAND_LIMITS, evolution_profiles, occupied_profiles

from allocsolve.errors import InvalidOption, InvalidProblem
from allocsolve.heuristics import PlacedProfile, compact, fit
from allocsolve.heuristics._kernels_fit import Segments, add
from allocsolve.kernels import kernel
from allocsolve.model import EvolutionProfile, IntArray

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
