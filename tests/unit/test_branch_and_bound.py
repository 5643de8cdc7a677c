"""Branch and bound: what it says when it may not finish, its slices, and optima known from elsewhere."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np
import pytest

from allocsolve.bounds import partition_bound, star_bound, town
from allocsolve.exact.partition import _cut_search, _kernels_search, branch_and_bound
from allocsolve.exact.partition._cut_search import CutSearch
from allocsolve.exact.partition.branch_and_bound import PartitionBranchAndBound
from allocsolve.instances import uniform_occupancy
from allocsolve.judge import confirm
from allocsolve.model import (
    Budget,
    Clock,
    Limit,
    Mesh,
    Partition,
    PartitionProblem,
    Result,
    Status,
    Topology,
    Torus,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from allocsolve.model import IntArray


def occupied(topology: Topology, share: float, size: int, seed: int) -> PartitionProblem:
    busy = np.random.default_rng(seed).permutation(topology.num_nodes)[: int(share * topology.num_nodes)]
    return PartitionProblem.of(topology, busy=busy.tolist(), size=size)


def solved(problem: PartitionProblem, seconds: float = 600) -> Result[Partition]:
    result = PartitionBranchAndBound()(problem, Budget(seconds=seconds))
    confirm(problem, result, ("pairwise",))
    return result


@pytest.mark.parametrize("size", [1, 2, 7, 16, 31, 128])
def test_empty_meshes_have_town_values(size: int) -> None:
    result = solved(PartitionProblem.of(Mesh((16, 8)), size=size))
    assert (result.status, result.objective) == (Status.OPTIMAL, town(size, (16, 8)))


def test_an_empty_cube_has_the_known_values() -> None:
    values = [solved(PartitionProblem.of(Mesh((4, 4, 4)), size=size)).objective for size in range(1, 10)]
    assert values == [0, 1, 4, 8, 16, 25, 36, 48, 68]


def test_out_of_time_gives_a_set_and_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    searched = CutSearch.run

    def stopped(search: CutSearch, value: int, nodes: IntArray) -> Iterator[tuple[int, IntArray]]:
        for found in searched(search, value, nodes):
            monkeypatch.setattr(Clock, "remaining", 0.0)
            yield found

    monkeypatch.setattr(CutSearch, "run", stopped)
    problem = occupied(Mesh((64, 64)), 0.4, 300, 1)
    result = solved(problem)
    assert (result.status, result.limit) == (Status.FEASIBLE, Limit.TIME)
    assert result.bound >= star_bound(problem)  # type: ignore[operator]  # the value of one term is a number


def test_out_of_time_at_once_gives_a_set_and_a_trivial_bound() -> None:
    problem = occupied(Torus((32, 32)), 0.4, 30, 1)
    result = solved(problem, seconds=1e-9)
    assert (result.status, result.limit) == (Status.FEASIBLE, Limit.TIME)
    assert result.bound >= 30 * 29 // 2  # type: ignore[operator]  # the value of one term is a number


@pytest.mark.parametrize("topology", [Mesh((12, 12)), Torus((8, 12))])
def test_tables_that_are_too_large(monkeypatch: pytest.MonkeyPatch, topology: Topology) -> None:
    problem = occupied(topology, 0.2, 20, 1)
    monkeypatch.setattr(_cut_search, "_MAX_TABLE", 100)
    result = solved(problem)
    assert (result.status, result.limit) == (Status.FEASIBLE, Limit.SIZE)
    assert result.bound == partition_bound(problem)


def interrupting(calls: int, function: Callable[..., object]) -> Callable[..., object]:
    """Return the function interrupted at a call."""
    counter = itertools.count(1)

    def interrupted(*args: object, **options: object) -> object:
        if next(counter) == calls:
            raise KeyboardInterrupt
        return function(*args, **options)

    return interrupted


@pytest.mark.parametrize("topology", [Mesh((12, 12)), Torus((8, 12)), Topology((7, 9), (True, False))])
@pytest.mark.parametrize("calls", [1, 2, 5])
def test_an_interrupt_gives_the_best_so_far(
    monkeypatch: pytest.MonkeyPatch, topology: Topology, calls: int
) -> None:
    problem = occupied(topology, 0.3, 12, 1)
    best = solved(problem)
    monkeypatch.setattr(_cut_search, "_SLICE", 1e-5)
    monkeypatch.setattr(_cut_search, "search", interrupting(calls, _kernels_search.search))
    result = solved(problem)
    assert (result.status, result.limit) == (Status.FEASIBLE, Limit.INTERRUPTED)
    assert result.bound <= best.objective <= result.objective  # type: ignore[operator]  # the value of one term is a number


def test_an_interrupt_before_there_is_a_set(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(branch_and_bound, "ManhattanMedian", interrupt)
    result = PartitionBranchAndBound()(occupied(Mesh((5, 5)), 0.3, 4, 1), Budget())
    assert (result.status, result.limit, result.bound) == (Status.UNKNOWN, Limit.INTERRUPTED, 6)


@pytest.mark.parametrize("contiguous", [False, True])
def test_slices_and_room_make_no_difference(monkeypatch: pytest.MonkeyPatch, contiguous: bool) -> None:
    busy = occupied(Mesh((12, 12)), 0.35, 20, 3).busy
    problem = PartitionProblem.of(Mesh((12, 12)), busy=busy, size=20, contiguous=contiguous)
    usual = solved(problem)
    monkeypatch.setattr(_cut_search, "_SLICE", 1e-6)
    monkeypatch.setattr(_cut_search, "_FIRST_ROOM", 2)
    sliced = solved(problem)
    assert (sliced.status, sliced.objective) == (Status.OPTIMAL, usual.objective)
    assert sliced.answer == usual.answer


def test_a_bad_start_is_improved(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = occupied(Mesh((9, 7)), 0.3, 11, 2)
    best = solved(problem).objective
    last = np.flatnonzero(problem.free)[-11:]
    monkeypatch.setattr(branch_and_bound._Run, "_start", lambda *_: last)
    assert solved(problem).objective == best


def test_incumbents_end_with_the_answer() -> None:
    solver = PartitionBranchAndBound()
    for seed in range(8):
        problem = uniform_occupancy(Mesh((9, 9)), 0.5, 16, seed)
        result = solver(problem, Budget())
        assert result.incumbents[-1][1] == result.objective
        assert 0 < result.incumbents[0][0] <= result.incumbents[-1][0] <= result.runtime
