"""Shapes of node sets of reservations, from the definitions alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from allocsolve.model import node_order

if TYPE_CHECKING:
    from allocsolve.model import FloatArray, IntArray, ReservationShape, Topology

__all__ = ["curve_bits", "has_shape", "mean_hops"]

#: Bits to an axis of the Hilbert curve, as Slurm has them; more where a side needs more.
_CURVE_BITS: Final = 5

#: Counters at a time: jobs times the side of an axis.
_MOST_COUNTERS: Final = 2**22


def curve_bits(topology: Topology) -> int:
    """Return the bits to an axis of the Hilbert curve on which runs are consecutive."""
    return max(_CURVE_BITS, *((side - 1).bit_length() for side in topology.shape))


def has_shape(topology: Topology, nodes: IntArray, shape: ReservationShape) -> bool:
    """Return whether distinct nodes are a set of this shape; O(nodes * axes) after the curve is made."""
    if shape == "run":
        rank = np.empty(topology.num_nodes, dtype=np.int64)
        rank[node_order(topology, "hilbert", bits=curve_bits(topology))] = np.arange(topology.num_nodes)
        ranks = rank[nodes]
        return bool(ranks.max() - ranks.min() + 1 == len(nodes))
    if shape == "any":
        return True
    members = set(nodes.tolist())
    reached, front = {int(nodes[0])}, [int(nodes[0])]
    while front:
        near = [node for node in topology.neighbours(front.pop()) if node in members and node not in reached]
        reached.update(near)
        front += near
    return len(reached) == len(members)


def mean_hops(topology: Topology, offsets: IntArray, nodes: IntArray) -> FloatArray:
    """Return the mean pairwise hop distance of each set of nodes.

    Distances add up over axes, and along an axis over the cuts that they cross: one with s of the k nodes on
    one side is crossed by s (k - s) pairs. A ring is cut in two places: of its n arcs of floor(n / 2) nodes,
    as many as twice the distance of two nodes hold just one of them.

    Parameters
    ----------
    topology
        The machine.
    offsets
        Shape (sets + 1,): the nodes of set ``i`` are ``nodes[offsets[i]:offsets[i + 1]]``.
    nodes
        A node that stands there twice counts once.

    Returns
    -------
    FloatArray
        Shape (sets,); NaN for a set of fewer than two nodes.
    """
    count, num_nodes = len(offsets) - 1, topology.num_nodes
    of = np.repeat(np.arange(count), np.diff(offsets))
    pairs = np.unique(of * num_nodes + nodes)
    of, at = pairs // num_nodes, topology.coordinates(pairs % num_nodes)
    size = np.bincount(of, minlength=count)
    total = np.zeros(count)
    for along, side, ring in zip(at.T, topology.shape, topology.wrap, strict=True):
        step = max(1, _MOST_COUNTERS // side)
        for first in range(0, count, step):
            last = min(first + step, count)
            rows = slice(*np.searchsorted(of, [first, last]).tolist())
            cells = (of[rows] - first) * side + along[rows]
            held = np.bincount(cells, minlength=(last - first) * side).reshape(-1, side)
            below = np.cumsum(held, axis=1)
            whole = size[first:last, None]
            if ring:
                around = np.concatenate([np.zeros_like(whole), below, below + whole], axis=1)
                arcs = around[:, side // 2 : side // 2 + side] - around[:, :side]
                total[first:last] += (arcs * (whole - arcs)).sum(axis=1) / 2
            else:
                total[first:last] += (below * (whole - below)).sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(size > 1, total / (size * (size - 1) / 2), np.nan)
