"""The certificate of a placement: the judge finds the optimum again, by a program of its own."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from allocsolve.errors import InvalidAnswer
from allocsolve.judge.certificates import malformed
from allocsolve.judge.placement._kernels_prefixes import BEYOND, NEVER, Asked, Machine, least_value
from allocsolve.model.checks import shown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from allocsolve.model import FloatArray, IntArray, PlacementProblem, SwitchTree


def placement_certificate_bound(
    problem: PlacementProblem, certificate: Mapping[str, object], term: str
) -> float:
    """Return a lower bound on a term, after finding the optimum of that term.

    The certificate has ``kind``: "knapsack"; ``term``: the first term of the objective; and ``bound``, which
    is returned: an integer, or a number of a bottleneck. `InvalidAnswer` if it has not this form, no
    placement answers the problem, or one has a value below the bound.

    Notes
    -----
    *No shorter proof.* Distances are concave in the number of nodes below a link, so that multipliers leave a
    gap; what proves an optimum are the least values of each switch for each number of nodes below it.

    *Distances.* If each two nodes met at their root, node i would pay its way up once for each of its k - 1
    partners. For each switch above both of two nodes, both get the weight of its link back. So the sum of
    all distances, in half hops, is (k - 1) times the sum of all ways less the sum of weight * s (s - 1) over
    all switches with s of the nodes below them. `Domains` and `leftover` are sums over the switches by
    definition, and the bottleneck is a maximum.

    *Program.* The least values of a switch are joined child by child: the least of all ways to choose some
    nodes below the next child and the others below the children before it. Segments and balance forbid
    numbers of nodes, balance for each number that divides the size in a program of its own. Above the level
    `within` all nodes are below one child.

    *Complexity*: O(free nodes * size), times the numbers that divide the size if balanced. No code is shared
    with the solver.
    """
    bound = certificate.get("bound")
    if type(bound) is not int and not (
        term == "bottleneck" and type(bound) is float and math.isfinite(bound)
    ):
        msg = f"bound {shown(bound)} of the certificate is not a number of {term}"
        raise malformed(msg)
    assert isinstance(bound, int | float)
    optimum = least_placement(problem, term)
    if optimum is None:
        msg = "no placement answers the problem, the certificate is of another one"
        raise InvalidAnswer(msg)
    if bound > optimum:
        msg = f"the certificate claims the bound {bound} of {term}, the optimum is {optimum}"
        raise InvalidAnswer(msg)
    return bound


def least_placement(problem: PlacementProblem, term: str) -> float | None:
    """Return the least value of one term that a placement can have, None if there is no placement."""
    size = problem.size
    machine = _machine(problem)
    is_peak = term == "bottleneck"
    numbers = [0]
    if problem.balanced:
        most = min(int(machine.free.max()), size)
        numbers = [number for number in range(1, most + 1) if size % number == 0]
    empty: FloatArray | IntArray = np.full(int(machine.begins[-1]), NEVER)
    empty[machine.begins[:-1]] = 0
    if is_peak:
        empty = empty.astype(np.float64)
    spare, done = np.empty_like(empty, shape=size + 1), np.zeros_like(machine.free)
    best: float = BEYOND
    for number in numbers:
        asked = Asked(
            size,
            problem.within,
            problem.segment,
            number,
            int(term == "pairwise"),
            int(term.partition("-")[2] or 1) if term.startswith("domains") else 0,
            int(term == "leftover"),
        )
        best = min(best, least_value(machine, asked, empty.copy(), spare, done.copy(), is_peak))
    if best >= BEYOND:
        return None
    if is_peak:
        return float(best)
    constant = problem.tree.node_weight * (size * (size - 1) // 2)
    return int(best) // 2 + constant if term == "pairwise" else int(best)


def _machine(problem: PlacementProblem) -> Machine:
    tree = problem.tree
    free = np.bincount(tree.switch[problem.free], minlength=tree.num_switches)
    root, way = np.arange(tree.num_switches), tree.weight.copy()
    below = free.copy()
    above = tree.parent
    while (has := above >= 0).any():
        at = above[has]
        root[has] = at
        way[has] += tree.weight[at]
        below += _summed(at, free[has], tree)
        above = np.where(has, tree.parent[above], -1)
    level = problem.segment_level
    beyond = (tree.parent < 0) | (tree.level[tree.parent] > level)
    is_whole = (tree.level <= level) & beyond & (problem.segment > 0)
    lengths = np.minimum(below, problem.size) + 1
    return Machine(
        tree.parent,
        tree.level,
        tree.weight,
        tree.capacity,
        tree.top_down,
        way,
        free,
        below,
        below[root] - below,
        is_whole,
        np.concatenate([[0], np.cumsum(lengths)]),
    )


def _summed(at: IntArray, counts: IntArray, tree: SwitchTree) -> IntArray:
    """Return the sums of whole numbers by switch."""
    return np.bincount(at, counts, tree.num_switches).astype(np.int64)
