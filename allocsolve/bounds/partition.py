"""Lower bounds on the total pairwise distance of a partition: each a function whose docstring is its proof.

They hold for contiguous problems too, whose answers are among those of the free ones. Distances are hops.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from allocsolve.bounds.town import town

if TYPE_CHECKING:
    from allocsolve.model import BoolArray, IntArray, PartitionProblem, Topology

#: The largest town that is computed for a bound, in nodes (0.3 s at the first call); bounds on larger sets
#: follow from it.
_LARGEST_TOWN = 100
#: Free nodes are few when there are this many nodes or more for each of them: then each distance is computed.
_SPARSE = 16
#: The most distances that such a table may hold.
_TABLE_LIMIT = 2**22
#: Radius in hops up to which distances are counted at first; it grows until it suffices.
_FIRST_RADIUS = 8


def partition_bound(problem: PartitionProblem) -> int:
    """Return the largest of the cheap bounds: `star_bound` and, in two dimensions, one by `town`.

    A machine with a complete axis has no towns.

    Notes
    -----
    *Proof.* `town` is the optimum of the empty mesh, and busy nodes only take answers away.

    A torus of X columns has the same optimum c(m) as its mesh for all m up to some size, which is found by
    going up as long as ``m * (X // 2) > 2 * (c(m) - c(m - 1))``, likewise for the rows. By induction: c(m)
    bounds the optimum of the torus, so each node of an optimal set has total distance at most
    c(m) - c(m - 1). The set can be taken as an organ pipe of w columns (the proof in `town` holds for rings);
    the two ends of its longest row are min(w - 1, X // 2) apart, thus have at least m times that in total.
    So w - 1 < X // 2: within half a ring distances are those of a line.

    From m nodes to more: the average over the subsets of m nodes of a set of k has the share
    m (m - 1) / (k (k - 1)) of its cost, and no subset costs less than c(m).

    For odd k the value is rounded up as in `star_bound`.

    *Complexity*: that of `star_bound` and of towns of up to 100 nodes, which are cached.

    Examples
    --------
    >>> from allocsolve.model import Mesh, PartitionProblem
    >>> problem = PartitionProblem.of(Mesh((16, 8)), size=16)
    >>> star_bound(problem), partition_bound(problem)
    (232, 318)
    """
    by_town = _rounded(problem.topology, problem.size, _by_town(problem.topology, problem.size))
    return max(star_bound(problem), by_town)


def star_bound(problem: PartitionProblem) -> int:
    """Return size / 2 times the least total distance from a node to its `size` nearest free ones.

    Notes
    -----
    *Proof.* Let S be a set of k free nodes and D(v) the total distance from v to S.

    (1) The cost of S is half the sum of D(v) over v in S; each D(v) is at least the total distance from v, a
    free node, to the k free nodes nearest to it.

    (2) If all axes are lines, the cost is the sum of s * (k - s) over all cuts, s nodes being on the smaller
    side, and D at the coordinatewise median is the sum of s. As k - s >= ceil(k / 2), the cost is at least
    ceil(k / 2) * D there. This beats (1) for some odd k, the median being any node, free or not.

    (3) For odd k, s * (k - s) is even. If no ring is odd and no axis complete, the cost is a sum of such
    terms (the cuts of an even ring are its n / 2 pairs of opposite halves), so the bound is rounded up to an
    even number.

    *Guarantee*: above half the optimum, since the nodes nearest to a free one cost at most (k - 1) times
    their star, by way of its centre. In practice 1/1.4 of the optimum.
    *Complexity*: O(nodes * axes * radius^2), radius being the distance to the last of the nodes nearest to
    the best one; memory O(nodes * radius).

    References
    ----------
    The median as the centre of a set (part 2): Bender, Bunde, Demaine, Fekete, Leung, Meijer & Phillips,
    "Communication-aware processor allocation for supercomputers: finding point sets of small average
    distance", Algorithmica 50(2), 2008, pp. 279-298.

    Examples
    --------
    >>> from allocsolve.model import Mesh, PartitionProblem
    >>> star_bound(PartitionProblem.of(Mesh((5,)), busy=[1], size=3))
    4
    """
    topology, size = problem.topology, problem.size
    bound = -(-size * _least_star(topology, problem.free, size, problem.free) // 2)
    if size % 2 and not any(_rings(topology)) and not any(_complete(topology)):
        everywhere = np.ones_like(problem.free)
        bound = max(bound, (size + 1) // 2 * _least_star(topology, problem.free, size, everywhere))
    return _rounded(topology, size, bound)


def _rings(topology: Topology) -> tuple[bool, ...]:
    """Return which axes are rings that differ from lines."""
    return tuple(wrap and side > 2 for side, wrap in zip(topology.shape, topology.wrap, strict=True))


def _complete(topology: Topology) -> tuple[bool, ...]:
    """Return which complete axes differ from lines."""
    return tuple(full and side > 2 for side, full in zip(topology.shape, topology.complete, strict=True))


def _rounded(topology: Topology, size: int, bound: int) -> int:
    odd_ring = any(ring and side % 2 for side, ring in zip(topology.shape, _rings(topology), strict=True))
    return bound + bound % 2 if size % 2 and not odd_ring and not any(_complete(topology)) else bound


def _by_town(topology: Topology, size: int) -> int:
    axes = [(side, ring) for side, ring in zip(topology.shape, _rings(topology), strict=True) if side > 1]
    if len(axes) > 2 or any(_complete(topology)):
        return 0
    axes += [(1, False)] * (2 - len(axes))
    shape = [side for side, _ in axes]
    half = min((side // 2 for side, ring in axes if ring), default=size)  # a line is never too short
    reached, cost = 1, 0
    for m in range(2, min(size, _LARGEST_TOWN) + 1):
        larger = town(m, shape)
        if m * half <= 2 * (larger - cost) and any(ring for _, ring in axes):
            break
        reached, cost = m, larger
    return -(-cost * size * (size - 1) // (reached * (reached - 1))) if reached > 1 else 0


def _least_star(topology: Topology, free: BoolArray, size: int, centres: BoolArray) -> int:
    """Return the least total distance from a centre to the `size` free nodes nearest to it.

    It is the sum over r >= 0 of the number of these nodes that are farther than r. Cut off at a radius, it is
    a lower bound for centres with too few nodes within. Where few nodes are free, and thus far apart, each
    distance is computed instead.
    """
    nodes, at = np.flatnonzero(free), np.flatnonzero(centres)
    if len(nodes) * _SPARSE <= topology.num_nodes and len(nodes) * len(at) <= _TABLE_LIMIT:
        return int(np.partition(_distances(topology, at, nodes), size - 1)[:, :size].sum(axis=1).min())
    radius = min(_FIRST_RADIUS, topology.diameter)
    while True:
        within = np.cumsum(_counts_at_distance(topology, free, radius), axis=0)[:, centres]
        farther = np.maximum(size - within, 0).sum(axis=0)
        enough = within[-1] >= size
        if enough.any() and (smallest := int(farther[enough].min())) <= farther.min():
            return smallest
        radius = min(2 * radius, topology.diameter)


def _distances(topology: Topology, centres: IntArray, nodes: IntArray) -> IntArray:
    """Return the distance of each node (columns) from each centre (rows)."""
    total = np.zeros((len(centres), len(nodes)), dtype=np.int64)
    from_centres, to_nodes = topology.coordinates(centres), topology.coordinates(nodes)
    kinds = zip(topology.shape, _rings(topology), topology.complete, strict=True)
    for axis, (side, ring, full) in enumerate(kinds):
        along = np.abs(from_centres[:, None, axis] - to_nodes[None, :, axis])
        total += np.minimum(along, 1) if full else np.minimum(along, side - along) if ring else along
    return total


def _counts_at_distance(topology: Topology, free: BoolArray, radius: int) -> IntArray:
    """Return how many free nodes are at distance r of each node, shape (radius + 1, nodes).

    Axis by axis: before an axis is done, nodes count only at those that agree with them on it and later ones.
    """
    counts = np.zeros((radius + 1, *topology.shape[::-1]), dtype=np.int64)
    counts[0] = free.reshape(topology.shape[::-1])
    kinds = zip(topology.shape[::-1], _rings(topology)[::-1], topology.complete[::-1], strict=True)
    for axis, (side, ring, full) in enumerate(kinds):
        lines = np.moveaxis(counts, axis + 1, 1)
        spread = lines.copy()
        if full:
            near = lines[:radius]
            spread[1:] += near.sum(axis=1, keepdims=True) - near
            counts = np.moveaxis(spread, 1, axis + 1)
            continue
        for step in range(1, min(radius, side // 2 if ring else side - 1) + 1):
            near = lines[: radius + 1 - step]
            if ring:
                spread[step:] += np.roll(near, step, axis=1)
                if 2 * step != side:
                    spread[step:] += np.roll(near, -step, axis=1)
            else:
                spread[step:, step:] += near[:, :-step]
                spread[step:, :-step] += near[:, step:]
        counts = np.moveaxis(spread, 1, axis + 1)
    return counts.reshape(radius + 1, -1)
