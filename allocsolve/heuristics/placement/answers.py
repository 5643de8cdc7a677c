"""What the rules of placement have in common: what they are given, and the results that they become."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from allocsolve.errors import UnsupportedProblem
from allocsolve.heuristics.placement._trees import domain_of
from allocsolve.model import Placement, Result, Status, SwitchTree
from allocsolve.model.checks import instance
from allocsolve.model.node_sets import checked_free

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allocsolve.model import BoolArray, IntArray, PlacementProblem
    from allocsolve.model.result import Clock


def checked_tree_request(
    tree: SwitchTree, free: Sequence[bool] | BoolArray, size: int
) -> tuple[BoolArray, int]:
    """Return the mask of free nodes read-only, contiguous and unshared, and the size as an integer.

    Raises
    ------
    InvalidProblem
        If there is no tree, `free` is not a mask over its nodes, or the size is below 1 or above the number
        of free nodes.
    """
    return checked_free(free, size, instance("tree", tree, SwitchTree).num_nodes, "the tree")


def check_asked(problem: PlacementProblem, rule: str, *known: str) -> None:
    """Refuse a problem that asks for more than a rule knows; `known` are fields of problems.

    Raises
    ------
    UnsupportedProblem
        If another of ``within``, ``segment`` and ``balanced`` is set.
    """
    for field in ("within", "segment", "balanced"):
        if field not in known and getattr(problem, field):
            msg = f"{rule} does not know what {field} {getattr(problem, field)} asks for"
            raise UnsupportedProblem(msg)


def placement_result(problem: PlacementProblem, nodes: IntArray | None, clock: Clock) -> Result[Placement]:
    """Return the result of a rule: no answer if it takes no nodes, or others than the problem asks for."""
    answer = None
    if nodes is not None and _is_asked_for(problem, nodes):
        answer = Placement(nodes)
    return Result(Status.UNKNOWN if answer is None else Status.FEASIBLE, answer, runtime=clock.elapsed)


def _is_asked_for(problem: PlacementProblem, nodes: IntArray) -> bool:
    """Tell whether nodes lie below one root and within the level, in whole segments, and balanced."""
    tree = problem.tree
    chosen = np.bincount(tree.switch[nodes], minlength=tree.num_switches)
    used = np.flatnonzero(chosen)
    if not _has_common_domain(tree, used, problem.within or tree.height):
        return False
    if problem.segment:
        tops = domain_of(tree, used, problem.segment_level)
        if (np.bincount(tops, chosen[used]) % problem.segment).any():
            return False
    return not problem.balanced or bool((chosen[used] == chosen[used[0]]).all())


def _has_common_domain(tree: SwitchTree, switches: IntArray, level: int) -> bool:
    if level >= tree.height and np.count_nonzero(tree.parent < 0) == 1:
        return True
    return len(np.unique(domain_of(tree, switches, level))) == 1
