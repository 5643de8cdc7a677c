"""The ascent of a concave function: a quasi-Newton method of limited memory (Liu & Nocedal 1989).

The scalar product is written here because BLAS would start threads for each product and wait for them.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

import numpy as np

from allocsolve.kernels import inner_kernel, kernel

if TYPE_CHECKING:
    from collections.abc import Callable

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


#: Steps whose changes of the gradient are remembered; more gain little and cost time and memory.
_MEMORY: Final = 10

#: The least share of the gain that the slope promises with which a step is taken (Armijo).
_GAIN: Final = 1e-4

#: Curvatures and gradients up to this count as 0.
_FLAT: Final = 1e-12

#: Steps over which the gain is measured: the ascent ends when they gain too little together.
_PATIENCE: Final = 10

#: How often a step is shortened before the ascent gives up.
_SHORTER: Final = 12


def ascend(
    function: Callable[[FloatArray], tuple[float, FloatArray]],
    start: FloatArray,
    *,
    first_step: float,
    steps: int,
    tolerance: float,
    stop: Callable[[], bool],
) -> FloatArray:
    """Return a point at which a concave function is no smaller than at the start.

    The function returns its value and its gradient, a new array. The first step changes no coordinate by more
    than `first_step`. The ascent ends after so many steps, when the last 10 together gained less than the
    share `tolerance` of the value, or when `stop`, asked before each step, says so.

    Notes
    -----
    Each step costs one value of the function, more if it has to be shortened, and O(10 * coordinates).
    """
    point = start
    value, gradient = function(point)
    memory = _Memory(len(point), first_step)
    values: deque[float] = deque([value], maxlen=_PATIENCE + 1)
    for _ in range(steps):
        if stop():
            break
        direction = memory.direction(gradient)
        slope = dot(direction, gradient)
        if slope <= 0:
            memory.forget()
            direction = memory.direction(gradient)
            slope = dot(direction, gradient)
            if slope <= 0:
                break
        length = 1.0
        for _ in range(_SHORTER):
            ahead = point + length * direction
            ahead_value, ahead_gradient = function(ahead)
            if ahead_value >= value + _GAIN * length * slope or stop():
                break
            # The maximum of the parabola through both values and the slope.
            lost = value + length * slope - ahead_value
            length *= min(0.5, max(0.1, 0.5 * length * slope / lost))
        if ahead_value <= value:
            if memory.is_empty:
                break
            memory.forget()
            continue
        memory.note(ahead - point, gradient - ahead_gradient)
        point, value, gradient = ahead, ahead_value, ahead_gradient
        values.append(value)
        if len(values) > _PATIENCE and value - values[0] < tolerance * abs(value):
            break
    return point


class _Memory:
    """The last steps, and by how much each changed the gradient."""

    def __init__(self, size: int, first_step: float) -> None:
        self._moves, self._turns = np.empty((_MEMORY, size)), np.empty((_MEMORY, size))
        self._shares = np.empty(_MEMORY)
        self._noted = self._forgotten = 0
        self._first_step = first_step

    @property
    def is_empty(self) -> bool:
        return self._noted == self._forgotten

    def forget(self) -> None:
        self._forgotten = self._noted

    def note(self, move: FloatArray, turn: FloatArray) -> None:
        """Remember a step if the gradient fell along it."""
        if dot(move, turn) > _FLAT * dot(turn, turn):
            self._moves[self._noted % _MEMORY] = move
            self._turns[self._noted % _MEMORY] = turn
            self._noted += 1
            self._forgotten = max(self._forgotten, self._noted - _MEMORY)

    def direction(self, gradient: FloatArray) -> FloatArray:
        """Return the gradient turned by what is remembered, or scaled to the first step."""
        if self.is_empty:
            return gradient * (self._first_step / max(float(np.abs(gradient).max(initial=0.0)), _FLAT))
        direction = gradient.copy()
        turned(direction, self._moves, self._turns, self._shares, self._forgotten, self._noted)
        return direction
