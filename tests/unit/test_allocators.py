"""Allocators on node orders, by growth and by blocks: drawn examples, bad requests, the clock, memory."""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import naive_allocators as naive
import numpy as np
import pytest
from offenders import all_offenders

from allocsolve.errors import InvalidOption, InvalidProblem
from allocsolve.heuristics.partition.blocks import (
    RandomNodes,
    multiple_buddy,
    paging,
    random_nodes,
)
from allocsolve.heuristics.partition.curve_fit import (
    CurveFit,
    best_fit_run,
    first_fit_run,
    largest_runs,
    min_span,
    sorted_free_list,
)
from allocsolve.heuristics.partition.growth import Growth, Leak, growth, leak
from allocsolve.heuristics.partition.submesh import SUBMESH_CHOICES, submesh
from allocsolve.model import Budget, Limit, Mesh, PartitionProblem, Status, Topology, Torus

if TYPE_CHECKING:
    from allocsolve.model import BoolArray, IntArray

ALLOCATORS = (
    sorted_free_list,
    first_fit_run,
    best_fit_run,
    min_span,
    largest_runs,
    growth,
    partial(growth, seeds="all"),
    leak,
    partial(leak, contiguous=False),
    submesh,
    partial(submesh, choice="best"),
    multiple_buddy,
    paging,
    partial(random_nodes, seed=0),
)


def drawn(*rows: str) -> tuple[Topology, BoolArray]:
    """A mesh as a picture: the last line is row y = 0, a dot is a free node."""
    mesh = Mesh((len(rows[0]), len(rows)))
    return mesh, np.array([c == "." for row in reversed(rows) for c in row])


def listed(nodes: IntArray | None) -> list[int]:
    assert nodes is not None
    ids: list[int] = nodes.tolist()
    return ids


def picture(topology: Topology, free: BoolArray, nodes: IntArray | None) -> list[str]:
    """The chosen nodes numbered in the order in which they were taken."""
    assert nodes is not None
    marks = ["." if is_free else "x" for is_free in free]
    for count, node in enumerate(nodes.tolist()):
        marks[node] = f"{count:x}"
    width = topology.shape[0]
    return ["".join(marks[i : i + width]) for i in range(0, len(marks), width)][::-1]


# On a node order -------------------------------------------------------------------------------------------

LINE = "..x.x....x...x......"  # runs of 2, 1, 4, 3 and 6 nodes


@pytest.mark.parametrize(
    ("allocate", "size", "expected"),
    [
        (sorted_free_list, 4, "01x2x3...x...x......"),
        (first_fit_run, 3, "..x.x012.x...x......"),
        (best_fit_run, 3, "..x.x....x012x......"),
        (best_fit_run, 1, "..x0x....x...x......"),
        (partial(best_fit_run, fallback="min-span"), 7, "..x.x0123x456x......"),
        (partial(best_fit_run, fallback="largest-runs"), 7, "..x6x....x...x012345"),
        (partial(best_fit_run, fallback="largest-runs"), 9, "..x.x....x678x012345"),
        (partial(best_fit_run, fallback="largest-runs"), 12, "abx.x6789x...x012345"),
        (min_span, 5, "..x.x....x...x01234."),
        (largest_runs, 3, "..x.x....x012x......"),
    ],
)
def test_on_a_line(allocate: Any, size: int, expected: str) -> None:
    line, free = drawn(LINE)
    assert picture(line, free, allocate(line, free, size, order="row-major")) == [expected]


def test_no_run_suffices() -> None:
    line, free = drawn(LINE)
    assert first_fit_run(line, free, 7) is None
    assert best_fit_run(line, free, 7, fallback="fail") is None


def test_the_three_readings_of_slurm_on_the_hilbert_order_differ() -> None:
    mesh = Mesh((16, 8))
    free = np.random.default_rng(0).random(128) > 0.4
    assert first_fit_run(mesh, free, 20) is None
    few = largest_runs(mesh, free, 20).tolist()
    near = min_span(mesh, free, 20).tolist()
    assert set(few) != set(near)
    assert listed(best_fit_run(mesh, free, 20, fallback="largest-runs")) == few
    assert listed(best_fit_run(mesh, free, 20, fallback="min-span")) == near


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


# Growing ---------------------------------------------------------------------------------------------------


