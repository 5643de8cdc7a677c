"""Partitions by allocators and by branch and bound: options, bad requests, clocks, memory, known optima."""

from __future__ import annotations

import itertools
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from nearest_tools import ALLOCATORS, SOLVERS
from offenders import all_offenders
from partition_tools import random_problem
from process_tools import python

from allocsolve.bounds import partition_bound, star_bound, town
from allocsolve.errors import InvalidOption, InvalidProblem
from allocsolve.exact.partition import _cut_search, _kernels_search, branch_and_bound
from allocsolve.exact.partition._cut_search import CutSearch
from allocsolve.exact.partition.branch_and_bound import PartitionBranchAndBound
from allocsolve.heuristics.partition.blocks import RandomNodes, multiple_buddy, paging, random_nodes
from allocsolve.heuristics.partition.curve_fit import (
    CurveFit,
    best_fit_run,
    first_fit_run,
    largest_runs,
    min_span,
    sorted_free_list,
)
from allocsolve.heuristics.partition.growth import Growth, Leak, growth, leak
from allocsolve.heuristics.partition.nearest import ManhattanMedian
from allocsolve.heuristics.partition.submesh import submesh
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


EVERY = (
    *(sorted_free_list, first_fit_run, best_fit_run, min_span, largest_runs, growth, leak, submesh, paging),
    *(multiple_buddy, partial(growth, seeds="all"), partial(leak, contiguous=False)),
    *(partial(submesh, choice="best"), partial(random_nodes, seed=0)),
)


def test_curve_fit_passes_its_options_on() -> None:
    free = np.ones(128, dtype=np.bool_)
    free[::3] = False
    problem = PartitionProblem(Mesh((16, 8)), free, 20)
    options: list[dict[str, Any]] = [{"order": "hilbert", "bits": 4}, {"order": "snake"}]
    for option in options:
        for fallback in ("min-span", "largest-runs"):
            answer = CurveFit("best-fit", fallback=fallback, **option)(problem, Budget()).answer
            assert answer is not None
            expected = best_fit_run(problem.topology, free, 20, fallback=fallback, **option)
            assert expected is not None
            assert answer.nodes.tolist() == sorted(expected.tolist())


def test_growth_stops_when_the_time_is_up_with_what_it_has() -> None:
    problem = PartitionProblem(Mesh((64, 64)), np.ones(4096, dtype=np.bool_), 1000)
    result = Growth("all")(problem, Budget(seconds=1e-6))
    assert (result.status, result.limit) == (Status.FEASIBLE, Limit.TIME)
    first = growth(problem.topology, problem.free, 1000)
    assert first is not None
    assert result.answer is not None
    assert result.answer.nodes.tolist() == sorted(first.tolist())


def test_leak_starts_where_the_snake_meets_the_first_free_node() -> None:
    """Linnert et al. 2024, Fig. 11: the second row is searched backwards, and the job leaks into the next."""
    free = np.array([place == "." for row in ("xxxx", "xx.x", "x...", "....") for place in row])
    nodes = leak(Mesh((4, 4)), free, 4)
    assert nodes is not None
    assert nodes.tolist() == [6, 10, 9, 11]


def test_leak_begins_in_its_row() -> None:
    mesh = Mesh((4, 3))
    free = np.ones(12, dtype=np.bool_)
    assert [leak(mesh, free, 1, start_row=row) for row in range(3)] == [0, 7, 8]
    with pytest.raises(InvalidOption, match=r"start_row 3 is not in 0\.\.2"):
        leak(mesh, free, 1, start_row=3)
    answer = Leak(start_row=1)(PartitionProblem(mesh, free, 2), Budget()).answer
    assert answer is not None
    assert answer.nodes.tolist() == [3, 7]


