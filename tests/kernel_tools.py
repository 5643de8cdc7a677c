"""Kernels that only other kernels call, with an entry for tests."""

from __future__ import annotations

from typing import TYPE_CHECKING, ParamSpec, TypeVar

from allocsolve.kernels import kernel

if TYPE_CHECKING:
    from collections.abc import Callable

P = ParamSpec("P")
R = TypeVar("R")


def entry(called: Callable[P, R]) -> Callable[P, R]:
    """Return a kernel that does nothing but call this one, which returns no arrays of its arguments."""

    def call(*args: P.args) -> R:  # type: ignore[valid-type]  # kernels take no keywords
        return called(*args)  # type: ignore[call-arg]  # all by position

    return kernel(call)  # type: ignore[arg-type]  # kernels take no keywords