def test_growth_passes_over_seeds_that_are_shut_in() -> None:
    mesh, free = drawn("....", "x...", ".x..")
    assert picture(mesh, free, growth(mesh, free, 5)) == ["....", "x423", ".x01"]


def test_growth_from_the_first_seed_may_cost_more_than_from_the_best() -> None:
    mesh, free = drawn("xx...", ".....")
    first, best = growth(mesh, free, 4), growth(mesh, free, 4, seeds="all")
    assert picture(mesh, free, first) == ["xx...", "0123."]
    assert picture(mesh, free, best) == ["xx.32", "...10"]


def test_growth_wraps_on_a_torus() -> None:
    torus = Torus((5, 5))
    free = np.zeros(25, dtype=np.bool_)
    free[[0, 4, 20, 24]] = True  # the four corners
    nodes = growth(torus, free, 4)
    assert nodes is not None
    assert naive.cost(torus, nodes.tolist()) == 8
    assert growth(Mesh((5, 5)), free, 2) is None


def test_growth_stops_when_the_time_is_up_with_what_it_has() -> None:
    problem = PartitionProblem(Mesh((64, 64)), np.ones(4096, dtype=np.bool_), 1000)
    result = Growth("all")(problem, Budget(seconds=1e-6))
    assert (result.status, result.limit) == (Status.FEASIBLE, Limit.TIME)
    first = growth(problem.topology, problem.free, 1000)
    assert first is not None
    assert result.answer is not None
    assert result.answer.nodes.tolist() == sorted(first.tolist())


def test_growth_that_fails_is_unknown_unless_the_set_must_be_connected() -> None:
    free = np.array([True, False, True])
    for seeds in ("first", "all"):
        loose, strict = (
            Growth(seeds)(PartitionProblem(Mesh((3,)), free, 2, contiguous), Budget())
            for contiguous in (False, True)
        )
        assert (loose.status, loose.limit) == (Status.UNKNOWN, None)
        assert (strict.status, strict.limit) == (Status.INFEASIBLE, None)


def test_leak_starts_where_the_snake_meets_the_first_free_node() -> None:
    # Linnert et al. 2024, Fig. 11: the first row is full; the second is searched in the opposite direction,
    # its last node is busy; the next one is taken, and the job leaks into the third row.
    mesh, free = drawn("....", "x...", "xx.x", "xxxx")
    assert picture(mesh, free, leak(mesh, free, 4)) == ["....", "x213", "xx0x", "xxxx"]


def test_leak_fails_where_the_other_variant_goes_on() -> None:
    mesh, free = drawn("...", "x..", ".x.")
    assert leak(mesh, free, 2) is None
    problem = PartitionProblem(mesh, free, 2)
    assert Leak()(problem, Budget()).status is Status.UNKNOWN
    assert Leak(contiguous=False)(problem, Budget()).status is Status.FEASIBLE
    nodes = leak(mesh, free, 4, contiguous=False)
    assert nodes is not None
    assert picture(mesh, free, nodes) == ["...", "x32", "0x1"]
    assert not naive.is_connected(mesh, nodes.tolist())


def test_leak_begins_in_its_row() -> None:
    mesh = Mesh((4, 3))
    free = np.ones(12, dtype=np.bool_)
    assert [leak(mesh, free, 1, start_row=row) for row in range(3)] == [0, 7, 8]
    with pytest.raises(InvalidOption, match=r"start_row 3 is not in 0\.\.2"):
        leak(mesh, free, 1, start_row=3)
    answer = Leak(start_row=1)(PartitionProblem(mesh, free, 2), Budget()).answer
    assert answer is not None
    assert answer.nodes.tolist() == [3, 7]


# Blocks ----------------------------------------------------------------------------------------------------


def test_submesh_turns_and_takes_less_compact_sides_if_asked() -> None:
    mesh, free = drawn("..x.", "..x.", "..x.", "xxx.")
    assert picture(mesh, free, submesh(mesh, free, 6)) == ["45x.", "23x.", "01x.", "xxx."]
    assert submesh(mesh, free, 4) is not None
    assert picture(mesh, free, submesh(mesh, free, 3, choice="best")) == ["..x.", "..x2", "..x1", "xxx0"]
    mesh, free = drawn("...x", "x.x.", "x.x.", "....")
    assert submesh(mesh, free, 4) is None
    assert submesh(mesh, free, 4, choice="best") is None
    for choice in SUBMESH_CHOICES:
        nodes = submesh(mesh, free, 4, choice=choice, all_shapes=True)
        assert picture(mesh, free, nodes) == ["...x", "x.x.", "x.x.", "0123"]