def test_random_nodes_differ_by_seed_and_reach_every_node() -> None:
    mesh = Mesh((4, 4))
    free = np.ones(16, dtype=np.bool_)
    sets = {tuple(sorted(random_nodes(mesh, free, 3, seed=seed).tolist())) for seed in range(40)}
    assert len(sets) > 30
    assert set().union(*sets) == set(range(16))
    problem = PartitionProblem(mesh, free, 3)
    answers = {RandomNodes()(problem, Budget(seed=seed)).answer for seed in range(40)}
    assert {tuple(answer.nodes.tolist()) for answer in answers if answer} == sets


#: Free nodes, a size, and what is said.
BAD_REQUESTS: list[tuple[Any, int, str]] = [
    (np.ones(12, dtype=np.bool_), 0, "size 0 is below 1"),
    (np.arange(12) < 5, 6, "size 6 is above the 5 free nodes"),
    (np.zeros(12, dtype=np.bool_), 1, "size 1 is above the 0 free nodes"),
    (np.ones(11, dtype=np.bool_), 1, r"free is bool of shape \(11,\), not a mask over the 12 nodes"),
    (np.ones(12, dtype=np.int64), 1, "free is int64 of shape"),
]


def test_bad_requests_are_named() -> None:
    with all_offenders() as offender:
        for allocate in (*EVERY, *ALLOCATORS.values()):
            for free, size, message in BAD_REQUESTS:
                with (
                    offender(f"{getattr(allocate, '__name__', allocate)}: {message}"),
                    pytest.raises(InvalidProblem, match=message),
                ):
                    allocate(Mesh((4, 3)), free, size)


