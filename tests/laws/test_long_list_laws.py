"""Laws of the index of window peaks: the answers are those of the flat profile, whatever happened before."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pytest
from tiers import draws

from allocsolve import Budget
from allocsolve.heuristics import Fit, ListScheduling, ResourceProfile, Rigid, compact, fit
from allocsolve.heuristics.evolution import list_scheduling as listing
from allocsolve.heuristics.evolution._kernels_windows import STALE
from allocsolve.heuristics.evolution.list_scheduling import list_schedule, long_list_schedule
from allocsolve.instances import klein2011
from allocsolve.judge import evolution_violations
from allocsolve.model import (
    EvolutionProfile,
    PackedApplications,
    expand_ratio,
    frozen,
    max_expanded_durations,
)

if TYPE_CHECKING:
    from allocsolve.model import IntArray


LIMITS = (1, 1.3, 2, 5, math.inf)


class ListArguments(NamedTuple):
    """The arguments of `list_schedule`."""

    order: IntArray
    apps: PackedApplications
    num_nodes: int
    compacting: bool


def random_list(seed: int, *, max_apps: int = 300) -> ListArguments:
    """Draw 1 to 40,000 nodes, durations of 1 to 60,000 s, any releases, and a limit for each application."""
    rng = np.random.default_rng(seed)
    num_apps = int(rng.integers(1, max_apps, endpoint=True))
    sizes = rng.integers(1, rng.choice([1, 2, 4, 10, 30]), size=num_apps, endpoint=True)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    steps = int(offsets[-1])
    num_nodes = int(rng.choice([1, 2, 3, 7, 100, 1024, 32_767, 32_768, 40_000]))
    durations = _durations(rng, steps)
    nodes = rng.integers(0, num_nodes, size=steps, endpoint=True)
    if rng.random() < 0.5:
        nodes = np.exp(rng.uniform(0, math.log(num_nodes), size=steps)).astype(np.int64)
    limits = rng.choice(LIMITS, size=num_apps) if rng.random() < 0.4 else [rng.choice(LIMITS)] * num_apps
    longest = [
        max_expanded_durations(durations[a:b], expand_ratio(limit))
        for a, b, limit in zip(offsets[:-1], offsets[1:], limits, strict=True)
    ]
    span = float(durations @ nodes) / num_nodes
    releases = rng.integers(0, 1 + int(span * rng.choice([0, 0.3, 1, 3])), size=num_apps)
    order = np.argsort(releases, kind="stable") if rng.random() < 0.5 else rng.permutation(num_apps)
    return ListArguments(
        order,
        PackedApplications(
            frozen(offsets),
            frozen(durations),
            frozen(nodes),
            frozen(np.concatenate(longest)),
            frozen(releases),
        ),
        num_nodes,
        bool(rng.random() < 0.3),
    )


def _durations(rng: np.random.Generator, steps: int) -> IntArray:
    """Many ties, few ties, or durations of every magnitude."""
    kind = rng.integers(4)
    if kind == 0:
        return rng.integers(1, 3, size=steps, endpoint=True)
    if kind == 1:
        return rng.choice(np.array([60, 300, 3600, 60_000]), size=steps)
    if kind == 2:
        return rng.integers(500, 3600, size=steps, endpoint=True)
    return np.exp(rng.uniform(0, math.log(60_000), size=steps)).astype(np.int64)


def test_the_index_changes_no_answer() -> None:
    for seed in draws(1000):
        arguments = random_list(seed)._asdict()
        assert np.array_equal(long_list_schedule(**arguments), list_schedule(**arguments)), seed


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("compacting", [False, True])
def test_it_changes_none_of_thousands_either(limit: float, compacting: bool) -> None:
    problem = klein2011(1, num_apps=(3000, 3000), nodes=(1, 768), num_nodes=1024, expand_limit=limit)
    arguments = np.arange(3000), problem.packed, problem.num_nodes
    short, long = (
        schedule(*arguments, compacting=compacting) for schedule in (list_schedule, long_list_schedule)
    )
    assert np.array_equal(short, long)


@pytest.mark.parametrize("solver", [ListScheduling(Fit(2)), ListScheduling(Fit(compacting=True)), Rigid()])
def test_solvers_answer_the_same_on_both_sides_of_the_threshold(
    solver: ListScheduling | Rigid, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = klein2011(2, num_apps=(300, 300))
    problem = replace(problem, releases=tuple(range(0, 300 * 200, 200)))
    answers = []
    for many in (300, 301):
        monkeypatch.setattr(listing, "MANY", many)
        answers.append(solver(problem, Budget()).answer)
    assert answers[0] is not None
    assert answers[0] == answers[1]
    assert not evolution_violations(problem, answers[0])


def _history(seed: int) -> None:
    """Place, release, and move on at random; each placement as `fit` and `compact` have it."""
    rng = np.random.default_rng(seed)
    num_nodes = int(rng.choice([3, 100, 1024, 40_000]))
    longest = int(rng.choice([3, 3600, 60_000]))
    cluster = ResourceProfile(num_nodes, origin=int(rng.integers(0, 2 * longest)))
    keys: list[int] = []
    now = cluster.origin
    for _ in range(int(rng.integers(20, 250))):
        if keys and rng.random() < 0.45:
            key = keys.pop(int(rng.integers(len(keys))))
            cluster.release(key, since=now + int(rng.integers(0, 3 * longest)))
        steps = int(rng.integers(1, 8))
        request = EvolutionProfile(
            tuple(
                zip(
                    rng.integers(1, longest, size=steps, endpoint=True).tolist(),
                    rng.integers(0, num_nodes, size=steps, endpoint=True).tolist(),
                    strict=True,
                )
            )
        )
        limit = float(rng.choice(LIMITS))
        compacting = bool(rng.random() < 0.3)
        earliest = now + int(rng.integers(0, longest)) * int(rng.integers(2))
        found = cluster.fit(request, limit, compacting=compacting, earliest_start=earliest)
        occupied = cluster.occupied()
        expected = fit(request, occupied, num_nodes, limit, earliest_start=earliest - now)
        if compacting:
            expected = compact(request, occupied, num_nodes, limit, placement=expected)
        assert (found.start - now, found.profile) == expected, seed
        keys.append(cluster.reserve(*found))
        if rng.random() < 0.05:
            keys.clear()  # whatever they hold, they hold it to the end
            now += int(rng.integers(0, 20 * longest))
            cluster.forget(now)


def test_nor_do_releases() -> None:
    for seed in draws(30):
        _history(seed)


@pytest.mark.parametrize("num_nodes", [3, 1024, 40_001, 100_003])
def test_the_index_never_promises_too_much(num_nodes: int) -> None:
    rng = np.random.default_rng(num_nodes)
    cluster = ResourceProfile(num_nodes)
    keys: list[int] = []
    for _ in range(300):
        nodes, duration = int(rng.integers(num_nodes)) + 1, int(rng.integers(1, 90))
        start = cluster.earliest_window(nodes, duration, earliest_start=int(rng.integers(600)))
        keys.append(cluster.reserve(start, EvolutionProfile(((duration, nodes),))))
        if rng.random() < 0.4:
            cluster.earliest_window(num_nodes, duration)  # in vain, often: leaves are repaired
            cluster.release(keys.pop(int(rng.integers(len(keys)))), since=int(rng.integers(900)))
    index = cluster._index
    width = 1 << index.shift
    usage = np.zeros(len(index.leaves) * width + int(index.classes[-1]), dtype=np.int64)  # of each second
    usage[: cluster.occupied().duration] = np.repeat(cluster.occupied().nodes, cluster.occupied().durations)
    exact = 0
    for j, duration in enumerate(index.classes.tolist()):
        peaks = np.lib.stride_tricks.sliding_window_view(usage, duration).max(axis=1)
        least = peaks[: len(index.leaves) * width].reshape(-1, width).min(axis=1) >> index.scale
        stored = index.peaks[: len(index.leaves) // 16, j].reshape(-1)
        assert (stored <= least).all()
        fresh = index.leaves[:, STALE] == 0
        assert (stored == least)[fresh].all()
        exact += int((least[fresh] > 0).sum())
    assert exact > 0
