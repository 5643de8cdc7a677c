"""Ascent of a smooth concave function by a quasi-Newton method of limited memory (Liu & Nocedal 1989)."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from allocsolve.model import FloatArray

__all__ = ["ascend"]

#: Steps whose change of the gradient is remembered.
_MEMORY: Final = 10

#: A step is taken if it gains so much of what the slope promises (Armijo).
_GAIN: Final = 1e-4

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

    Parameters
    ----------
    function
        Returns its value and its gradient, a new array.
    start
        Where to begin.
    first_step
        Of the first step, the largest change of a coordinate.
    steps
        The most steps.
    tolerance
        The ascent ends when the last 10 steps together gained less than this share of the value.
    stop
        Asked before each step.

    Notes
    -----
    Each step costs one value of the function, more if it has to be shortened, and O(10 * coordinates).
    """
    point = start
    value, gradient = function(point)
    memory: deque[tuple[FloatArray, FloatArray, float]] = deque(maxlen=_MEMORY)
    values: deque[float] = deque([value], maxlen=11)
    for _ in range(steps):
        if stop():
            break
        direction = _direction(gradient, memory, first_step)
        slope = float(direction @ gradient)
        if slope <= 0:
            memory.clear()
            direction = _direction(gradient, memory, first_step)
            slope = float(direction @ gradient)
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
            if not memory:
                break
            memory.clear()
            continue
        move, turn = ahead - point, gradient - ahead_gradient
        curvature = float(move @ turn)
        if curvature > 1e-12 * float(turn @ turn) > 0:
            memory.append((move, turn, curvature))
        point, value, gradient = ahead, ahead_value, ahead_gradient
        values.append(value)
        if len(values) == values.maxlen and value - values[0] < tolerance * abs(value):
            break
    return point


def _direction(
    gradient: FloatArray, memory: deque[tuple[FloatArray, FloatArray, float]], first_step: float
) -> FloatArray:
    """Return the inverse of the remembered curvature times the gradient (two-loop recursion)."""
    if not memory:
        return gradient * (first_step / max(float(np.abs(gradient).max(initial=0.0)), 1e-300))
    direction = gradient.copy()
    shares = []
    for move, turn, curvature in reversed(memory):
        share = float(move @ direction) / curvature
        direction -= share * turn
        shares.append(share)
    _, turn, curvature = memory[-1]
    direction *= curvature / float(turn @ turn)
    for (move, turn, curvature), share in zip(memory, reversed(shares), strict=True):
        direction += (share - float(turn @ direction) / curvature) * move
    return direction
