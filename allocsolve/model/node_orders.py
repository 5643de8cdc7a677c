"""Node orders: the nodes of a topology on a line, such as a Hilbert curve, as permutations."""

from __future__ import annotations

from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import numpy as np

from allocsolve.errors import InvalidOption
from allocsolve.model.arrays import IntArray, frozen
from allocsolve.model.checks import choice, instance, integer, shown
from allocsolve.model.partition import Topology

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

#: How the nodes follow each other; `node_order` says more.
NodeOrder: TypeAlias = Literal[
    "row-major",  # by node id: the first axis varies fastest
    "snake",  # row by row, every other row backwards
    "short-side-snake",  # a snake along the shortest side first
    "hilbert",  # the Hilbert curve of the enclosing power-of-two cube
    "generalised-hilbert",  # a Hilbert-like curve of the box itself
    "morton",  # by interleaved bits of the coordinates
]

#: All node orders.
NODE_ORDERS: tuple[NodeOrder, ...] = get_args(NodeOrder)

#: Slurm's Hilbert order has this many bits per axis, however small the machine.
SLURM_BITS = 5

#: Bits in a word of a key, so that words stay non-negative.
_WORD = 62

#: A side of a box: the signed step from node to node along it, and how many nodes it has.
_Side: TypeAlias = tuple[int, int]


def node_order(topology: Topology, name: NodeOrder, *, bits: int | None = None) -> IntArray:
    """Return the nodes in visiting order: a permutation of the node ids, read-only and cached.

    `InvalidOption` if `bits` is too small for the longest side, above 62, or given for another order than
    ``hilbert``; if ``generalised-hilbert`` is asked for on more than three axes.

    Parameters
    ----------
    topology
        Only its shape matters: no order knows about rings.
    name
        ``row-major``
            By node id.
        ``snake``
            Boustrophedon: as row-major, but every other row backwards, and so on for planes.
        ``short-side-snake``
            A snake whose rows lie along the shortest side, then the next shorter one.
        ``hilbert``
            By the position on the Hilbert curve of a cube of 2^bits nodes a side (Skilling's transform, its
            bits interleaved highest first, first axis first). What lies outside the box is left out, so
            that the order may jump.
        ``generalised-hilbert``
            A Hilbert-like curve of a box of any sides, from node 0 to the other end of the longest side (the
            first of these); at most three axes with more than one node.
        ``morton``
            By the bits of the coordinates interleaved highest first, last axis first (Z-order).
    bits
        Bits per axis of ``hilbert``, which decide how the curve is turned and so change the order. None:
        Slurm's 5, or as many as the longest side needs if that is more.

    Returns
    -------
    IntArray
        Shape (nodes,).

    Notes
    -----
    *Guarantee*: consecutive nodes of the two snakes are neighbours, and those of ``hilbert`` if all sides are
    2^bits. Those of ``generalised-hilbert`` are neighbours or, now and then, a diagonal step (one hop along
    each of two axes) apart. In two dimensions there is one such step if the longer side is odd and the other
    even, where no path between these corners avoids it, else none; in three dimensions there is none
    if all sides are even. (The 2-D and 3-D statements are checked for all sides up to 32 and 12.)
    *Complexity*: O(nodes * axes * bits) once; then the order is looked up.

    References
    ----------
    Skilling, "Programming the Hilbert curve", AIP Conf. Proc. 707, 2004. The generalised curve is "gilbert"
    by J. Cerveny, a space-filling curve for rectangles of any size: https://github.com/jakubcerveny/gilbert.

    Examples
    --------
    >>> from allocsolve.model import Mesh
    >>> node_order(Mesh((3, 2)), "snake").tolist()
    [0, 1, 2, 5, 4, 3]
    """
    choice("node order", name, NODE_ORDERS)
    instance("topology", topology, Topology)
    if name == "hilbert":
        needed = max(1, (max(topology.shape) - 1).bit_length())
        bits = max(SLURM_BITS, needed) if bits is None else integer("bits", bits, InvalidOption)
        if not needed <= bits <= _WORD:
            msg = (
                f"bits {shown(bits)} is not in {needed}..{_WORD}, which shape {list(topology.shape)} asks for"
            )
            raise InvalidOption(msg)
    elif bits is not None:
        msg = f"bits {shown(bits)} given for the order {name}, which has none"
        raise InvalidOption(msg)
    return _order(topology.shape, name, bits or 0)


@lru_cache(maxsize=32)
def _order(shape: tuple[int, ...], name: NodeOrder, bits: int) -> IntArray:
    if name == "row-major":
        return frozen(np.arange(np.prod(shape), dtype=np.int64))
    if name == "snake":
        return frozen(_snake(shape, range(len(shape))))
    if name == "short-side-snake":
        return frozen(_snake(shape, np.argsort(shape, kind="stable").tolist()))
    if name == "generalised-hilbert":
        return frozen(_generalised_hilbert(shape))
    axes = np.unravel_index(np.arange(np.prod(shape)), shape, order="F")
    coordinates = np.stack(axes).astype(np.int64)
    if name == "hilbert":
        return frozen(_by_interleaved_bits(_hilbert_transpose(coordinates, bits), bits))
    return frozen(_by_interleaved_bits(coordinates[::-1], int(coordinates.max()).bit_length()))


