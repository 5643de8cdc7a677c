"""Lower bounds on the total pairwise distance of a partition: each a function whose docstring is its proof.

They hold for contiguous problems too, whose answers are among those of the free ones. Distances are hops.

Optimal towns: the least total pairwise distance of a set of n nodes of an empty 2-D mesh.

*Formula.* Let P(m) = sum over j >= 2 of T_j * (n - T_j) with T_j = m_j + m_(j+2) + m_(j+4) + ... be the
organ-pipe cost of integers m_1 >= m_2 >= ... that add up to n. Then the optimum is the least P(l) + P(l')
over the partitions l of n, l' being the conjugate; in a box of W columns and H rows, over those with at most
W parts, none above H.

*Proof.* Distances add up over axes, so the cost of a set is that of its column counts plus that of its row
counts, each for integers on a line: sum over cuts of s * (n - s), s on one side of the cut.

(1) *Sorting.* Rank the positions of a line 0, 1, -1, 2, -2, ...: by their distance from 1/4. Given any two,
reflect the line so that they change places; of each pair of mirror images the one on the side of 1/4 has the
smaller rank. Moving the larger count of each pair to that side does not raise the cost (positions on one side
are no farther from each other than from the other's image; for two pairs this is a b + a' b' >= a b' + a' b).
It moves larger counts to smaller ranks unless they are sorted, so that the sorted arrangement, the organ
pipe, is best. Its cuts have T_2, T_4, ... on their far sides to the right and T_3, T_5, ... to the left.

(2) *Spreading.* Moving one node from a rank to a smaller one does not raise the cost of an organ pipe: by the
same reflection the total distance from the smaller rank is no larger, and the two are no closer than 0. So P
does not grow when a unit goes from a smaller count to a larger. If l are the sorted column counts of a set,
then its row counts are majorised by l' (Gale & Ryser), that is, such moves lead from them to l'. So no set
with these columns costs less than P(l) + P(l'), and the Young diagram of l with columns and rows arranged as
organ pipes costs just that. It has as many columns and rows as are in use, side by side: it fits the box.

The argument also holds for a ring in place of a line, with the cost of the ring in place of P.
"""

from __future__ import annotations

import itertools
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from allocsolve.errors import InvalidProblem

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

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


#: Side of the grid without a border, in nodes: above every size, and sums with it fit 64 bits.
_ENDLESS = 2**62


def town(size: int, shape: Sequence[int] | None = None) -> int:
    """Return the least total pairwise distance of `size` nodes of an empty 2-D mesh, in hops.

    `shape` are the columns and rows of the mesh; the endless grid if None. `InvalidProblem` if `size` is
    below 1 or above the nodes of the mesh, or the shape is not that of a 2-D mesh. Other dimensions and tori
    have no such formula: see `allocsolve.bounds.partition_bound`.

    Notes
    -----
    *Guarantee*: exact; thus a lower bound for any occupancy of the mesh. Proof: in the head of this module.

    *Search.* Let c(n) be the optimum and u the cost of a known set of n nodes. A node v of an optimal set has
    total distance D(v) <= c(n) - c(n - 1) <= u - c(n - 1): the others cost c(n - 1) at least. In the organ
    pipe with w columns the two ends of the longest row have 2 D >= n (w - 1) + 2 s, s being the total
    distance to the middle row, which is least if all rows but the last are full. This bounds w, and likewise
    the rows. A Young diagram in that box is a square of side d (Durfee) with columns heightened by a_1 >= ...
    >= a_d and rows lengthened by b_1 >= ... >= b_d. T_j of a rank j > d depends on b alone, of another on a
    and two numbers of b, as a sum: the cost is a function of a, plus one of b, plus four products. So all
    pairs are valued at once, by a product of matrices.

    *Complexity*: the binomial numbers of box - d over d, pairs of them with the right sum, for all sizes up
    to this one; then they are cached. Sizes 1..80 take 0.15 s together, 1..150 take 1.5 s.

    References
    ----------
    Demaine, Fekete, Rote, Schweer, Schymura & Zelke, "Integer point sets minimizing average pairwise L1
    distance: what is the optimal shape of a town?", Computational Geometry 44(2), 2011: the values for the
    endless grid (by a dynamic program); that the optimum is convex and near symmetric. Formula and search
    are not theirs.

    Examples
    --------
    >>> [town(n) for n in range(1, 11)]
    [0, 1, 4, 8, 16, 25, 38, 54, 72, 96]
    >>> town(16), town(16, (8, 2))
    (318, 400)
    """
    return _town(size, shape).cost


