"""The worst case of the median method of Bender et al. 2008."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated

import numpy as np

from allocsolve.errors import InvalidOption
from allocsolve.instances.generators._streams import recipe
from allocsolve.model import Mesh, PartitionProblem
from allocsolve.model.options import Within, checked

if TYPE_CHECKING:
    from collections.abc import Sequence


def median_worst_case(
    size: Annotated[int, Within(8)], distance: Annotated[int, Within(1)], step: Annotated[int, Within(1)] = 2
) -> PartitionProblem:
    """Return a problem on which the median method of Bender et al. is nearly 7/4 times the optimum.

    Two compact blobs of size/2 free nodes lie at a distance from each other, and are the optimum. In each of
    the other three directions from either blob lies a decoy of size/8 free nodes, a little nearer: seen from
    a blob, its own nodes, the three decoys and size/8 nodes of the other blob are nearest. Nothing else is
    free.

    Parameters
    ----------
    size
        Nodes to choose, a multiple of 8.
    distance
        Hops between the two blobs.
    step
        Hops that the decoys are nearer; with too few, other nodes are nearest.

    Returns
    -------
    PartitionProblem
        On the smallest mesh that holds the free nodes: 3 * `distance` - 3 times 2 * `distance` - 3 nodes for
        size 8 and step 2.

    Raises
    ------
    InvalidOption
        If `size` is no positive multiple of 8, `step` is below 1, or the groups would touch each other.

    Notes
    -----
    For size 8 and step 2, the optimum is 16 * `distance` + 24, and the median method (centres on the grid of
    coordinates of free nodes) finds 28 * `distance` - 33 (checked by brute force).

    References
    ----------
    Bender, Bunde, Demaine, Fekete, Leung, Meijer & Phillips, "Communication-aware processor allocation for
    supercomputers: finding point sets of small average distance", Algorithmica 50(2), 2008, pp. 279-298: the
    bound of 7/4 is tight. This construction is a version of our own, with the constants above.
    """
    size, distance, step = checked(median_worst_case, size=size, distance=distance, step=step)
    if size % 8:
        raise InvalidOption(f"size {size} is not a multiple of 8")
    blob, decoy, near = _compact(size // 2), _compact(size // 8), distance - step
    groups = [
        *((blob, x, 0) for x in (0, distance)),
        *((decoy, x, y) for x in (0, distance) for y in (near, -near)),
        *((decoy, x, 0) for x in (-near, distance + near)),
    ]
    cells = [(x + dx, y + dy) for group, dx, dy in groups for x, y in group]
    reach = max(abs(c) for cell in blob for c in cell)
    if near <= 2 * reach + 1:
        msg = f"distance {distance} less step {step} is below {2 * reach + 2}, too near for size {size}"
        raise InvalidOption(msg)
    corner = np.min(cells, axis=0)
    topology = Mesh((np.max(cells, axis=0) - corner + 1).tolist())
    nodes = {topology.node_at(cell) for cell in (np.array(cells) - corner).tolist()}
    return PartitionProblem.of(
        topology,
        busy=[node for node in range(topology.num_nodes) if node not in nodes],
        size=size,
        name=f"median-worst-case-k{size}-d{distance}-s{step}",
        meta=recipe("median-worst-case", size=size, distance=distance, step=step),
    )


def _compact(count: int) -> list[tuple[int, int]]:
    """Return cells round the origin with a small sum of pairwise distances: the best of three discs.

    It is the least sum for up to 36 cells, except for 30 cells, where it is 1 above (checked).
    """
    reach = range(-math.isqrt(count) - 1, math.isqrt(count) + 2)
    plane = [(x, y) for x in reach for y in reach]
    discs = [
        sorted(plane, key=lambda cell: ((2 * cell[0] - cx) ** 2 + (2 * cell[1] - cy) ** 2, cell))[:count]
        for cx, cy in ((1, 1), (1, 0), (0, 0))
    ]
    return min(discs, key=_pairwise)


def _pairwise(cells: Sequence[tuple[int, int]]) -> int:
    return sum(abs(x - u) + abs(y - v) for idx, (x, y) in enumerate(cells) for u, v in cells[:idx])
