"""Sums of a quasi-Newton ascent of limited memory.

The scalar product is written here because BLAS would start threads for each product and wait for them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from allocsolve.kernels import inner_kernel, kernel

if TYPE_CHECKING:
    from allocsolve.model import FloatArray


@inner_kernel
def _dot(left: FloatArray, right: FloatArray) -> float:
    count = len(left)
    sum_0, sum_1, sum_2, sum_3 = 0.0, 0.0, 0.0, 0.0
    for at in range(0, count - 3, 4):
        sum_0 += left[at] * right[at]
        sum_1 += left[at + 1] * right[at + 1]
        sum_2 += left[at + 2] * right[at + 2]
        sum_3 += left[at + 3] * right[at + 3]
    for at in range(count // 4 * 4, count):
        sum_0 += left[at] * right[at]
    return sum_0 + sum_1 + sum_2 + sum_3


@kernel
def dot(left: FloatArray, right: FloatArray) -> float:
    """Return the scalar product."""
    return _dot(left, right)


@kernel
def turned(
    direction: FloatArray,
    moves: FloatArray,
    turns: FloatArray,
    shares: FloatArray,
    steps_from: int,
    steps_to: int,
) -> None:
    """Multiply a gradient by the inverse of the curvature of remembered steps, in place (two-loop recursion).

    Step i is in row ``i % rows`` of `moves`, its change of the gradient in that of `turns`.
    """
    rows = len(moves)
    for step in range(steps_to - 1, steps_from - 1, -1):
        move, turn = moves[step % rows], turns[step % rows]
        share = _dot(move, direction) / _dot(move, turn)
        for at in range(len(direction)):
            direction[at] -= share * turn[at]
        shares[step % rows] = share
    last = (steps_to - 1) % rows
    scale = _dot(moves[last], turns[last]) / _dot(turns[last], turns[last])
    for at in range(len(direction)):
        direction[at] *= scale
    for step in range(steps_from, steps_to):
        move, turn = moves[step % rows], turns[step % rows]
        share = shares[step % rows] - _dot(turn, direction) / _dot(move, turn)
        for at in range(len(direction)):
            direction[at] += share * move[at]
