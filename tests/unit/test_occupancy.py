"""The generators of partition problems: shares, seeds, names, and that they never change unnoticed."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import naive_partition as naive
import numpy as np
import pytest
from hypothesis import given, strategies as st
from strategies import topologies

from allocsolve.errors import InvalidAnswer, InvalidOption, InvalidProblem
from allocsolve.instances import (
    MACHINE_SOURCES,
    MACHINES,
    SWITCH_TREES,
    churned_occupancy,
    digest,
    median_worst_case,
    read_problem,
    uniform_occupancy,
    write_problem,
)
from allocsolve.judge import partition_value
from allocsolve.model import BoolArray, IntArray, Mesh, Partition, PartitionProblem, Topology, Torus

if TYPE_CHECKING:
    from pathlib import Path

HLRN = MACHINES["hlrn-ii"]


def first_free(topology: Topology, free: BoolArray, size: int) -> IntArray | None:  # noqa: ARG001 - called with the arguments of every allocator
    return np.flatnonzero(free)[:size]


def first_row(topology: Topology, free: BoolArray, size: int) -> IntArray | None:
    """The first stretch of free nodes within a row of the first axis."""
    side = topology.shape[0]
    for start in range(topology.num_nodes - size + 1):
        if free[start : start + size].all() and start // side == (start + size - 1) // side:
            return np.arange(start, start + size)
    return None


# --- machines ------------------------------------------------------------------------------------------


def test_the_machines_are_those_of_the_literature() -> None:
    assert dict(MACHINES) == {
        "hlrn-ii": Mesh((16, 8)),
        "mesh-32x32": Mesh((32, 32)),
        "mesh-8x8x8": Mesh((8, 8, 8)),
        "titan": Torus((25, 16, 24)),
        "fugaku": Topology((24, 23, 24, 2, 3, 2), (True, True, True, False, True, False)),
        "tpu-v5e": Torus((16, 16)),
    }
    assert {
        name: (tree.num_nodes, tree.num_switches, tree.height) for name, tree in SWITCH_TREES.items()
    } == {
        "summit": (256 * 18, 1 + 256, 2),
        "meta-24k": (8 * 192 * 2, 1 + 8 + 8 * 192, 3),
        "nvl72": (128 * 18, 1 + 8 + 128, 3),
        "perlmutter-cpu": (12 * 16 * 16, 1 + 12 + 12 * 16, 3),
        "frontier": (74 * 128, 1 + 74, 2),
        "jupiter": (25 * 5 * 48, 1 + 25 + 25 * 5, 3),
        "tpu-v4": (4096, 1 + 64 * 31, 6),
    }
    assert {*MACHINE_SOURCES} == {*MACHINES, *SWITCH_TREES}
    with pytest.raises(TypeError):
        MACHINES["titan"] = HLRN  # type: ignore[index]  # what the test is about


# --- uniform -------------------------------------------------------------------------------------------


@given(topologies(max_nodes=40, complete=True), st.floats(0, 1), st.integers(0, 2**40), st.booleans())
def test_the_share_of_busy_nodes_is_met(
    topology: Topology, share: float, seed: int, contiguous: bool
) -> None:
    wanted = round(share * topology.num_nodes)
    if wanted == topology.num_nodes:
        with pytest.raises(InvalidProblem, match="size 1 is above the 0 free nodes"):
            uniform_occupancy(topology, share, 1, seed)
        return
    problem = uniform_occupancy(topology, share, 1, seed, contiguous=contiguous)
    assert len(problem.busy) == wanted
    assert (problem.topology, problem.size, problem.contiguous) == (topology, 1, contiguous)
    assert uniform_occupancy(topology, share, 1, seed, contiguous=contiguous) == problem


def test_every_node_is_busy_about_as_often() -> None:
    draws = [uniform_occupancy(Mesh((4, 3)), 0.25, 1, seed).free for seed in range(2000)]
    often = 1 - np.mean(draws, axis=0)
    # Within 5 standard errors of the share.
    assert np.abs(often - 0.25).max() < 5 * math.sqrt(0.25 * 0.75 / 2000)


def test_the_seed_alone_decides() -> None:
    digests = {digest(uniform_occupancy(HLRN, 0.5, 8, seed)) for seed in (0, 1, 2, 2**40)}
    assert len(digests) == 4


def test_the_problem_of_a_seed_is_frozen() -> None:
    # Published results name seeds: a change here needs a new version in the generator.
    uniform = uniform_occupancy(Mesh((5, 4)), 0.3, 4, 7)
    assert uniform.busy == (10, 11, 14, 15, 16, 18)
    churned = churned_occupancy(Mesh((5, 4)), 0.5, 4, 7, allocator=first_row, job_sizes=(1, 4), steps=20)
    assert churned.busy == (0, 1, 5, 6, 7, 8, 10, 11, 12, 13)


def test_name_and_meta_tell_how_to_make_it_again(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    problem = uniform_occupancy(Topology((4, 3), (True, False)), 0.25, 2, 7, contiguous=True)
    write_problem(problem, path)
    again = read_problem(path)
    assert again.name == "uniform-4rx3-b0.25-k2-contiguous-s7"
    assert again.meta == {
        "generator": "uniform",
        "version": 1,
        "seed": 7,
        "shape": [4, 3],
        "wrap": [True, False],
        "busy_share": 0.25,
        "size": 2,
        "contiguous": True,
    }
    assert uniform_occupancy(HLRN, 0.3, 32, 7).name == "uniform-16x8-b0.3-k32-s7"


@pytest.mark.parametrize("share", [-0.1, 1.01, math.nan, math.inf])
def test_an_impossible_share_is_refused(share: float) -> None:
    with pytest.raises(InvalidOption, match=rf"busy_share {share} is not in 0\.\.1"):
        uniform_occupancy(HLRN, share, 1, 0)
    with pytest.raises(InvalidOption, match=rf"busy_share {share} is not in 0\.\.1"):
        churned_occupancy(HLRN, share, 1, 0, allocator=first_free)


@pytest.mark.parametrize("seed", [-1, 1.5, "7", None])
def test_a_seed_that_would_not_repeat_is_refused(seed: Any) -> None:
    with pytest.raises(InvalidOption, match="is not made of integers >= 0"):
        uniform_occupancy(HLRN, 0.5, 1, seed)
    with pytest.raises(InvalidOption, match="is not made of integers >= 0"):
        churned_occupancy(HLRN, 0.5, 1, seed, allocator=first_free)


@pytest.mark.parametrize(
    ("size", "message"), [(0, "size 0 is below 1"), (65, "size 65 is above the 64 free")]
)
def test_an_impossible_size_is_refused(size: int, message: str) -> None:
    with pytest.raises(InvalidProblem, match=message):
        uniform_occupancy(HLRN, 0.5, size, 0)


# --- churned -------------------------------------------------------------------------------------------


@given(
    topologies(max_nodes=40, complete=True),
    st.floats(0, 0.9),
    st.integers(0, 2**40),
    st.tuples(st.integers(1, 9), st.integers(1, 9)).map(sorted),
    st.integers(0, 30),
)
def test_the_share_is_met_if_the_allocator_can_fill_the_machine(
    topology: Topology, share: float, seed: int, sizes: list[int], steps: int
) -> None:
    wanted = round(share * topology.num_nodes)
    sizes = [min(size, topology.num_nodes) for size in sizes]
    if wanted == topology.num_nodes:
        return
    options: dict[str, Any] = {"allocator": first_free, "job_sizes": (sizes[0], sizes[1]), "steps": steps}
    problem = churned_occupancy(topology, share, 1, seed, **options)
    # At the end a job departed because another, of at most sizes[1] nodes, did not fit.
    assert min(wanted, topology.num_nodes - 2 * sizes[1] + 1) <= len(problem.busy) <= wanted
    assert churned_occupancy(topology, share, 1, seed, **options) == problem
    jobs = problem.meta["jobs"]
    assert isinstance(jobs, int)
    assert jobs * sizes[1] >= len(problem.busy) >= jobs


def test_departures_leave_holes() -> None:
    problem = churned_occupancy(HLRN, 0.5, 16, 7, allocator=first_row, job_sizes=(2, 8))
    assert len(problem.busy) == 64
    assert len(naive.runs(range(128), naive.free_nodes(problem))) > 5
    assert {node // 64 for node in problem.busy} == {0, 1}
    assert churned_occupancy(HLRN, 0.5, 16, 8, allocator=first_row, job_sizes=(2, 8)) != problem


def test_what_the_allocator_cannot_place_is_lost() -> None:
    def refuses(topology: Topology, free: BoolArray, size: int) -> IntArray | None:  # noqa: ARG001 - called with the arguments of every allocator
        return None

    assert churned_occupancy(HLRN, 0.5, 16, 7, allocator=refuses).busy == ()
    # No two jobs of more than half a row fit into one.
    problem = churned_occupancy(HLRN, 0.99, 4, 7, allocator=first_row, job_sizes=(9, 10), steps=50)
    assert 7 * 9 <= len(problem.busy) <= 7 * 10
    # Nothing fits into a row that is longer than it.
    assert churned_occupancy(HLRN, 0.99, 4, 7, allocator=first_row, job_sizes=(17, 20)).busy == ()


def test_the_allocator_is_shown_what_is_free_and_no_more_than_it_asks_for() -> None:
    seen = []

    def watched(topology: Topology, free: BoolArray, size: int) -> IntArray | None:
        assert topology is HLRN
        assert not free.flags.writeable
        assert 1 <= size <= free.sum()
        seen.append((free.tobytes(), size))
        return first_free(topology, free, size)

    problem = churned_occupancy(HLRN, 0.5, 16, 7, allocator=watched, job_sizes=(3, 6), steps=40)
    assert {size for _, size in seen} == {3, 4, 5, 6}
    assert len({mask for mask, _ in seen}) > 20
    assert problem.name == "churned-watched-16x8-b0.5-k16-s7"


def test_the_meta_of_churn_tells_the_allocator(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    problem = churned_occupancy(
        HLRN, 0.25, 4, 3, allocator=first_free, allocator_name="first-fit", job_sizes=(2, 4), steps=9
    )
    write_problem(problem, path)
    meta = dict(read_problem(path).meta)
    assert meta.pop("jobs") in range(8, 18)  # one of them may have lost nodes
    assert meta == {
        "generator": "churned",
        "version": 1,
        "seed": 3,
        "shape": [16, 8],
        "wrap": [False, False],
        "busy_share": 0.25,
        "size": 4,
        "contiguous": False,
        "allocator": "first-fit",
        "job_sizes": [2, 4],
        "steps": 9,
    }
    assert problem.name == "churned-first-fit-16x8-b0.25-k4-s3"


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ([0], "the allocator returns 1 nodes, asked for 2"),
        ([0, 0], "the allocator returns 1 nodes, asked for 2"),
        ([0, 1, 1], "the allocator returns 2 nodes, asked for 2"),
        ([0, -1], "the allocator returns node -1, which is not free"),
        ([0, 12], "the allocator returns node 12, which is not free"),
        ([0, 1], "the allocator returns node 0, which is not free"),
    ],
)
def test_a_wrong_allocator_is_found_out(nodes: list[int], message: str) -> None:
    def wrong(topology: Topology, free: BoolArray, size: int) -> IntArray | None:  # noqa: ARG001 - called with the arguments of every allocator
        return np.array(nodes)

    with pytest.raises(InvalidAnswer, match=message):
        churned_occupancy(Mesh((4, 3)), 0.9, 1, 0, allocator=wrong, job_sizes=(2, 2), steps=3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"job_sizes": (0, 3)}, r"job_sizes 0-3 is no range within 1\.\.128"),
        ({"job_sizes": (4, 3)}, r"job_sizes 4-3 is no range within 1\.\.128"),
        ({"job_sizes": (4, 129)}, r"job_sizes 4-129 is no range within 1\.\.128"),
        ({"steps": -1}, "steps -1 is negative"),
    ],
)
def test_an_impossible_option_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidOption, match=message):
        churned_occupancy(HLRN, 0.5, 1, 0, allocator=first_free, **options)


# --- the worst case of the median method ---------------------------------------------------------------


@pytest.mark.parametrize("distance", [6, 7, 8, 10, 13])
def test_the_worst_case_of_the_median_method(distance: int) -> None:
    problem = median_worst_case(8, distance)
    assert problem.topology == Mesh((3 * distance - 3, 2 * distance - 3))
    assert problem.free.sum() == 14
    assert naive.optimum(problem) == 16 * distance + 24
    assert naive.manhattan_median(problem) == 28 * distance - 33


def test_the_median_method_tends_to_seven_quarters() -> None:
    problem = median_worst_case(8, 33)
    assert max(problem.topology.shape) <= 100
    assert naive.manhattan_median(problem) / (16 * 33 + 24) == pytest.approx(1.614, abs=5e-4)


@pytest.mark.parametrize(("size", "step"), [(16, 3), (24, 4), (32, 5)])
def test_larger_worst_cases_have_the_same_ratio(size: int, step: int) -> None:
    problem = median_worst_case(size, 60, step)
    half, eighth = size // 2, size // 8
    assert problem.free.sum() == 2 * half + 6 * eighth
    blobs = [
        nodes for nodes in naive.components(problem.topology, naive.free_nodes(problem)) if len(nodes) == half
    ]
    assert len(blobs) == 2
    both = partition_value(problem, Partition(np.array(sorted(blobs[0] | blobs[1]))))
    assert 1.5 < naive.manhattan_median(problem) / both < 1.75


def test_the_blobs_are_towns() -> None:
    # The least sums of Demaine et al. 2011 for 4, 8, 12 and 16 cells.
    for size, least in ((8, 8), (16, 54), (24, 152), (32, 318)):
        problem = median_worst_case(size, 30)
        parts = naive.components(problem.topology, naive.free_nodes(problem))
        blob = max(parts, key=len)
        assert naive.pairwise(problem.topology, sorted(blob)) == least


def test_the_worst_case_tells_its_options() -> None:
    problem = median_worst_case(16, 40, 3)
    assert problem.name == "median-worst-case-k16-d40-s3"
    assert (problem.size, problem.contiguous) == (16, False)
    assert problem.meta == {
        "generator": "median-worst-case",
        "version": 1,
        "size": 16,
        "distance": 40,
        "step": 3,
    }


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((0, 33, 2), "size 0 is not a positive multiple of 8"),
        ((12, 33, 2), "size 12 is not a positive multiple of 8"),
        ((8, 33, 0), "step 0 is below 1"),
        ((8, 5, 2), "distance 5 less step 2 is below 4, too near for size 8"),
        ((64, 9, 2), "distance 9 less step 2 is below 8, too near for size 64"),
    ],
)
def test_an_impossible_worst_case_is_refused(options: tuple[int, int, int], message: str) -> None:
    with pytest.raises(InvalidOption, match=message):
        median_worst_case(*options)


@given(st.integers(1, 6), st.integers(1, 4), st.integers(2, 30))
def test_the_groups_never_touch(eighth: int, step: int, distance: int) -> None:
    try:
        problem: PartitionProblem = median_worst_case(8 * eighth, distance, step)
    except InvalidOption:
        return
    parts = naive.components(problem.topology, naive.free_nodes(problem))
    assert sorted(map(len, parts)) == [eighth] * 6 + [4 * eighth] * 2
