"""The one place that knows how kernels are compiled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, ParamSpec, TypeVar, cast

from numba import njit

from allocsolve.kernels.compilations import note_kernel

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["inner_kernel", "kernel"]

P = ParamSpec("P")
R = TypeVar("R")


#: Inlined, no wrappers, and no counting of references: it would go over all arrays of a tuple at every call.
_INNER: Final[dict[str, Any]] = {
    "forceinline": True,
    "_nrt": False,
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
}


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function on bare arrays at its first call; the machine code is cached on disk.

    While it runs, other Python threads go on: it may not share writable arrays with them.
    """
    compiled = njit(cache=True, nogil=True)(function)
    note_kernel(compiled)
    return cast("Callable[P, R]", compiled)


def inner_kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function that only kernels call: it has no entry from Python, which halves the compilation.

    Its code is part of the kernels that call it and is cached with them: whoever changes an inner kernel and
    not its callers clears the cache.
    """
    return cast("Callable[P, R]", njit(**_INNER)(function))