def town_set(size: int, shape: Sequence[int] | None = None) -> IntArray:
    """Return the coordinates of nodes that attain `town`, shape (size, 2), from the corner (0, 0) on.

    Parameters, errors and complexity are those of `town`.

    Examples
    --------
    >>> town_set(5).tolist()
    [[0, 0], [1, 0], [1, 1], [2, 0], [2, 1]]
    """
    columns = _town(size, shape).columns
    x, y = _organ_pipe(len(columns)), _organ_pipe(columns[0])
    cells = [(x[i], y[j]) for i, height in enumerate(columns) for j in range(height)]
    if shape is not None and shape[0] > shape[1]:
        cells = [(column, row) for row, column in cells]
    return np.array(sorted(cells), dtype=np.int64)


def extent(size: int, increment: int, longest: int = _ENDLESS) -> int:
    """Return a bound on the sides of optimal towns, given a bound on ``town(size) - town(size - 1)``.

    The notes of `town` have the proof. `longest` is returned if it is smaller.
    """
    side = min(size, longest)
    while side > 1 and size * (side - 1) + 2 * _least_star_of_counts(size, side) > 2 * increment:
        side -= 1
    return side


class _Town(NamedTuple):
    cost: int
    #: Counts of the columns, decreasing.
    columns: tuple[int, ...]


def _town(size: int, shape: Sequence[int] | None) -> _Town:
    width, height = (_ENDLESS, _ENDLESS) if shape is None else _sides(shape)
    if size < 1:
        raise InvalidProblem(f"size {size} is below 1")
    if size > width * height:
        raise InvalidProblem(f"size {size} is above the {width * height} nodes")
    for smaller in range(1, size):  # each size builds on the one before, so the recursion is not deep
        _best(smaller, width, height)
    return _best(size, width, height)


def _sides(shape: Sequence[int]) -> tuple[int, int]:
    if len(shape) != 2 or min(shape) < 1:
        raise InvalidProblem(f"shape {list(shape)} is not that of a 2-D mesh")
    return min(shape), max(shape)  # a mesh and its mirror image share their cached towns


@lru_cache(maxsize=4096)
def _best(size: int, width: int, height: int) -> _Town:
    if size == 1:
        return _Town(0, (1,))
    fewer = _best(size - 1, width, height)
    best = min(_Town(_cost(columns), columns) for columns in _extended(fewer.columns, width, height))
    widest = extent(size, best.cost - fewer.cost, width)
    highest = extent(size, best.cost - fewer.cost, height)
    for side in range(1, min(widest, highest) + 1):
        rest = size - side**2
        if 0 <= rest <= side * (widest + highest - 2 * side):
            best = _best_around(size, side, highest - side, widest - side, best)
    return best


def _extended(columns: tuple[int, ...], width: int, height: int) -> Iterator[tuple[int, ...]]:
    """Yield the partitions with one node more."""
    if len(columns) < width:
        yield (*columns, 1)
    for i, count in enumerate(columns):
        if count < height and (i == 0 or count < columns[i - 1]):
            yield (*columns[:i], count + 1, *columns[i + 1 :])