def _snake(shape: tuple[int, ...], axes: Sequence[int]) -> IntArray:
    """Return the snake that runs along `axes`, fastest first."""
    strides = np.cumprod([1, *shape[:-1]])
    order = np.zeros(1, dtype=np.int64)
    for axis in axes:  # the snake so far, forward and backward in turn, once for each coordinate on this axis
        passes = [order if c % 2 == 0 else order[::-1] for c in range(shape[axis])]
        order = np.concatenate([walk + c * strides[axis] for c, walk in enumerate(passes)])
    return order


def _hilbert_transpose(coordinates: IntArray, bits: int) -> IntArray:
    """Return the "transposed" Hilbert index of points, shape (axes, points) as the coordinates.

    Skilling's AxestoTranspose, on all points at once.
    """
    x = coordinates.copy()
    for level in range(bits - 1, 0, -1):  # undo the excess work, in Skilling's words
        low = (1 << level) - 1
        for axis in range(len(x)):
            is_set = x[axis] >> level & 1 == 1
            swapped = np.where(is_set, 0, (x[0] ^ x[axis]) & low)
            x[0] ^= np.where(is_set, low, swapped)
            x[axis] ^= swapped
    for axis in range(1, len(x)):  # Gray encode
        x[axis] ^= x[axis - 1]
    flips = np.zeros_like(x[0])
    for level in range(bits - 1, 0, -1):
        flips ^= (x[-1] >> level & 1) * ((1 << level) - 1)
    x ^= flips
    return x


def _by_interleaved_bits(digits: IntArray, bits: int) -> IntArray:
    """Return the points sorted by their bits, highest first and for each bit the first row first."""
    columns = [digits[axis] >> level & 1 for level in range(bits - 1, -1, -1) for axis in range(len(digits))]
    words = [np.zeros_like(digits[0])]
    for count, column in enumerate(columns):
        if count and count % _WORD == 0:
            words.append(np.zeros_like(digits[0]))
        words[-1] = words[-1] << 1 | column
    return np.lexsort(words[::-1])


def _generalised_hilbert(shape: tuple[int, ...]) -> IntArray:
    long = [axis for axis, side in enumerate(shape) if side > 1]
    if len(long) > 3:
        msg = f"generalised-hilbert takes 3 axes with more than one node, shape {list(shape)} has {len(long)}"
        raise InvalidOption(msg)
    strides = np.cumprod([1, *shape[:-1]]).tolist()
    sides = [(strides[axis], shape[axis]) for axis in long]
    sides.sort(key=lambda side: side[1] < max(shape))  # the longest first
    return np.array(list(chain.from_iterable(_lines(0, sides))), dtype=np.int64)


def _lines(corner: int, sides: Sequence[_Side]) -> Iterator[range]:
    """Yield straight lines of nodes that fill a box from a corner to the far end of its first side."""
    sides = [side for side in sides if side[1] > 1]
    if len(sides) < 2:
        step, count = sides[0] if sides else (1, 1)
        yield range(corner, corner + count * step, step)
        return
    for start, inner in (_thirds if len(sides) == 2 else _fifths)(corner, *sides):
        yield from _lines(start, inner)


def _halves(side: _Side) -> tuple[_Side, _Side]:
    """Split a side; the first half is even where it can be, so that a curve through it ends on its rim."""
    step, count = side
    half = count // 2 + (count // 2 % 2 if count > 2 else 0)
    return (step, half), (step, count - half)


def _end(side: _Side) -> int:
    """Return how far the last node of a side is from its first."""
    return side[0] * (side[1] - 1)


def _back(side: _Side) -> _Side:
    return -side[0], side[1]


def _thirds(p: int, a: _Side, b: _Side) -> Iterator[tuple[int, Sequence[_Side]]]:
    """Yield the pieces of a rectangle in turn: up the near half of `b`, along `a` beyond it, back down."""
    a1, a2 = _halves(a)
    if 2 * a[1] > 3 * b[1]:  # long: two pieces along it
        yield p, (a1, b)
        yield p + a1[0] * a1[1], (a2, b)
        return
    b1, b2 = _halves(b)
    yield p, (b1, a1)
    yield p + b1[0] * b1[1], (a, b2)
    yield p + _end(a) + _end(b1), (_back(b1), _back(a2))


def _fifths(p: int, a: _Side, b: _Side, c: _Side) -> Iterator[tuple[int, Sequence[_Side]]]:
    """Yield the pieces of a box in turn; a box that is long or flat is cut as a line or a rectangle is."""
    (a1, a2), (b1, b2), (c1, c2) = _halves(a), _halves(b), _halves(c)
    if 2 * a[1] > 3 * max(b[1], c[1]):  # long
        yield p, (a1, b, c)
        yield p + a1[0] * a1[1], (a2, b, c)
    elif 3 * b[1] > 4 * c[1]:  # flat: c stays whole
        yield p, (b1, c, a1)
        yield p + b1[0] * b1[1], (a, b2, c)
        yield p + _end(a) + _end(b1), (_back(b1), c, _back(a2))
    elif 3 * c[1] > 4 * b[1]:  # flat: b stays whole
        yield p, (c1, a1, b)
        yield p + c1[0] * c1[1], (a, b, c2)
        yield p + _end(a) + _end(c1), (_back(c1), _back(a2), b)
    else:
        yield p, (b1, c1, a1)
        yield p + b1[0] * b1[1], (c, a1, b2)
        yield p + _end(b1) + _end(c), (a, _back(b1), _back(c2))
        yield p + _end(a) + b1[0] * b1[1] + _end(c), (_back(c), _back(a2), b2)
        yield p + _end(a) + _end(b1), (_back(b1), c1, _back(a2))
