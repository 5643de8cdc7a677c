"""Optima of partitions that the judge confirms from a tree of splits and multipliers, in integers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, TypeGuard

import numpy as np

from allocsolve.errors import InvalidAnswer
from allocsolve.judge._kernels_partition_tree import (
    CELL,
    LEAF,
    LOWER_FIRST,
    NARROW,
    NEVER,
    REACH,
    UPPER_FIRST,
    Branch,
    open_leaf,
    relaxed_cost,
)
from allocsolve.judge.partition import PartitionAxes, checked_axes, checked_sums, is_ring

if TYPE_CHECKING:
    from collections.abc import Mapping

    from allocsolve.judge._kernels_partition_tree import Tables
    from allocsolve.judge.partition import Medians
    from allocsolve.model import IntArray, PartitionProblem

__all__ = ["partition_certificate_bound", "partition_tree_bound"]

#: Nodes of a machine at most: the stars of all nodes are recomputed.
_MAX_NODES: Final = 2**16
#: What is kept of the branches that are open at one time, at most.
_MAX_TABLE: Final = 2**26
#: Integers of a step.
_STEP: Final = 3


def partition_tree_bound(problem: PartitionProblem, certificate: Mapping[str, object]) -> int:
    """Return a lower bound on the pairwise distance, after a check of each leaf of the trees that prove it.

    Parameters
    ----------
    problem
        Any mesh or torus of at most 2^16 nodes.
    certificate
        ``axes``: all axes, the *main* one first: a line, if there is one. ``scale``: the units of a hop,
        even. ``bound``: what is proved. ``roots``: a list of ``medians``, one layer for each axis (without
        rings for each but the main one), in the order of ``axes``; of ``multipliers``, one integer for each
        count of the axes but the main one, and again so many for each of further ones; and of ``steps``,
        three integers each, see below.

    Returns
    -------
    int
        The bound of the certificate.

    Raises
    ------
    InvalidAnswer
        If the certificate has not this form, or does not prove its bound: that names the root and the step.

    Notes
    -----
    *Counts.* On a line of n layers count p, 0 <= p <= n, is that of the chosen nodes in the first p layers.
    A ring (of more than two layers) is unrolled a quarter (n // 4) before its median; the window of count
    r, 0 <= r <= n, is the layers r // 2 .. n // 2 + (r + 1) // 2 - 1 from there on. If all axes are rings,
    the main axis is a line of one layer more, that of all nodes. Counts are numbered through, in the order
    of the axes.

    *Claim.* No set of k free nodes (connected, if it is to be) costs less than the bound: its cost is the
    sum of s (k - s) over all counts s of lines and the even ones, r < n, of even rings, and half the sum
    over all r < n on odd rings. This is even for odd k, unless a ring is odd. Let T be the largest cost
    below the bound that is left.

    *Roots.* Let m be a layer of an axis from which the sum of distances to the set is least; on a line the
    first one. Then, with h = ceil(k / 2), a line has at most h - 1 nodes before m and at least h up to m;
    on a ring at least h are in the half ring from m on (odd rings: one layer more), at most k - h in that
    from m + 1 on: else its neighbour had a smaller sum. So each set belongs to one choice of medians. The
    sum of distances from the node v there is at least that of the k free nodes nearest to v. The cost is at
    least h times this sum on a mesh, since s (k - s) >= h min(s, k - s). With rings it is at least k / 2
    times, since the cost is half the sum over the nodes of the set, none of which has a smaller one.
    Medians with which this is above T need no root. With rings the sum is thus at most 2 T / k, so that a
    count c of a ring for which the c nearest in its window and the k - c nearest beyond have more in total
    is left out.

    *Steps.* A branch is an interval for each count and a state for each free node: in no set, in some, in
    all. The first one of a root is that of its medians. ``[1, i, 0]``: what costs more than T with
    multipliers i is excluded. ``[2, v, 0]``: so is what no connected set reaches from node v, or without
    one, -1, the nodes in components below k. ``[3, c, s]``: the branch is split into that of count c up to
    s and that above s; ``[4, c, s]``: the same, the upper one first. ``[5, v, 0]``: split into the sets
    with node v and those without. All steps of the first one follow, then those of the second. ``[0, 0,
    0]`` ends a branch, in which nothing may be left.

    *Exclusion.* For whatever multipliers u the cost of a set, in units, is the sum over the main axis of
    scale s (k - s), plus the weights of its nodes (the sum of u over the windows that a node is in), plus,
    on each other axis, the sum of scale s (k - s) - u s: the u cancel. Each of these parts is at least the
    least cost of its walk, of which forward and backward programs tell how little it is for each count, and
    on the main axis for each node that is in the set or is not. What makes the sum of the parts more than T
    is excluded. No step takes away a set that costs T or less: whatever the multipliers and splits, a tree
    whose branches are all empty is a proof.

    *Complexity*: of each step O(sum over the layers of counts * choices), of a root O(nodes * sum of sides).
    It shares no code with the solver.
    """
    if problem.topology.num_nodes > _MAX_NODES:
        msg = f"a certificate of trees is for at most {_MAX_NODES} nodes, not for {problem.topology}"
        raise InvalidAnswer(msg)
    order, scale, bound = _parsed(problem, certificate)
    k = problem.size
    if bound <= k * (k - 1) // 2:  # no two nodes are closer than one hop
        return bound
    axes = PartitionAxes.of(problem, order, scale)
    target = (bound - 1) // axes.parity * axes.parity
    roots = _roots(certificate.get("roots"), int(axes.counts[-1] - axes.counts[1]))
    for medians, star in axes.stars() if len(axes.cells) >= k else ():
        if axes.least_cost(star) > target:
            continue
        if medians not in roots:
            msg = f"the certificate claims the bound {bound}, but has no root for the medians {list(medians)}"
            raise InvalidAnswer(msg)
        _check_root(axes, roots[medians], medians, target)
    return bound


class _Root(NamedTuple):
    """One of the roots of a certificate."""

    name: str
    steps: IntArray  #: shape (any, 3)
    multipliers: IntArray  #: shape (any, counts)


def _check_root(axes: PartitionAxes, root: _Root, medians: Medians, target: int) -> None:
    """Refuse a root whose tree leaves a set of these medians that costs no more than the target.

    Raises
    ------
    InvalidAnswer
        That names the root and what is wrong.
    """
    windows = axes.windows(axes.layers_from(medians))
    first = axes.first_counts(medians, windows, target)
    if first is None:
        return
    steps, depth = _checked_steps(axes, root)
    counts, num = int(axes.counts[-1]), len(axes.cells)
    checked_sums(axes, root.multipliers, root.name)
    if depth * (2 * counts + num) > _MAX_TABLE:
        msg = f"{root.name} is {depth} splits deep, too deep to be checked"
        raise InvalidAnswer(msg)
    row = open_leaf(
        windows,
        axes.first_branch(first, depth),
        axes.tables(),
        axes.links,
        steps,
        root.multipliers,
        axes.size,
        target * axes.scale,
        np.zeros(depth, dtype=np.bool_),
    )
    if row >= 0:
        msg = f"{root.name} proves no bound: step {row} ends a branch that may hold sets of cost {target}"
        raise InvalidAnswer(msg)


def _checked_steps(axes: PartitionAxes, root: _Root) -> tuple[IntArray, int]:
    """Return the steps with cells in place of nodes, and how many branches are open at one time at most."""
    steps = root.steps.copy()
    kind, which = steps[:, 0], steps[:, 1]
    splits = kind >= LOWER_FIRST
    left = 1 + np.cumsum(splits.astype(np.int64) - (kind == LEAF))
    if not len(steps) or left[-1] != 0 or (left[:-1] < 1).any() or kind.min() < LEAF or kind.max() > CELL:
        msg = f"{root.name} has steps that make no tree"
        raise InvalidAnswer(msg)
    counts = int(axes.counts[-1])
    numbers = {NARROW: len(root.multipliers), LOWER_FIRST: counts, UPPER_FIRST: counts}
    for step, end in numbers.items():
        wrong = (kind == step) & ((which < 0) | (which >= end))
        if wrong.any():
            row = int(np.flatnonzero(wrong)[0])
            msg = f"{root.name} names {which[row]} in step {row}, which is not in 0..{end - 1}"
            raise InvalidAnswer(msg)
    of_node = (kind == CELL) | (kind == REACH) & (which >= 0)
    cells = np.searchsorted(axes.cells, which[of_node])
    known = axes.cells[np.minimum(cells, len(axes.cells) - 1)] == which[of_node]
    if not known.all():
        msg = f"{root.name} names node {which[of_node][~known][0]}, which is in no answer"
        raise InvalidAnswer(msg)
    steps[of_node, 1] = cells
    return steps, int(left.max(initial=1))


def _parsed(problem: PartitionProblem, certificate: Mapping[str, object]) -> tuple[list[int], int, int]:
    """Return the axes, the scale and the bound."""
    axes = checked_axes(problem, certificate.get("axes"))
    scale, bound = certificate.get("scale"), certificate.get("bound")
    if type(scale) is not int or scale < 2 or scale % 2:
        msg = f"scale {scale} of the certificate is not an even integer above 0"
        raise InvalidAnswer(msg)
    most = problem.topology.diameter * problem.size**2
    if type(bound) is not int or bound > most:
        msg = f"bound {bound} of the certificate is not an integer, or above the cost {most} of all sets"
        raise InvalidAnswer(msg)
    return axes, scale, bound


def _roots(listed: object, width: int) -> dict[Medians, _Root]:
    """Return the roots by medians, of so many multipliers at a time."""
    if not isinstance(listed, list):
        msg = f"roots of the certificate are {type(listed).__name__}, not a list"
        raise InvalidAnswer(msg)
    roots = {}
    for i, root in enumerate(listed):
        name = f"root {i} of the certificate"
        if not isinstance(root, dict):
            msg = f"{name} is {type(root).__name__}, not a record"
            raise InvalidAnswer(msg)
        medians = root.get("medians")
        if not isinstance(medians, list) or not all(type(m) is int for m in medians):
            msg = f"{name} has the medians {medians}, which are not a list of integers"
            raise InvalidAnswer(msg)
        steps = _table(f"steps of {name}", root.get("steps"), _STEP)
        multipliers = _table(f"multipliers of {name}", root.get("multipliers"), width)
        roots[tuple(medians)] = _Root(name, steps, multipliers)
    return roots


def _table(name: str, numbers: object, width: int) -> IntArray:
    """Return a list of integers in rows of this width; of width 0 there is one row, which is empty."""
    try:
        table = np.array(numbers)
    except ValueError:  # lists of several lengths
        table = np.array(None)
    if table.size == 0:
        table = table.astype(np.int64)
    if (
        not isinstance(numbers, list)
        or table.dtype != np.int64
        or table.ndim != 1
        or len(table) % max(width, 1)
    ):
        msg = f"{name} are not a list of integers, {width} at a time"
        raise InvalidAnswer(msg)
    return table.reshape(-1, width) if width else np.zeros((1, 0), dtype=np.int64)


_MAX_STEPS: Final = 10**9


def partition_certificate_bound(problem: PartitionProblem, certificate: Mapping[str, object]) -> int:
    """Return a lower bound on the pairwise distance, recomputed from a certificate of trees or multipliers.

    Parameters
    ----------
    problem
        Any problem.
    certificate
        Of trees, which prove an optimum: ``kind`` is ``"cut-tree"``, all else is told by
        `partition_tree_bound`. Of multipliers: ``axes``: all axes, the *main* one first: a
        line, if there is one. ``scale``: the units of a hop, at least 1; even if a ring is odd. ``roots``: a
        list of ``medians``, one layer for each axis (without rings for each but the main one), in the order
        of ``axes``, and of ``multipliers``, one list for each axis but the main one (if all are rings, for
        each) with an integer for each of its layers and one more.

    Raises
    ------
    InvalidAnswer
        If the certificate has not this form, or trees do not prove their bound.

    Notes
    -----
    *Proof.* Let S be any set of k free nodes, h = ceil(k / 2). The counts of an axis, what S costs, the
    medians that it belongs to and the bound by stars are those of `partition_tree_bound`.
    The least bound of all choices of medians is a bound.

    *Multipliers.* For whatever integers u(t, p), the cost in units of 1/scale is the sum over the main axis
    of scale s (k - s), plus the sum of the weights of the nodes of S, plus, on each other axis t, the sum of
    scale s (k - s) - u(t, p) s. Here the weight of a node is the sum of u(t, p) over the windows in which it
    lies: by this the u cancel. Each part is at least its own minimum: on axis t over all counts that respect
    the median and the free nodes of each layer; on the main axis together with the weights, where q nodes of
    a layer weigh at least what its q lightest free ones do.

    For odd k the bound is rounded up to an even number, unless a ring is odd.

    *Complexity*: O(choices of medians * sum of sides * k * min(k, nodes of a layer)), and O(nodes * sum of
    sides * r) for the stars, where no node is further than r from its k nearest free nodes. Certificates come
    from anybody: multipliers for which more than 10^9 steps would be needed are not looked at, those of the
    least stars first, and beyond 2^16 nodes the bound is 0. It shares no code with the solver.
    """
    if certificate.get("kind") == "cut-tree":
        return partition_tree_bound(problem, certificate)
    if problem.topology.num_nodes > _MAX_NODES:
        return 0
    axes, roots = _parsed_prices(problem, certificate)
    if len(axes.cells) < axes.size:
        return 0
    tables = axes.tables()
    most = np.sort(np.bincount(axes.places[:, 0]))[-1]
    steps, bounds = 0, []
    for medians, star in sorted(axes.stars(), key=lambda each: each[1]):
        bound: int | None = axes.least_cost(star)
        steps += int(axes.counts[-1]) * axes.size * min(axes.size, int(most))
        if medians in roots and steps <= _MAX_STEPS:
            units = _relaxed(axes, tables, medians, roots[medians])
            bound = None if units is None else max(axes.least_cost(star), -(-units // axes.scale))
        if bound is not None:
            bounds.append(bound)
    return -(-min(bounds, default=0) // axes.parity) * axes.parity


def _relaxed(axes: PartitionAxes, tables: Tables, medians: Medians, multipliers: IntArray) -> int | None:
    """Return what sets with these medians cost at least, in units; None if there are none."""
    windows = axes.windows(axes.layers_from(medians))
    first = axes.first_counts(medians, windows, None)
    if first is None:
        return None
    branches = axes.first_branch(first, 1)
    branch = Branch(branches.low[0], branches.high[0], branches.status[0])
    units = relaxed_cost(windows, branch, tables, multipliers, axes.size)
    return None if units >= NEVER // 2 else units


def _parsed_prices(
    problem: PartitionProblem, certificate: Mapping[str, object]
) -> tuple[PartitionAxes, dict[Medians, IntArray]]:
    """Return the axes and the multipliers by medians."""
    order = checked_axes(problem, certificate.get("axes"))
    scale, listed = certificate.get("scale"), certificate.get("roots")
    odd_ring = any(
        ring and side % 2 for ring, side in zip(is_ring(problem), problem.topology.shape, strict=True)
    )
    if type(scale) is not int or scale < 1 or (scale % 2 and odd_ring):
        msg = f"scale {scale} of the certificate is not an integer above 0, or odd with an odd ring"
        raise InvalidAnswer(msg)
    if not isinstance(listed, list):
        msg = f"roots of the certificate are {type(listed).__name__}, not a list"
        raise InvalidAnswer(msg)
    axes = PartitionAxes.of(problem, order, scale)
    sides = axes.sides[axes.first_median :]
    roots = {}
    for i, root in enumerate(listed):
        medians, multipliers = (
            (root.get("medians"), root.get("multipliers")) if isinstance(root, dict) else (0, 0)
        )
        if not (
            _integers(medians)
            and len(medians) == len(sides)
            and all(0 <= median < side for median, side in zip(medians, sides, strict=True))
        ):
            msg = f"root {i} of the certificate has no medians in {[*sides]}"
            raise InvalidAnswer(msg)
        if not (
            isinstance(multipliers, list)
            and all(map(_integers, multipliers))
            and [len(each) for each in multipliers] == [side + 1 for side in axes.sides[1:]]
        ):
            msg = (
                f"root {i} of the certificate has not one multiplier for each position of {[*axes.sides[1:]]}"
            )
            raise InvalidAnswer(msg)
        flat = np.array([u for each in multipliers for u in each], dtype=np.int64)
        checked_sums(axes, flat, f"root {i} of the certificate")
        roots[tuple(medians)] = flat
    return axes, roots


def _integers(value: object) -> TypeGuard[list[int]]:
    return isinstance(value, list) and all(type(each) is int and abs(each) < 2**63 for each in value)
