"""Rules of placement: options, several roots, and what is easily taken for something else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from allocsolve import heuristics
from allocsolve.errors import InvalidOption, InvalidProblem, UnsupportedProblem
from allocsolve.heuristics import SlurmBlock, kueue, pbs_placement, slurm_block
from allocsolve.model import Budget, PlacementProblem, Status, SwitchTree
from allocsolve.registry import make_solver

if TYPE_CHECKING:
    from allocsolve.model import IntArray

RULES = ("lowest-switch", "kueue", "kai", "spur", "slurm-tree", "pbs-placement", "fluxion", "slurm-block")
PODS = SwitchTree.regular((2, 2, 3))
#: A root with two racks of two nodes, and one that is a rack of three.
ROOTS = SwitchTree(np.array([-1, 0, 0, -1]), np.array([1, 1, 2, 2, 3, 3, 3]))


def all_free(tree: SwitchTree) -> Any:
    return np.ones(tree.num_nodes, dtype=np.bool_)


def listed(nodes: IntArray | None) -> list[int] | None:
    return None if nodes is None else nodes.tolist()


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ("18,36x", "block_sizes '18,36x': '36x' is no number of nodes"),
        ("18,,36", "block_sizes '18,,36': '' is no number of nodes"),
        ("3,9", "block_sizes: 9 is not 3 times a power of two up to 2^15"),
        ("3,7", "block_sizes: 7 is not 3 times a power of two up to 2^15"),
        ("0", "block_sizes: 0 is not 0 times a power of two up to 2^15"),
        ((3, 2.5), "block_sizes '3,2.5': '2.5' is no number of nodes"),
        ((1, 65536), "block_sizes: 65536 is not 1 times a power of two up to 2^15"),
    ],
)
def test_wrong_block_sizes_are_refused(sizes: Any, message: str) -> None:
    with pytest.raises(InvalidOption) as caught:
        slurm_block(PODS, all_free(PODS), 2, block_sizes=sizes)
    assert str(caught.value) == message
    if isinstance(sizes, str):
        with pytest.raises(InvalidOption):
            SlurmBlock(block_sizes=sizes)


def test_what_a_mode_does_not_know_is_refused() -> None:
    with pytest.raises(UnsupportedProblem, match="within 1: Kueue's unconstrained jobs know nothing of it"):
        kueue(PODS, all_free(PODS), 1, mode="unconstrained", within=1)


@pytest.mark.parametrize("k", [0, 13])
def test_wrong_sizes_are_refused(k: int) -> None:
    for name in RULES:
        with pytest.raises(InvalidProblem, match=f"size {k} is"):
            getattr(heuristics, name.replace("-", "_"))(PODS, all_free(PODS), k)


def test_blocks_decide_what_waits() -> None:
    """Three racks have two free nodes, the last one three; by default racks form pairs."""
    free = all_free(PODS)
    free[[0, 5, 8]] = False

    def taken(k: int, **options: Any) -> list[int] | None:
        return listed(slurm_block(PODS, free, k, **options))

    assert taken(4) == [1, 2, 3, 4]  # the pair with fewest
    assert taken(5) == [6, 7, 9, 10, 11]
    assert taken(6) is None  # two racks could hold it, but no pair does
    assert taken(6, block_sizes="3,12") is None
    assert taken(7) == [3, 4, 6, 7, 9, 10, 11]  # of all four racks
    assert taken(6, segment=2) == [1, 2, 3, 4, 6, 7]
    assert taken(6, segment=2, consolidate=True) is None
    assert taken(7, segment=3) is None
    assert taken(4, segment=5) == taken(4)


def test_segments_of_the_problem_are_slurms() -> None:
    problem = PlacementProblem.of(PODS, busy=[0, 5, 8], size=4, segment=2)
    result = SlurmBlock()(problem, Budget())
    assert result.status is Status.FEASIBLE
    # The first rack with two free nodes, from the end, twice.
    assert result.answer is not None
    assert result.answer.nodes.tolist() == [3, 4, 6, 7]
    # Placed in segments of three, the job has no segments of two.
    other = PlacementProblem.of(PODS, size=6, segment=2)
    assert SlurmBlock(segment=3)(other, Budget()).answer is None


def test_a_job_lies_below_one_root() -> None:
    free = all_free(ROOTS)
    for name in RULES:
        solver = make_solver(name, PlacementProblem)
        assert solver(PlacementProblem(ROOTS, free, 5), Budget()).answer is None, name
    # The highest root that holds a job, though the other is one rack.
    assert listed(heuristics.slurm_tree(ROOTS, free, 3)) == [0, 1, 2]
    assert listed(heuristics.lowest_switch(ROOTS, free, 3)) == [4, 5, 6]
    # What knows no roots takes what it takes; it is no answer.
    assert heuristics.fluxion(ROOTS, free, 5, policy="high").tolist() == [2, 3, 4, 5, 6]
    assert listed(kueue(ROOTS, free, 5, mode="unconstrained")) == [0, 1, 2, 3, 4]


def test_pbs_spans_sets_or_waits() -> None:
    free = all_free(PODS)
    free[[0, 1, 6, 7]] = False
    assert listed(pbs_placement(PODS, free, 5)) == [2, 3, 4, 5, 8]
    assert pbs_placement(PODS, free, 5, wait=True) is None
    assert listed(pbs_placement(PODS, free, 8, wait=True)) == np.flatnonzero(free).tolist()