def test_submesh_needs_a_factorisation_that_fits() -> None:
    free = np.ones(128, dtype=np.bool_)
    assert submesh(Mesh((16, 8)), free, 17, all_shapes=True) is None
    nodes = submesh(Mesh((16, 8)), free, 13)
    assert nodes is not None
    assert nodes.tolist() == list(range(13))


def test_submesh_wraps_on_a_torus() -> None:
    free = np.zeros(25, dtype=np.bool_)
    free[[0, 4, 20, 24]] = True
    assert submesh(Mesh((5, 5)), free, 4) is None
    nodes = submesh(Torus((5, 5)), free, 4)
    assert nodes is not None
    assert nodes.tolist() == [24, 20, 4, 0]


def test_multiple_buddy_splits_and_falls_back() -> None:
    mesh, free = drawn("....", "....", "....", "....")
    assert picture(mesh, free, multiple_buddy(mesh, free, 7)) == ["....", "....", "236.", "0145"]
    mesh, free = drawn("....", "..x.", ".x..", "...x")
    assert picture(mesh, free, multiple_buddy(mesh, free, 6)) == ["23..", "01x.", ".x..", "45.x"]


def test_multiple_buddy_takes_octets() -> None:
    cube = Mesh((4, 4, 4))
    free = np.ones(64, dtype=np.bool_)
    free[0] = False
    assert sorted(multiple_buddy(cube, free, 8).tolist()) == [2, 3, 6, 7, 18, 19, 22, 23]


def test_pages_at_the_rim_are_cut_off() -> None:
    mesh, free = drawn(".....", "x....", ".....")
    assert picture(mesh, free, paging(mesh, free, 7)) == ["6....", "x.235", "..014"]
    assert paging(mesh, free, 12) is None
    assert paging(mesh, free, 1, exponent=24) is None


def test_random_nodes_differ_by_seed_and_reach_every_node() -> None:
    mesh = Mesh((4, 4))
    free = np.ones(16, dtype=np.bool_)
    sets = {tuple(sorted(random_nodes(mesh, free, 3, seed=seed).tolist())) for seed in range(40)}
    assert len(sets) > 30
    assert set().union(*sets) == set(range(16))
    problem = PartitionProblem(mesh, free, 3)
    answers = {RandomNodes()(problem, Budget(seed=seed)).answer for seed in range(40)}
    assert {tuple(answer.nodes.tolist()) for answer in answers if answer} == sets


# Bad requests, unknown options -----------------------------------------------------------------------------


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
        for allocate in ALLOCATORS:
            for free, size, message in BAD_REQUESTS:
                with (
                    offender(f"{getattr(allocate, '__name__', allocate)}: {message}"),
                    pytest.raises(InvalidProblem, match=message),
                ):
                    allocate(Mesh((4, 3)), free, size)


# Large machines --------------------------------------------------------------------------------------------

LARGE = """
from pathlib import Path
import numpy as np
from allocsolve.heuristics.partition.blocks import MultipleBuddy, Paging, RandomNodes
from allocsolve.heuristics.partition.curve_fit import CURVE_METHODS, FALLBACKS, CurveFit
from allocsolve.heuristics.partition.growth import Growth, Leak
from allocsolve.heuristics.partition.submesh import Submesh
from allocsolve.model import NODE_ORDERS, Budget, Mesh, PartitionProblem, Torus

def peak():  # not ru_maxrss: a child process starts with that of its parent
    return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0])

solvers = [CurveFit(method, order) for method in CURVE_METHODS for order in NODE_ORDERS]
solvers += [CurveFit("best-fit", fallback=fallback) for fallback in FALLBACKS]
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
    done = subprocess.run([sys.executable, "-c", LARGE], check=True, capture_output=True, text=True)
    *failed, last = done.stdout.splitlines()
    assert int(last.split()[1]) < 200 * 1024
    # A leak may start in a hole, and a page of 64 nodes is hardly ever free at 30 % busy.
    assert {line.split()[2].split("(")[0] for line in failed if line.split()[1] == "6"} <= {"Leak", "Paging"}