LARGE = """
from pathlib import Path
from typing import get_args
import numpy as np
from allocsolve.heuristics.partition.blocks import MultipleBuddy, Paging, RandomNodes
from allocsolve.heuristics.partition.curve_fit import CurveFit, CurveMethod, Fallback
from allocsolve.heuristics.partition.growth import Growth, Leak
from allocsolve.heuristics.partition.submesh import Submesh
from allocsolve.model import NODE_ORDERS, Budget, Mesh, PartitionProblem, Torus

def peak():  # not ru_maxrss: a child process starts with that of its parent
    return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0])

solvers = [CurveFit(method, order) for method in get_args(CurveMethod) for order in NODE_ORDERS]
solvers += [CurveFit("best-fit", fallback=fallback) for fallback in get_args(Fallback)]
solvers += [Growth(), Growth("all"), Leak(), Leak(contiguous=False), MultipleBuddy(), RandomNodes()]
solvers += [Paging(3, "hilbert"), Submesh("first", True), Submesh("best", True)]
for solver in solvers:  # compiles the kernels
    solver(PartitionProblem(Mesh((3, 3)), np.arange(9) % 4 > 0, 5), Budget())
before = peak()
for topology in (Mesh((128, 128)), Torus((128, 128))):
    free = np.random.default_rng(5).random(topology.num_nodes) > 0.3
    for size in (6, 5000):
        problem = PartitionProblem(topology, free, size)
        for solver in solvers:
            answer = solver(problem, Budget(seconds=0.2)).answer
            if answer is None:
                print("none", size, solver)
            else:
                assert len(set(answer.nodes.tolist())) == size and free[answer.nodes].all(), solver
print("KB", peak() - before)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="no /proc to read the peak memory from")
def test_every_allocator_takes_a_large_machine_within_200_megabytes() -> None:
    *failed, last = python("-c", LARGE)[0].splitlines()
    assert int(last.split()[1]) < 200 * 1024
    # A leak may start in a hole, and a page of 64 nodes is hardly ever free at 30 % busy.
    assert {line.split()[2].split("(")[0] for line in failed if line.split()[1] == "6"} <= {"Leak", "Paging"}


# --- Branch and bound ---------------------------------------------------------------------------------


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
    problem = random_problem(Mesh((64, 64)), 1638, 300, 1)
    result = solved(problem)
    assert (result.status, result.limit) == (Status.FEASIBLE, Limit.TIME)
    assert result.bound >= star_bound(problem)  # type: ignore[operator]  # the value of one term is a number


@pytest.mark.parametrize("topology", [Mesh((12, 12)), Torus((8, 12))])
def test_tables_that_are_too_large(monkeypatch: pytest.MonkeyPatch, topology: Topology) -> None:
    problem = random_problem(topology, topology.num_nodes // 5, 20, 1)
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
    problem = random_problem(topology, int(0.3 * topology.num_nodes), 12, 1)
    best = solved(problem)
    monkeypatch.setattr(_cut_search, "_SLICE", 1e-5)
    monkeypatch.setattr(_kernels_search, "search", interrupting(calls, _kernels_search.search))
    result = solved(problem)
    assert (result.status, result.limit) == (Status.FEASIBLE, Limit.INTERRUPTED)
    assert result.bound <= best.objective <= result.objective  # type: ignore[operator]  # the value of one term is a number


def test_an_interrupt_before_there_is_a_set(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(branch_and_bound, "ManhattanMedian", interrupt)
    result = PartitionBranchAndBound()(random_problem(Mesh((5, 5)), 7, 4, 1), Budget())
    assert (result.status, result.limit, result.bound) == (Status.UNKNOWN, Limit.INTERRUPTED, 6)


@pytest.mark.parametrize("contiguous", [False, True])
def test_slices_and_room_make_no_difference(monkeypatch: pytest.MonkeyPatch, contiguous: bool) -> None:
    problem = random_problem(Mesh((12, 12)), 50, 20, 3, contiguous=contiguous)
    usual = solved(problem)
    monkeypatch.setattr(_cut_search, "_SLICE", 1e-6)
    monkeypatch.setattr(_cut_search, "_FIRST_ROOM", 2)
    sliced = solved(problem)
    assert (sliced.status, sliced.objective) == (Status.OPTIMAL, usual.objective)
    assert sliced.answer == usual.answer


def test_a_bad_start_is_improved(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = random_problem(Mesh((9, 7)), 18, 11, 2)
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


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("topology", [Mesh((20, 20)), Torus((20, 20))])
def test_without_time_there_is_still_an_answer(name: str, topology: Topology) -> None:
    free = np.arange(400) % 3 > 0
    result = SOLVERS[name](PartitionProblem(topology, free, 30), Budget(seconds=1e-9))
    assert result.limit is Limit.TIME
    assert result.answer is not None
    assert free[result.answer.nodes].all()
    assert len(result.answer.nodes) == 30


@pytest.mark.parametrize("name", SOLVERS)
def test_with_time_to_spare_a_limit_makes_no_difference(name: str) -> None:
    problem = PartitionProblem(Mesh((9, 9)), np.arange(81) % 3 > 0, 11)
    limited, unlimited = (SOLVERS[name](problem, budget) for budget in (Budget(seconds=1e6), Budget()))
    assert limited.limit is unlimited.limit is None
    assert limited.answer == unlimited.answer


def test_a_set_that_is_not_connected_is_no_answer_to_a_contiguous_problem() -> None:
    # A row of eight nodes, and apart from it eight nodes of one colour of a chessboard, which cost less.
    row, board = range(8), [8 * y + x for y in range(2, 6) for x in range(4) if (x + y) % 2]
    mesh = Mesh((8, 6))
    free = np.isin(np.arange(48), [*row, *board])
    answer = ManhattanMedian()(PartitionProblem(mesh, free, 8), Budget()).answer
    assert answer is not None
    assert answer.nodes.tolist() == board
    assert (
        ManhattanMedian()(PartitionProblem(mesh, free, 8, contiguous=True), Budget()).status is Status.UNKNOWN
    )
    nine = PartitionProblem(mesh, free, 9, contiguous=True)
    assert ManhattanMedian()(nine, Budget()).status is Status.INFEASIBLE
