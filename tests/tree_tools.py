"""Certificates of trees for tests: problems whose search splits, and certificates that were tampered with."""

from __future__ import annotations

import copy
import itertools
from typing import TYPE_CHECKING, Any, Final

from allocsolve.exact import PartitionBranchAndBound
from allocsolve.exact.partition.branch_and_bound import PartitionBranchAndBoundParams
from allocsolve.instances import uniform_occupancy
from allocsolve.model import Budget, Mesh, PartitionProblem, Status, Topology, Torus, terms

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

__all__ = ["LARGER", "TAMPERINGS", "proven"]

#: Their trees have steps of all kinds.
LARGER: Final = (
    uniform_occupancy(Mesh((16, 8)), 0.3, 16, 1),
    uniform_occupancy(Mesh((16, 8)), 0.4, 21, 3),
    uniform_occupancy(Mesh((12, 12)), 0.45, 20, 1, contiguous=True),
    uniform_occupancy(Torus((8, 8)), 0.4, 11, 1),
    uniform_occupancy(Torus((7, 7)), 0.3, 16, 4, contiguous=True),
    uniform_occupancy(Topology((5, 6, 4), (True, False, True)), 0.5, 10, 1),
    uniform_occupancy(Torus((3, 4, 3, 4)), 0.4, 8, 5),
)


def proven(
    problem: PartitionProblem, params: PartitionBranchAndBoundParams = PartitionBranchAndBoundParams()
) -> tuple[int, dict[str, Any]]:
    """Return the optimum of a problem that has an answer, and the certificate."""
    result = PartitionBranchAndBound(params)(problem, Budget())
    assert result.status is Status.OPTIMAL
    assert result.certificate is not None
    return int(terms(result.bound)[0]), copy.deepcopy(dict(result.certificate))


def _rows(root: dict[str, Any]) -> list[list[int]]:
    return [root["steps"][i : i + 3] for i in range(0, len(root["steps"]), 3)]


def _end(rows: list[list[int]], begin: int) -> int:
    """Return where the tree ends that begins at a row."""
    left, row = 1, begin
    while left:
        left += (rows[row][0] >= 3) - (rows[row][0] == 0)
        row += 1
    return row


def _claim_more(certificate: dict[str, Any], random: Random) -> None:
    certificate["bound"] += random.randint(1, 4)


def _drop_the_first_root(certificate: dict[str, Any], random: Random) -> None:
    certificate["bound"] += random.randint(0, 2)
    del certificate["roots"][0]


def _drop_a_child(certificate: dict[str, Any], random: Random) -> None:
    """Of a split of the first root, the first child with all below it is gone."""
    root = certificate["roots"][0]
    rows = _rows(root)
    splits = [i for i, row in enumerate(rows) if row[0] >= 3] or [-1]  # or all there is
    at = random.choice(splits) + 1
    root["steps"] = [*itertools.chain(*rows[:at], *rows[_end(rows, at) :])]


def _end_a_branch_early(certificate: dict[str, Any], random: Random) -> None:
    """Claim more, and what is below some step is not looked at any more."""
    certificate["bound"] += 2
    root = random.choice(certificate["roots"])
    rows = _rows(root)
    at = random.randrange(len(rows))
    root["steps"] = [*itertools.chain(*rows[:at], (0, 0, 0), *rows[_end(rows, at) :])]


def _change_multipliers(certificate: dict[str, Any], random: Random) -> None:
    """Claim more, with larger multipliers."""
    certificate["bound"] += 2
    for root in certificate["roots"]:
        root["multipliers"] = [u + random.randint(-200, 900) for u in root["multipliers"]]


def _change_splits(certificate: dict[str, Any], random: Random) -> None:
    """Claim more, and split elsewhere."""
    certificate["bound"] += 2
    for root in certificate["roots"]:
        for i in range(0, len(root["steps"]), 3):
            if root["steps"][i] in (3, 4):
                root["steps"][i + 2] += random.randint(-2, 2)


#: Each makes a certificate one that proves nothing, or claims what is not true.
TAMPERINGS: Final[tuple[Callable[[dict[str, Any], Random], None], ...]] = (
    _claim_more,
    _drop_the_first_root,
    _drop_a_child,
    _end_a_branch_early,
    _change_multipliers,
    _change_splits,
)
