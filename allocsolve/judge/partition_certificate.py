"""Bounds of partitions that the judge recomputes from certificates, in integers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeGuard

import numpy as np

from allocsolve.errors import InvalidAnswer
from allocsolve.judge._kernels_partition_tree import relaxed_cost
from allocsolve.judge._kernels_partition_walks import NEVER, Branch
from allocsolve.judge.partition_axes import PartitionAxes, checked_axes, checked_sums, is_ring
from allocsolve.judge.partition_tree import partition_tree_bound

if TYPE_CHECKING:
    from collections.abc import Mapping

    from allocsolve.judge._kernels_partition_walks import Tables
    from allocsolve.judge.partition_axes import Medians
    from allocsolve.model import IntArray, PartitionProblem

__all__ = ["partition_certificate_bound"]

#: What is recomputed at most: nodes of a machine, and steps along its axes.
_MAX_NODES: Final = 2**16
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
    axes, roots = _parsed(problem, certificate)
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


def _parsed(
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
