"""The one place that knows how kernels are compiled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, ParamSpec, TypeVar, cast

from numba import njit

from allocsolve.kernels.compilations import note_kernel

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["allocating_kernel", "called_kernel", "inner_kernel", "kernel"]

P = ParamSpec("P")
R = TypeVar("R")


#: No entries from Python and from C.
_NO_ENTRY: Final[dict[str, Any]] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}

#: No counting of references either: it would go over all arrays of a tuple at every call.
_CALLED: Final[dict[str, Any]] = {"_nrt": False, **_NO_ENTRY}

#: What is not said is taken from the kernel that calls.
_ALLOCATING: Final[dict[str, Any]] = {"_nrt": True, **_NO_ENTRY}

_INNER: Final[dict[str, Any]] = {"forceinline": True, **_CALLED}


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


def called_kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function that only kernels call, where the compiler decides about inlining.

    As `inner_kernel`, but cheaper to compile where it is called from several places. It may neither allocate
    nor assign one array to a slice of another, for which there would have to be a copy. If it returns arrays,
    only its like may call it: another kernel would release references that it does not hold.
    """
    return cast("Callable[P, R]", njit(**_CALLED)(function))


def allocating_kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function that only kernels call and that allocates arrays; else as `called_kernel`."""
    return cast("Callable[P, R]", njit(**_ALLOCATING)(function))
