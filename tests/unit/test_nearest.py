"""Edge cases of the nearest family: no time, bad requests, unknown options, masks of every kind."""

from __future__ import annotations

import numpy as np
import pytest
from nearest_tools import ALLOCATORS, SOLVERS

from allocsolve.errors import InvalidProblem
from allocsolve.heuristics.partition.nearest import ManhattanMedian
from allocsolve.model import Budget, Limit, Mesh, PartitionProblem, Status, Topology, Torus


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


@pytest.mark.parametrize("name", ALLOCATORS)
@pytest.mark.parametrize(
    ("num_nodes", "size", "message"),
    [
        (6, 0, "size 0 is below 1"),
        (6, 7, "size 7 is above the 6 free nodes"),
        (5, 2, "free is bool of shape"),
    ],
)
def test_bad_requests_are_refused(name: str, num_nodes: int, size: int, message: str) -> None:
    with pytest.raises(InvalidProblem, match=message):
        ALLOCATORS[name](Mesh((3, 2)), np.ones(num_nodes, dtype=np.bool_), size)
