"""What the placement rules share: levels of a tree, first nodes of switches, and answers of solvers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from allocsolve.errors import UnsupportedProblem
from allocsolve.model import Placement, Result, Status
from allocsolve.model.node_sets import checked_free

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allocsolve.model import BoolArray, Clock, IntArray, PlacementProblem, SwitchTree


def checked_request(tree: SwitchTree, free: BoolArray, size: int) -> tuple[BoolArray, int]:
    """Return the mask of free nodes read-only, and the size as an integer.

    Raises
    ------
    InvalidProblem
        If `free` is not a mask over the nodes, or `size` is below 1 or above the number of free nodes.
    """
    return checked_free(free, size, tree.num_nodes, "the tree")


def domains_by_level(tree: SwitchTree) -> IntArray:
    """Return the highest switch of at most each level at or above each switch, shape (height, switches).

    So the switches of level 1 fall into the domains of each level, however long the ways to the roots are;
    in the last row they fall into the roots. A row says nothing of switches above its level.
    """
    rows = np.empty((tree.height, tree.num_switches), dtype=np.int64)
    reached = np.arange(tree.num_switches)
    rows[0] = reached
    for level in range(2, tree.height + 1):
        above = tree.parent[reached]
        reached = np.where((above >= 0) & (tree.level[above] <= level), above, reached)
        rows[level - 1] = reached
    return rows


def fitting_domains(
    tree: SwitchTree, below: IntArray, size: int, lowest: int, highest: int
) -> tuple[int, IntArray]:
    """Return the lowest level of a range at which a domain can hold the size, and those that can, by id.

    Parameters
    ----------
    tree, below
        The machine, and how many free nodes are below each switch, shape (switches,).
    size
        How many nodes are asked for.
    lowest, highest
        Levels, from 1 to the height.

    Returns
    -------
    tuple
        The level and its domains (`domains_by_level`); 0 and none if nothing holds the size.
    """
    rows = domains_by_level(tree)
    leaves = np.flatnonzero(tree.level == 1)
    for level in range(lowest, highest + 1):
        domains = np.unique(rows[level - 1, leaves])
        fitting = domains[below[domains] >= size]
        if len(fitting):
            return level, fitting
    return 0, leaves[:0]


def below_domains(tree: SwitchTree, domains: IntArray | Sequence[int]) -> BoolArray:
    """Return which switches are at or below any of these, shape (switches,)."""
    inside = np.zeros(tree.num_switches, dtype=np.bool_)
    inside[domains] = True
    for level in range(tree.height - 1, 0, -1):
        at = np.flatnonzero((tree.level == level) & (tree.parent >= 0))
        inside[at] |= inside[tree.parent[at]]
    return inside


def first_nodes(tree: SwitchTree, free: BoolArray, take: IntArray) -> IntArray:
    """Return the lowest free nodes of each switch, so many of each as said, shape (switches,); by id."""
    nodes = np.flatnonzero(free)
    nodes = nodes[take[tree.switch[nodes]] > 0]
    switch = tree.switch[nodes]
    order = np.argsort(switch, kind="stable")
    counts = np.bincount(switch, minlength=tree.num_switches)
    starts = np.cumsum(counts) - counts
    rank = np.arange(len(nodes)) - starts[switch[order]]
    return np.sort(nodes[order[rank < take[switch[order]]]], kind="stable")


def below_one_root(tree: SwitchTree, nodes: IntArray) -> IntArray | None:
    """Return the nodes if one root is above all of them, else None."""
    roots = domains_by_level(tree)[-1, tree.switch[nodes]]
    return nodes if (roots == roots[0]).all() else None


def last_best_fit(counts: IntArray, size: int) -> IntArray:
    """Take the largest counts until one of the others holds the rest; of those, take the smallest.

    Returns
    -------
    IntArray
        The places of the taken counts, the one that holds the rest last. Of equal counts the first is taken.
        The counts must sum up to the size.
    """
    order = np.argsort(-counts, kind="stable")
    falling = counts[order]
    rest = size - (np.cumsum(falling) - falling)
    whole = int(np.argmax(falling >= rest))
    fitting = order[whole:][falling[whole:] >= rest[whole]]
    last = fitting[np.argmax(counts[fitting] == counts[fitting].min())]
    return np.append(order[:whole], last)


def refuse_others(problem: PlacementProblem, solver: object, *known: str) -> None:
    """Refuse a problem that asks for something that a rule does not know.

    Parameters
    ----------
    problem, solver
        What is asked, and the solver.
    known
        The fields of the problem that the rule heeds, of ``within``, ``segment`` and ``balanced``.

    Raises
    ------
    UnsupportedProblem
        If the problem asks for another of them.
    """
    for field in ("within", "segment", "balanced"):
        if getattr(problem, field) and field not in known:
            msg = f"{field} {getattr(problem, field)}: {type(solver).__name__} knows nothing of it"
            raise UnsupportedProblem(msg)


def placement_result(problem: PlacementProblem, nodes: IntArray | None, clock: Clock) -> Result[Placement]:
    """Return what a rule chose as a result, without a claim on its value.

    A choice that is not what the problem asks for is no answer.
    """
    if nodes is None or not _is_asked_for(problem, nodes):
        return Result(Status.UNKNOWN, runtime=clock.elapsed)
    return Result(Status.FEASIBLE, Placement(nodes), runtime=clock.elapsed)


def _is_asked_for(problem: PlacementProblem, nodes: IntArray) -> bool:
    tree, switch = problem.tree, problem.tree.switch[nodes]
    rows = domains_by_level(tree)
    if 0 < problem.within < tree.height and np.ptp(rows[problem.within - 1, switch]):
        return False
    if problem.segment:
        domains = rows[min(problem.segment_level, tree.height) - 1, switch]
        if (np.bincount(domains) % problem.segment).any():
            return False
    used = np.bincount(switch)
    return not problem.balanced or np.ptp(used[used > 0]) == 0
