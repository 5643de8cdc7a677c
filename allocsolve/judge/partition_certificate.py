"""Bounds of partitions that the judge recomputes from multipliers, in integers."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Final, TypeGuard

import numpy as np

from allocsolve.errors import InvalidAnswer
from allocsolve.judge._partition_axes import is_ring, stars
from allocsolve.judge.partition_tree import partition_tree_bound

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from allocsolve.model import PartitionProblem

__all__ = ["partition_certificate_bound"]

#: What is recomputed at most: nodes of a mesh, and steps along its axes.
_MAX_NODES: Final = 2**16
_MAX_STEPS: Final = 10**8


def partition_certificate_bound(problem: PartitionProblem, certificate: Mapping[str, object]) -> int:
    """Return a lower bound on the pairwise distance, recomputed from a certificate of trees or of multipliers.

    Parameters
    ----------
    problem
        With a certificate of multipliers on a mesh: without an axis that is a ring of more than two nodes.
    certificate
        Of trees: ``kind`` is ``"cut-tree"``, see `allocsolve.judge.partition_tree.partition_tree_bound` for all
        else. Of multipliers: ``axes``: all axes, the *main* one first. ``scale``: the units of a hop, at least 1. ``roots``: a list
        of ``medians``, one layer for each axis but the main one, in the order of ``axes``, and of
        ``multipliers``, one list for each of these axes with an integer for each of its layers and one more.

    Raises
    ------
    InvalidAnswer
        If the certificate has not this form, or the problem is not on a mesh, or a tree does not prove its bound.

    Notes
    -----
    *Proof.* Let S be any set of k free nodes, h = ceil(k / 2), and on each axis s(p) the number of its nodes
    in the first p layers. Its cost is the sum of s(p) (k - s(p)) over all axes and p.

    (1) On each axis there is one layer m with s(m) <= h - 1 and s(m + 1) >= h. So S belongs to one choice of
    such medians of all axes but the main one, and the least bound of all choices is a bound.

    (2) *Multipliers.* For whatever integers u(t, p), the cost in units of 1/scale is the sum over the main
    axis of scale s (k - s), plus the sum of the weights of the nodes of S, plus, on each other axis t, the
    sum of scale s (k - s) - u(t, p) s. Here the weight of a node is the sum of u(t, p) over the p and t in
    whose first p layers it lies: by this the u cancel. Each part is at least its own minimum: on axis t over
    all s(0) = 0 <= s(1) <= ... = k that respect the median and the free nodes of each layer; on the main axis
    together with the weights, where q nodes of a layer weigh at least what its q lightest free ones do.

    (3) *Stars.* Let v be the node at the medians of all axes. The total distance from v to S is the sum of
    min(s, k - s) over all cuts, and s (k - s) >= h min(s, k - s). So the cost is at least h times the total
    distance from v to the k free nodes nearest to it: a bound for choices of medians without multipliers.

    (4) For odd k all s (k - s) are even, so the bound is rounded up to an even number.

    *Complexity*: O(choices of medians * sum of sides * k * min(k, nodes of a layer)), and O(nodes * sum of
    sides * r) for the stars, where no node is further than r from its k nearest free nodes. Certificates come
    from anybody: multipliers for which more than 10^8 steps would be needed are not looked at, those of the
    least stars first, and beyond 2^16 nodes the bound is 0. It shares no code with the solver.
    """
    if certificate.get("kind") == "cut-tree":
        return partition_tree_bound(problem, certificate)
    if problem.topology.num_nodes > _MAX_NODES:
        return 0
    shape, axes, scale, roots = _parsed(problem, certificate)
    k = problem.size
    ids = np.flatnonzero(problem.free)
    cells = [tuple(cell) for cell in problem.topology.coordinates(ids)[:, axes].tolist()]
    totals = stars(shape, [False] * len(shape), np.array(cells), k).min(axis=0)
    least_stars = {tuple(map(int, medians)): int(star) for medians, star in np.ndenumerate(totals)}
    bounds: list[int] = []
    layer = min(k, len(cells), math.prod(shape) // min(shape))
    steps = 0
    for medians in sorted(least_stars, key=least_stars.__getitem__):
        by_star = (k + 1) // 2 * least_stars[medians]
        bound: int | None = by_star
        if medians in roots and (steps := steps + sum(shape) * k * layer) <= _MAX_STEPS:
            units = _relaxed(shape, cells, k, scale, medians, roots[medians])
            bound = None if units is None else max(by_star, -(-units // scale))
        if bound is not None:
            bounds.append(bound)
    least = min(bounds, default=0)
    return least + least % 2 if k % 2 else least


def _relaxed(
    shape: Sequence[int],
    cells: Sequence[tuple[int, ...]],
    k: int,
    scale: int,
    medians: tuple[int, ...],
    multipliers: Sequence[Sequence[int]],
) -> int | None:
    """Return the bound (2) in units; None if no set has these medians."""
    total = 0
    for t, (side, median, paid) in enumerate(zip(shape[1:], medians, multipliers, strict=True), start=1):
        held = [sum(cell[t] == layer for cell in cells) for layer in range(side)]
        least = _least_walk([[0] * (num + 1) for num in held], k, scale, paid, median)
        if least is None:
            return None
        total += least
    behind = [[sum(paid[layer + 1 :]) for layer in range(len(paid) - 1)] for paid in multipliers]
    weights: list[list[int]] = [[] for _ in range(shape[0])]
    for cell in cells:
        weights[cell[0]].append(sum(sums[layer] for sums, layer in zip(behind, cell[1:], strict=True)))
    lightest = [[0, *itertools.accumulate(sorted(layer))] for layer in weights]
    chosen = _least_walk(lightest, k, scale, [0] * (shape[0] + 1), None)
    return None if chosen is None else total + chosen


def _least_walk(
    costs: Sequence[Sequence[int]], k: int, scale: int, paid: Sequence[int], median: int | None
) -> int | None:
    """Return the least cost of counts along an axis whose layer j with q nodes costs ``costs[j][q]``."""
    reached = {0: 0}
    for p, layer in enumerate(costs, start=1):
        ahead: dict[int, int] = {}
        for count, cost in reached.items():
            for q in range(min(len(layer) - 1, k - count) + 1):
                s = count + q
                if median is not None and (s >= (k + 1) // 2) != (p > median):
                    continue
                value = cost + layer[q] + scale * s * (k - s) - paid[p] * s
                if s not in ahead or value < ahead[s]:
                    ahead[s] = value
        reached = ahead
    return reached.get(k)


def _parsed(
    problem: PartitionProblem, certificate: Mapping[str, object]
) -> tuple[list[int], list[int], int, dict[tuple[int, ...], list[list[int]]]]:
    """Return the sides in the order of the axes, the axes, the scale and the multipliers by medians."""
    topology = problem.topology
    if any(is_ring(problem)):
        msg = f"a certificate of multipliers is for meshes, not for {topology}"
        raise InvalidAnswer(msg)
    axes, scale, listed = (certificate.get(key) for key in ("axes", "scale", "roots"))
    if not _integers(axes) or sorted(axes) != list(range(len(topology.shape))):
        msg = f"axes {axes} of the certificate are not those of {topology}"
        raise InvalidAnswer(msg)
    if not _integers([scale]) or not isinstance(scale, int) or scale < 1:
        msg = f"scale {scale} of the certificate is not an integer above 0"
        raise InvalidAnswer(msg)
    if not isinstance(listed, list):
        msg = f"roots of the certificate are {type(listed).__name__}, not a list"
        raise InvalidAnswer(msg)
    shape = [topology.shape[axis] for axis in axes]
    roots = {}
    for i, root in enumerate(listed):
        medians, multipliers = (
            (root.get("medians"), root.get("multipliers")) if isinstance(root, dict) else (0, 0)
        )
        if not (
            _integers(medians)
            and len(medians) == len(shape) - 1
            and all(0 <= median < side for median, side in zip(medians, shape[1:], strict=True))
        ):
            msg = f"root {i} of the certificate has no medians in {shape[1:]}"
            raise InvalidAnswer(msg)
        if not (
            isinstance(multipliers, list)
            and all(map(_integers, multipliers))
            and [len(each) for each in multipliers] == [side + 1 for side in shape[1:]]
        ):
            msg = f"root {i} of the certificate has not one multiplier for each position of {shape[1:]}"
            raise InvalidAnswer(msg)
        roots[tuple(medians)] = multipliers
    return shape, axes, scale, roots


def _integers(value: object) -> TypeGuard[list[int]]:
    return isinstance(value, list) and all(type(each) is int and abs(each) < 2**63 for each in value)
