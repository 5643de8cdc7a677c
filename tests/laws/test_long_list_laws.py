"""Laws of the index of window peaks: the answers are those of the flat profile, whatever happened before."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from list_instances import LIMITS, random_list
from tiers import draws

from allocsolve import Budget
from allocsolve.heuristics import Fit, ListScheduling, ResourceProfile, Rigid, compact, fit
from allocsolve.heuristics.evolution import list_scheduling as listing
from allocsolve.heuristics.evolution._kernels_list import list_schedule
from allocsolve.heuristics.evolution._kernels_peak_index import STALE
from allocsolve.heuristics.evolution._long_list import long_list_schedule
from allocsolve.instances import klein2011
from allocsolve.judge import evolution_violations
from allocsolve.model import EvolutionProfile


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
