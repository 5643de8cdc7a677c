"""The one place that knows how kernels are compiled."""

from __future__ import annotations

from typing import TYPE_CHECKING, ParamSpec, TypeVar, cast

from numba import njit

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["kernel"]

P = ParamSpec("P")
R = TypeVar("R")


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function on bare arrays at its first call; the machine code is cached on disk."""
    return cast("Callable[P, R]", njit(cache=True)(function))