def _best_around(size: int, side: int, above: int, beside: int, best: _Town) -> _Town:
    """Return the best town with this Durfee square, or `best` if that is no dearer."""
    heightened, lengthened = _fringes(side, above), _fringes(side, beside)
    own_a, own_b = _own_cost(size, side, heightened), _own_cost(size, side, lengthened)
    for mass in range(size - side**2 + 1):
        a = np.flatnonzero(heightened.mass == mass)
        b = np.flatnonzero(lengthened.mass == size - side**2 - mass)
        if not (len(a) and len(b)):
            continue
        mixed = heightened.inner[a] @ lengthened.outer[b].T + heightened.outer[a] @ lengthened.inner[b].T
        costs = own_a[a, None] + own_b[None, b] - 2 * mixed
        cheapest = int(costs.min())
        if cheapest < best.cost:
            i, j = np.unravel_index(int(costs.argmin()), costs.shape)
            tops, ends = heightened.parts[a[i]].tolist(), lengthened.parts[b[j]].tolist()
            columns = [side + top for top in tops]
            columns += [sum(end > t for end in ends) for t in range(ends[0])]
            best = _Town(cheapest, tuple(columns))
    return best


class _Fringes(NamedTuple):
    """All ways to extend the square along one axis: d integers, decreasing, none above a limit."""

    #: Shape (ways, d).
    parts: IntArray
    #: Their sums.
    mass: IntArray
    #: T_j of the ranks 2..d along the other axis, without what lies outside the square, shape (ways, d - 1).
    square: IntArray
    #: Sums of `square` over the j that include T_(d+1), and over those that include T_(d+2), shape (ways, 2).
    inner: IntArray
    #: T_(d+1), T_(d+2), ... along this axis.
    tails: IntArray
    #: The first two of them, shape (ways, 2).
    outer: IntArray


@lru_cache(maxsize=64)
def _fringes(side: int, limit: int) -> _Fringes:
    ways = itertools.combinations_with_replacement(range(limit, -1, -1), side)
    parts = np.array(list(ways), dtype=np.int64).reshape(-1, side)
    square = _alternate_sums(parts + side)[:, 1:]
    rows = np.stack([(parts > t).sum(axis=1) for t in range(limit + 2)], axis=1)
    tails = _alternate_sums(rows)
    second = square[:, side % 2 :: 2].sum(axis=1)  # of the ranks d, d - 2, ...
    first = square.sum(axis=1) - second
    return _Fringes(parts, parts.sum(axis=1), square, np.stack([first, second], axis=1), tails, tails[:, :2])


def _alternate_sums(counts: IntArray) -> IntArray:
    """Return T_j = m_j + m_(j+2) + ... for each row."""
    sums = counts.copy()
    for j in range(counts.shape[1] - 3, -1, -1):
        sums[:, j] += sums[:, j + 2]
    return sums


def _own_cost(size: int, side: int, fringes: _Fringes) -> IntArray:
    """Return the terms of the cost that depend on one axis alone."""
    second = side // 2  # the number of ranks in 2..d that include T_(d+2); the others include T_(d+1)
    times = np.array([side - 1 - second, second])
    cost: IntArray = (_cut(size, fringes.outer) * times).sum(axis=1)
    cost += _cut(size, fringes.square).sum(axis=1) + _cut(size, fringes.tails).sum(axis=1)
    return cost


def _cut(size: int, beyond: IntArray) -> IntArray:
    return beyond * (size - beyond)


def _cost(columns: tuple[int, ...]) -> int:
    rows = tuple(sum(count > t for count in columns) for t in range(columns[0]))
    return _organ_pipe_cost(columns) + _organ_pipe_cost(rows)


def _organ_pipe_cost(counts: tuple[int, ...]) -> int:
    size = sum(counts)
    beyond = [sum(counts[j::2]) for j in range(1, len(counts))]
    return sum(s * (size - s) for s in beyond)


def _organ_pipe(count: int) -> list[int]:
    """Return the position of each rank, from 0 on."""
    middle = (count - 1) // 2
    return [middle + (-(rank // 2) if rank % 2 == 0 else (rank + 1) // 2) for rank in range(count)]


def _least_star_of_counts(size: int, longest: int) -> int:
    """Return the least total distance to the middle of a line, with at most `longest` nodes at a place."""
    full, rest = divmod(size, longest)
    return longest * sum((rank + 1) // 2 for rank in range(full)) + rest * ((full + 1) // 2)
